"""Calls of NumPy's functions, one or more for each that tensors take: what is computed from arrays must be computed from tensors.

A case is (name, function of the module and arrays, the arrays). The first array's dtype decides whether derivatives are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Call = Callable[..., Any]
rng = np.random.default_rng(5)


def some(*shape: int) -> np.ndarray:
    """Different numbers, none near zero or near another."""
    n = int(np.prod(shape))
    return (rng.permutation(n).reshape(shape) - n / 2 + 0.3) / max(n, 1) * 3 + rng.uniform(0, 0.01, shape)


A, B, V, W, S = some(3, 4), some(3, 4), some(5), some(5), some(3, 3)
T, P = some(2, 3, 4), np.abs(some(3, 4)) + 0.2
SPD = S @ S.T + 3 * np.eye(3)
C = some(3, 4) + 1j * some(3, 4)
I = np.arange(12).reshape(3, 4) % 5
N = np.where(A > 0.9, np.nan, A)
MASK = A > 0


def case(text: str, *arrays: np.ndarray) -> tuple[str, Call, tuple[np.ndarray, ...]]:
    names = ", ".join("xyz"[:len(arrays)])
    return text, eval(f"lambda np, {names}: {text}", {"MASK": MASK, "I": I, "P": P}), arrays


UNARY = {"arccosh": P + 1.2, "arcsin": A / 2, "arccos": A / 2, "arctanh": A / 2, **dict.fromkeys(("log", "log2", "log10", "log1p",
"sqrt"), P),
         **dict.fromkeys(("invert", "bitwise_count"), I)}
BINARY = {**dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm"), (I, I.T.reshape(3, 4))),
          "power": (P, A), "float_power": (P, A), "ldexp": (A, I), "matmul": (A, B.T.copy()),
          **dict.fromkeys(("remainder", "fmod", "floor_divide", "divmod"), (A, P + 0.313))}


def ufunc_cases(ufuncs: Any) -> Iterator[Any]:
    """A call of each ufunc that is known."""
    for ufunc in sorted(ufuncs, key=lambda u: u.__name__):
        name = ufunc.__name__
        if ufunc.nin == 1:
            yield case(f"np.{name}(x)", UNARY.get(name, A))
        else:
            yield case(f"np.{name}(x, y)", *BINARY.get(name, (A, B)))


CASES = [
    *[case(f"np.{f}(x{a})", A) for f in ("sum", "prod", "mean", "var", "std", "max", "min", "amax", "amin", "ptp", "median", "nansum",
                                         "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin", "nanmedian")
      for a in ("", ", axis=0", ", axis=-1, keepdims=True") if not (f == "nanprod" and a == "")],
    *[case(f"np.{f}(x, axis=1)", N) for f in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin", "nanmedian")],
    *[case(f"np.{f}(x, axis=(0, 2))", T) for f in ("sum", "prod", "mean", "var", "std", "max", "median")],
    *[case(f"np.{f}(x, axis=())", A) for f in ("sum", "prod", "mean", "max")],
    *[case(f"np.{f}(x, where=MASK)", A) for f in ("sum", "prod", "mean", "var", "std")],
    *[case(f"np.{f}(x, axis=1, where=MASK, initial={i})", A) for f, i in (("max", -9), ("min", 9), ("sum", 2), ("prod", 2))],
    *[case(f"np.{f}(x, dtype='float64')", I) for f in ("sum", "prod", "mean", "var", "std")],
    *[case(f"np.{f}(x, ddof=1, axis=0)", A) for f in ("var", "std")],
    *[case(f"np.{f}(x)", C) for f in ("sum", "prod", "mean", "var", "std", "max", "min", "abs", "angle", "real", "imag", "conj")],
    *[case(f"np.{f}(x{a})", I) for f in ("all", "any", "argmax", "argmin", "count_nonzero", "sum", "prod", "mean", "cumsum", "max", "round")
      for a in ("", ", axis=1") if not (f == "round" and a)],
    *[case(f"np.{f}(x{a})", A) for f in ("cumsum", "cumprod", "nancumsum", "nancumprod", "sort", "argsort") for a in ("", ", axis=0")],
    case("np.average(x, axis=1)", A), case("np.average(x, axis=0, weights=y)", A, P), case("np.average(x, 1, y)", A, P[0]),
    case("np.average(x, axis=0, returned=True, weights=y)[1]", A, P),
    case("np.quantile(x, 0.3)", A), case("np.quantile(x, [0.1, 0.9], axis=0)", A), case("np.percentile(x, 40, axis=1, keepdims=True)", A),
    case("np.nanquantile(x, 0.3, axis=0)", N), case("np.nanpercentile(x, 30)", N), case("np.quantile(x, 0.4, method='lower')", A),
    case("np.diff(x)", A), case("np.diff(x, 2, axis=0)", A), case("np.diff(x, prepend=0.0)", A), case("np.ediff1d(x)", A),
    case("np.ediff1d(x, to_end=[1.0])", A), case("np.gradient(x, axis=1)", A), case("np.gradient(x)[1]", A),
    case("np.gradient(x, np.array([0.0, 1.0, 3.0, 3.5]), axis=1)", A), case("np.gradient(x, 2.0)", V),
    case("np.trapz(x, axis=0)" if hasattr(np, "trapz") else "np.trapezoid(x, axis=0)", A), case("np.cov(x)", A), case("np.cov(x, y)", V, W),
    case("np.cov(x, rowvar=False, bias=True)", A), case("np.corrcoef(x)", A), case("np.corrcoef(x, y)", V, W),
    case("np.partition(x, 2)", V), case("np.argpartition(x, 2)", V),
    # shapes
    case("np.reshape(x, (4, 3))", A), case("np.reshape(x, (4, 3), order='F')", A), case("np.reshape(x, -1)", T), case("np.ravel(x)", A),
    case("np.ravel(x, 'F')", A), case("np.transpose(x)", T), case("np.transpose(x, (1, 2, 0))", T), case("np.swapaxes(x, 0, -1)", T),
    case("np.moveaxis(x, 0, -1)", T), case("np.moveaxis(x, (0, 1), (-1, 0))", T), case("np.rollaxis(x, 2)", T),
    case("np.rollaxis(x, 1, 3)", T), case("np.expand_dims(x, (0, 2))", A), case("np.squeeze(x[None])", A),
    case("np.squeeze(x[None, :, None], 0)", A), case("np.broadcast_to(x, (2, 3, 4))", A), case("np.broadcast_arrays(x, y)[1]", A, B[0]),
    case("np.atleast_1d(x)", V[0]), case("np.atleast_2d(x)", V), case("np.atleast_3d(x)", A), case("np.atleast_3d(x)", V),
    case("np.atleast_1d(x, y)[1]", V, W), case("np.concatenate([x, y])", A, B), case("np.concatenate([x, y], axis=None)", A, V),
    case("np.concatenate([x, y], 1)", A, I), case("np.stack([x, y], axis=-1)", A, B), case("np.vstack([x, y])", A, A[0]),
    case("np.hstack([x, y])", V, W), case("np.hstack([x, y])", A, B), case("np.dstack([x, y])", A, B),
    case("np.column_stack([x, y])", V, W),
    case("np.append(x, y)", A, V), case("np.append(x, y, axis=0)", A, B), case("np.block([[x, y], [y, x]])", A, B),
    case("np.split(x, 2, axis=1)[1]", A), case("np.split(x, [1, 3])[1]", V), case("np.array_split(x, 3)[0]", V),
    case("np.hsplit(x, 2)[0]", A), case("np.vsplit(x, 3)[2]", A), case("np.dsplit(x, 2)[1]", T), case("np.flip(x)", A),
    case("np.flip(x, 1)", A), case("np.fliplr(x)", A), case("np.flipud(x)", A), case("np.roll(x, 2)", A),
    case("np.roll(x, (1, 2), (0, 1))", A),
    case("np.rot90(x)", A), case("np.repeat(x, 2)", A), case("np.repeat(x, [1, 0, 2], axis=0)", A), case("np.tile(x, (2, 1, 2))", A),
    case("np.tile(x, 3)", V), case("np.pad(x, 1)", A), case("np.pad(x, ((1, 2), (0, 1)), constant_values=3)", A),
    *[case(f"np.pad(x, ((1, 2), (2, 0)), mode='{m}')", A) for m in ("edge", "reflect", "symmetric", "wrap")],
    case("np.resize(x, (2, 7))", V),
    # picking
    case("np.where(MASK, x, y)", A, B), case("np.where(x > 0, x, 0)", A), case("np.where(MASK, x, y)", A, I),
    case("np.nonzero(x > 0)[0]", A),
    case("np.where(x > 0)[1]", A), case("np.flatnonzero(x > 0)", A), case("np.argwhere(x > 0)", A), case("np.take(x, [3, 0, -1])", A),
    case("np.take(x, [[0, 1], [2, 2]], axis=0)", A), case("np.take(x, [7, -9], mode='wrap')", V), case("np.take(x, [7], mode='clip')", V),
    case("np.take_along_axis(x, np.argsort(x, 0), 0)", A), case("np.compress([True, False, True], x, axis=0)", A),
    case("np.extract(x > 0, x)", A), case("np.delete(x, [1], axis=1)", A), case("np.choose([0, 1, 0, 1, 1], [x, y])", V, W),
    case("np.select([x > 1, x > 0], [x * 2, x * 3], 5.0)", A), case("np.diagonal(x, 1)", S), case("np.diagonal(x, 0, 1, 2)", T),
    case("np.diag(x)", S), case("np.diag(x, 1)", V), case("np.diagflat(x)", V), case("np.tril(x, -1)", S), case("np.triu(x)", T),
    case("np.searchsorted(np.sort(x), y)", V, W), case("np.digitize(x, [-1.0, 0.0, 1.0])", V), case("np.bincount(x.ravel())", I),
    case("np.bincount(np.array([0, 1, 1, 3, 0]), weights=x)", V), case("np.unique(x)", I), case("np.unique(x, return_counts=True)[1]", I),
    case("np.zeros_like(x)", A), case("np.ones_like(x, dtype='float32')", A), case("np.full_like(x, 3.0)", A),
    case("np.empty_like(x) * 0", np.zeros((2, 3))), case("np.copy(x)", A), case("np.linspace(x, y, 5)", V, W),
    case("np.linspace(x, 2.0, 4, endpoint=False)", V[0]),
    # elements
    case("np.clip(x, -0.5, 0.5)", A), case("np.clip(x, None, y)", A, B), case("np.clip(x, 1, 3)", I), case("np.real(x)", A),
    case("np.imag(x)", A),
    case("np.real_if_close(x)", A), case("np.nan_to_num(x)", N), case("np.sinc(x)", A), case("np.i0(x)", V), case("np.round(x, 1)", A),
    case("np.around(x)", A), case("np.fix(x)", A), case("np.isposinf(x)", A), case("np.isneginf(x)", A), case("np.isreal(x)", C),
    case("np.iscomplex(x)", C), case("np.isclose(x, y)", A, B),
    case("np.isin(x, [1, 3])", I), *[case("np.in1d(x, [1, 3])", I)] * hasattr(np, "in1d"), case("np.polyval(x, y)", V, W),
    case("np.vander(x, 3)", V), case("np.angle(x, deg=True)", C), case("np.nan_to_num(x, nan=2.0)", N),
    # products
    case("np.dot(x, y)", A, B.T.copy()), case("np.dot(x, y)", T, B.T.copy()), case("np.dot(x, y)", V, W), case("np.dot(x, 2.0)", A),
    case("np.vdot(x, y)", A, B), case("np.vdot(x, y)", C, C[::-1].copy()), case("np.inner(x, y)", A, B), case("np.inner(x, y)", V, W),
    case("np.outer(x, y)", V, A), case("np.tensordot(x, y, axes=([1, 2], [0, 1]))", T, B), case("np.tensordot(x, y, 1)", A, B.T.copy()),
    case("np.kron(x, y)", S, A), case("np.cross(x, y)", S, SPD), case("np.cross(x, y)", S[:, :2].copy(), SPD[:, :2].copy()),
    case("np.trace(x)", S), case("np.trace(x, 1, 1, 2)", T), case("np.einsum('ij,kj->ik', x, y)", A, B),
    case("np.einsum('ij,kj', x, y)", A, B),
    case("np.einsum(x, [0, 1], y, [2, 1], [0, 2])", A, B), case("np.einsum('ii->i', x)", S), case("np.einsum('...i->...', x)", T),
    # linear algebra
    *[case(f"np.linalg.{f}(x)", SPD) for f in ("inv", "det", "cholesky", "eigvalsh", "pinv", "cond", "norm", "matrix_rank")],
    case("np.linalg.slogdet(x)[1]", S), case("np.linalg.slogdet(x)[0]", S), case("np.linalg.solve(x, y)", SPD, S),
    case("np.linalg.solve(x, y)", SPD, V[:3].copy()), case("np.linalg.qr(x)[1]", A.T.copy()), case("np.linalg.qr(x, 'r')", S),
    case("np.linalg.svd(x, compute_uv=False)", A), case("np.linalg.svd(x, full_matrices=False)[1]", A),
    case("np.abs(np.linalg.svd(x, full_matrices=False)[0])", A),
    case("np.linalg.eigh(x, 'U')[1]", S), case("np.linalg.eigh(x)[1]", S), case("np.linalg.eigvalsh(x, 'U')", S),
    case("np.linalg.eigh(x)[0]", SPD),
    case("np.abs(np.linalg.eigh(x)[1])", SPD),
    case("np.sort(np.linalg.eigvals(x))", SPD), case("np.sort(np.linalg.eig(x)[0])", SPD), case("np.linalg.matrix_power(x, 3)", S),
    case("np.linalg.matrix_power(x, -1)", SPD), case("np.linalg.multi_dot([x, y, x])", S, SPD), case("np.linalg.lstsq(x, y, rcond=None)[0]",
                                                                                                     A.T.copy(), B.T.copy()),
    case("np.linalg.lstsq(x, y, rcond=None)[1]", A.T.copy(), V[:4].copy()),
    case("np.linalg.tensorinv(x, ind=1)", SPD), case("np.linalg.tensorsolve(x, y)", SPD, V[:3].copy()),
    *[case(f"np.linalg.norm(x, {o})", A) for o in ("'fro'", "'nuc'", "1", "-1", "2", "-2", "np.inf", "-np.inf")],
    *[case(f"np.linalg.norm(x, {o})", V) for o in ("1", "2", "3", "np.inf", "-np.inf", "0")],
    case("np.linalg.norm(x, axis=1)", A), case("np.linalg.norm(x, axis=(0, 2), keepdims=True)", T), case("np.linalg.norm(x)", T),
    case("np.linalg.norm(x, keepdims=True)", T), case("np.linalg.norm(x)", C),
    # Fourier transforms
    *[case(f"np.fft.{f}(x{a})", A) for f in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
      for a in ("", ", 3", ", 7", ", axis=0", ", norm='ortho'", ", norm='forward'")],
    *[case(f"np.fft.{f}(x)", C) for f in ("fft", "ifft", "irfft", "hfft")],
    *[case(f"np.fft.{f}(x{a})", A) for f in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
      for a in ("", ", s=(2, 6), axes=(0, 1), norm='ortho'", ", axes=(1, 0)")],
    case("np.fft.rfftn(x)", T), case("np.fft.irfftn(x, (2, 5, 3))", T), case("np.fft.fftshift(x)", A), case("np.fft.ifftshift(x, 1)", A),
    # what is answered without a tensor
    case("np.shape(x)", A), case("np.ndim(x)", A), case("np.size(x)", A), case("np.size(x, 0)", A), case("np.iscomplexobj(x)", C),
    case("np.isrealobj(x)", C), case("np.result_type(x, 'float32')", A),
    case("np.can_cast(x.dtype.np if hasattr(x.dtype, 'np') else x.dtype, 'f4')",
                                                                            A), case("np.allclose(x, y)", A, B),
    # methods of ufuncs, arguments of ufuncs
    case("np.add.reduce(x)", A), case("np.add.reduce(x, axis=1)", A), case("np.multiply.reduce(x, axis=None)", A),
    case("np.maximum.reduce(x)", A),
    case("np.minimum.reduce(x, axis=1)", A), case("np.logical_and.reduce(x > 0)", A), case("np.logical_or.reduce(x > 0, axis=1)", A),
    case("np.add.accumulate(x)", A), case("np.multiply.accumulate(x, axis=1)", A), case("np.subtract.outer(x, y)", V, W),
    case("np.sin(x, dtype='float64')", I), case("np.add(x, y, dtype='complex128')", A, B), case("np.add([x, x], y)[0]", A, B),
    # operators
    *[case(f"P {o} x", A) for o in "+ - * / ** // % < <= == != > >=".split()], case("P @ x", A.T.copy()),
    *[case(f"x {o} 2", P) for o in "+ - * / ** // % <".split()], *[case(f"2 {o} x", P) for o in "+ - * / ** // % <".split()],
    case("np.float64(2.0) * x", A), case("np.float32(2.0) + x", A), case("np.int64(2) - x", A), case("x[::-1, ::-2]", A),
    case("x.T", T), case("x.size", A), case("x.T.shape", T), case("len(x)", A), case("[r for r in x][1]", A), case("x.real", A),
    case("x.astype('float32')", A), case("x.copy()", A), case("x.nbytes", A), case("x.itemsize", A), case("x.imag", C),
    case("x.tolist()", A),
]
if hasattr(np, "vecdot"):
    CASES += [  # what came with the second version
        case("np.linalg.svdvals(x)", A), case("np.linalg.vector_norm(x)", A), case("np.linalg.vector_norm(x, axis=1, ord=3)", A),
        case("np.linalg.matrix_norm(x)", T), case("np.linalg.matrix_norm(x, ord=1, keepdims=True)", T), case("np.linalg.outer(x, y)", V, W),
        case("np.linalg.tensordot(x, y, axes=([0, 1], [0, 1]))", A, B), case("np.vecdot(x, y)", A, B),
        case("np.vecdot(x, y, axis=0)", A, B),
        case("np.linalg.vecdot(x, y)", A, B), case("np.linalg.cross(x, y)", S, SPD), case("np.linalg.trace(x)", T),
        case("np.linalg.trace(x, offset=1)", T), case("np.linalg.diagonal(x)", T), case("np.linalg.diagonal(x, offset=-1)", T),
        case("np.matrix_transpose(x)", T), case("np.linalg.matrix_transpose(x)", T), case("np.unstack(x)[1]", A),
        case("np.unstack(x, axis=1)[-1]", A), case("np.astype(x, np.float64)", A), case("np.linalg.matmul(x, y)", S, SPD),
        *[case("np.matvec(x, y)", A, V[:4].copy()), case("np.vecmat(x, y)", V[:3].copy(), A)] * hasattr(np, "vecmat"),
    ]
