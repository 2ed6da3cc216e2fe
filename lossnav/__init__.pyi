"""What ``lossnav`` offers: each name is loaded from here on first use, and type checkers and editors read it here."""

from lossnav import explore as explore
from lossnav import figures as figures
from lossnav import optim as optim
from lossnav import rules as rules
from lossnav import trajectory as trajectory
from lossnav._checks import NoMinimiser as NoMinimiser
from lossnav._checks import NotConverged as NotConverged
from lossnav.analysis import acceleration as acceleration
from lossnav.analysis import curvature as curvature
from lossnav.analysis import helmholtz as helmholtz
from lossnav.analysis import noether as noether
from lossnav.analysis import sgd as sgd
from lossnav.analysis.inference import module
from lossnav.analysis.optimality import OptimalFor as OptimalFor
from lossnav.analysis.optimality import optimal_for as optimal_for
from lossnav.euler_lagrange import CallableModule
from lossnav.euler_lagrange import EulerLagrange as EulerLagrange
from lossnav.lab import data as data
from lossnav.lab import ensemble as ensemble
from lossnav.lab import experiment as experiment
from lossnav.lab import models as models
from lossnav.lab import moving as moving
from lossnav.lab import records as records
from lossnav.lab import streams
from lossnav.lab import sweep as sweep
from lossnav.lab import training as training
from lossnav.optim.fingerprint import Fingerprint as Fingerprint
from lossnav.optim.fingerprint import fingerprint as fingerprint
from lossnav.optim.watch import watch as watch
from lossnav.problem import classifiers as classifiers
from lossnav.problem import drifts as drifts
from lossnav.problem import losses as losses
from lossnav.problem import metrics as metrics
from lossnav.problem import prices as prices
from lossnav.problem import task as task
from lossnav.problem.objective import Objective as Objective
from lossnav.rules import assume as assume
from lossnav.rules import looking as looking
from lossnav.rules import update as update
from lossnav.rules.derive import LearningRule as LearningRule
from lossnav.rules.derive import derive as derive
from lossnav.rules.derive import explain as explain
from lossnav.trajectory import beliefs, weights
from lossnav.trajectory.bounds import value_bounds as value_bounds
from lossnav.trajectory.compare import Comparison as Comparison
from lossnav.trajectory.compare import compare as compare
from lossnav.trajectory.regret import Regret as Regret
from lossnav.trajectory.regret import regret as regret
from lossnav.trajectory.result import Trajectory as Trajectory
from lossnav.trajectory.solve import optimal_acceleration as optimal_acceleration
from lossnav.trajectory.solve import optimal_velocity as optimal_velocity
from lossnav.trajectory.solve import solve as solve
from lossnav.trajectory.solve import value as value

__version__: str
euler_lagrange: CallableModule

belief = beliefs
infer = module
uncertainty = weights
continual = streams
