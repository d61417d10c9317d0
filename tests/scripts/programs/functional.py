"""Hamiltonian Monte Carlo, learning to learn, ensembles and gradients of single examples by function transforms."""

import torch
import torch.distributions as dist
import torch.nn as nn
from torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, stack_module_state, vjp, vmap

torch.manual_seed(0)
X = torch.randn(30, 2)
yb = torch.bernoulli(torch.sigmoid(X @ torch.tensor([1.5, -1.0]) + 0.3))


def logp(w):
    return dist.Bernoulli(logits=X @ w[:2] + w[2]).log_prob(yb).sum() + dist.Normal(0.0, 2.0).log_prob(w).sum()


def hmc(w, eps=0.1, L=8):
    p = torch.randn_like(w)
    g = grad(logp)
    q, r = w, p + eps / 2 * g(w)
    for i in range(L):
        q = q + eps * r
        r = r + (eps if i < L - 1 else eps / 2) * g(q)
    a = (logp(q) - r.pow(2).sum() / 2) - (logp(w) - p.pow(2).sum() / 2)
    return (q, True) if torch.rand(()).log() < a else (w, False)


w = torch.zeros(3)
S, acc = [], 0
for _ in range(60):
    w, ok = hmc(w)
    acc += ok
    S.append(w)
S = torch.stack(S[20:])
print(acc, S.mean(0), S.std(0), torch.cov(S.T))
# MAML
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
params = dict(net.named_parameters())
opt = torch.optim.Adam(net.parameters(), lr=0.01)


def loss(p, x, y):
    return ((functional_call(net, p, (x,)) - y) ** 2).mean()


def inner(p, xs, ys, xq, yq):
    g = grad(loss)(p, xs, ys)
    return loss({k: p[k] - 0.1 * g[k] for k in p}, xq, yq)


for it in range(10):
    A, ph = torch.rand(5, 1, 1) * 4 + 0.1, torch.rand(5, 1, 1) * 3
    xs, xq = torch.rand(5, 6, 1) * 10 - 5, torch.rand(5, 6, 1) * 10 - 5
    l = vmap(inner, in_dims=(None, 0, 0, 0, 0))(params, xs, A * torch.sin(xs + ph), xq, A * torch.sin(xq + ph)).mean()
    opt.zero_grad()
    l.backward()
    opt.step()
    if it % 3 == 0:
        print(it, f"{l.item():.5f}")
# ensembling and per-sample gradients
models = [nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)) for _ in range(3)]
P, B = stack_module_state(models)
base = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)).to("meta")
x = torch.randn(5, 3)
print(vmap(lambda p, b, x: functional_call(base, (p, b), (x,)), in_dims=(0, 0, None))(P, B, x).squeeze(-1))
pp = {k: v.detach() for k, v in models[0].named_parameters()}
ft = vmap(grad_and_value(lambda p, x, y: ((functional_call(models[0], p, (x[None],)) - y) ** 2).sum()), in_dims=(None, 0, 0))
G, V = ft(pp, x, torch.zeros(5, 1))
print({k: v.shape for k, v in G.items()}, V)
print(
    hessian(lambda x: (x**3).sum())(torch.arange(3.0)),
    jacfwd(torch.sin)(torch.zeros(2)),
    jacrev(lambda x: (x**2, x.sum()), has_aux=True)(torch.ones(2)),
)
print(vmap(lambda k: torch.randn(2), randomness="different", in_dims=0)(torch.zeros(3)).shape, torch.vmap(torch.dot)(x, x))
f, vf = vjp(lambda a: a.exp(), torch.zeros(2))
print(vf(torch.ones(2)), jvp(torch.tanh, (torch.zeros(2),), (torch.ones(2),)))
try:
    vmap(lambda x: x.item())(torch.ones(2))
except RuntimeError as e:
    print(str(e)[:90])
try:
    vmap(lambda x: torch.rand(1) + x)(torch.ones(2))
except RuntimeError as e:
    print(str(e)[:90])
