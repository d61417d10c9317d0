"""A Bayesian regression by variational inference with three guides and by NUTS, a mixture by enumeration."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import MCMC, NUTS, SVI, Trace_ELBO, TraceEnum_ELBO, config_enumerate
from pyro.infer import autoguide

PACKAGES = ("pyro-ppl",)
CLOSE = 1e-3


def data() -> tuple:
    pyro.clear_param_store()
    pyro.set_rng_seed(0)
    x = torch.randn(30, 2)
    return x, x @ torch.tensor([1.0, -2.0]) + 0.5 + 0.1 * torch.randn(30)


def model(x: torch.Tensor, y: torch.Tensor) -> None:
    weight = pyro.sample("weight", dist.Normal(torch.zeros(2), 1.0).to_event(1))
    bias, scale = pyro.sample("bias", dist.Normal(0.0, 1.0)), pyro.sample("scale", dist.LogNormal(0.0, 1.0))
    with pyro.plate("rows", len(x)):
        pyro.sample("y", dist.Normal(x @ weight + bias, scale), obs=y)


def guided(guide: str) -> list:
    x, y = data()
    inference = SVI(model, getattr(autoguide, guide)(model), pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
    return [inference.step(x, y) for _ in range(6)]


def sampled() -> dict:
    x, y = data()
    chain = MCMC(NUTS(model), num_samples=10, warmup_steps=10, disable_progbar=True)
    chain.run(x, y)
    return {name: values.mean(0) for name, values in sorted(chain.get_samples().items())}


@config_enumerate
def mixture(x: torch.Tensor) -> None:
    weights = pyro.sample("weights", dist.Dirichlet(0.5 * torch.ones(2)))
    with pyro.plate("parts", 2):
        places = pyro.sample("places", dist.Normal(0.0, 5.0))
    with pyro.plate("rows", len(x)):
        part = pyro.sample("part", dist.Categorical(weights))
        pyro.sample("x", dist.Normal(places[part], 1.0), obs=x)


def enumerated() -> list:
    data()
    guide = autoguide.AutoDelta(pyro.poutine.block(mixture, expose=["weights", "places"]))
    inference = SVI(mixture, guide, pyro.optim.Adam({"lr": 0.1}), TraceEnum_ELBO(max_plate_nesting=1))
    x = torch.cat([torch.randn(10) - 3, torch.randn(10) + 3])
    return [inference.step(x) for _ in range(5)]


CASES = {**{guide: lambda guide=guide: guided(guide) for guide in ("AutoDiagonalNormal", "AutoMultivariateNormal", "AutoDelta")},
         "NUTS": sampled, "enumeration": enumerated}
