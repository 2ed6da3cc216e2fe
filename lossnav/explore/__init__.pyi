"""What ``lossnav.explore`` offers: each name is loaded from here on first use."""

from lossnav.explore.base import Explorable as Explorable
from lossnav.explore.board.widget import Board as Board
from lossnav.explore.discount_exponent.widget import DiscountExponent as DiscountExponent
from lossnav.explore.forgotten_noise.widget import ForgottenNoise as ForgottenNoise
from lossnav.explore.moving_network.widget import MovingNetwork as MovingNetwork
from lossnav.explore.other_selves.widget import OtherSelves as OtherSelves
from lossnav.explore.path_pace.widget import PathPace as PathPace
from lossnav.explore.task_switch.widget import TaskSwitch as TaskSwitch
from lossnav.explore.value_bounds.widget import ValueBounds as ValueBounds
from lossnav.explore.which_discount.widget import WhichDiscount as WhichDiscount

Acceleration: type[Explorable]
AssumptionPlot: type[Explorable]
BallDecides: type[Explorable]
BeliefFilter: type[Explorable]
BelievedEllipse: type[Explorable]
BrokenCharge: type[Explorable]
Certainty: type[Explorable]
CloudEdge: type[Explorable]
Deadline: type[Explorable]
DecayShrinks: type[Explorable]
DiscountedRoot: type[Explorable]
DoubleWell: type[Explorable]
DriftField: type[Explorable]
ExactStep: type[Explorable]
Extremals: type[Explorable]
FadingBelief: type[Explorable]
FilterGains: type[Explorable]
FollowedBack: type[Explorable]
Horizon: type[Explorable]
KappaSteps: type[Explorable]
LookBill: type[Explorable]
MetricEllipse: type[Explorable]
ModeMemory: type[Explorable]
MomentumWindow: type[Explorable]
MuonQuintic: type[Explorable]
NoiseSpectrum: type[Explorable]
NoisyOscillator: type[Explorable]
NoisyValley: type[Explorable]
NormalArcs: type[Explorable]
OneMap: type[Explorable]
PlannedSteps: type[Explorable]
Postponed: type[Explorable]
Preconditioner: type[Explorable]
PullBack: type[Explorable]
PushAndBrake: type[Explorable]
Race: type[Explorable]
RateDrop: type[Explorable]
RegretRace: type[Explorable]
Renamed: type[Explorable]
ScaleCone: type[Explorable]
RingLock: type[Explorable]
StayMap: type[Explorable]
TunedRates: type[Explorable]
