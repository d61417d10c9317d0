"""A neural differential equation with the adjoint method as a Function."""

import torch
import torch.nn as nn

torch.manual_seed(0)


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y**3)


def rk4(f, y, t):
    out = [y]
    for a, b in zip(t[:-1], t[1:]):
        h = b - a
        k1 = f(a, y)
        k2 = f(a + h / 2, y + h / 2 * k1)
        k3 = f(a + h / 2, y + h / 2 * k2)
        k4 = f(b, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        out.append(y)
    return torch.stack(out)


A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
t = torch.linspace(0.0, 5.0, 60)
true = rk4(lambda t, y: (y**3) @ A, torch.tensor([[2.0, 0.0]]), t)
print(true[::15].squeeze())


class Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y0, t, func, *params):
        with torch.no_grad():
            ys = rk4(func, y0, t)
        ctx.func = func
        ctx.save_for_backward(t, ys, *params)
        return ys

    @staticmethod
    def backward(ctx, g):
        t, ys, *params = ctx.saved_tensors
        a = g[-1]
        gp = [torch.zeros_like(p) for p in params]
        for i in range(len(t) - 1, 0, -1):
            with torch.enable_grad():
                y = ys[i - 1].detach().requires_grad_(True)
                out = rk4(ctx.func, y, t[i - 1 : i + 1])[-1]
                vy, *vp = torch.autograd.grad(out, (y, *params), a, allow_unused=True)
            gp = [p + v for p, v in zip(gp, vp)]
            a = vy + g[i - 1]
        return (a, None, None, *gp)


f = ODEFunc()
opt = torch.optim.RMSprop(f.parameters(), lr=1e-3)
for i in range(1, 9):
    s = torch.randperm(40)[:6]
    y0 = true[s]
    bt = t[:10]
    by = torch.stack([true[s + j] for j in range(10)])
    opt.zero_grad()
    pred = Adjoint.apply(y0, bt, f, *f.parameters()) if i % 2 else rk4(f, y0, bt)
    loss = (pred - by).abs().mean()
    loss.backward()
    opt.step()
    print(i, f"{loss.item():.6f}", f"{sum(p.grad.norm() for p in f.parameters()):.5f}")
y = torch.randn(1, 2, dtype=torch.double, requires_grad=True)
fd = ODEFunc().double()
print(torch.autograd.gradcheck(lambda y: Adjoint.apply(y, t[:4].double(), fd, *fd.parameters()), (y,)))
