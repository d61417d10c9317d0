"""A normalizing flow, transforms of one's own, and what distributions draw and say."""

import torch
import torch.distributions as D
import torch.nn as nn
from torch.distributions.transforms import AffineTransform, SigmoidTransform, Transform

torch.manual_seed(0)


class RealNVP(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        self.register_buffer("masks", torch.tensor([[0.0, 1.0], [1.0, 0.0]] * (n // 2)))
        net = lambda out: nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(), nn.Linear(16, 2), out)
        self.s = nn.ModuleList([net(nn.Tanh()) for _ in range(n)])
        self.t = nn.ModuleList([net(nn.Identity()) for _ in range(n)])
        self.register_buffer("loc", torch.zeros(2))
        self.register_buffer("cov", torch.eye(2))

    @property
    def prior(self):
        return D.MultivariateNormal(self.loc, self.cov)

    def inverse(self, x):
        ld, z = x.new_zeros(x.shape[0]), x
        for i in reversed(range(len(self.t))):
            m = self.masks[i]
            z_ = m * z
            s, t = self.s[i](z_) * (1 - m), self.t[i](z_) * (1 - m)
            z = (1 - m) * (z - t) * torch.exp(-s) + z_
            ld -= s.sum(1)
        return z, ld

    def log_prob(self, x):
        z, ld = self.inverse(x)
        return self.prior.log_prob(z) + ld

    def sample(self, n):
        x = self.prior.sample((n,))
        for m, s, t in zip(self.masks, self.s, self.t):
            x_ = x * m
            x = x_ + (1 - m) * (x * torch.exp(s(x_) * (1 - m)) + t(x_))
        return x


def moons(n):
    a = torch.rand(n) * torch.pi
    up = torch.rand(n) < 0.5
    return torch.stack([torch.where(up, a.cos(), 1 - a.cos()), torch.where(up, a.sin(), 0.5 - a.sin())], 1) + 0.05 * torch.randn(n, 2)


f = RealNVP()
o = torch.optim.Adamax(f.parameters(), lr=5e-3)
for i in range(30):
    l = -f.log_prob(moons(64)).mean()
    o.zero_grad()
    l.backward()
    o.step()
    if i % 6 == 0:
        print(i, f"{l.item():.5f}")
f.eval()
print(f.sample(2))
print(f.prior)


class Planar(Transform):
    domain = D.constraints.real_vector
    codomain = D.constraints.real_vector
    bijective = True

    def __init__(self, w, b):
        super().__init__(cache_size=1)
        self.w, self.b = w, b

    def _call(self, x):
        return x + 0.5 * torch.tanh(x @ self.w + self.b).unsqueeze(-1) * self.w

    def log_abs_det_jacobian(self, x, y):
        return torch.log(1 + 0.5 * (1 - torch.tanh(x @ self.w + self.b) ** 2) * (self.w @ self.w))


w = torch.tensor([0.6, -0.3], requires_grad=True)
td = D.TransformedDistribution(D.Independent(D.Normal(torch.zeros(2), 1.0), 1), [Planar(w, 0.1)])
y = td.rsample((3,))
print(y, td.log_prob(y))
td.log_prob(y).sum().backward()
print(w.grad)
lg = D.TransformedDistribution(D.Uniform(0.0, 1.0), [SigmoidTransform().inv, AffineTransform(1.0, 2.0)])
s = lg.sample((4,))
print(s, lg.log_prob(s), lg.cdf(s))
print(lg)
mix = D.MixtureSameFamily(D.Categorical(torch.tensor([0.3, 0.7])), D.Normal(torch.tensor([-1.0, 2.0]), torch.tensor([0.5, 1.0])))
print(mix.sample((3,)), mix.log_prob(torch.tensor([0.0, 1.0])), mix)
for d in (
    D.Gamma(2.0, 3.0),
    D.Beta(2.0, 3.0),
    D.Dirichlet(torch.tensor([1.0, 2.0, 3.0])),
    D.StudentT(5.0),
    D.Poisson(3.0),
    D.LogNormal(0.0, 1.0),
    D.Laplace(0.0, 1.0),
    D.Gumbel(0.0, 1.0),
    D.RelaxedBernoulli(torch.tensor(0.5), probs=torch.tensor(0.3)),
    D.VonMises(0.0, 1.0),
    D.Cauchy(0.0, 1.0),
    D.Geometric(0.3),
    D.HalfNormal(1.0),
    D.Weibull(1.0, 2.0),
    D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2)),
):
    s = d.sample((2,))
    print(type(d).__name__, s, d.log_prob(s))
    try:
        print(d.entropy())
    except NotImplementedError as e:
        print("no entropy", e)
print(D.kl_divergence(D.Gamma(2.0, 3.0), D.Gamma(1.0, 1.0)), D.kl.kl_divergence(D.Beta(1.0, 2.0), D.Beta(2.0, 2.0)))
try:
    D.Normal(0.0, -1.0)
except ValueError as e:
    print(e)
try:
    D.Bernoulli(0.5).log_prob(torch.tensor(0.3))
except ValueError as e:
    print(e)
