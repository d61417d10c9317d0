"""torch.distributions: numbers drawn for a seed, densities, moments and divergences, with gradients; and what is refused."""

from __future__ import annotations

import math
import warnings
from typing import Any

from tests.recording import Table, attempted

# `t` makes parameters that require grad, `m` matrices among them; D is the module.
DISTRIBUTIONS = {
    "Bernoulli": ["D.Bernoulli(t(0.2, 0.5, 0.9))", "D.Bernoulli(logits=t(-1., 0., 3.))", "D.Bernoulli(0.3)", "D.Bernoulli(t(0., 1.))",
                  "D.Bernoulli(probs=t(0.4, double=True))"],
    "Beta": ["D.Beta(t(0.5, 2., 7.), t(1.5, 1., 8.))", "D.Beta(1.5, 2.5)", "D.Beta(t(0.3, 7., double=True), 8.)"],
    "Binomial": ["D.Binomial(5, t(0.2, 0.7))", "D.Binomial(torch.tensor([3., 100.]), t(0.4, 0.45))", "D.Binomial(4, logits=t(-2., 1.))",
                 "D.Binomial(6, t(0., 1.))", "D.Binomial(3, t(0.3, double=True))"],
    "Categorical": ["D.Categorical(t(1., 2., 3.))", "D.Categorical(logits=m([-1., 0., 2.], [0., 0., 0.]))",
                    "D.Categorical(t(0., 1., double=True))", "D.Categorical(logits=t(0., -math.inf, 1.))"],
    "Cauchy": ["D.Cauchy(t(0., 2.), t(1., 3.))", "D.Cauchy(0., 2.)", "D.Cauchy(t(1., double=True), 2)"],
    "Chi2": ["D.Chi2(t(0.7, 3., 40.))", "D.Chi2(2.)"],
    "ContinuousBernoulli": ["D.ContinuousBernoulli(t(0.1, 0.5, 0.8))", "D.ContinuousBernoulli(logits=t(-3., 0., 0.001, 2.))",
                            "D.ContinuousBernoulli(0.5002, lims=(0.48, 0.52))", "D.ContinuousBernoulli(t(0.3, double=True))"],
    "Dirichlet": ["D.Dirichlet(t(0.5, 1.5, 3.))", "D.Dirichlet(m([0.2, 0.3, 0.4], [20., 30., 7.]))", "D.Dirichlet(t(2., 9., double=True))"],
    "Exponential": ["D.Exponential(t(0.5, 3.))", "D.Exponential(2.)", "D.Exponential(t(1.5, double=True))"],
    "FisherSnedecor": ["D.FisherSnedecor(t(1., 3., 5.), t(2., 4.5, 9.))", "D.FisherSnedecor(3., 6.)"],
    "Gamma": ["D.Gamma(t(0.3, 1., 9., 200.), t(2., 0.5, 1., 3.))", "D.Gamma(2., 3.)", "D.Gamma(t(0.7, 5., double=True), 2)"],
    "GeneralizedPareto": ["D.GeneralizedPareto(t(0., 1., -1.), t(1., 2., 0.5), t(0., 0.4, -0.5))", "D.GeneralizedPareto(0., 1., 0.7)",
                          "D.GeneralizedPareto(0., 1., t(0.2, double=True))"],
    "Geometric": ["D.Geometric(t(0.2, 0.9))", "D.Geometric(logits=t(-1., 1.))", "D.Geometric(0.4)", "D.Geometric(t(1., 0.3, double=True))"],
    "Gumbel": ["D.Gumbel(t(0., -2.), t(1., 3.))", "D.Gumbel(0., 1.)", "D.Gumbel(t(1., double=True), t(2., double=True))"],
    "HalfCauchy": ["D.HalfCauchy(t(0.5, 2.))", "D.HalfCauchy(1.)"],
    "HalfNormal": ["D.HalfNormal(t(0.5, 2.))", "D.HalfNormal(1.)", "D.HalfNormal(t(2., double=True))"],
    "Independent": ["D.Independent(D.Normal(m([0., 1.], [2., 3.]), t(1., 2.)), 1)", "D.Independent(D.Normal(m([0., 1.], [2., 3.]), 1.), 2)",
                    "D.Independent(D.Bernoulli(t(0.3, 0.6)), 0)", "D.Independent(D.Bernoulli(t(0.3, 0.6)), 1)"],
    "InverseGamma": ["D.InverseGamma(t(0.8, 3., 5.), t(1., 2., 0.5))", "D.InverseGamma(3., 1.)"],
    "Kumaraswamy": ["D.Kumaraswamy(t(0.5, 2., 1.), t(1.5, 3., 1.))", "D.Kumaraswamy(2., 3.)"],
    "Laplace": ["D.Laplace(t(0., 1.), t(1., 2.))", "D.Laplace(0., 1.)", "D.Laplace(t(0., double=True), t(1., double=True))"],
    "LKJCholesky": ["D.LKJCholesky(3, t(0.5, 2.))", "D.LKJCholesky(2)", "D.LKJCholesky(4, t(1., double=True))"],
    "LogNormal": ["D.LogNormal(t(0., 1.), t(0.5, 0.25))", "D.LogNormal(0., 1.)"],
    "LogisticNormal": ["D.LogisticNormal(t(0., 1., 2.), t(1., 0.5, 2.))", "D.LogisticNormal(m([0., 1.], [1., 1.]), m([1., 1.], [2., 0.5]))",
                       "D.LogisticNormal(0., 1.)"],
    "LowRankMultivariateNormal": [
        "D.LowRankMultivariateNormal(t(0., 1.), m([1.], [0.5]), t(1., 2.))",
        "D.LowRankMultivariateNormal(m([0., 1., 2.], [1., 1., 1.]), m([1., 0.], [0.5, 1.], [0., 2.]), t(1., 2., 0.5))"],
    "MixtureSameFamily": [
        "D.MixtureSameFamily(D.Categorical(t(1., 2.)), D.Normal(t(0., 5.), t(1., 2.)))",
        "D.MixtureSameFamily(D.Categorical(m([1., 2.], [1., 1.])), D.Independent(D.Normal(torch.ones(2, 2, 3), 1.), 1))",
        "D.MixtureSameFamily(D.Categorical(t(1., 2.)), D.MultivariateNormal(m([0., 0.], [3., 3.]), torch.eye(2)))"],
    "Multinomial": ["D.Multinomial(4, t(1., 2., 3.))", "D.Multinomial(3, logits=m([-1., 0.], [0., 2.]))",
                    "D.Multinomial(2, t(0., 1., double=True))"],
    "MultivariateNormal": [
        "D.MultivariateNormal(t(0., 1.), m([2., 0.5], [0.5, 1.]))", "D.MultivariateNormal(t(0., 1.), scale_tril=m([1., 0.], [0.5, 2.]))",
        "D.MultivariateNormal(m([0., 1.], [2., 3.]), precision_matrix=m([2., 0.5], [0.5, 1.]))",
        "D.MultivariateNormal(torch.zeros(3, 1, 2), m([2., 0.5], [0.5, 1.]).expand(2, 2, 2))",
        "D.MultivariateNormal(t(0., 1., double=True), torch.eye(2).double())"],
    "NegativeBinomial": ["D.NegativeBinomial(3., t(0.2, 0.7))", "D.NegativeBinomial(t(1., 0.), t(0.4, 0.4))",
                         "D.NegativeBinomial(2, logits=t(-1., 1., double=True))"],
    "Normal": ["D.Normal(t(0., 1.), t(1., 2.))", "D.Normal(0., 1.)", "D.Normal(t(0., 1., 2.), 1)", "D.Normal(t(0., double=True), 2.)",
               "D.Normal(torch.zeros(20), t(2.))"],
    "OneHotCategorical": ["D.OneHotCategorical(t(1., 2., 3.))", "D.OneHotCategorical(logits=m([-1., 0., 2.], [0., 0., 0.]))"],
    "OneHotCategoricalStraightThrough": ["D.OneHotCategoricalStraightThrough(t(1., 2., 3.))",
                                         "D.OneHotCategoricalStraightThrough(logits=m([-1., 0., 2.], [0., 0., 0.]))"],
    "Pareto": ["D.Pareto(t(1., 2.), t(0.5, 3.))", "D.Pareto(1., 4.)"],
    "Poisson": ["D.Poisson(t(0.5, 3., 40.))", "D.Poisson(2.)", "D.Poisson(t(0., 1., double=True))"],
    "RelaxedBernoulli": ["D.RelaxedBernoulli(torch.tensor([2.]), t(0.2, 0.7))", "D.RelaxedBernoulli(t(0.5), logits=t(-1., 1.))",
                         "D.relaxed_bernoulli.LogitRelaxedBernoulli(t(0.5), t(0.1, 0.9))"],
    "RelaxedOneHotCategorical": ["D.RelaxedOneHotCategorical(torch.tensor([2.]), t(1., 2., 3.))",
                                 "D.RelaxedOneHotCategorical(t(0.5), logits=t(-1., 1.))",
                                 "D.relaxed_categorical.ExpRelaxedCategorical(t(0.5), t(1., 3.))"],
    "StudentT": ["D.StudentT(t(0.5, 1.5, 4.), t(0., 1., 2.), t(1., 2., 3.))", "D.StudentT(3.)", "D.StudentT(t(5., double=True))"],
    "TransformedDistribution": [
        "D.TransformedDistribution(D.Normal(t(0., 1.), t(1., 2.)), D.ExpTransform())",
        "D.TransformedDistribution(D.Uniform(t(0.), t(1.)), [D.SigmoidTransform().inv, D.AffineTransform(t(1., 2.), -2.)])",
        "D.TransformedDistribution(D.Normal(t(0., 1., 2.), 1.), [D.StickBreakingTransform()])",
        "D.TransformedDistribution(D.Normal(torch.zeros(4), t(1.)), [D.ReshapeTransform((4,), (2, 2))])",
        "D.TransformedDistribution(D.Normal(t(0., 1.), 1.), [])"],
    "Uniform": ["D.Uniform(t(0., -1.), t(1., 3.))", "D.Uniform(0., 2.)", "D.Uniform(t(0., double=True), 1.)"],
    "VonMises": ["D.VonMises(t(0., 2.), t(1., 10.))", "D.VonMises(0., t(1e-6, 4., double=True))"],
    "Weibull": ["D.Weibull(t(1., 2.), t(0.5, 3.))", "D.Weibull(1., 2.)"],
    "Wishart": ["D.Wishart(t(3.), m([2., 0.5], [0.5, 1.]))", "D.Wishart(torch.tensor([4., 5.]), scale_tril=m([1., 0.], [0.5, 2.]))",
                "D.Wishart(5, precision_matrix=m([2., 0.5], [0.5, 1.]))"],
}
QUESTIONS = [
    "told", "drawn", "moved", "log_prob", "cdf", "icdf", "entropy()", "perplexity()", "mean", "mode", "variance", "stddev",
    "enumerate_support()", "enumerate_support(expand=False)", "expanded", "refused",
]
BAD = [
    "D.Normal(0., -1.)", "D.Normal(torch.tensor([0., math.nan]), 1.)", "D.Normal('a', 1.)", "D.Normal(torch.zeros(2), torch.ones(3))",
    "D.Bernoulli()", "D.Bernoulli(0.5, 0.5)", "D.Bernoulli(1.5)", "D.Bernoulli(torch.tensor([0.5, 2.]))", "D.Binomial(3)",
    "D.Binomial(-1, torch.tensor(0.5))", "D.Binomial(1.5, torch.tensor(0.5))", "D.Categorical()", "D.Categorical(torch.tensor(1.))",
    "D.Categorical(logits=torch.tensor(1.))", "D.Categorical(torch.tensor([-1., 2.]))", "D.Categorical(torch.zeros(2))",
    "D.ContinuousBernoulli()", "D.ContinuousBernoulli(torch.tensor(2.), validate_args=True)", "D.ContinuousBernoulli(2.)",
    "D.Dirichlet(torch.tensor(1.))", "D.Dirichlet(torch.tensor([1., 0.]))", "D.Beta(0., 1.)", "D.Geometric(0.)", "D.Geometric()",
    "D.Geometric(torch.tensor([0., 0.5]))", "D.Gamma(1., 0.)", "D.Chi2(-1.)", "D.Exponential(0.)", "D.Uniform(1., 0.)",
    "D.Uniform(torch.tensor([0., 1.]), torch.tensor([1., 1.]))", "D.Poisson(-1.)", "D.Pareto(0., 1.)", "D.StudentT(0.)",
    "D.Weibull(0., 1.)",
    "D.Gumbel(0., 0.)", "D.HalfNormal(0.)", "D.HalfCauchy(-1.)", "D.LKJCholesky(1)", "D.LKJCholesky(2, 0.)", "D.LogNormal(0., 0.)",
    "D.MultivariateNormal(torch.tensor(0.), torch.eye(2))", "D.MultivariateNormal(torch.zeros(2))", "D.NegativeBinomial(1., None)",
    "D.MultivariateNormal(torch.zeros(2), torch.eye(2), torch.eye(2))", "D.MultivariateNormal(torch.zeros(2), torch.zeros(2))",
    "D.MultivariateNormal(torch.zeros(2), scale_tril=torch.zeros(2))",
    "D.MultivariateNormal(torch.zeros(2), precision_matrix=torch.ones(2))",
    "D.MultivariateNormal(torch.zeros(2), torch.tensor([[1., 2.], [0., 1.]]))", "D.MultivariateNormal(torch.zeros(2), -torch.eye(2))",
    "D.MultivariateNormal(torch.zeros(2), scale_tril=torch.ones(2, 2))", "D.MultivariateNormal(torch.zeros(3), torch.eye(2))",
    "D.LowRankMultivariateNormal(torch.tensor(0.), torch.ones(2, 1), torch.ones(2))",
    "D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2), torch.ones(2))",
    "D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(3, 1), torch.ones(2))",
    "D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(3))",
    "D.LowRankMultivariateNormal(torch.zeros(2, 2), torch.ones(3, 2, 1), torch.ones(2))",
    "D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.zeros(2))",
    "D.MixtureSameFamily(D.Normal(0., 1.), D.Normal(0., 1.))", "D.MixtureSameFamily(D.Categorical(torch.ones(2)), 3)",
    "D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.zeros(3), 1.))",
    "D.MixtureSameFamily(D.Categorical(torch.ones(3, 2)), D.Normal(torch.zeros(2, 2), 1.))", "D.Multinomial(2., torch.ones(2))",
    "D.Multinomial(2)", "D.OneHotCategorical()", "D.Independent(D.Normal(0., 1.), 1)", "D.NegativeBinomial(-1., torch.tensor(0.5))",
    "D.NegativeBinomial(1., torch.tensor(1.))", "D.TransformedDistribution(D.Normal(0., 1.), 3)",
    "D.TransformedDistribution(D.Normal(0., 1.), [3])", "D.TransformedDistribution(D.Normal(0., 1.), D.StickBreakingTransform())",
    "D.Wishart(torch.tensor(3.))", "D.Wishart(torch.tensor(0.5), torch.eye(2))", "D.Wishart(torch.tensor(3.), torch.ones(2))",
    "D.Wishart(torch.tensor(3.), torch.eye(2), torch.eye(2))", "D.RelaxedBernoulli(torch.tensor(1.))", "D.VonMises(0., 0.)",
    "D.RelaxedOneHotCategorical(torch.tensor(1.))", "D.Distribution.set_default_validate_args('x')", "D.Distribution()",
    "D.Distribution(validate_args=False).sample()", "D.Distribution(validate_args=False).mode", "D.Distribution().expand((2,))",
    "D.Distribution(validate_args=False).log_prob(1)", "D.Normal(0., 1.).log_prob(1.)", "D.Normal(0., 1.).sample('x')",
    "D.Binomial(torch.tensor([1., 2.]), torch.tensor(0.5)).entropy()", "D.Normal(torch.zeros(2), 1.).expand((3,))",
    "D.Binomial(torch.tensor([1., 2.]), torch.tensor(0.5)).enumerate_support()", "Own(torch.zeros(2), 1.).expand((3, 2))",
    "D.Normal(0., 1., validate_args=False).log_prob(torch.tensor(math.nan))", "D.Normal(0., -1., validate_args=False).scale",
    "D.Normal(torch.zeros(2), 1.).sample_n(3).shape", "D.Normal(0., 1.).has_rsample, D.Normal.arg_constraints, D.Binomial.support",
    "D.Binomial.support.is_discrete, D.Binomial.support.event_dim", "D.Independent.support.event_dim", "D.Independent.support.is_discrete",
]
VALUES = {"nan": "torch.full(shape, math.nan)", "low": "torch.full(shape, -1.5)", "other": "torch.full((7, 5), 0.5)", "none": "None"}
FROM_OTHERS = {  # where divergences are neither infinite nor the same everywhere
    **{name: codes[0] for name, codes in DISTRIBUTIONS.items()}, "Bernoulli": "D.Bernoulli(t(0.2, 0.6))",
    "Beta": "D.Beta(t(0.5, 2.), t(1.5, 1.))", "Chi2": "D.Chi2(t(0.7, 3.))", "ContinuousBernoulli": "D.ContinuousBernoulli(t(0.1, 0.8))",
    "Dirichlet": "D.Dirichlet(t(0.5, 1.5))", "FisherSnedecor": "D.FisherSnedecor(t(1., 3.), t(2., 4.5))",
    "Gamma": "D.Gamma(t(0.5, 2.), t(2., 1.))",
    "GeneralizedPareto": "D.GeneralizedPareto(0., 1., t(0.1, 0.2))", "InverseGamma": "D.InverseGamma(t(1., 3.), t(1., 2.))",
    "Kumaraswamy": "D.Kumaraswamy(t(0.5, 2.), t(1.5, 3.))", "Pareto": "D.Pareto(t(1., 2.), t(2.5, 3.))", "Poisson": "D.Poisson(t(0.5, 3.))",
    "StudentT": "D.StudentT(t(1.5, 4.))", "Uniform": "D.Uniform(t(0.1, 0.5), t(0.8, 0.75))",
    "Wishart": "D.Wishart(t(3.), m([2., 0.5], [0.5, 1.]))",
}
SECOND = {  # a second one of a class, for divergences from the same class
    "Bernoulli": "D.Bernoulli(t(0., 0.5))", "Binomial": "D.Binomial(torch.tensor([5, 4]), t(0.3, 0.6))",
    "Categorical": "D.Categorical(t(2., 1., 0.))", "Normal": "D.Normal(t(0.5, -1.), t(2., 0.5))",
    "Uniform": "D.Uniform(t(0., 0.6), t(1., 2.))",
    "MultivariateNormal": "D.MultivariateNormal(m([1., 1.], [0., 0.]), scale_tril=m([2., 0.], [0.5, 0.75]))",
    "LowRankMultivariateNormal": "D.LowRankMultivariateNormal(m([1., 1.], [0., 0.]), m([0.5], [1.]), t(0.5, 0.75))",
    "Independent": "D.Independent(D.Normal(m([1., 1.], [0., 0.]), t(2., 1.)), 1)", "Pareto": "D.Pareto(t(0.5, 3.), t(1., 2.))",
    "TransformedDistribution": "D.TransformedDistribution(D.Normal(t(1., 1.), t(2., 2.)), [D.ExpTransform()])",
    "Gamma": "D.Gamma(t(1., 3.), t(0.5, 2.))", "Beta": "D.Beta(t(1., 3.), t(2., 2.))", "Dirichlet": "D.Dirichlet(t(2., 0.25))",
}


def _pairs(torch: Any) -> list[str]:
    """All pairs of classes with a divergence, a pair of two of each class, and some without one."""
    D = torch.distributions
    registered = D.kl._KL_REGISTRY
    found = [f"{p} from {q}" for p in FROM_OTHERS for q in FROM_OTHERS
             if any(issubclass(getattr(D, p), a) and issubclass(getattr(D, q), b) and (a, b) != (D.ExponentialFamily,) * 2
                    for a, b in registered)]
    return [*found, *[f"{name} from another" for name in SECOND], *[f"another {name} from it" for name in SECOND],
            "Normal from Cauchy", "Chi2 from Poisson", "StudentT from Normal", "Wishart from Wishart", "Exponential from Poisson"]


def _places(torch: Any) -> tuple[dict[str, Any], list[Any]]:
    leaves: list[Any] = []

    def t(*numbers: float, double: bool = False) -> Any:
        leaves.append(torch.tensor(numbers, dtype=torch.float64 if double else torch.float32, requires_grad=True))
        return leaves[-1] if len(numbers) > 1 else leaves[-1][0]

    def m(*rows: list[float]) -> Any:
        leaves.append(torch.tensor(rows, requires_grad=True))
        return leaves[-1]

    class Own(torch.distributions.Normal):  # type: ignore[misc,name-defined]
        def __init__(self, loc: Any, scale: Any) -> None:
            super().__init__(loc, scale)

    return {"torch": torch, "D": torch.distributions, "t": t, "m": m, "math": math, "Own": Own}, leaves


def told(value: Any) -> Any:
    """Tensors by dtype, shape and numbers; anything else as text."""
    if type(value).__name__ in ("Tensor", "Parameter"):
        numbers = [x if isinstance(x, bool) else x + 0.0 for x in value.detach().reshape(-1).tolist()]
        return {"dtype": str(value.dtype), "shape": list(value.shape), "values": numbers}
    if isinstance(value, (tuple, list)):
        return [told(x) for x in value]
    return str(value).replace("torchcompat.", "torch.")


def _with_gradients(torch: Any, value: Any, *leaves: Any) -> Any:
    """A tensor, and the gradients of a sum of its elements with different weights."""
    if not value.requires_grad:
        return [told(value)]
    weights = torch.arange(1., value.numel() + 1, dtype=value.dtype).reshape(value.shape) / value.numel()
    found = torch.autograd.grad((value * weights).sum(), leaves, allow_unused=True)
    return [told(value), *[told(x) for x in found]]


def _of_distribution(torch: Any, case: str) -> Any:
    code, _, question = case.rpartition(" | ")
    places, leaves = _places(torch)
    torch.manual_seed(7)
    if not question:
        return attempted(lambda: told(eval(code, places)))
    d = eval(code, places)
    draw = d.sample()
    if question == "told":
        return [repr(d), told([d.batch_shape, d.event_shape, d.has_rsample, d.has_enumerate_support]), attempted(lambda: repr(d.support)),
                {name: repr(c) for name, c in d.arg_constraints.items()}]
    if question == "drawn":
        return [told(x) for x in (draw, d.sample((2, 3)), d.sample(torch.Size([9])), torch.rand(2))]
    if question == "moved":
        return attempted(lambda: [*_with_gradients(torch, d.rsample((3,)), *leaves), told(torch.rand(2))])
    if question in ("log_prob", "cdf", "icdf"):
        torch.manual_seed(8)
        kind = draw.dtype if draw.is_floating_point() else torch.float32
        at = torch.rand((4,) + d.batch_shape, dtype=kind) if question == "icdf" else d.sample((4,)).detach()
        if at.is_floating_point():
            at.requires_grad_()
        return attempted(lambda: _with_gradients(torch, getattr(d, question)(at), *leaves, *[at] * at.is_floating_point()))
    if question == "expanded":
        wide = d.expand((2, *d.batch_shape))
        return [repr(wide), told(wide.sample()), told(wide.log_prob(draw)), attempted(lambda: told(wide.expand((3, 2,
        *d.batch_shape)).mean)),
                attempted(lambda: repr(d.expand((5, 7))))]
    if question == "refused":
        places["shape"] = draw.shape
        return {name: attempted(lambda value=value: told(d.log_prob(eval(value, places)))) for name, value in VALUES.items()}
    return attempted(lambda: _with_gradients(torch, eval(f"d.{question}", {"d": d}), *leaves))


def _of_pair(torch: Any, case: str) -> Any:
    places, leaves = _places(torch)
    other = case.removeprefix("another ").removesuffix(" from it").removesuffix(" from another")
    if other in SECOND and other != case:
        codes = [FROM_OTHERS[other], SECOND[other]][::-1 if case.startswith("another") else 1]
    else:
        codes = [FROM_OTHERS[name] for name in case.split(" from ")]
    p, q = [eval(code, places) for code in codes]
    return attempted(lambda: _with_gradients(torch, torch.distributions.kl_divergence(p, q), *leaves))


def _quietly(outcome: Any) -> Any:
    def found(torch: Any, case: str) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return attempted(lambda: outcome(torch, case))

    return found


CASES = [f"{code} | {question}" for codes in DISTRIBUTIONS.values() for code in codes for question in QUESTIONS]
TABLE = Table("distributions", [*CASES, *[f"{code} | " for code in BAD]], _quietly(_of_distribution), (2e-5, 1e-5), digits=8, zipped=True,
              doubles=(1e-7, 1e-9))
DIVERGENCES = Table("divergences", _pairs, _quietly(_of_pair), (5e-5, 5e-6), digits=7, zipped=True)
