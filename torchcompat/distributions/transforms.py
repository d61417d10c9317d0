"""Functions of random numbers that can be turned around, with the logarithms of their Jacobian determinants.

>>> from torchcompat.distributions import transforms
>>> t = transforms.AffineTransform(1.0, 2.0)
>>> t(torch.tensor([3.])), t.inv(torch.tensor([7.])), t.log_abs_det_jacobian(torch.tensor([3.]), torch.tensor([7.]))
(tensor([7.]), tensor([3.]), tensor([0.6931]))
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torchcompat as torch
from torchcompat import Size, Tensor
from torchcompat.nn import functional as F
from torchcompat.nn.functional import pad, softplus
from torchcompat.types import _Number, _size

from .._calls.absent import absences as _absences
from . import constraints
from .distribution import Distribution, _shown
from .utils import _sum_rightmost, broadcast_all, lazy_property, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform", "CumulativeDistributionTransform",
    "ExpTransform", "IndependentTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform",
    "SigmoidTransform", "SoftplusTransform", "TanhTransform", "SoftmaxTransform", "StackTransform", "StickBreakingTransform", "Transform",
    "identity_transform",
]

_absences(__name__)


class Transform:
    """A function from a set of numbers (`domain`) to another (`codomain`), elementwise or of their last dimensions.

    Derived classes have `_call`, `_inverse`, or both; where `bijective`, also `log_abs_det_jacobian` and, of numbers, `sign`: +1 where the
    function rises, -1 where it falls.

    Args:
        cache_size: 1 to remember the last argument and its value, so that the inverse of the value is that very argument; or 0.
    """

    bijective = False
    domain: constraints.Constraint
    codomain: constraints.Constraint

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Transform | None = None
        if cache_size:
            self._cached_x_y: tuple[Tensor | None, Tensor | None] = None, None
        super().__init__()

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """How many of the last dimensions belong together, before and after."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return self.domain.event_dim

    @property
    def inv(self) -> Transform:
        """The inverse, whose inverse is this one."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Tensor | int:
        """The sign of the Jacobian determinant."""
        raise NotImplementedError

    def _arguments(self) -> tuple[object, ...] | None:
        """What another one like it is made with, before the cache's size; None where nobody knows."""
        return () if type(self).__init__ is Transform.__init__ else None

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform with a cache of that size."""
        if self._cache_size == cache_size:
            return self
        arguments = self._arguments()
        if arguments is None:
            raise NotImplementedError(f"{_shown(type(self))}.with_cache is not implemented")
        owner = next(cls for cls in type(self).__mro__ if "_arguments" in cls.__dict__)
        return (type(self) if owner is Transform else owner)(*arguments, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, x: Tensor) -> Tensor:
        """The value at x."""
        return self._remembered(x, 0, self._call)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self._remembered(y, 1, self._inverse)

    def _remembered(self, given: Tensor, place: int, function: Callable[[Tensor], Tensor]) -> Tensor:
        """The function of `given`; the other one of the cached pair where `given` is that at `place`."""
        if not self._cache_size:
            return function(given)
        if given is self._cached_x_y[place]:
            return self._cached_x_y[1 - place]  # type: ignore[return-value]
        found = function(given)
        self._cached_x_y = (found, given) if place else (given, found)
        return found

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |dy/dx| where y is the value at x."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}()"

    def forward_shape(self, shape: Size) -> Size:
        """The shape of the value of an argument of a shape."""
        return shape

    def inverse_shape(self, shape: Size) -> Size:
        """The shape of the argument of a value of a shape."""
        return shape


class _InverseTransform(Transform):
    """The inverse of a transform."""

    _inv: Transform

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> constraints.Constraint:
        """The codomain of the other."""
        return self._base.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> constraints.Constraint:
        """The domain of the other."""
        return self._base.domain

    @property
    def _base(self) -> Transform:
        if self._inv is None:  # a copy by pickle
            raise AssertionError("_inv must not be None")
        return self._inv

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self._base.bijective

    @property
    def sign(self) -> Tensor | int:
        return self._base.sign

    @property
    def inv(self) -> Transform:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._base.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._base == other._inv

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self._inv!r})"

    def __call__(self, x: Tensor) -> Tensor:
        return self._base._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._base.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Size) -> Size:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Size) -> Size:
        return self._inv.forward_shape(shape)


def _widened(set_: constraints.Constraint, event_dim: int, name: str) -> constraints.Constraint:
    """A set whose members have `event_dim` dimensions."""
    if event_dim < set_.event_dim:
        raise AssertionError(f"event_dim {event_dim} must be >= {name}.event_dim {set_.event_dim}")
    return constraints.independent(set_, event_dim - set_.event_dim) if event_dim > set_.event_dim else set_


class ComposeTransform(Transform):
    """Transforms one after another.

    Args:
        parts: the transforms, the first one first; they have the caches.
        cache_size: of the parts.
    """

    def __init__(self, parts: list[Transform], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def _arguments(self) -> tuple[object, ...]:
        return (self.parts,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> constraints.Constraint:
        """That of the first, with as many dimensions as any part needs."""
        if not self.parts:
            return constraints.real
        dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            dim = max(dim + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _widened(self.parts[0].domain, dim, "domain")

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> constraints.Constraint:
        """That of the last, with as many dimensions as any part gives."""
        if not self.parts:
            return constraints.real
        dim = self.parts[0].domain.event_dim
        for part in self.parts:
            dim = max(dim + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return _widened(self.parts[-1].codomain, dim, "codomain")

    @lazy_property
    def bijective(self) -> bool:
        """Whether all parts are."""
        return all(p.bijective for p in self.parts)

    @lazy_property
    def sign(self) -> Tensor | int:
        """The product of the parts'."""
        return functools.reduce(operator.mul, [p.sign for p in self.parts], 1)

    @property
    def inv(self) -> Transform:
        if self._inv is None:
            self._inv = ComposeTransform([p.inv for p in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return torch.zeros_like(x)
        between = [x]
        for part in self.parts[:-1]:
            between.append(part(between[-1]))
        between.append(y)
        terms, event_dim = [], self.domain.event_dim
        for part, before, after in zip(self.parts, between, between[1:]):
            terms.append(_sum_rightmost(part.log_abs_det_jacobian(before, after), event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape: Size) -> Size:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Size) -> Size:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        parts = ",\n    ".join([repr(p) for p in self.parts])
        return f"{self.__class__.__name__}(\n    {parts}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """Another transform, of whose last dimensions more belong together: their Jacobian determinants are multiplied.

    Args:
        base_transform: the other.
        reinterpreted_batch_ndims: how many dimensions more.
        cache_size: see Transform.
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _arguments(self) -> tuple[object, ...]:
        return self.base_transform, self.reinterpreted_batch_ndims

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> constraints.Constraint:
        """That of the other, of more dimensions."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> constraints.Constraint:
        """That of the other, of more dimensions."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self.base_transform.bijective

    @property
    def sign(self) -> Tensor | int:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        _need_dims(x.dim(), self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        _need_dims(y.dim(), self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Size) -> Size:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Size) -> Size:
        return self.base_transform.inverse_shape(shape)


def _need_dims(found: int, wanted: int) -> None:
    if found < wanted:
        raise ValueError("Too few dimensions on input")


class ReshapeTransform(Transform):
    """The last dimensions in another shape.

    Raises:
        ValueError: the shapes have different numbers of elements.
    """

    bijective = True

    def __init__(self, in_shape: _size, out_shape: _size, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    def _arguments(self) -> tuple[object, ...]:
        return self.in_shape, self.out_shape

    @constraints.dependent_property
    def domain(self) -> constraints.Constraint:
        """Arrays of the first shape."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> constraints.Constraint:
        """Arrays of the second shape."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[:x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[:y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[:x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Size) -> Size:
        return _reshaped(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Size) -> Size:
        return _reshaped(shape, self.out_shape, self.in_shape)


def _reshaped(shape: Size, old: Size, new: Size) -> Size:
    _need_dims(len(shape), len(old))
    cut = len(shape) - len(old)
    if shape[cut:] != old:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return shape[:cut] + new


class _Alike(Transform):
    """Transforms without parameters: all of a class are equal."""

    def __eq__(self, other: object) -> bool:
        first = next(cls for cls in type(self).__mro__ if _Alike in cls.__bases__ or _Rising in cls.__bases__)
        return isinstance(other, first)


class _Rising(_Alike):
    """Those that take all real numbers, and rise."""

    domain = constraints.real
    bijective = True
    sign = +1


class ExpTransform(_Rising):
    """exp(x)."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """x ** exponent of positive numbers."""

    domain = codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Tensor | float, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.exponent, = broadcast_all(exponent)

    def _arguments(self) -> tuple[object, ...]:
        return (self.exponent,)

    @lazy_property
    def sign(self) -> Tensor | int:
        """That of the exponent."""
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all().item())

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Size) -> Size:
        return torch.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


def _clipped_sigmoid(x: Tensor) -> Tensor:
    """The sigmoid inside of (0, 1)."""
    limits = torch.finfo(x.dtype)
    return torch.clamp(torch.sigmoid(x), min=limits.tiny, max=1.0 - limits.eps)


class SigmoidTransform(_Rising):
    """1 / (1 + exp(-x)), kept inside of (0, 1)."""

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        limits = torch.finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1.0 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Rising):
    """log(1 + exp(x))."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(_Rising):
    """tanh(x)."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return torch.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # log(1 - tanh(x)**2) = 2 log(2) - 2 x - 2 log(1 + exp(-2 x)), which no term overflows
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(_Alike):
    """|x|, which cannot be turned around: the inverse is taken to be the positive number."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """loc + scale * x.

    Args:
        loc, scale: numbers or tensors.
        event_dim: how many of the last dimensions belong together.
        cache_size: see Transform.
    """

    bijective = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    def _arguments(self) -> tuple[object, ...]:
        return self.loc, self.scale, self.event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> constraints.Constraint:
        """Real numbers."""
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> constraints.Constraint:
        """Real numbers."""
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        return _equal(self.loc, other.loc) and _equal(self.scale, other.scale)

    @property
    def sign(self) -> Tensor | int:
        if isinstance(self.scale, _Number):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        shape, scale = x.shape, self.scale
        result = torch.full_like(x, math.log(abs(scale))) if isinstance(scale, _Number) else torch.abs(scale).log()
        if self.event_dim:
            result = result.view(result.size()[:-self.event_dim] + (-1,)).sum(-1)
            shape = shape[:-self.event_dim]
        return result.expand(shape)

    def forward_shape(self, shape: Size) -> Size:
        return torch.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


def _equal(x: Any, y: Any) -> bool:
    """Whether two parameters, numbers or tensors, are equal in all elements."""
    if isinstance(x, _Number) and isinstance(y, _Number):
        return x == y
    return bool((x == y).all().item())


class CorrCholeskyTransform(Transform):
    """From vectors of D (D - 1) / 2 real numbers to the Cholesky factors of D x D correlation matrices.

    The numbers' hyperbolic tangents are the partial correlations, and break the rows of length 1 piece by piece.

    Source: D. Lewandowski, D. Kurowicka and H. Joe, Generating random correlation matrices based on vines and extended onion method, 2009.
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        x = torch.tanh(x)
        eps = torch.finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r ** 2).sqrt().cumprod(-1)
        return (r + torch.eye(r.shape[-1], dtype=r.dtype, device=r.device)) * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = pad((1 - torch.cumsum(y * y, dim=-1))[..., :-1], [1, 0], value=1)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2  # atanh, as precise as can be near 0

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: object = None) -> Tensor:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(dim=-1), diag=-2)
        of_tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(dim=-1)
        return 0.5 * left.log().sum(-1) + of_tanh

    def forward_shape(self, shape: Size) -> Size:
        _need_dims(len(shape), 1)
        n = shape[-1]
        d = round((0.25 + 2 * n) ** 0.5 + 0.5)
        if d * (d - 1) // 2 != n:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (d, d)

    def inverse_shape(self, shape: Size) -> Size:
        _need_dims(len(shape), 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)


class SoftmaxTransform(_Alike):
    """exp(x) over its sum along the last dimension. Not bijective: a number may be added to x."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        powers = (x - x.max(-1, True)[0]).exp()
        return powers / powers.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Size) -> Size:
        _need_dims(len(shape), 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(_Alike):
    """From n real numbers to n + 1 shares of 1: each number's sigmoid says how much of the rest is broken off."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        shares = _clipped_sigmoid(_even(x))
        return pad(shares, [0, 1], value=1) * pad((1 - shares).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        shares = y[..., :-1]
        pieces = y.shape[-1] - y.new_ones(shares.shape[-1]).cumsum(-1)
        rest = torch.clamp(1 - shares.cumsum(-1), min=torch.finfo(y.dtype).tiny)
        return shares.log() - rest.log() + pieces.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = _even(x)
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Size) -> Size:
        _need_dims(len(shape), 1)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Size) -> Size:
        _need_dims(len(shape), 1)
        return shape[:-1] + (shape[-1] - 1,)


def _even(x: Tensor) -> Tensor:
    """x less the logarithms of how many pieces are still to come, so that zeros break a stick into equal ones."""
    return x - (x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)).log()


class LowerCholeskyTransform(_Alike):
    """From square matrices to lower triangular ones with a positive diagonal, by the exponentials of their diagonals."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Alike):
    """From square matrices to positive definite ones, of which LowerCholeskyTransform gives the factors."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        x = LowerCholeskyTransform()(x)
        return x @ x.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))


class _Parts(Transform):
    """Transforms of parts along a dimension."""

    transforms: list[Transform]
    dim: int

    def _taken(self, tseq: Sequence[Transform], cache_size: int) -> list[Transform]:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        return [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    def _check(self, x: Tensor, length: int, total: str, name: str, said: str | None = None) -> None:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"dim {self.dim} out of range for {said or name} with {x.dim()} dimensions")
        if x.size(self.dim) != length:
            raise AssertionError(f"{name}.size({self.dim}) = {x.size(self.dim)} must equal {total} {length}")


class CatTransform(_Parts):
    """Transforms of parts of lengths along a dimension.

    Args:
        tseq: the transforms.
        dim: the dimension.
        lengths: of the parts; all 1 where None.
        cache_size: see Transform.
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0) -> None:
        transforms = self._taken(tseq, cache_size)
        super().__init__(cache_size=cache_size)
        self.transforms = transforms
        self.lengths = [1] * len(transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(transforms)})")
        self.dim = dim

    def _arguments(self) -> tuple[object, ...]:
        return self.transforms, self.dim, self.lengths

    @lazy_property
    def event_dim(self) -> int:
        """The largest of the parts'."""
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        """Of all parts."""
        return sum(self.lengths)

    def _slices(self, x: Tensor, name: str, said: str | None = None) -> list[Tensor]:
        self._check(x, self.length, "length", name, said)
        starts = [sum(self.lengths[:i]) for i in range(len(self.lengths))]
        return [x.narrow(self.dim, start, length) for start, length in zip(starts, self.lengths)]

    def _call(self, x: Tensor) -> Tensor:
        return torch.cat([t(part) for t, part in zip(self.transforms, self._slices(x, "x", "tensor"))], dim=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return torch.cat([t.inv(part) for t, part in zip(self.transforms, self._slices(y, "y", "tensor"))], dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        terms = []
        for t, before, after in zip(self.transforms, self._slices(x, "x"), self._slices(y, "y")):
            term = t.log_abs_det_jacobian(before, after)
            terms.append(_sum_rightmost(term, self.event_dim - t.event_dim) if t.event_dim < self.event_dim else term)
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        if dim < 0:
            return torch.cat(terms, dim=dim)
        return functools.reduce(operator.add, terms)  # the parts are pieces of one event

    @constraints.dependent_property
    def domain(self) -> constraints.Constraint:
        """The parts' one after another."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> constraints.Constraint:
        """The parts' one after another."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Parts):
    """Transforms of the slices along a dimension.

    Args:
        tseq: the transforms, one for each.
        dim: the dimension.
        cache_size: see Transform.
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        transforms = self._taken(tseq, cache_size)
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = transforms, dim

    def _arguments(self) -> tuple[object, ...]:
        return self.transforms, self.dim

    def _slice(self, z: Tensor) -> list[Tensor]:
        return [z.select(self.dim, i) for i in range(z.size(self.dim))]

    def _checked(self, x: Tensor, name: str, said: str | None = None) -> list[Tensor]:
        self._check(x, len(self.transforms), "len(transforms)", name, said)
        return self._slice(x)

    def _call(self, x: Tensor) -> Tensor:
        return torch.stack([t(part) for t, part in zip(self.transforms, self._checked(x, "x", "tensor"))], dim=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return torch.stack([t.inv(part) for t, part in zip(self.transforms, self._checked(y, "y", "tensor"))], dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        pairs = zip(self.transforms, self._checked(x, "x"), self._checked(y, "y"))
        return torch.stack([t.log_abs_det_jacobian(before, after) for t, before, after in pairs], dim=self.dim)

    @constraints.dependent_property
    def domain(self) -> constraints.Constraint:
        """The slices' beside each other."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> constraints.Constraint:
        """The slices' beside each other."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


class CumulativeDistributionTransform(Transform):
    """The cumulative distribution function of a distribution, whose inverse makes it of uniform numbers.

    Args:
        distribution: has `cdf`, `icdf` and `log_prob`.
        cache_size: see Transform.
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    def _arguments(self) -> tuple[object, ...]:
        return (self.distribution,)

    @property
    def domain(self) -> constraints.Constraint | None:  # type: ignore[override]
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)
