"""Random correlation matrices."""

from __future__ import annotations

import math
from typing import Any, Self

import torchcompat as torch
from torchcompat import Size, Tensor
from torchcompat.types import _size

from .._calls.absent import absences as _absences
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]

_absences(__name__)


class LKJCholesky(Distribution):
    """Cholesky factors of random correlation matrices of `dim` rows, whose density is in proportion to det ** (concentration - 1).

    Source: D. Lewandowski, D. Kurowicka and H. Joe, Generating random correlation matrices based on vines and extended onion method, 2009:
    the onion of section 3.2, one layer a row; the density's constant from page 1999.

    >>> from torchcompat.distributions import LKJCholesky
    >>> LKJCholesky(2, 1.).log_prob(torch.eye(2))
    tensor(-0.6931)
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        self.concentration, = broadcast_all(concentration)
        kind: dict[str, Any] = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        row = torch.cat([torch.zeros(1, **kind), torch.arange(dim - 1, **kind)])  # the first one is not used
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(row + 0.5, marginal.unsqueeze(-1) - 0.5 * row)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args)

    def expand(self, batch_shape: _size, _instance: object = None) -> Self:
        new = self._expanded(LKJCholesky, batch_shape, _instance, "concentration", "_beta")
        new.dim = self.dim
        return new

    def sample(self, sample_shape: _size = Size()) -> Tensor:
        squares = self._beta.sample(sample_shape).unsqueeze(-1)
        normals = torch.randn(self._extended_shape(sample_shape), dtype=squares.dtype, device=squares.device).tril(-1)
        directions = normals / normals.norm(dim=-1, keepdim=True)
        directions[..., 0, :].fill_(0.0)  # a vector without elements has none
        rows = torch.sqrt(squares) * directions
        rest = torch.clamp(1 - torch.sum(rows ** 2, dim=-1), min=torch.finfo(rows.dtype).tiny)
        rows += torch.diag_embed(rest.sqrt())
        return rows

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        place = torch.arange(2, self.dim + 1, device=self.concentration.device)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - place
        less = self.dim - 1
        alpha = self.concentration + 0.5 * less
        constant = 0.5 * less * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, less) - torch.lgamma(alpha) * less
        return torch.sum(powers * diagonal.log(), dim=-1) - constant
