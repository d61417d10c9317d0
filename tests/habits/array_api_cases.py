"""Calls of the array API standard's functions, as text: `xp` is the namespace, `arrays` makes those that the calls take."""

from __future__ import annotations

from typing import Any

import numpy as np

DATA: dict[str, Any] = {
    "a": np.array([[0.5, -1.25, 2.0], [3.5, 0.25, -0.75]]), "b": np.array([[1.5, 2.0, -0.5], [0.25, 4.0, 1.0]]),
    "f": np.array([[0.5, -1.25, 2.0], [3.5, 0.25, -0.75]], np.float32), "i": np.array([[3, 1, 2], [0, 5, 4]]),
    "j": np.array([[1, 2, 3], [1, 1, 2]]), "s": np.array([1, -2, 3], np.int8), "u": np.array([1, 2, 200], np.uint8),
    "h": np.array([1, 2, 3], np.int16), "t": np.array([True, False, True]), "c": np.array([1 + 2j, -0.5j, 3.0]),
    "k": np.array([1 + 2j, -0.5j, 3.0], np.complex64), "v": np.array([3.0, 1.0, 2.0, 1.0]), "p": np.array([0.25, 0.5, 0.75]),
    "m": np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]]), "w": np.array([2, 0, 2, 1, 0]),
    "x": np.arange(24.0).reshape(2, 3, 4) / 7, "e": np.zeros((0, 3)), "n": np.array([1.0, np.nan, np.inf, -np.inf])}


def arrays(xp: Any) -> dict[str, Any]:
    return {name: xp.asarray(data) for name, data in DATA.items()}


_FLOATS = "cos cosh exp expm1 sin sinh sqrt square tan tanh log log10 log1p log2 acos asin atan atanh asinh"
CALLS = [
    *[f"xp.{f}({x})" for f in _FLOATS.split() for x in "pfck" if not (x == "f" and f in "sqrt log log10 log1p log2 acos asin atanh")],
    "xp.acosh(b + 3)", *[f"xp.{f}({x})" for f in ("ceil", "floor", "trunc", "round") for x in "afius"],
    *[f"xp.{f}({x})" for f in ("abs", "negative", "positive", "sign") for x in "afis" if not (f == "sign" and x in "ck")],
    "xp.abs(c)", "xp.abs(k)", "xp.real(c)", "xp.imag(k)", "xp.conj(c)", "xp.signbit(a)", "xp.reciprocal(b)",
    *[f"xp.{f}({x})" for f in ("isfinite", "isinf", "isnan") for x in "nia"],
    *[f"xp.{f}(a, b)" for f in (
        "add subtract multiply divide maximum minimum atan2 hypot copysign logaddexp nextafter less less_equal greater greater_equal "
        "equal not_equal").split()], "xp.pow(p, p)", "xp.remainder(a, b)", "xp.floor_divide(a, b)",
    *[f"xp.{f}(i, j)" for f in ("add subtract multiply pow remainder floor_divide maximum minimum bitwise_and bitwise_or bitwise_xor "
                                "bitwise_left_shift bitwise_right_shift less equal").split()],
    *[f"xp.{f}(t, t)" for f in "logical_and logical_or logical_xor bitwise_and equal".split()], "xp.logical_not(t)", "xp.bitwise_invert(i)",
    "xp.bitwise_invert(t)", *[f"xp.add({x}, {y})" for x, y in ("sh", "hs", "us", "uh", "fa", "kc", "fk", "ac") if x + y != "ac"],
    *[f"a {o} b" for o in "+ - * / ** < <= == != > >= % //".split()], *[f"i {o} j" for o in "+ - * % // ** & | ^ << >>".split()],
    *[f"a {o} 2.0" for o in "+ - * / ** <".split()], *[f"2.0 {o} b" for o in "+ - * /".split()],
    *[f"i {o} 2" for o in "+ - * // % &".split()],
    "f * 2.0", "f + 1", "-a", "+a", "abs(a)", "~i", "m @ m", "m @ p",
    # statistics
    *[f"xp.{f}({x}{o})" for f in ("sum", "prod", "max", "min") for x in "afi" for o in ("", ", axis=0", ", axis=-1, keepdims=True")],
    *[f"xp.{f}({x})" for f in ("sum", "prod") for x in ("s", "u", "h", "c", "e", "k")], "xp.sum(x, axis=(0, 2))", "xp.max(x, axis=(1, 2))",
    "xp.sum(s, dtype=xp.int8)", "xp.sum(f, dtype=xp.float64)", "xp.sum(e, axis=0)",
    *[f"xp.{f}({x}{o})" for f in ("mean", "std", "var") for x in "afx" for o in ("", ", axis=0", ", axis=1, keepdims=True")],
    "xp.std(a, correction=1)", "xp.var(a, axis=1, correction=1.0)", "xp.cumulative_sum(v)", "xp.cumulative_sum(i, axis=1)",
    "xp.cumulative_sum(a, axis=0, include_initial=True)", "xp.cumulative_prod(v, include_initial=True)", "xp.cumulative_sum(s)",
    *[f"xp.{f}({x}{o})" for f in ("all", "any") for x in "tia" for o in ("", ", axis=0")], "xp.count_nonzero(i)",
    "xp.count_nonzero(i, axis=1)",
    "xp.diff(v)", "xp.diff(x, axis=1, n=2)",
    # searching, sorting, sets
    *[f"xp.{f}({x}{o})" for f in ("argmax", "argmin") for x in "aiv" for o in ("", ", axis=0", ", axis=-1, keepdims=True")
      if not (x == "v" and "-1" not in o and o)], "xp.nonzero(i)", "xp.where(t, p, 2 * p)", "xp.where(a > 0, a, b)",
      "xp.searchsorted(p, p)",
    "xp.searchsorted(p, p, side='right')", "xp.sort(v)", "xp.sort(a, axis=0, descending=True)", "xp.argsort(v)",
    "xp.argsort(v, descending=True)",
    "xp.unique_values(w)", "xp.unique_counts(w)", "xp.unique_inverse(w)", "xp.unique_all(w)", "xp.unique_inverse(i)", "xp.unique_values(n)",
    "xp.isin(i, j)", "xp.take(a, w[1:3], axis=1)", "xp.take(v, w)", "xp.take_along_axis(a, xp.argsort(a, axis=1), axis=1)",
    # manipulation
    "xp.broadcast_to(p, (2, 3))", "xp.broadcast_arrays(a, p)", "xp.concat([a, b])", "xp.concat([a, b], axis=1)",
    "xp.concat([a, v], axis=None)",
    "xp.concat([f, a])", "xp.concat([s, h])", "xp.stack([a, b], axis=1)", "xp.expand_dims(a, axis=1)", "xp.expand_dims(a, axis=0)",
    "xp.flip(a)", "xp.flip(x, axis=(0, 2))", "xp.moveaxis(x, 0, 2)", "xp.permute_dims(x, (2, 0, 1))", "xp.repeat(v, 2)",
    "xp.repeat(a, 2, axis=1)",
    "xp.reshape(x, (4, 6))", "xp.reshape(x, (-1,))", "xp.roll(a, 1)", "xp.roll(x, (1, -1), axis=(0, 2))",
    "xp.squeeze(xp.expand_dims(a, axis=0), axis=0)",
    "xp.tile(a, (2, 1))", "xp.tril(m)", "xp.triu(m, k=1)", "xp.unstack(a)", "xp.unstack(a, axis=1)", "xp.meshgrid(p, v)",
    "xp.meshgrid(p, v, indexing='ij')", "xp.clip(a, -0.5, 1.0)", "xp.clip(i, 1, 3)", "xp.clip(a, b - 1, b)", "xp.matrix_transpose(x)",
    "x.mT",
    "m.T", "x.size", "x.ndim", "x.shape", "a[0, 1:]", "a[..., None]", "a[:, ::-1]", "v[v > 1]", "a[1, 2]",
    # creation, dtypes
    "xp.zeros((2, 3))", "xp.zeros(3, dtype=xp.int32)", "xp.ones((2,), dtype=xp.float32)", "xp.full((2,), 3)", "xp.full((2,), 2.5)",
    "xp.full((2,), True)", "xp.full((2,), 1, dtype=xp.float32)", "xp.arange(5)", "xp.arange(1, 7, 2)", "xp.arange(0.0, 1.0, 0.25)",
    "xp.arange(3, dtype=xp.float32)", "xp.linspace(0.0, 1.0, 5)", "xp.linspace(0.0, 1.0, 4, endpoint=False)", "xp.eye(3)",
    "xp.eye(2, 4, k=1)",
    "xp.asarray([1, 2])", "xp.asarray([1.5, 2])", "xp.asarray([[True]])", "xp.asarray(a, dtype=xp.float32)", "xp.asarray(1j)",
    *[f"xp.{f}_like(f)" for f in ("zeros", "ones")], "xp.full_like(i, 7)", "xp.ones_like(a, dtype=xp.int8)", "xp.zeros_like(s)",
    "xp.astype(a, xp.int64)", "xp.astype(i, xp.float32)", "xp.astype(t, xp.int8)", "xp.astype(a, xp.complex64)",
    *[f"xp.isdtype({x}.dtype, '{k}')" for x in "aiutc" for k in ("bool", "signed integer", "unsigned integer", "integral", "real floating",
                                                                "complex floating", "numeric")],
    "xp.isdtype(a.dtype, xp.float64)", "xp.isdtype(a.dtype, ('integral', xp.float32))", "xp.can_cast(s, xp.int16)",
    "xp.can_cast(a.dtype, xp.float32)",
    *[f"str(xp.result_type({x})).rpartition('.')[2]" for x in ("f, a", "s, h", "u, s", "f, xp.complex64", "f, 1.0", "i, 2",
    "s.dtype, u.dtype")],
    "xp.finfo(f.dtype).bits", "xp.finfo(xp.float64).eps", "xp.iinfo(xp.int16).max", "xp.iinfo(u.dtype).min",
    "xp.broadcast_shapes((2, 1), (3,))",
    # linear algebra
    "xp.matmul(m, m)", "xp.matmul(x, xp.matrix_transpose(x))", "xp.tensordot(a, b, axes=2)", "xp.tensordot(a, b, axes=((1,), (1,)))",
    "xp.tensordot(m, m, axes=1)", "xp.vecdot(a, b)", "xp.vecdot(c, c)", "xp.vecdot(a, p)", *[f"xp.linalg.{f}(m)" for f in (
        "cholesky", "det", "inv", "pinv", "svdvals", "eigvalsh", "trace", "matrix_norm", "matrix_rank", "diagonal", "vector_norm",
        "matrix_transpose")], "xp.linalg.cholesky(m, upper=True)", "xp.linalg.cross(p, v[:3])", "xp.linalg.diagonal(a, offset=1)",
    "xp.linalg.diagonal(x)", "xp.linalg.eigh(m)[0]", "xp.linalg.matrix_norm(m, ord=1)", "xp.linalg.matrix_norm(x, keepdims=True)",
    "xp.linalg.matrix_power(m, 3)", "xp.linalg.matrix_power(m, -2)", "xp.linalg.outer(p, v)", "abs(xp.linalg.qr(m)[1])",
    "xp.linalg.slogdet(m)",
    "xp.linalg.solve(m, p)", "xp.linalg.solve(m, m)", "xp.linalg.svd(a, full_matrices=False)[1]", "xp.linalg.vector_norm(x, axis=(0, 1))",
    "xp.linalg.vector_norm(a, ord=1, axis=1)", "xp.linalg.vector_norm(a, ord=xp.inf, keepdims=True)", "xp.linalg.trace(a, offset=1)",
    "xp.linalg.tensordot(m, m)", "xp.linalg.vecdot(a, b)", "xp.linalg.matmul(m, m)",
    # Fourier transforms
    *[f"xp.fft.{f}({x}{o})" for f, x in (("fft", "c"), ("ifft", "c"), ("rfft", "v"), ("irfft", "c"), ("hfft", "c"), ("ihfft", "v"))
      for o in ("", ", n=3", ", n=6", ", norm='ortho'", ", norm='forward'")], "xp.fft.fftn(xp.astype(x, xp.complex128))",
    "xp.fft.rfftn(x, axes=(0, 2))", "xp.fft.irfftn(xp.fft.rfftn(x))", "xp.fft.ifftn(xp.astype(x, xp.complex128), s=(2, 2), axes=(0, 1))",
    "xp.fft.fftfreq(5)", "xp.fft.rfftfreq(6, d=0.5)", "xp.fft.fftshift(v)", "xp.fft.ifftshift(a, axes=1)",
    # errors
    "xp.reshape(x, (5, 5))", "xp.concat([a, v])", "xp.stack([a, v])", "xp.sum(a, axis=2)", "xp.squeeze(a, axis=0)",
    "xp.isdtype(a.dtype, 'real')",
    "xp.expand_dims(a, axis=5)", "xp.permute_dims(x, (0, 1))", "xp.matmul(a, b)", "xp.broadcast_to(a, (3, 3))", "xp.add(a, v)",
    "xp.cumulative_sum(a)", "xp.linalg.cross(v, v)", "xp.linalg.inv(a)", "xp.vecdot(a, v)", "xp.zeros((2,), dtype='no')", "xp.sin([1.0])",
    "xp.sum([1.0])", "xp.max(e)", "xp.argmax(e)", "xp.matrix_transpose(v)", "a[5]", "xp.take(v, v, axis=0)", "xp.fft.fft(c, norm='no')",
    "xp.linalg.cholesky(-m)", "xp.zeros((2,), device='nowhere')",
]


def plain(x: Any) -> Any:
    """A result as JSON has it."""
    if isinstance(x, (tuple, list)):
        return [plain(e) for e in x]
    if isinstance(x, (bool, int, float, str)):
        return x
    array = np.asarray(x)
    values = array.reshape(-1)
    return {"dtype": str(array.dtype), "shape": list(array.shape),
            "values": np.stack([values.real, values.imag], -1).tolist() if array.dtype.kind == "c" else values.tolist()}
