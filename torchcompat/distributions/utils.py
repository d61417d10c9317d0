"""What distributions share: broadcast parameters, probabilities and their logarithms, triangles as vectors, properties computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any, Final, Generic, TYPE_CHECKING, TypeVar

import torchcompat as torch
from torchcompat import Tensor
from torchcompat.nn import functional as F
from torchcompat.overrides import is_tensor_like
from torchcompat.types import Number, _Number

from .._calls.absent import absences as _absences

if TYPE_CHECKING:
    from autograd_tape.annotations import DeviceLike
    from autograd_tape.dtypes import DType

__all__ = [
    "broadcast_all", "logits_to_probs", "clamp_probs", "probs_to_logits", "lazy_property", "tril_matrix_to_vec", "vec_to_tril_matrix",
]

euler_constant: Final[float] = 0.57721566490153286060  # of Euler and Mascheroni

T = TypeVar("T", contravariant=True)
R = TypeVar("R", covariant=True)

_absences(__name__)


def broadcast_all(*values: Tensor | Number) -> tuple[Tensor, ...]:
    """The values as tensors of one shape. Numbers become tensors of the dtype and device of the first tensor among them, or of the default
    dtype.

    Raises:
        ValueError: for what is neither a tensor nor a number.

    >>> import torchcompat as torch
    >>> torch.distributions.utils.broadcast_all(torch.zeros(2), 1.5)
    (tensor([0., 0.]), tensor([1.5000, 1.5000]))
    """
    if any(not (is_tensor_like(v) or isinstance(v, _Number)) for v in values):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__.")
    like = next((v for v in values if isinstance(v, Tensor)), None)
    kind: dict[str, Any] = {"dtype": torch.get_default_dtype()} if like is None else {"dtype": like.dtype, "device": like.device}
    return torch.broadcast_tensors(*[v if is_tensor_like(v) else torch.tensor(v, **kind) for v in values])  # type: ignore[arg-type]


def _standard_normal(shape: Sequence[int], dtype: DType | None, device: DeviceLike | None) -> Tensor:
    return torch.empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last `dim` dimensions."""
    return value.reshape(value.shape[:-dim] + (-1,)).sum(-1) if dim else value


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities: of each category along the last dimension by their logarithms, or of "yes" by the logarithms of its odds."""
    return torch.sigmoid(logits) if is_binary else F.softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """The probabilities moved inside of (0, 1), by the least step from 1 of their dtype."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The logarithms of the probabilities, or of the odds; finite ones, since they are clamped."""
    inside = clamp_probs(probs)
    return torch.log(inside) - torch.log1p(-inside) if is_binary else torch.log(inside)


class lazy_property(Generic[T, R]):
    """A property that is computed when it is first asked for, with gradients, and is an attribute of the object from then on."""

    def __init__(self, wrapped: Callable[[T], R]) -> None:
        self.wrapped: Callable[[T], R] = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property[T, R], property):
    """What a class answers for a lazy property: a property too, as those who document it expect."""

    def __init__(self, wrapped: Callable[[T], R]) -> None:
        property.__init__(self, wrapped)


def _triangle(n: int, diag: int, device: DeviceLike) -> Tensor:
    """Which elements of a square matrix are on the diagonal number `diag` or below it."""
    columns = torch.arange(n, device=device)
    return columns < columns.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements of square matrices up to the diagonal number `diag`, row by row.

    >>> import torchcompat as torch
    >>> torch.distributions.utils.tril_matrix_to_vec(torch.tensor([[1., 2.], [3., 4.]]))
    tensor([1., 3., 4.])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _triangle(n, diag, mat.device)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Square matrices with the vectors' elements up to the diagonal number `diag`, row by row, and zeros above it."""
    odd = 1 + 2 * diag  # the vectors' length is n (n + odd) / 2, less what a diagonal below the first leaves out
    n = (-odd + (odd ** 2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > torch.finfo(vec.dtype).eps:
        raise ValueError(f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as "
                         "the lower triangular part of a square D x D matrix.")
    size = round(n)
    mat = vec.new_zeros(vec.shape[:-1] + (size, size))
    mat[..., _triangle(size, diag, vec.device)] = vec
    return mat
