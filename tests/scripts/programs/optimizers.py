"""Every optimizer and every schedule, and what they refuse."""

import warnings

import torch
import torch.nn as nn
from torch.optim import lr_scheduler as L


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


g = torch.Generator().manual_seed(1)
X = torch.randn(32, 4, generator=g)
Y = X.pow(2).sum(1, keepdim=True)
O = torch.optim
for name, kw in [
    ("SGD", dict(lr=0.01, momentum=0.9, dampening=0.1, maximize=False)),
    ("Adam", dict(lr=0.01, amsgrad=True)),
    ("AdamW", dict(lr=0.01)),
    ("Adagrad", dict(lr=0.1)),
    ("Adadelta", dict()),
    ("Adamax", dict()),
    ("NAdam", dict(momentum_decay=0.01)),
    ("RAdam", dict(lr=0.02)),
    ("RMSprop", dict(centered=True, momentum=0.5)),
    ("Rprop", dict()),
    ("ASGD", dict()),
    ("Adafactor", dict()),
    ("LBFGS", dict(max_iter=3)),
]:
    m = net()
    o = getattr(O, name)(m.parameters(), **kw)

    def closure():
        o.zero_grad()
        l = nn.functional.smooth_l1_loss(m(X), Y)
        l.backward()
        return l

    ls = [o.step(closure).item() for _ in range(6)]
    print(name, [f"{l:.5f}" for l in ls], sorted(o.param_groups[0]))
m = net()


def show(mk, n=9, metric=False):
    o = O.SGD([{"params": m[0].parameters()}, {"params": m[2].parameters(), "lr": 0.5}], lr=1.0)
    s = mk(o)
    r = []
    for _ in range(n):
        o.step()
        s.step(1.0) if metric else s.step()
        r.append(tuple(round(g["lr"], 5) for g in o.param_groups))
    print(type(s).__name__, r)


for mk in (
    lambda o: L.StepLR(o, 3),
    lambda o: L.MultiStepLR(o, [2, 5], 0.5),
    lambda o: L.ExponentialLR(o, 0.9),
    lambda o: L.CosineAnnealingLR(o, 5, 1e-3),
    lambda o: L.CosineAnnealingWarmRestarts(o, 3, 2),
    lambda o: L.LinearLR(o, 0.25, total_iters=4),
    lambda o: L.PolynomialLR(o, 5, 2.0),
    lambda o: L.ConstantLR(o, 0.5, 3),
    lambda o: L.OneCycleLR(o, [1.0, 0.5], total_steps=10),
    lambda o: L.CyclicLR(o, 0.1, 1.0, 3, mode="triangular2"),
    lambda o: L.LambdaLR(o, [lambda e: 0.95**e, lambda e: 1 / (e + 1)]),
    lambda o: L.MultiplicativeLR(o, lambda e: 0.9),
    lambda o: L.SequentialLR(o, [L.ConstantLR(o, 0.1, 2), L.ExponentialLR(o, 0.9)], milestones=[3]),
    lambda o: L.ChainedScheduler([L.ConstantLR(o, 0.5, 2), L.ExponentialLR(o, 0.9)]),
):
    show(mk)
show(lambda o: L.ReduceLROnPlateau(o, "min", 0.5, patience=1), metric=True)
o = O.SGD(m.parameters(), lr=0.1)
s = L.StepLR(o, 1)

with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    s.step()
    print([str(x.message)[:80] for x in w])
print(s.state_dict())
o.add_param_group({"params": [nn.Parameter(torch.ones(2))], "lr": 3})
print(o)
print(len(o.param_groups), o.defaults)
for f in (
    lambda: O.SGD([], lr=1),
    lambda: O.Adam(m.parameters(), lr=-1),
    lambda: O.Adam(m.parameters(), betas=(1.1, 0)),
    lambda: O.SGD([torch.ones(1) * torch.ones(1, requires_grad=True)]),
    lambda: O.SGD(m[0].weight),
    lambda: O.SGD(m.parameters(), nesterov=True),
    lambda: o.add_param_group({"params": m.parameters()}),
    lambda: L.OneCycleLR(o, 1.0),
    lambda: O.SGD([m[0].weight, m[0].weight]),
):
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        try:
            print(f())
        except Exception as e:
            print(type(e).__name__, e)
        print([str(x.message)[:60] for x in w])
