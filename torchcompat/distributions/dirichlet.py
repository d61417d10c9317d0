"""Random shares of 1."""

from __future__ import annotations

from typing import Any, Self

import torchcompat as torch
from torchcompat import Tensor
from torchcompat.autograd import Function
from torchcompat.autograd.function import once_differentiable
from torchcompat.nn.functional import one_hot
from torchcompat.types import _size

from .._calls.absent import absences as _absences
from . import constraints
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]

_absences(__name__)


def _Dirichlet_backward(x: Tensor, concentration: Tensor, grad_output: Tensor) -> Tensor:
    """The gradient by the parameters: each moves its own share, at the others' expense."""
    total = concentration.sum(-1, True).expand_as(concentration)
    return torch._dirichlet_grad(x, concentration, total) * (grad_output - (x * grad_output).sum(-1, True))


class _Dirichlet(Function):
    """Draws, with the implicit gradient."""

    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:
        """The vectors drawn."""
        x = torch._sample_dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        """See `_Dirichlet_backward`."""
        x, concentration = ctx.saved_tensors
        return _Dirichlet_backward(x, concentration, grad_output)


class Dirichlet(ExponentialFamily):
    """Vectors of shares of 1, with a density in proportion to the product of x**(concentration - 1), along the last dimension.

    >>> from torchcompat.distributions import Dirichlet
    >>> Dirichlet(torch.tensor([1., 3.])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: _size, _instance: object = None) -> Self:
        return self._expanded(Dirichlet, batch_shape, _instance, "concentration")

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        return _Dirichlet.apply(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        powers = torch.xlogy(self.concentration - 1.0, value).sum(-1)
        return powers + torch.lgamma(self.concentration.sum(-1)) - torch.lgamma(self.concentration).sum(-1)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        less = (self.concentration - 1).clamp(min=0.0)
        mode = less / less.sum(-1, True)
        corner = (self.concentration < 1).all(dim=-1)
        mode[corner] = one_hot(mode[corner].argmax(dim=-1), less.shape[-1]).to(mode)
        return mode

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        k, total = self.concentration.size(-1), self.concentration.sum(-1)
        return (torch.lgamma(self.concentration).sum(-1) - torch.lgamma(total) - (k - total) * torch.digamma(total)
                - ((self.concentration - 1.0) * torch.digamma(self.concentration)).sum(-1))

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.lgamma().sum(-1) - torch.lgamma(x.sum(-1))
