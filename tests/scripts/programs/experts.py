"""A mixture of experts with weights quantized by hand, taught by a larger network."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class FakeQuant(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, zp, lo, hi):
        q = torch.clamp(torch.round(x / scale) + zp, lo, hi)
        ctx.save_for_backward((q > lo) & (q < hi))
        return (q - zp) * scale

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None, None, None, None


class Observer(nn.Module):
    def __init__(s):
        super().__init__()
        s.register_buffer("mn", torch.tensor(float("inf")))
        s.register_buffer("mx", torch.tensor(float("-inf")))

    def forward(s, x):
        if s.training:
            s.mn = torch.minimum(s.mn, x.detach().amin())
            s.mx = torch.maximum(s.mx, x.detach().amax())
        scale = (s.mx - s.mn).clamp(min=1e-8) / 255
        zp = (-s.mn / scale).round().clamp(0, 255)
        return FakeQuant.apply(x, scale, zp, 0, 255)


class QLinear(nn.Linear):
    def __init__(s, *a):
        super().__init__(*a)
        s.obs = Observer()

    def forward(s, x):
        w = s.weight.abs().amax(1, keepdim=True) / 127
        return F.linear(s.obs(x), FakeQuant.apply(s.weight, w.detach(), 0, -127, 127), s.bias)


class MoE(nn.Module):
    def __init__(s, d, n=4, k=2):
        super().__init__()
        s.gate = nn.Linear(d, n, bias=False)
        s.experts = nn.ModuleList(nn.Sequential(QLinear(d, 2 * d), nn.ReLU(), QLinear(2 * d, d)) for _ in range(n))
        s.k = k

    def forward(s, x):
        p = s.gate(x).softmax(-1)
        w, i = p.topk(s.k, -1)
        w = w / w.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for e, ex in enumerate(s.experts):
            t, slot = torch.where(i == e)
            if t.numel():
                out.index_add_(0, t, w[t, slot, None] * ex(x[t]))
        load = F.one_hot(i, len(s.experts)).sum((0, 1)).float()
        s.aux = (p.mean(0) * load / load.sum()).sum() * len(s.experts)
        return out, load


teacher = nn.Sequential(nn.Linear(8, 32), nn.Mish(), nn.Linear(32, 5)).eval().requires_grad_(False)
inp, moe, head = nn.Linear(8, 8), MoE(8), nn.Linear(8, 5)
ps = [*inp.parameters(), *moe.parameters(), *head.parameters()]
o = torch.optim.AdamW(ps, lr=0.01, fused=False, foreach=True)
X = torch.randn(64, 8)
T = 2.0
for i in range(12):
    with torch.no_grad():
        tl = teacher(X)
        y = tl.argmax(1)
    h, load = moe(torch.tanh(inp(X)))
    sl = head(h)
    kd = nn.KLDivLoss(reduction="batchmean")(F.log_softmax(sl / T, 1), F.softmax(tl / T, 1)) * T * T
    loss = 0.7 * kd + 0.3 * F.cross_entropy(sl, y) + 0.01 * moe.aux
    o.zero_grad()
    loss.backward()
    o.step()
    if i % 3 == 0:
        print(i, f"{loss.item():.4f} {kd.item():.4f}", load.tolist(), (sl.argmax(1) == y).float().mean().item())
print(moe.experts[0][0].obs.mn)
q = torch.clamp((moe.gate.weight / 0.02).round(), -128, 127).to(torch.int8)
print(q[0], q.dtype, (q.int() @ q.int().T)[0], torch.iinfo(torch.int8))
print(torch.gumbel if hasattr(torch, "gumbel") else "none", F.gumbel_softmax(torch.zeros(2, 3), hard=True))
