"""What a user writes, and type checkers have nothing to say to: the README's session, a training loop, results read."""

from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

import lossnav as ln
from lossnav import optim
from lossnav.lab.ensemble import Ensemble

loss = ln.losses.DoubleWell()
patient = ln.Objective(gamma=0.1)
path = ln.solve(patient, loss, [-1.2, 0.8])
print([round(float(x), 3) for x in path.asymptote], path.is_minimum, path.method.upper(), path.at_infinity == "rests")
print(path(np.linspace(0.0, 3.0, 5)).shape, path.velocity(0.0) * 2, [other.action for other in path.candidates])

hasty = ln.Objective(eta=2, metric=np.eye(2), drift=ln.drifts.weight_decay(0.1), horizon=3, terminal=1.0)
print(ln.solve(hasty, loss, (0.0, 1.0), method="action", rtol=1e-6, throw=False).converged)
print(ln.Objective(metric=ln.metrics.Fisher()).curved, ln.Objective(metric=[[2.0, 0.0], [0.0, 1.0]]).metric_matrix(2))
print(ln.Objective(metric=lambda theta: np.eye(2) * (1 + theta @ theta)).curved)
print(ln.euler_lagrange(patient, loss).equations[1], ln.value(patient, loss, np.zeros(2)) + 1)
step = ln.update(patient, gradient=[0.3, -0.2], hessian=[[2.0, 0.0], [0.0, 0.5]], dt=0.1)
print([round(float(x), 3) for x in step])

adam = ln.derive(
    ln.Objective(),
    belief=ln.assume.Filter(0.9, fading=1e-8),
    curvature=ln.assume.SecondMoment(0.999),
    dt=1e-3,
)
moved, state = adam([6.0, -0.02], adam.init([3.0, -1.0]), [3.0, -1.0])
print(moved.round(6), adam.equations)

model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
rules: list[torch.optim.Optimizer] = [
    ln.optim.Ballistic(model.parameters(), lr=1e-3, beta=0.99),
    ln.optim.Ballistic([{"params": list(model.parameters()), "lr": 0.1}], momentum=0.9),
    ln.optim.Belief(model.parameters(), betas=(0.9, 0.99), variance="centred"),
    ln.optim.Navigator(model.parameters(), curvature="second_moment", negative="clip"),
    ln.optim.BallisticMatrix(model.parameters()),
    optim.Uncertain(model.named_parameters(), lr=torch.tensor(0.1)),
    adam.optimizer(model.parameters()),
]
for reading in ln.explain(torch.optim.AdamW(model.parameters(), lr=1e-3)):
    print(reading)
    if reading.rule is not None:
        rules.append(reading.rule.optimizer(model.parameters()))
for rule in rules:
    schedule = torch.optim.lr_scheduler.StepLR(rule, step_size=2)
    with ln.watch(rule) as seen:
        for x, y in [(torch.randn(5, 4), torch.randint(3, (5,)))] * 2:
            rule.zero_grad()
            error = cross_entropy(model(x), y)
            error.backward()
            seen.note(error)
            rule.step()
            schedule.step()
    print(seen.steps, round(seen.timing(), 2))

data = ln.data.load("digits", download=False)
network = ln.models.mlp(64, hidden=[16], seed=0)
history = ln.training.train(network, data, ln.optim.Ballistic(network.parameters()), seed=0, epochs=1, progress=False)
print(history.record(), Ensemble([model]).size)
small = {"hidden": [16]}
experiment = ln.experiment.Experiment(data="digits", optimizer="ballistic", lr=1e-3, epochs=1, model_options=small)
record = ln.experiment.run(experiment, checkpoint=Path("run.ckpt"))
batch = (torch.randn(8, 4), torch.zeros(8, dtype=torch.long))
print(record.results[0]["test_accuracy"], ln.noether.find_symmetries(model, cross_entropy, batch))
ln.explore.DoubleWell()
ln.figures.use_style()
