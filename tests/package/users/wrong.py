"""What a user gets wrong: type checkers have something to say to each line that is marked, and to no other."""

import torch
from torch import nn

import lossnav as ln
from lossnav import nothing  # wrong: no such name
from lossnav.optim import Ballistics  # wrong: no such rule

model = nn.Linear(2, 1)
loss = ln.losses.DoubleWell()
objective = ln.Objective(gamma=0.1)

ln.no_such_name  # wrong: no such name
ln.losses.TripleWell()  # wrong: no such loss
ln.optim.NoSuchRule(model.parameters())  # wrong: no such rule
ln.noether.no_such_law  # wrong: no such law
ln.explore.NoSuchFigure()  # wrong: no such explorable
ln.figures.no_such_chapter  # wrong: no such chapter
ln.belief.no_such_memory  # wrong: no such name in a room that is offered under another name

ln.Objective(gamma="high")  # wrong: a string is no rate
ln.Objective(discount=0.1)  # wrong: it is called gamma
ln.Objective(drift=0.1)  # wrong: a number is no drift
ln.Objective(metric={"scale": 2.0})  # wrong: a dictionary is no metric
objective.gamma = 0.2  # wrong: frozen

ln.solve(objective, loss)  # wrong: no start
ln.solve(loss, objective, [0.0, 1.0])  # wrong: the order
ln.solve(objective, "double well", [0.0, 1.0])  # wrong: a name is no loss
ln.solve(objective, loss, [0.0, 1.0], method="newton")  # wrong: no such method
ln.solve(objective, loss, [0.0, 1.0], tolerance=1e-6)  # wrong: it is called rtol
ln.solve(objective, loss, [0.0, 1.0], horizon="long")  # wrong: a string is no time
path = ln.solve(objective, loss, [0.0, 1.0])
path.cost  # wrong: it is called action
path.action.real_part  # wrong: a float has none
path.velocity()  # wrong: at what time?
path.at_infinity.value  # wrong: it is a string
ln.value(objective, loss, [0.0, 1.0]).action  # wrong: a value is a number
ln.update(objective, [0.1], dt="soon")  # wrong: a string is no time
ln.euler_lagrange(objective)  # wrong: no loss
ln.euler_lagrange(objective, loss).lagrangian_of_everything  # wrong: no such attribute

ln.derive(gamma=0.1)  # wrong: it takes an objective
ln.derive(objective, belief=0.9)  # wrong: a number is no belief
ln.derive(objective, curvature=ln.assume.Filter(0.9))  # wrong: a belief is no curvature
ln.derive(objective, dt="small")  # wrong: a string is no time
ln.derive(objective).step()  # wrong: a rule is called
ln.derive(objective, dt=0.1).optimizer(model)  # wrong: a model is no list of its parameters
ln.derive(objective, dt=0.1).optimizer(model.parameters()).stepp()  # wrong: no such method
ln.explain(torch.optim.SGD(model.parameters())).rule  # wrong: a list of readings
ln.assume.Kronecker(0.9, fit="best")  # wrong: no such fit

ln.infer.design([1.0, 9.0], 1.0, 0.1).sample  # wrong: no such attribute
ln.infer.Rates([1.0])  # wrong: no rates

ln.optim.Ballistic(model)  # wrong: a model is no list of its parameters
ln.optim.Ballistic(model.parameters(), lr="fast")  # wrong: a string is no rate
ln.optim.Ballistic(model.parameters(), betas=(0.9, 0.99))  # wrong: it has one beta
ln.optim.Belief(model.parameters(), betas=0.9)  # wrong: it has two
ln.optim.Belief(model.parameters(), variance="none")  # wrong: no such variance
ln.optim.Navigator(model.parameters(), curvature="exact")  # wrong: no such estimate
ln.optim.Navigator(model.parameters(), negative="ignore")  # wrong: no such treatment
ln.optim.BallisticMatrix(model.parameters(), curvature="newton")  # wrong: no such curvature
ln.optim.Uncertain(model.parameters(), sample="yes")  # wrong: a string is no flag
ln.optim.Ballistic(model.parameters()).zero_gradients()  # wrong: it is called zero_grad
ln.optim.deadline_schedule(ln.optim.Ballistic(model.parameters()), 100, kind="cosine")  # wrong: no such law
ln.watch(model)  # wrong: a model is no optimizer
with ln.watch(torch.optim.SGD(model.parameters())) as seen:
    seen.regret_of_all  # wrong: no such attribute
