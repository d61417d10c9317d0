"""Kullback-Leibler divergences of one distribution from another, by their classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import torchcompat as torch
from torchcompat import Tensor
from torchcompat.nn.functional import softplus

from autograd_tape import warned
from .._calls.absent import absences as _absences
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily, _slopes
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal, _batch_lowrank_logdet, _batch_lowrank_mahalanobis
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant

__all__ = ["register_kl", "kl_divergence"]

# Divergences take any distributions whose classes they are registered for.
Divergence = Callable[..., Tensor]

_KL_REGISTRY: dict[tuple[type, type], Divergence] = {}
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}

_absences(__name__)


def register_kl(type_p: type, type_q: type) -> Callable[[Divergence], Divergence]:
    """A decorator that registers a function as the divergence of distributions of one class from those of another.

    The function of the closest classes is called for derived ones; where two are as close, a RuntimeWarning asks for a third.
    """
    def register(function: Divergence) -> Divergence:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return register


def _closest(matches: Iterable[tuple[type, ...]]) -> tuple[type, ...]:
    """The pair whose first class is derived from all others' first ones, then whose second is."""
    best, *others = matches
    for other in others:
        for ours, theirs in zip(best, other):
            if ours is not theirs:
                best = best if issubclass(ours, theirs) else other
                break
    return best


def _dispatch_kl(type_p: type, type_q: type) -> Any:
    """The function for two classes; NotImplemented where there is none."""
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return NotImplemented
    left_p, left_q = _closest(matches)
    right_q, right_p = _closest([(q, p) for p, q in matches])
    found = _KL_REGISTRY[left_p, left_q]
    if found is not _KL_REGISTRY[right_p, right_q]:
        warned.warn(f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
                    f"Please register_kl({left_p.__name__}, {right_q.__name__})", RuntimeWarning)
    return found


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The mean of p.log_prob(x) - q.log_prob(x) over x drawn from p, of the shape of the batch.

    Raises:
        NotImplementedError: no function is registered for the classes of the two.

    >>> from torchcompat.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(torch.tensor([0.]), torch.tensor([1.])), Normal(torch.tensor([1.]), torch.tensor([1.])))
    tensor([0.5000])
    """
    kinds = type(p), type(q)
    if kinds not in _KL_MEMOIZE:
        _KL_MEMOIZE[kinds] = _dispatch_kl(*kinds)
    function = _KL_MEMOIZE[kinds]
    if function is NotImplemented:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}")
    return function(p, q)


def _set(x: Tensor, where: Tensor, value: float) -> Tensor:
    """x with a number written into some places."""
    x[where] = value
    return x


def _x_log_x(x: Tensor) -> Tensor:
    return torch.special.xlogy(x, x)


def _trace(x: Tensor) -> Tensor:
    """The trace of x @ x.mT: the sum of the squares of all elements of each matrix."""
    return x.reshape(-1, x.size(-1) * x.size(-2)).pow(2).sum(-1).reshape(x.shape[:-2])


# -- of one class from the same -----------------------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    yes = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    yes = _set(_set(yes, q.probs == 0, math.inf), p.probs == 0, 0)
    no = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return yes + _set(_set(no, q.probs == 1, math.inf), p.probs == 1, 0)


@register_kl(Beta, Beta)
def _kl_beta_beta(p: Beta, q: Beta) -> Tensor:
    total_p, total_q = [d.concentration1 + d.concentration0 for d in (p, q)]
    log_beta_q = q.concentration1.lgamma() + q.concentration0.lgamma() + total_p.lgamma()
    log_beta_p = p.concentration1.lgamma() + p.concentration0.lgamma() + total_q.lgamma()
    first = (p.concentration1 - q.concentration1) * torch.digamma(p.concentration1)
    second = (p.concentration0 - q.concentration0) * torch.digamma(p.concentration0)
    return log_beta_q - log_beta_p + first + second + (total_q - total_p) * torch.digamma(total_p)


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    result = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return _set(result, p.total_count > q.total_count, math.inf)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = _set(terms, (q.probs == 0).expand_as(terms), math.inf)
    return _set(terms, (p.probs == 0).expand_as(terms), 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    """F. Chyzak and F. Nielsen, A closed-form formula for the Kullback-Leibler divergence between Cauchy distributions, 2019."""
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    of_p = p._cont_bern_log_norm() + torch.log1p(-p.probs)
    of_q = -q._cont_bern_log_norm() - torch.log1p(-q.probs)
    return p.mean * (p.logits - q.logits) + of_p + of_q


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    totals = a.sum(-1).lgamma() - b.sum(-1).lgamma()
    slopes = a.digamma() - a.sum(-1).digamma().unsqueeze(-1)
    return totals - (a.lgamma() - b.lgamma()).sum(-1) + ((a - b) * slopes).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """The Bregman divergence of the normalizers' logarithms, with derivatives by the tape."""
    if type(p) is not type(q):
        raise NotImplementedError("The cross KL-divergence between different exponential families cannot " + " " * 28
                                  + "be computed using Bregman divergences")
    of_p, normalizer, slopes = _slopes(p, p._natural_params)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for a, b, slope in zip(of_p, q._natural_params, slopes):
        result = result - _sum_rightmost((b - a) * slope, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p: Gamma, q: Gamma) -> Tensor:
    first = q.concentration * (p.rate / q.rate).log()
    second = torch.lgamma(q.concentration) - torch.lgamma(p.concentration)
    third = (p.concentration - q.concentration) * torch.digamma(p.concentration)
    return first + second + third + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, at_q, at_p = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    power = torch.exp(at_q + (1 + ratio).lgamma() - at_p)
    return (-ratio.log() - at_q + at_p) + ratio * euler_constant + power - (1 + euler_constant)


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p: Laplace, q: Laplace) -> Tensor:
    """M. Gil, On Renyi divergence measures for continuous alphabet sources, 2011; as that of Pareto."""
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * torch.exp(-apart / p.scale) - 1


@register_kl(Normal, Normal)
def _kl_normal_normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() + -ratio.log() + ratio - 1
    return _set(result, p.support.lower_bound < q.support.lower_bound, math.inf)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p: Uniform, q: Uniform) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return _set(result, (q.low > p.low) | (q.high < p.high), math.inf)


@register_kl(Independent, Independent)
def _kl_independent_independent(p: Independent[Any], q: Independent[Any]) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    """That of what the same transforms are of."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


# -- of normal vectors --------------------------------------------------------------------------------------------------


def _check_sizes(p: Distribution, q: Distribution, which: str) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {which}Multivariate Normals with" + " " * 26
                         + "different event shapes cannot be computed")


def _lowrank_log_det(d: LowRankMultivariateNormal) -> Tensor:
    return _batch_lowrank_logdet(d._unbroadcasted_cov_factor, d._unbroadcasted_cov_diag, d._capacitance_tril)


def _lowrank_distance(p: Any, q: LowRankMultivariateNormal) -> Tensor:
    return _batch_lowrank_mahalanobis(q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, q.loc - p.loc, q._capacitance_tril)


def _projection(q: LowRankMultivariateNormal) -> Tensor:
    """A such that the inverse of q's covariances is D^-1 - A^T A."""
    scaled = q._unbroadcasted_cov_factor.mT / q._unbroadcasted_cov_diag.unsqueeze(-2)
    return torch.linalg.solve_triangular(q._capacitance_tril, scaled, upper=False)


def _log_diagonal(d: MultivariateNormal) -> Tensor:
    return d._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(p: LowRankMultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    _check_sizes(p, q, "Low Rank ")
    log_dets = _lowrank_log_det(q) - _lowrank_log_det(p)
    a, w, diag = _projection(q), p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    trace = ((diag / q._unbroadcasted_cov_diag).sum(-1) + _trace(w * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1))
             - _trace(a * diag.sqrt().unsqueeze(-2)) - _trace(a.matmul(w)))
    return 0.5 * (log_dets + trace + _lowrank_distance(p, q) - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrankmultivariatenormal(p: MultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    _check_sizes(p, q, "(Low Rank) ")
    log_dets = _lowrank_log_det(q) - 2 * _log_diagonal(p)
    factor = p._unbroadcasted_scale_tril
    trace = _trace(factor * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1)) - _trace(_projection(q).matmul(factor))
    return 0.5 * (log_dets + trace + _lowrank_distance(p, q) - p.event_shape[0])


def _solved(q: MultivariateNormal, *matrices: Tensor) -> list[Tensor]:
    """The solutions of q's factor and matrices with rows as it has, all of one batch."""
    n, factor = q.event_shape[0], q._unbroadcasted_scale_tril
    batch = torch.broadcast_shapes(factor.shape[:-2], matrices[0].shape[:-2])
    return [torch.linalg.solve_triangular(factor.expand(batch + (n, n)), m.expand(batch + m.shape[-2:]), upper=False) for m in matrices]


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrankmultivariatenormal_multivariatenormal(p: LowRankMultivariateNormal, q: MultivariateNormal) -> Tensor:
    _check_sizes(p, q, "(Low Rank) ")
    log_dets = 2 * _log_diagonal(q) - _lowrank_log_det(p)
    distance = _batch_mahalanobis(q._unbroadcasted_scale_tril, (q.loc - p.loc))
    of_factor, of_diagonal = _solved(q, p._unbroadcasted_cov_factor, torch.diag_embed(p._unbroadcasted_cov_diag.sqrt()))
    return 0.5 * (log_dets + (_trace(of_factor) + _trace(of_diagonal)) + distance - p.event_shape[0])


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    _check_sizes(p, q, "")
    half_log_dets = _log_diagonal(q) - _log_diagonal(p)
    trace = _trace(_solved(q, p._unbroadcasted_scale_tril)[0])
    distance = _batch_mahalanobis(q._unbroadcasted_scale_tril, (q.loc - p.loc))
    return half_log_dets + 0.5 * (trace + distance - p.event_shape[0])


# -- of one class from another ------------------------------------------------------------------------------------------


def _infinite(*pairs: tuple[Iterable[type], Iterable[type], str]) -> None:
    """Registers infinity for classes whose numbers lie where others' have no density; of the shape of a parameter."""
    for of, from_, parameter in pairs:
        for kinds in product(of, from_):
            register_kl(*kinds)(lambda p, q, parameter=parameter: torch.full_like(getattr(p, parameter), math.inf))


_infinite(
    ([Beta], [Pareto], "concentration1"), ([ContinuousBernoulli], [Pareto], "probs"),
    ([Exponential], [Beta, ContinuousBernoulli, Pareto, Uniform], "rate"),
    ([Gamma], [Beta, ContinuousBernoulli, Pareto, Uniform], "concentration"),
    ([Gumbel, Laplace, Normal], [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform], "loc"),
    ([Pareto], [Beta, ContinuousBernoulli, Uniform], "scale"), ([Poisson], [Bernoulli, Binomial], "rate"),
)


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
@register_kl(Uniform, ContinuousBernoulli)
def _from_continuous_bernoulli(p: Any, q: ContinuousBernoulli) -> Tensor:
    result = -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm()
    if isinstance(p, Beta):
        return result
    outside = torch.max(torch.ge(p.high, q.support.upper_bound), torch.le(p.low, q.support.lower_bound))
    return torch.where(outside, torch.ones_like(result) * math.inf, result)


@register_kl(Beta, Exponential)
def _kl_beta_exponential(p: Beta, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p: Beta, q: Gamma) -> Tensor:
    total = p.concentration1 + p.concentration0
    constant = q.concentration.lgamma() - q.concentration * q.rate.log()
    logs = (q.concentration - 1) * (p.concentration1.digamma() - total.digamma())
    return -p.entropy() + constant - logs + q.rate * p.concentration1 / total


@register_kl(Beta, Normal)
def _kl_beta_normal(p: Beta, q: Normal) -> Tensor:
    mean, variance = p.mean, q.scale.pow(2)
    square = (mean * (1 - mean) / (p.concentration1 + p.concentration0 + 1) + mean.pow(2)) * 0.5
    return -p.entropy() + 0.5 * (variance * 2 * math.pi).log() + (square - q.loc * mean + q.loc.pow(2) * 0.5) / variance


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p: Beta, q: Uniform) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    return _set(result, (q.low > p.support.lower_bound) | (q.high < p.support.upper_bound), math.inf)


@register_kl(ContinuousBernoulli, Exponential)
def _kl_continuous_bernoulli_exponential(p: ContinuousBernoulli, q: Exponential) -> Tensor:
    return -p.entropy() - torch.log(q.rate) + q.rate * p.mean


@register_kl(ContinuousBernoulli, Normal)
def _kl_continuous_bernoulli_normal(p: ContinuousBernoulli, q: Normal) -> Tensor:
    constant = 0.5 * (math.log(2.0 * math.pi) + torch.square(q.loc / q.scale)) + torch.log(q.scale)
    moments = (p.variance + torch.square(p.mean) - 2.0 * q.loc * p.mean) / (2.0 * torch.square(q.scale))
    return -p.entropy() + constant + moments


@register_kl(ContinuousBernoulli, Uniform)
def _kl_continuous_bernoulli_uniform(p: ContinuousBernoulli, q: Uniform) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    inside = torch.max(torch.ge(q.low, p.support.lower_bound), torch.le(q.high, p.support.upper_bound))
    return torch.where(inside, torch.ones_like(result) * math.inf, result)


@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p: Exponential, q: Gamma) -> Tensor:
    ratio = q.rate / p.rate
    return (-q.concentration * torch.log(ratio) + ratio + q.concentration.lgamma() + q.concentration * euler_constant
            - (1 + euler_constant))


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p: Exponential, q: Gumbel) -> Tensor:
    scaled, at = p.rate * q.scale, q.loc / q.scale
    return scaled.log() - 1 - at + torch.exp(at) * scaled / (scaled + 1) + scaled.reciprocal()


@register_kl(Exponential, Normal)
def _kl_exponential_normal(p: Exponential, q: Normal) -> Tensor:
    variance, square = q.scale.pow(2), p.rate.pow(2)
    constant = 0.5 * torch.log(square * variance * 2 * math.pi)
    return constant - 1 + (square.reciprocal() - q.loc / p.rate + q.loc.pow(2) * 0.5) / variance


@register_kl(Gamma, Exponential)
def _kl_gamma_exponential(p: Gamma, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p: Gamma, q: Gumbel) -> Tensor:
    scaled, at = p.rate * q.scale, q.loc / q.scale
    constant = (p.concentration - 1) * p.concentration.digamma() - p.concentration.lgamma() - p.concentration
    power = torch.exp(at) * (1 + scaled.reciprocal()).pow(-p.concentration) - at
    return constant + (scaled.log() + p.concentration / scaled) + power


@register_kl(Gamma, Normal)
def _kl_gamma_normal(p: Gamma, q: Normal) -> Tensor:
    variance, square = q.scale.pow(2), p.rate.pow(2)
    constant = 0.5 * torch.log(square * variance * 2 * math.pi) - p.concentration - p.concentration.lgamma()
    moments = (0.5 * (p.concentration.pow(2) + p.concentration) / square - q.loc * p.concentration / p.rate + 0.5 * q.loc.pow(2))
    return constant + (p.concentration - 1) * p.concentration.digamma() + moments / variance


@register_kl(Gumbel, Normal)
def _kl_gumbel_normal(p: Gumbel, q: Normal) -> Tensor:
    ratio = p.scale / q.scale
    spread = (math.pi * ratio * 0.5).pow(2) / 3
    apart = ((p.loc + p.scale * euler_constant - q.loc) / q.scale).pow(2) * 0.5
    return -(ratio / math.sqrt(2 * math.pi)).log() + spread + apart - (euler_constant + 1)


@register_kl(Laplace, Normal)
def _kl_laplace_normal(p: Laplace, q: Normal) -> Tensor:
    variance = q.scale.pow(2)
    ratio = p.scale.pow(2) / variance
    apart = (0.5 * p.loc.pow(2) - p.loc * q.loc + 0.5 * q.loc.pow(2)) / variance
    return -0.5 * torch.log(2 * ratio / math.pi) + ratio + apart - 1


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p: Normal, q: Gumbel) -> Tensor:
    at_p, at_q, square = p.loc / q.scale, q.loc / q.scale, (p.scale / q.scale).pow(2)
    power = torch.exp(-at_p + 0.5 * square + at_q)
    return -square.log() * 0.5 + (at_p - at_q) + power - (0.5 * (1 + math.log(2 * math.pi)))


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p: Normal, q: Laplace) -> Tensor:
    apart = p.loc - q.loc
    z = apart / p.scale
    distance = math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * z.pow(2)) + apart * torch.erf(math.sqrt(0.5) * z)
    return -torch.log(p.scale / q.scale) + distance / q.scale - (0.5 * (1 + math.log(0.5 * math.pi)))


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p: Pareto, q: Exponential) -> Tensor:
    scaled = p.scale * q.rate
    result = (p.alpha / scaled).log() - p.alpha.reciprocal() + p.alpha * scaled / (p.alpha - 1) - 1
    return _set(result, p.alpha <= 1, math.inf)


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p: Pareto, q: Gamma) -> Tensor:
    log = p.scale.log() + p.alpha.reciprocal()
    constant = q.concentration.lgamma() - q.concentration * q.rate.log()
    result = (p.alpha.log() - log + constant + (1 - q.concentration) * log + q.rate * p.alpha * p.scale / (p.alpha - 1) - 1)
    return _set(result, p.alpha <= 1, math.inf)


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p: Pareto, q: Normal) -> Tensor:
    over = p.scale / (p.alpha - 1)
    squares = p.alpha * over.pow(2) / (p.alpha - 2) + (p.alpha * over - q.loc).pow(2)
    constant = (math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log()
    return _set(constant - p.alpha.reciprocal() + squares / (2 * q.scale.pow(2)) - 1, p.alpha <= 2, math.inf)


def _mean_log(p: Uniform, scale: Tensor) -> Tensor:
    """`scale` times the mean of log(x)."""
    width = p.high - p.low
    return scale * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p: Uniform, q: Beta) -> Tensor:
    width = p.high - p.low
    mirrored = (q.concentration0 - 1) * (_x_log_x(1 - p.high) - _x_log_x(1 - p.low) + width) / width
    constant = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    result = mirrored + constant - torch.log(width) - _mean_log(p, q.concentration1 - 1)
    return _set(result, (p.high > q.support.upper_bound) | (p.low < q.support.lower_bound), math.inf)


@register_kl(Uniform, Exponential)
def _kl_uniform_exponetial(p: Uniform, q: Exponential) -> Tensor:
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return _set(result, p.low < q.support.lower_bound, math.inf)


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p: Uniform, q: Gamma) -> Tensor:
    constant = q.concentration.lgamma() - q.concentration * q.rate.log()
    result = -(p.high - p.low).log() + constant + _mean_log(p, 1 - q.concentration) + q.rate * (p.high + p.low) / 2
    return _set(result, p.low < q.support.lower_bound, math.inf)


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p: Uniform, q: Gumbel) -> Tensor:
    ratio, high, low = q.scale / (p.high - p.low), (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return ratio.log() + 0.5 * (high + low) - ratio * (torch.exp(-high) - torch.exp(-low))


@register_kl(Uniform, Normal)
def _kl_uniform_normal(p: Uniform, q: Normal) -> Tensor:
    width = p.high - p.low
    squares = width.pow(2) / 12 + ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    return (math.sqrt(math.pi * 2) * q.scale / width).log() + 0.5 * squares / q.scale.pow(2)


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    width = p.high - p.low
    constant = (q.alpha * q.scale.pow(q.alpha) * width).log()
    result = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width * (q.alpha + 1) - constant
    return _set(result, p.low < q.support.lower_bound, math.inf)
