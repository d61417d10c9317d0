"""Kernels that serve few numbers once their machine code is at hand: results have the bits of NumPy's, whichever served."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import ml_dtypes
import numpy as np
import pytest

from autograd_tape.executors.kernels import _on_demand, blas, embedding, handy, matrices, norm, pooling
from autograd_tape.ops.matrices import contractions, general

KINDS = [
    pooling.cells((5, 7), (2, 3)),
    pooling.cells((7, 8), (1, 1)),
    pooling.cells((4, 5, 6), (2, 2, 3)),
    pooling.windows((7,), (4,), (3,), (2,), (1,), (1,)),
    pooling.windows((6, 9), (3, 4), (2, 3), (2, 2), (1, 1), (1, 1)),
]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kernels count as worth having from the first call on."""
    if not _on_demand.available():
        pytest.skip("Numba is not installed: there are no compiled kernels to test")
    for name in ("LOADED", "COMPILED"):
        monkeypatch.setattr(_on_demand, name, 0)
    yield


def _both(function: Callable[[], object]) -> tuple[object, object]:
    """Results of NumPy, and of a kernel below the sizes from which on kernels serve anyway."""
    previous = _on_demand.use_numba("numpy")
    try:
        composed = function()
        _on_demand.use_numba("auto")
        return composed, function()
    finally:
        _on_demand.use_numba(previous)


def _same(composed: object, compiled: object) -> None:
    for a, b in zip(composed, compiled, strict=True) if isinstance(composed, tuple) else [(composed, compiled)]:
        assert isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_array_equal(np.ascontiguousarray(a).view(np.uint8), np.ascontiguousarray(b).view(np.uint8))


@pytest.mark.parametrize("w", KINDS, ids=lambda w: f"{w.size} to {w.out}")
@pytest.mark.parametrize("innermost", [False, True])
def test_windows(w: pooling.Windows, innermost: bool, dtype: np.dtype, rng: np.random.Generator) -> None:
    x = rng.standard_normal((2, 3, *w.size)).astype(dtype)
    x.reshape(-1)[:9] = [np.nan, -np.inf, -0.0, -0.0, 0.0, np.inf, -0.0, -0.0, -0.0]
    x[1, 0] = -0.0
    if innermost:
        x = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    _same(*_both(lambda: pooling.max_windows(x, w)))
    _same(*_both(lambda: pooling.max_windows(np.nan_to_num(x, posinf=9, neginf=-9).astype(np.int32), w)))
    _same(*_both(lambda: pooling.mean_windows(x, w)))
    grad = rng.standard_normal((2, 3, *w.out)).astype(dtype)
    _same(*_both(lambda: pooling.mean_windows_backward(grad, w)))
    index = rng.integers(0, w.pixels, (2, 3, w.count))
    _same(*_both(lambda: pooling.max_pool2d_backward(grad.reshape(2, 3, w.count), index, (2, 3, w.pixels), 1)))


@pytest.mark.parametrize("chosen", [np.float32, np.float64, np.int64, ml_dtypes.bfloat16])
@pytest.mark.parametrize("channels", [1, 3, 8, 21])
def test_vectors_of_windows(channels: int, chosen: type, rng: np.random.Generator) -> None:
    """Maxima of rows of any number of windows, in planes of any number, whose taps lie side by side, or apart by all kinds of steps."""
    geometries = [((n,), (k,), (s,), (p,), (d,)) for n, k, s, p, d in itertools.chain(
        itertools.product((9, 24, 37), (3,), (1, 2, 3), (0, 1), (1, 2)), [(9, 5, 2, 1, 1), (9, 1, 1, 0, 1), (4, 4, 4, 2, 1)])]
    geometries += [((5, n), (2, 3), (2, s), (1, 1), (1, 1)) for n in (4, 6, 17) for s in (1, 2)]
    for size, *geometry in geometries:
        w = pooling.plan(size, *geometry, True)
        x = rng.integers(-3, 4, (2, channels, *size)).astype(chosen)
        if chosen is not np.int64:
            x.reshape(-1)[::7], x.reshape(-1)[::11], x.reshape(-1)[::13] = -0.0, np.nan, -np.inf
        for rows in (x, np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)):
            _same(*_both(lambda: pooling.max_windows(rows, w)))  # noqa: B023


def test_kernels_wait_until_they_are_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOADED", "COMPILED"):
        monkeypatch.setattr(_on_demand, name, 1e9)
    previous = _on_demand.use_numba("auto")
    try:
        kernel = handy.Handy("pooling", "max_windows")
        assert [kernel.of("f", 100) for _ in range(3)] == [None] * 3
        monkeypatch.setattr(_on_demand, "COMPILED", 0)
        assert kernel.of("f", 100) is not None
        _on_demand.use_numba("numpy")
        assert kernel.of("f", 100) is None
    finally:
        _on_demand.use_numba(previous)


@pytest.mark.parametrize("shape, groups", [((2, 6, 5), 3), ((3, 4), 2), ((1, 4, 3, 3), 4), ((2, 3, 4, 5), 1)])
@pytest.mark.parametrize("scaled", [False, True])
def test_normalization(shape: tuple[int, ...], groups: int, scaled: bool, dtype: np.dtype, rng: np.random.Generator) -> None:
    x, grad = (rng.standard_normal(shape) + 3).astype(dtype), rng.standard_normal(shape).astype(dtype)
    x[0, 0] = 1.1  # whose variance is 0
    channels = shape[1]
    weight, bias = [rng.standard_normal(channels).astype(dtype) if scaled else None for _ in range(2)]
    kept = rng.uniform(0.5, 1, (2, channels)).astype(dtype)
    mean, rstd = norm.group_norm(x, groups, weight, bias)[1:]
    _same(*_both(lambda: norm.group_norm(x, groups, weight, bias)))
    _same(*_both(lambda: norm.group_norm_backward(grad, x, mean, rstd, groups, weight)))
    for training in (False, True):
        def normed(training: bool = training) -> tuple[np.ndarray, ...]:
            running = kept.copy()
            return (*norm.batch_norm(x, weight, bias, *running, training, 0.1, 1e-5), running)

        _same(*_both(normed))
        _, centre, scale, _ = normed()
        _same(*_both(lambda t=training, c=centre, s=scale: norm.batch_norm_backward(grad, x, c, s, weight, t)))



@pytest.mark.parametrize("shape", [(1, 3, 3), (2, 4, 2), (3, 2, 5), (2, 5, 6), (1, 1, 1)])
def test_matrices(shape: tuple[int, ...], dtype: np.dtype, rng: np.random.Generator) -> None:
    a = rng.standard_normal(shape).astype(dtype)
    a[0, 0] = 0  # and so the matrix is singular

    def factored() -> tuple[np.ndarray, ...]:
        factors = a.copy()
        return (factors, *matrices.lu(factors))

    _same(*_both(factored))
    b, k = shape[0], shape[1]
    triangles, right = rng.standard_normal((b, k, k)).astype(dtype), rng.standard_normal((b, k, 2)).astype(dtype)
    for upper in (False, True):
        for unit in (False, True):
            _same(*_both(lambda u=upper, o=unit: matrices.solve_triangles(right, (triangles.swapaxes(1, 2), u, o))))


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 2), (3, 2, 5), (2, 2, 3, 3), (0, 2, 2), (0, 2)])
@pytest.mark.parametrize("name", ["float32", "bfloat16", "int64", "bool"])
def test_factors_are_taken_apart(shape: tuple[int, ...], name: str, rng: np.random.Generator) -> None:
    *lead, m, n = shape
    factors = (4 * rng.standard_normal(shape)).astype(np.dtype(name) if name != "bfloat16" else ml_dtypes.bfloat16)
    k = min(m, n)
    pivots = np.stack([rng.integers(i + 1, m + 1, lead) for i in range(k)] or [np.zeros(lead)], -1)[..., :k].astype(np.int32)
    for given in (factors, factors.swapaxes(-1, -2).copy().swapaxes(-1, -2)):
        lower, upper = general._triangles(given)
        _same(*_both(lambda given=given: general._triangles(given)))
        np.testing.assert_array_equal(np.triu(given[..., :k, :].astype(float)), upper.astype(float))
        np.testing.assert_array_equal(np.tril(given[..., :k].astype(float), -1) + np.eye(m, k), lower.astype(float))

    def exchanged() -> tuple[np.ndarray, ...]:
        P = np.empty((*lead, m, m), factors.dtype)
        return matrices.orders(pivots, m, P), P, matrices.orders(pivots, m)

    _same(*_both(exchanged))
    for bad in (pivots * 0, pivots + 9):
        for mode in ("numpy", "auto") if bad.size else ():
            previous = _on_demand.use_numba(mode)
            with pytest.raises(IndexError):
                matrices.permutations(bad, m, factors.dtype)
            _on_demand.use_numba(previous)


@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16", "float16", "int64"])
def test_few_numbers_of_matrices(name: str, rng: np.random.Generator) -> None:
    dtype = np.dtype(name) if name != "bfloat16" else np.dtype(ml_dtypes.bfloat16)

    def drawn(*shape: int) -> np.ndarray:
        return (4 * rng.standard_normal(shape)).astype(dtype)

    for shape in ((1, 1), (5, 3), (3, 5), (40, 41), (0, 3), (0, 0)):
        a = drawn(*shape)
        for given in (a, a.T, a[::2], np.repeat(a, 2, 1)):
            _same(*_both(lambda given=given: matrices.trace(given)))
    for x, z, dim in (((3,), (3,), 0), ((3, 2), (3, 1), 0), ((4, 3), (1, 3), -1), ((2, 3, 5), (1, 3, 5), 1), ((2, 1, 3), (1, 4, 3), 2),
                      ((4, 2, 3, 5), (4, 1, 3, 1), 2), ((2, 2, 3, 4), (1, 2, 3, 4), 2)):
        a, b = drawn(*x), drawn(*z)
        if name not in ("int64",):
            a.reshape(-1)[:3] = [np.nan, np.inf, -0.0]
        _same(*_both(lambda a=a, b=b, dim=dim: contractions._cross(a, b, dim)))
        _same(*_both(lambda a=a, b=b, dim=dim: contractions._cross(a.T, b.T, -1 - dim % a.ndim)))
        _same(*_both(lambda a=a, b=b, dim=dim: contractions._cross(np.asfortranarray(a), b, dim)))


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (4, 2), (2, 4), (3, 5, 2), (2, 2, 2, 3), (6, 1), (1, 6)])
def test_reflectors_of_few_numbers_are_lapacks(shape: tuple[int, ...], dtype: np.dtype, rng: np.random.Generator) -> None:
    """Where machine code was made beforehand."""
    *_, m, n = shape
    a, previous, found = rng.standard_normal(shape).astype(dtype), _on_demand.use_numba("numpy"), []
    drawn, zero, large = a.copy(), a.copy(), a * np.finfo(dtype).max ** 0.9
    zero[..., 0] = 0
    try:
        for mode in ("numpy", "kept"):
            _on_demand.use_numba(mode)
            found.append([])
            for x in (drawn, zero) if dtype == np.float32 else (drawn, zero, large):
                h, tau = matrices.reflectors(x)
                found[-1] += [h, tau, *[matrices.reflected(h.swapaxes(-2, -1)[..., :min(m, n)], tau, c) for c in {min(m, n), m}]]
                found[-1] += [y for rows in {min(m, n), m} for y in matrices.qr(x, rows, True)] + [matrices.qr(x, min(m, n), False)[1]]
    finally:
        _on_demand.use_numba(previous)
    for composed, compiled in zip(*found):
        scale = np.abs(composed).max() or 1
        np.testing.assert_allclose(compiled / scale, composed / scale, atol=40 * np.finfo(dtype).eps)


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_products_of_few_halves_are_rounded_once(name: str, rng: np.random.Generator) -> None:
    """Where machine code was made beforehand; sums of numbers with few digits are exact, whoever adds them up."""
    dtype, previous = np.dtype(name) if name != "bfloat16" else np.dtype(ml_dtypes.bfloat16), _on_demand.use_numba("kept")
    try:
        for x, z in (((2, 3), (3, 4)), ((5, 2, 3), (5, 3, 2)), ((2, 3), (3,)), ((3,), (3, 2)), ((3,), (3,)), ((5, 2, 3), (3, 4)),
                     ((2, 3), (5, 3, 2)), ((2, 2, 2, 3), (2, 2, 3, 2)), ((1, 90), (90, 1))):
            a, b = [rng.integers(-9, 10, shape).astype(dtype) for shape in (x, z)]
            for given in (a, np.asfortranarray(a) if a.ndim < 3 else a.swapaxes(-1, -2).copy().swapaxes(-1, -2)):
                found = blas.few_halves(given, b)
                assert found is not None and found.dtype == dtype
                np.testing.assert_array_equal(found, np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(dtype))
        for x, z in (((2, 3), (2, 3)), ((0, 3), (3, 2)), ((2, 0), (0, 2)), ((5, 2, 3), (4, 3, 2)), ((40, 40), (40, 40))):
            assert blas.few_halves(np.ones(x, dtype), np.ones(z, dtype)) is None
        np.testing.assert_array_equal(blas.few_halves(np.ones((4, 3), dtype)[::2], np.ones((3, 2), dtype)), np.full((2, 2), 3, dtype))
    finally:
        _on_demand.use_numba(previous)


@pytest.mark.parametrize("taps", [1, 2, 4])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("spatial", [(5, 4), (3, 4, 2)])
@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16", "float16"])
def test_grids(taps: int, padding: int, spatial: tuple[int, ...], name: str, rng: np.random.Generator) -> None:
    import torchcompat as torch

    if taps == 4 and len(spatial) == 3:
        return
    x = torch.tensor(rng.standard_normal((2, 3, *spatial))).to(getattr(torch, name))
    places = rng.uniform(-2.5, 2.5, (2, 4, *[3] * (len(spatial) - 1), len(spatial)))
    places[0, 0, 0] = np.nan
    places[0, 1, 0] = 1e30 if name != "float16" else 6e4
    places[0, 2, 0] = -1.0
    grid = torch.tensor(places).to(x.dtype)
    mode, pads = {1: "nearest", 2: "bilinear", 4: "bicubic"}[taps], ["zeros", "border", "reflection"][padding]
    for align in (False, True):
        composed, compiled = _both(lambda a=align: torch.nn.functional.grid_sample(x, grid, mode, pads, a)._data)
        np.testing.assert_array_equal(composed.astype(np.float64), compiled.astype(np.float64))
        assert composed.dtype == compiled.dtype



@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("mode, shape, size", [("linear", (2, 3, 5), 7), ("bilinear", (1, 2, 4, 5), (6, 3)),
                                               ("bicubic", (1, 2, 4, 5), (7, 8)), ("trilinear", (1, 2, 2, 3, 4), (3, 2, 6))])
def test_resampling(mode: str, shape: tuple[int, ...], size: int | tuple[int, ...], name: str, rng: np.random.Generator) -> None:
    import torchcompat as torch

    x = torch.tensor(rng.standard_normal(shape)).to(getattr(torch, name))
    for align in (False, True):
        _same(*_both(lambda a=align: torch.nn.functional.interpolate(x, size, mode=mode, align_corners=a)._data))


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_columns(name: str, rng: np.random.Generator) -> None:
    import torchcompat as torch

    x = torch.tensor(rng.standard_normal((2, 12, 9))).to(getattr(torch, name))
    for options in ((2,), (2, 1, 1, 2)):
        _same(*_both(lambda o=options: torch.nn.functional.fold(x, (4, 4), *o)._data))


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("spatial", [(5, 4), (3, 4, 2)])
def test_gradients_of_grids(spatial: tuple[int, ...], name: str, rng: np.random.Generator) -> None:
    import torchcompat as torch

    dtype = getattr(torch, name)
    x = torch.tensor(rng.standard_normal((2, 3, *spatial))).to(dtype)
    grid = torch.tensor(rng.uniform(-1.5, 1.5, (2, *[3] * len(spatial), len(spatial)))).to(dtype)

    def gradients(mode: str, pads: str) -> tuple[np.ndarray, np.ndarray]:
        given = x.clone().requires_grad_(True), grid.clone().requires_grad_(True)
        torch.nn.functional.grid_sample(*given, mode, pads, False).sum().backward()
        return given[0].grad._data + 0, given[1].grad._data + 0  # but for the signs of zeros, which are sums of nothing

    for mode in ("bilinear", "nearest"):
        for pads in ("zeros", "border"):
            _same(*_both(lambda m=mode, p=pads: gradients(m, p)))


@pytest.mark.parametrize("largest", [False, True])
def test_bags(largest: bool, rng: np.random.Generator) -> None:
    for dtype in (np.float32, np.float64):
        rows = rng.standard_normal((9, 4)).astype(dtype)
        rows[2, 1], rows[3] = np.nan, -0.0
        starts, counts = np.array([0, 3, 4, 4]), np.array([3, 1, 0, 5])
        named = np.array([8, 2, 2, 0, 3, 3, 1, 7, 5])
        for index in (None, named):
            _same(*_both(lambda r=rows, i=index, s=starts, c=counts: embedding.bags(r, i, s, c, largest)))
            assert embedding.bags(rows, index, starts, counts + 1, largest) is None
        for mode in ("auto", "numpy"):
            previous = _on_demand.use_numba(mode)
            assert embedding.bags(rows, named + 1, starts, counts, largest) is None
            _on_demand.use_numba(previous)


@pytest.mark.parametrize("upper", [False, True])
def test_large_triangles_in_columns(upper: bool) -> None:
    """Of which only blocks on the diagonal are copied."""
    n = 200
    rng = np.random.default_rng(0)
    triangle, right = rng.standard_normal((1, n, n)) + n * np.eye(n), rng.standard_normal((1, n, 3))
    for unit in (False, True):
        factor = (np.triu if upper else np.tril)(triangle / n, 1 - 2 * (not upper) if unit else 0) + unit * np.eye(n)
        for given in (triangle / n, (triangle / n).swapaxes(1, 2).copy().swapaxes(1, 2)):
            found = matrices.solve_triangles(right, (given, upper, unit))
            assert found.flags.c_contiguous
            np.testing.assert_allclose(factor @ found.swapaxes(1, 2), right, 1e-9, 1e-9)
