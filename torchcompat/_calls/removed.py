"""Functions that torch took out, and refuses."""

from __future__ import annotations

from typing import NoReturn

_REMOVED = "This function was deprecated since version 1.9 and is now removed."
_RANK = f"""{_REMOVED}
Please use the `torch.linalg.matrix_rank` function instead. The parameter 'symmetric' was renamed in `torch.linalg.matrix_rank()` to \
'hermitian'."""
_SOLVE = f"""{_REMOVED} `torch.solve` is deprecated in favor of `torch.linalg.solve`. `torch.linalg.solve` has its arguments reversed and \
does not return the LU factorization.

To get the LU factorization see `torch.lu`, which can be used with `torch.lu_solve` or `torch.lu_unpack`.
X = torch.solve(B, A).solution should be replaced with:
X = torch.linalg.solve(A, B)"""
_LSTSQ = f"""{_REMOVED} `torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.
`torch.linalg.lstsq` has reversed arguments and does not return the QR decomposition in the returned tuple (although it returns other \
information about the problem).

To get the QR decomposition consider using `torch.linalg.qr`.

The returned solution in `torch.lstsq` stored the residuals of the solution in the last m - n columns of the returned value whenever m > n\
. In torch.linalg.lstsq, the residuals are in the field 'residuals' of the returned named tuple.

The unpacking of the solution, as in
X, _ = torch.lstsq(B, A).solution[:A.size(1)]
should be replaced with:
X = torch.linalg.lstsq(A, B).solution"""
_SYMEIG = f"""{_REMOVED} The default behavior has changed from using the upper triangular portion of the matrix by default to using the \
lower triangular portion.

L, _ = torch.symeig(A, upper=upper) should be replaced with:
L = torch.linalg.eigvalsh(A, UPLO='U' if upper else 'L')

and

L, V = torch.symeig(A, eigenvectors=True) should be replaced with:
L, V = torch.linalg.eigh(A, UPLO='U' if upper else 'L')"""
_EIG = f"""{_REMOVED} `torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real tensors mimicking complex \
tensors.

L, _ = torch.eig(A) should be replaced with:
L_complex = torch.linalg.eigvals(A)

and

L, V = torch.eig(A, eigenvectors=True) should be replaced with:
L_complex, V_complex = torch.linalg.eig(A)"""


def matrix_rank(input: object, tol: object = None, symmetric: bool = False, *, out: object = None) -> NoReturn:
    """Refuses: see `torch.linalg.matrix_rank`."""
    raise RuntimeError(_RANK)


def solve(input: object, A: object, *, out: object = None) -> NoReturn:
    """Refuses: see `torch.linalg.solve`."""
    raise RuntimeError(_SOLVE)


def lstsq(input: object, A: object, *, out: object = None) -> NoReturn:
    """Refuses: see `torch.linalg.lstsq`."""
    raise RuntimeError(_LSTSQ)


def _symeig(input: object, eigenvectors: bool = False, upper: bool = True, *, out: object = None) -> NoReturn:
    """Refuses: see `torch.linalg.eigh`."""
    raise RuntimeError(_SYMEIG)


def eig(self: object, eigenvectors: bool = False, *, e: object = None, v: object = None) -> NoReturn:
    """Refuses: see `torch.linalg.eig`."""
    raise RuntimeError(_EIG)
