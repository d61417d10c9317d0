"""Averages of weights: stochastic weight averaging and exponential ones."""

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_avg_fn, get_ema_multi_avg_fn, update_bn

torch.manual_seed(0)
X = torch.randn(128, 6)
y = (X[:, :2].sum(1) > 0).long()
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, y), 32, shuffle=True)
m = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
o = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
swa = AveragedModel(m)
ema = AveragedModel(m, multi_avg_fn=get_ema_multi_avg_fn(0.9))
ema2 = AveragedModel(m, avg_fn=get_ema_avg_fn(0.9), use_buffers=True)
sch = CosineAnnealingLR(o, T_max=6)
sw = SWALR(o, anneal_strategy="linear", anneal_epochs=2, swa_lr=0.05)
for ep in range(8):
    for a, b in loader:
        l = nn.functional.cross_entropy(m(a), b)
        o.zero_grad()
        l.backward()
        o.step()
        ema.update_parameters(m)
        ema2.update_parameters(m)
    if ep >= 4:
        swa.update_parameters(m)
        sw.step()
    else:
        sch.step()
    print(ep, f"{l.item():.5f}", [f"{g['lr']:.5f}" for g in o.param_groups], swa.n_averaged.item(), ema.n_averaged)
update_bn(loader, swa)
with torch.no_grad():
    for k in (m, swa, ema, ema2):
        k.eval()
        print(f"{nn.functional.cross_entropy(k(X), y):.5f}", (k(X).argmax(1) == y).float().mean())
print(list(swa.state_dict())[:3], swa)


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {n: p.clone().detach() for n, p in model.named_parameters() if p.requires_grad}

    @torch.no_grad()
    def update(self, model):
        for n, p in model.named_parameters():
            self.shadow[n].lerp_(p, 1 - self.decay)


e = EMA(m, 0.99)
m.train()
for a, b in loader:
    l = nn.functional.cross_entropy(m(a), b)
    o.zero_grad()
    l.backward()
    o.step()
    e.update(m)
print(e.shadow["0.bias"][:4])
