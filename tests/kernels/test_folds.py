"""The loop of reductions gives NumPy's bits of few numbers, in every dtype and layout, and close numbers of many."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import torchcompat as torch
from autograd_tape import F, TensorRef
from autograd_tape.errors import AutogradError
from autograd_tape.executors import cpu_executor
from autograd_tape.executors.kernels import _on_demand, folds, reduce
from autograd_tape.executors.kernels.reduce import add
from autograd_tape.held import tensors_in
from autograd_tape.ops import RECORDS

pytestmark = pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there is no machine code")
DTYPES = [np.float32, np.float64, np.int64, ml_dtypes.bfloat16, np.float16]
SIZES = [1, 2, 3, 7, 8, 9, 33, 130, 260]
TERMS = [lambda x: x, np.abs, lambda x: x * x, lambda x: np.where(x != x, x.dtype.type(0), x)]


@pytest.fixture
def at_hand(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    previous = _on_demand.use_numba("auto")
    monkeypatch.setattr(_on_demand.state, "mode", "numba")  # machine code is made at once
    yield
    _on_demand.use_numba(previous)


def _arrays(rng: np.random.Generator, dtype: Any, calls: int, most: int) -> Iterator[tuple[np.ndarray, Any, bool]]:
    while calls:
        shape = tuple(int(n) for n in rng.choice(SIZES, rng.integers(0, 5)))
        if np.prod(shape) > most:
            continue
        x = (rng.standard_normal(shape) * 5).astype(dtype)
        if rng.random() < 0.4:
            x = x.transpose(rng.permutation(x.ndim))
        if rng.random() < 0.1 and x.ndim:
            x = x[::-1]
        dims = tuple(int(d) for d in rng.permutation(x.ndim)[: rng.integers(0, x.ndim + 1)])
        calls -= 1
        yield x, (None if not dims else dims[0] if len(dims) == 1 else dims), bool(rng.random() < 0.5)


def _expected(x: np.ndarray, dim: Any, keepdim: bool, term: int, last: int) -> np.ndarray:
    axes = None if dim is None else (dim,) if isinstance(dim, int) else tuple(sorted(dim))
    wide = x.astype(np.float32) if x.itemsize == 2 else x
    found = add(TERMS[term](wide), axes, None, keepdim)
    found = found / wide.dtype.type(last) if last > 0 else np.sqrt(found) if last else found
    return np.asarray(found).astype(x.dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_few_numbers_have_numpys_bits(at_hand: None, dtype: Any) -> None:
    rng, taken = np.random.default_rng(0), 0
    for x, dim, keepdim in _arrays(rng, dtype, 400, 30000):
        if x.size and rng.random() < 0.2:
            x.flat[rng.integers(0, x.size)] = 0 if dtype is np.int64 else rng.choice([np.nan, np.inf, -0.0])
        term, last = int(rng.integers(0, 4)), 0 if dtype is np.int64 else int(rng.choice([0, 0, -1, 7]))
        found = folds.fold(x, dim, keepdim, term, last)
        with np.errstate(all="ignore"):
            expected = _expected(x, dim, keepdim, term, last)
        if found is not None:
            taken += 1
            assert found.dtype == dtype and found.shape == expected.shape and found.flags.c_contiguous
            assert ((found == expected) | (found != found) & (expected != expected)).all(), (x.shape, x.strides, dim, term, last)
    assert taken > 150


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_are_rounded_as_they_grow(at_hand: None, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    for shape, dim in [((6,), None), ((20,), None), ((5, 20), 1), ((300, 9), 0), ((3, 40, 5), 1)]:
        x = (rng.uniform(0.8, 1.2, shape) if dtype is not np.int64 else rng.integers(-3, 4, shape)).astype(dtype)
        found = folds.fold(x, dim, False, folds.PRODUCT)
        factors = np.moveaxis(x.reshape(-1) if dim is None else x, dim or 0, 0)
        expected = factors[0].copy()
        for factor in factors[1:]:
            expected = (expected * factor).astype(dtype)
        assert found is not None and (found == expected).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("dim", [None, 1])
def test_products_with_gaps_are_rounded_one_after_another(at_hand: None, dtype: torch.dtype, dim: int | None) -> None:
    """Numbers that lie apart are multiplied in order: what came to nothing meets no infinity of another lane."""
    numbers = torch.tensor([0.01] * 200 + [100.0] * 200 + [1.0] * 112).to(dtype)
    apart = torch.zeros(1, 1024, dtype=dtype)[:, ::2]
    apart.copy_(numbers)
    found = torch.prod(apart) if dim is None else torch.prod(apart, dim)
    assert found.reshape(-1).tolist() == [0.0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(40000,), (2000, 21), (3, 5000, 4), (50, 30, 40)])
def test_many_numbers_are_close(at_hand: None, dtype: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(2)
    x = (rng.standard_normal(shape) * (0.1 if dtype is np.float16 else 5)).astype(dtype)
    for dim in [None, 0, -1, (0, -1) if len(shape) > 1 else 0]:
        for term in range(4):
            found = folds.fold(x, dim, False, term)
            expected = np.asarray(np.add.reduce(TERMS[term](x.astype(np.float64)), dim))
            sizes = np.add.reduce(np.abs(TERMS[term](x.astype(np.float64))), dim)
            assert found is not None and found.shape == expected.shape
            off = {2: 2e-2 if dtype is ml_dtypes.bfloat16 else 2e-3, 4: 1e-6, 8: 1e-14}[x.itemsize]
            assert (np.abs(found.astype(np.float64) - expected) <= off * sizes + 1e-30).all()
    ones = rng.uniform(0.999, 1.001, shape).astype(dtype)
    if x.itemsize > 2 and dtype is not np.int64:
        found = folds.fold(ones, None, False, folds.PRODUCT)
        expected = np.multiply.reduce(ones.astype(np.float64), None)
        assert found is not None and abs(float(found) / float(expected) - 1) < (1e-9 if x.itemsize > 4 else 1e-3)


@pytest.mark.parametrize("dtype", [*DTYPES, np.bool_])
@pytest.mark.parametrize("which", ["<", ">", "<>"])
def test_ends_are_the_least_and_the_largest(at_hand: None, dtype: Any, which: str) -> None:
    rng, taken = np.random.default_rng(4), 0
    for x, dim, keepdim in _arrays(rng, dtype, 200, 30000):
        if x.size and x.dtype.kind not in "ib" and rng.random() < 0.5:
            x.flat[rng.integers(0, x.size)] = rng.choice([np.nan, -np.nan, np.inf, -np.inf, -0.0])
        found = folds.ends(x, dim, keepdim, which)
        if found is not None:
            taken += 1
            for sign, ends in zip(which, found, strict=True):
                wide = x.astype(np.float32) if x.itemsize == 2 else x
                expected = (np.minimum if sign == "<" else np.maximum).reduce(wide, None if dim is None else dim, keepdims=keepdim)
                assert ends.dtype == dtype and ends.shape == np.shape(expected) and ends.flags.c_contiguous
                assert np.array_equal(ends.astype(wide.dtype), expected, equal_nan=wide.dtype.kind == "f"), (x.shape, x.strides, dim)
    assert taken > 100


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [2, 7, 8, 9, 15, 16, 17, 31, 40, 1000])
def test_whole_ends_have_the_sign_of_zeros_or_are_the_first(at_hand: None, dtype: Any, n: int) -> None:
    rng = np.random.default_rng(n)
    for kind in range(30):
        x = rng.integers(*[(-3, 4), (0, 2), (-1, 1)][kind % 3], n).astype(dtype)
        if dtype is not np.int64:
            x = np.where(rng.random(n) < 0.5, -x, x).astype(dtype)
            if kind % 5 == 0:
                x[rng.integers(0, n)] = rng.choice([np.nan, -np.nan, np.inf])
        wide = x.astype(np.float64)
        for which in ("<", ">", "<>"):
            first, found = folds.whole_ends(x, which, True), folds.whole_ends(x, which)
            assert first is not None and found is not None
            for sign, a, b in zip(which, first, found, strict=True):
                best = x[(np.argmin if sign == "<" else np.argmax)(wide)]
                assert a.tobytes() == best.tobytes() and np.array_equal(b.astype(np.float64), best.astype(np.float64), equal_nan=True)
                if b == 0 and dtype is not np.int64:
                    signs = np.signbit(wide[wide == 0])
                    assert np.signbit(b.astype(np.float64)) == (signs.any() if sign == "<" else signs.all())


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 1000])
def test_an_index_is_within_a_size(at_hand: None, n: int) -> None:
    """In rows, in reverse, and from an odd byte on."""
    for bad in (None, -1, 500, -2 ** 63, 2 ** 63 - 1):
        for place in range(0, n, max(1, n // 5)):
            index = np.random.default_rng(n).integers(0, 500, n)
            if bad is not None:
                index[place] = bad
            for laid in (index, index[::-1], np.frombuffer(b"." + index.tobytes(), np.uint8)[1:].view(np.int64), index.reshape(1, -1)):
                assert folds.within(laid, 500) == (bad is None)
    assert folds.within(np.zeros(0, np.int64), 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2000, 3), (700, 3, 4), (3000, 2), (900, 5, 1)])
def test_slabs_have_the_bits_of_the_loop(at_hand: None, dtype: Any, shape: tuple[int, ...]) -> None:
    x = (np.random.default_rng(5).standard_normal(shape) * 5).astype(dtype)
    for term, last in ((folds.SUM, 0), (folds.PRODUCT, 0), *([(folds.SUM, 3)] if dtype is not np.int64 else [])):
        whole, part = folds.fold(x, 1, False, term, last), folds.fold(x[:50], 1, False, term, last)  # of which few take the loop
        assert whole is not None and part is not None and whole[:50].tobytes() == part.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_extremes_are_the_first_of_equal_ones(at_hand: None, dtype: Any) -> None:
    rng = np.random.default_rng(3)
    for shape, dim in [((6,), None), ((2, 9), 1), ((9, 2), 0), ((3, 7, 130), 1), ((2, 3, 5), None), ((50, 33), 0)]:
        x = rng.integers(-3, 4, shape).astype(dtype)
        if dtype is not np.int64:
            x = np.where(rng.random(shape) < 0.3, -x, x).astype(dtype)  # zeros of both signs
            x.flat[rng.integers(0, x.size)] = np.nan
        wide = x.astype(np.float64)
        for smallest in (False, True):
            found = folds.extremes(x, dim, False, smallest)
            index = np.asarray((np.argmin if smallest else np.argmax)(wide, dim))
            expected = wide.flat[index] if dim is None else np.take_along_axis(wide, np.expand_dims(index, dim), dim).reshape(index.shape)
            assert found is not None and found[0].dtype == dtype and (found[1] == index).all()
            values = found[0].astype(np.float64)
            assert ((values == expected) & (np.signbit(values) == np.signbit(expected)) | (values != values) & (expected != expected)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_variances_of_few_numbers_have_numpys_bits(at_hand: None, dtype: Any) -> None:
    rng, taken = np.random.default_rng(4), 0
    for x, dim, keepdim in _arrays(rng, dtype, 150, 3000):
        if not x.size:
            continue
        x = x * 1000 + dtype(rng.choice([0, 1e7]))
        axes = None if dim is None else (dim,) if isinstance(dim, int) else tuple(sorted(dim))
        n = x.size // max(1, np.add.reduce(x, axes, keepdims=True).size)
        found = folds.spread(x, dim, keepdim, float(n), False)
        if found is None:
            continue
        taken += 1
        if axes is not None and 1 < len(axes) < x.ndim:  # several dimensions are copied into rows, with and without machine code
            shape = np.add.reduce(x, axes, keepdims=keepdim).shape
            kept = [d for d in range(x.ndim) if d not in axes]
            x = np.ascontiguousarray(x.transpose(*kept, *axes)).reshape(*[x.shape[d] for d in kept], n)
            axes, keepdim, found = (x.ndim - 1,), False, tuple([a.reshape(x.shape[:-1]) for a in found if a.shape == shape])
            assert len(found) == 2
        first = x[tuple([slice(1) if axes is None or d in axes else slice(None) for d in range(x.ndim)])].astype(np.float64)
        apart = x - first
        mean = np.add.reduce(apart, axes, keepdims=True) / n
        variance = np.add.reduce((apart - mean) ** 2, axes, keepdims=keepdim) / n
        mean = (mean + first).reshape(np.shape(variance))
        for got, expected in zip(found, (variance, mean), strict=True):
            assert got.dtype == dtype and got.shape == np.shape(expected) and (got == np.asarray(expected, dtype)).all()
    assert taken > 30


@pytest.mark.parametrize("dim", [True, 1.0, (True,), (1.0,), (0, True)])
def test_what_equals_a_dimension_is_none(dim: Any, at_hand: None) -> None:
    x = np.ones((3, 4), np.float32)
    assert folds.fold(x, 1, False) is not None and folds.fold(x, (1,), False) is not None and folds.fold(x, (0, 1), False) is not None
    assert folds.fold(x, dim, False) is None and folds.extremes(x, dim, False, False) is None
    assert folds.spread(x, dim, False, 1.0, False) is None


ALONG = sorted(r.name for r in RECORDS.values()
               if ".reductions." in r.module and r.public and not r.alias and r.tensor_params and any(p.name == "dim" for p in r.params))


@pytest.mark.parametrize("name", ALONG)
def test_results_over_one_element_have_memory_of_their_own(name: str) -> None:
    """Over a dimension of size one there is nothing to reduce, and what lies there already is somebody's."""
    calls, more = 0, [p.name for p in RECORDS[name].params[1:] if p.name not in RECORDS[name].defaults and p.name != "dim"]
    for shape, dim in (((1, 64, 40), 0), ((64, 1, 40), 1), ((1, 6), 0), ((5000, 1), 1)):
        for dtype in (np.float32, np.float64, ml_dtypes.bfloat16, np.int64, np.bool_):
            x = TensorRef(np.ones(shape, dtype))
            with contextlib.suppress(AutogradError, TypeError, IndexError, NotImplementedError):
                found = F.function(name)(x, dim=dim, **dict.fromkeys(more, 1))
                calls += 1
                assert not any(np.may_share_memory(y._data, x._data) for y in tensors_in(found)), (shape, dtype)
    assert calls or name in ("gradient", "nuclear_norm")  # which refuse one element, and one dimension


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, ml_dtypes.bfloat16])
def test_gradients_of_what_was_broadcast_are_added_up(at_hand: None, rng: np.random.Generator, dtype: type) -> None:
    add_up = cpu_executor().F.reduce_to_shape
    for shape, to in [((400, 3), (400, 1)), ((400, 3), (3,)), ((7, 30, 5), (30, 1)), ((7, 30, 5), (7, 1, 5)), ((7, 30, 5), ()),
                      ((9, 8), (1, 1))]:
        x = rng.integers(-4, 5, shape).astype(dtype)
        for given in (x, np.asfortranarray(x), np.broadcast_to(x[:1], shape)):
            found = add_up(given, to)
            lead = len(shape) - len(to)
            axes = (*range(lead), *[i + lead for i, n in enumerate(to) if n == 1 and shape[i + lead] != 1])
            assert found.dtype == dtype and found.shape == to and not np.shares_memory(found, x)
            np.testing.assert_array_equal(found.astype(np.float64), given.astype(np.float64).sum(axes).reshape(to))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("low", "high", "bins"), [(-1.0, 1.0, 4), (0.1, 0.7, 3), (-5.0, 5.0, 100), (0.0, 1e-40, 2)])
def test_bins_are_those_of_numpys_passes(dtype: Any, low: float, high: float, bins: int) -> None:
    x = np.append(np.random.default_rng(6).standard_normal(500), [low, high, np.nan, np.inf, -np.inf]).astype(dtype)
    found = []
    for mode in ("numpy", "numba"):
        previous = _on_demand.use_numba(mode)
        try:
            found.append(reduce.binned(x, bins, low, high).tolist())
        finally:
            _on_demand.use_numba(previous)
    assert found[0] == found[1] and sum(found[0])


@pytest.mark.parametrize("dtype", DTYPES[:2] + DTYPES[3:])
def test_sums_of_products_are_those_of_products_that_are_made(at_hand: None, dtype: Any) -> None:
    rng, taken = np.random.default_rng(2), 0
    for x, _, _ in _arrays(rng, dtype, 300, 40000):
        if not x.ndim:
            continue
        z = (rng.standard_normal([n if rng.random() < 0.8 else 1 for n in x.shape[rng.integers(0, x.ndim):]]) * 5).astype(dtype)
        z, dim = z if rng.random() < 0.5 else np.asfortranarray(z), int(rng.integers(-x.ndim, x.ndim))
        found = folds.fold_products(x, z, dim)
        if found is not None:
            made = np.empty_like(x)
            np.multiply(x, z, out=made)
            expected = folds.fold(made, dim, False)
            assert expected is not None
            assert (found.shape, found.tobytes()) == (expected.shape, expected.tobytes()), (x.shape, z.shape, dim)
            taken += 1
    assert taken > 50


@pytest.mark.parametrize("dtype", DTYPES[2:])
@pytest.mark.parametrize("shape", [(1,), (5, 3), (31,), (2, 4097), (9000,), (300, 1), (4, 0), (0, 3)])
def test_dot_products_of_rows(at_hand: None, dtype: Any, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    x, z = [(rng.standard_normal(s) * 5).astype(dtype) for s in (shape, shape[-1:])]
    if dtype is np.int64:
        x, z = x << 40, z << 20  # sums wrap around
    found = folds.dot_rows(x, z)
    assert found is not None and found.shape == shape[:-1] and found.dtype == dtype
    if dtype is np.int64:
        np.testing.assert_array_equal(found, np.matmul(x, z))
    else:
        exact = np.matmul(x.astype(np.float64), z.astype(np.float64))
        scale = np.matmul(np.abs(x.astype(np.float64)), np.abs(z.astype(np.float64)))
        assert (np.abs(found.astype(np.float64) - exact) <= np.abs(exact) * (2.0**-8 if dtype is ml_dtypes.bfloat16 else 2.0**-10)
                + 1e-5 * scale).all()
    assert shape[-1] < 2 or not x.size or folds.dot_rows(x[..., ::-1], z) is None  # neither is in rows


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64"])
@pytest.mark.parametrize("shape", [(9, 23), (7, 64), (5, 130), (300, 300), (40, 1227), (2, 33, 71)])
def test_columns_that_lie_side_by_side(shape: tuple[int, ...], dtype: str, rng: np.random.Generator, kernels: str) -> None:
    x = torch.tensor(np.round(8 * rng.standard_normal(shape))).to(getattr(torch, dtype))
    d, wide = len(shape) - 2, x.double().numpy()
    assert torch.sum(x.double(), d).tolist() == wide.sum(d).tolist()
    assert torch.sum(x, d).tolist() == torch.tensor(wide.sum(d)).to(x.dtype).tolist()
    if dtype != "int64":
        x[..., 0, 2] = float("nan")
        assert torch.nansum(x, d)[..., 2].tolist() == torch.sum(x[..., 1:, 2], d).tolist()
    for name in ("max", "min"):
        values, places = getattr(torch, name)(x, d)
        assert places.tolist() == getattr(np, f"arg{name}")(x.double().numpy(), d).tolist()
        assert str(values.tolist()) == str(torch.gather(x, d, places.unsqueeze(d)).squeeze(d).tolist())


@pytest.mark.parametrize("n", [129, 1014, 4000])
def test_variances_of_long_rows(n: int, rng: np.random.Generator, kernels: str) -> None:
    x = torch.tensor(1e4 + rng.standard_normal((2, n)), dtype=torch.float32)
    np.testing.assert_allclose(torch.std(x, 1).numpy(), np.std(x.double().numpy(), 1, ddof=1), 1e-6)
    np.testing.assert_allclose(torch.var_mean(x)[1].item(), x.double().mean().item(), 1e-6)


@pytest.mark.parametrize("dtype", [*DTYPES, np.bool_])
def test_a_layouts_way_gives_what_was_given_before_it_was_found(at_hand: None, dtype: Any, rng: np.random.Generator) -> None:
    for name in ("sum", "prod", "nansum", "mean", "amax", "amin", "any", "all", "argmin", "argmax"):
        if dtype in (np.int64, np.bool_) and name == "mean" or dtype == np.bool_ and name.startswith("arg"):
            continue
        for x, dim, keepdim in _arrays(rng, dtype, 30, 20_000):
            if isinstance(dim, tuple) and name in ("prod", "argmin", "argmax") or dim is None and (keepdim or name in ("any", "all")):
                continue
            t = TensorRef.of(x)
            first, second, third = [getattr(F, name)(t if dim is None or i else TensorRef.of(x.copy("K")), dim, keepdim)._data
                                    for i in range(3)]
            for again in (second, third):
                assert again.dtype == first.dtype and again.strides == first.strides
                np.testing.assert_array_equal(again.view(np.uint8) if again.ndim and again.flags.c_contiguous else again,
                                              first.view(np.uint8) if first.ndim and first.flags.c_contiguous else first)


def test_a_way_is_left_where_numbers_are_out_of_step(at_hand: None) -> None:
    plain, bytes_ = np.arange(6.0).reshape(2, 3), np.zeros(49, np.uint8)
    apart = bytes_[1:].view(np.float64).reshape(2, 3)
    apart[...] = plain
    assert not apart.flags.aligned
    for x in (plain, plain, apart):
        assert F.prod(TensorRef.of(x), 1, False)._data.tolist() == [0.0, 60.0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_running_values_go_their_ways_in_any_layout(at_hand: None, dtype: Any, rng: np.random.Generator) -> None:
    for name in ("cumsum", "cumprod", "cummax", "cummin"):
        for x, dim, _ in _arrays(rng, dtype, 30, 20_000):
            if not x.ndim:
                continue
            d = dim if isinstance(dim, int) else 0
            found = [getattr(F, name)(TensorRef.of(x), d) for _ in range(3)] + [getattr(F, name)(TensorRef.of(x.copy("C")), d)]
            for other in found[1:]:
                for a, b in zip(tensors_in(found[0]), tensors_in(other), strict=True):
                    np.testing.assert_array_equal(a._data, b._data)


@pytest.mark.parametrize("shape", [(3, 10, 15), (2, 3), (4, 4), (1, 5)])
def test_equations_of_least_norm(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    for dtype, close in ((torch.float32, 1e-4), (torch.float64, 1e-12), (torch.complex128, 1e-12)):
        A, B = [torch.tensor(rng.standard_normal(s)).to(dtype) for s in (shape, shape[:-1])]
        found = torch.linalg.lstsq(A, B)
        expected = (torch.linalg.pinv(A) @ B[..., None])[..., 0]
        torch.testing.assert_close(found.solution, expected, rtol=close * 10, atol=close * 10)
        assert found.rank.tolist() == torch.full(shape[:-2], min(shape[-2:])).tolist()


def test_weighted_covariances_have_the_bits_of_recorded_ones(rng: np.random.Generator) -> None:
    for dtype in (torch.float32, torch.float64):
        x, a = torch.tensor(rng.standard_normal((3, 8))).to(dtype), torch.tensor(rng.uniform(0.5, 1, 8)).to(dtype)
        for counts in (None, torch.tensor(rng.integers(1, 4, 8))):
            for factors in (None, a):
                for correction in (0, 1, 20):
                    found, again = [torch.cov(t, correction=correction, fweights=counts, aweights=factors)
                                    for t in (x, x.clone().requires_grad_())]
                    assert torch.equal(found.nan_to_num(7), again.detach().nan_to_num(7))
