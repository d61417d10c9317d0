"""torch.linalg: operations on matrices.

>>> import torchcompat as torch
>>> torch.linalg.det(torch.tensor([[2., 0.], [1., 3.]]))
tensor(6.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from autograd_tape.dtypes import SCALAR_TYPE_NAMES

from ._calls.frontend import LinAlgError as LinAlgError
from ._calls.namespace import operations as _operations
from ._tensor import Tensor, frontend as _F
from .overrides import overridable as _overridable

if TYPE_CHECKING:
    from ._calls.of_linalg import *

_get, __dir__ = _operations(__name__)
_Limit: TypeAlias = "float | Tensor | None"


if not TYPE_CHECKING:  # what stands here is known, and no other name
    def __getattr__(name: str) -> Any:
        return _get(name)


def _limits(name: str, former: str, value: _Limit, atol: _Limit, rtol: _Limit, absolute: bool) -> dict[str, _Limit]:
    """`atol` and `rtol`; a limit given as in former days is the only one there is."""
    if value is None:
        return {"atol": atol, "rtol": rtol}
    if atol is not None or rtol is not None:
        given = ", ".join([f"{key}={type(v).__name__}" for key, v in ((former, value), ("atol", atol), ("rtol", rtol)) if v is not None])
        raise TypeError(f"linalg_{name}() received an invalid combination of arguments - got (Tensor, {given})")
    return {"atol": value, "rtol": 0.0} if absolute else {"atol": 0.0, "rtol": value}


@_overridable
def matrix_rank(input: Tensor, tol: _Limit = None, hermitian: bool = False, *, atol: _Limit = None, rtol: _Limit = None,
                out: Tensor | None = None) -> Tensor:
    """How many singular values of matrices exceed max(atol, rtol * largest), or `tol`.

    Raises:
        TypeError: `tol` is given beside one of the others.

    >>> import torchcompat as torch
    >>> torch.linalg.matrix_rank(torch.tensor([[4., 0.], [0., 1.]]), 2.)
    tensor(1)
    """
    limits = _limits("matrix_rank", "tol", tol, atol, rtol, True)
    rank: Tensor = _F.function("linalg.matrix_rank")(input, hermitian=hermitian, out=out, **limits)
    return rank


@_overridable
def pinv(input: Tensor, rcond: _Limit = None, hermitian: bool = False, *, atol: _Limit = None, rtol: _Limit = None,
         out: Tensor | None = None) -> Tensor:
    """The Moore-Penrose inverses of matrices: singular values up to max(atol, rtol * largest), or rcond * largest, count as zero.

    Raises:
        TypeError: `rcond` is given beside one of the others.

    >>> import torchcompat as torch
    >>> torch.linalg.pinv(torch.tensor([[4., 0.], [0., 1.]]), 0.5)
    tensor([[0.2500, 0.0000],
            [0.0000, 0.0000]])
    """
    if isinstance(rcond, Tensor) and rcond.is_complex():
        raise RuntimeError(f"torch.linalg.pinv: rcond tensor of complex type is not supported. Got {SCALAR_TYPE_NAMES[rcond.dtype.name]}")
    limits = _limits("pinv", "rcond", rcond, atol, rtol, False)
    inverse: Tensor = _F.function("linalg.pinv")(input, hermitian=hermitian, out=out, **limits)
    return inverse


@_overridable
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None, out: Any = None) -> Any:
    """U, S, Vh with U diag(S) Vh = A; a `driver` can be chosen on CUDA alone.

    Raises:
        RuntimeError: one is given.
    """
    _refuse_driver(driver)
    return _F.function("linalg.svd")(A, full_matrices, out=out)


@_overridable
def svdvals(A: Tensor, *, driver: str | None = None, out: Tensor | None = None) -> Tensor:
    """The singular values of matrices, in descending order; `driver` as for `svd`."""
    _refuse_driver(driver)
    values: Tensor = _F.function("linalg.svdvals")(A, out=out)
    return values


def _refuse_driver(driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.")
