"""Products and bases of matrices that may be sparse or left out, and the functions that torch took out and refuses."""

from __future__ import annotations

from autograd_tape.dtypes import DType, float16, float32, float64

from ._calls.removed import _symeig, eig, lstsq, matrix_rank, solve
from ._tensor import Tensor, frontend

__all__ = ["_symeig", "basis", "bform", "eig", "get_floating_dtype", "is_sparse", "lstsq", "matmul", "matrix_rank", "qform", "solve",
           "symeig"]


def get_floating_dtype(A: Tensor) -> DType:
    """The dtype of a tensor, float32 where it is no real floating one of 16 bits or more."""
    return A.dtype if A.dtype in (float16, float32, float64) else float32


def is_sparse(A: object) -> bool:
    """Whether a tensor is of coordinates and values; TypeError for what is no tensor."""
    if not isinstance(A, Tensor):
        raise TypeError(f"expected Tensor but got {type(A)}")
    return bool(A.is_sparse)


def matmul(A: Tensor | None, B: Tensor) -> Tensor:
    """A @ B; B where `A` is None."""
    if A is None:
        return B
    found: Tensor = frontend.matmul(A, B) if not is_sparse(A) else A @ B
    return found


def bform(X: Tensor, A: Tensor | None, Y: Tensor) -> Tensor:
    """X^T A Y."""
    return matmul(X.mT, matmul(A, Y))


def qform(A: Tensor | None, S: Tensor) -> Tensor:
    """S^T A S."""
    return bform(S, A, S)


def basis(A: Tensor) -> Tensor:
    """An orthonormal basis of the columns of A."""
    found: Tensor = frontend.linalg_qr(A).Q
    return found


def symeig(A: Tensor, largest: bool | None = False) -> tuple[Tensor, Tensor]:
    """Eigenvalues and vectors of the symmetric matrix in the upper triangle of A, in ascending order, or with the `largest` first."""
    values, vectors = frontend.linalg_eigh(A, "U")
    return (frontend.flip(values, (-1,)), frontend.flip(vectors, (-1,))) if largest else (values, vectors)
