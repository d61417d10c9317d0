"""Orders of rows by compiled code against the NumPy compositions, and those against plain sorting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.ops import RECORDS
from autograd_tape.executors.kernels import _on_demand, order

SHAPES = [((3, 7), 1), ((7, 3), 0), ((30, 41), 1), ((2, 3, 90), 1), ((2, 500), -1), ((0, 4), 1), ((400,), 0)]


def _numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> torch.Tensor:
    x = torch.tensor(np.round(3 * rng.standard_normal(shape)))  # many equal ones
    if dtype.startswith("float"):
        x[x == 1] = -0.0
    return x.to(getattr(torch, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "uint8"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_compiled_as_composed(shape: tuple[int, ...], axis: int, dtype: str, rng: np.random.Generator) -> None:
    if not _on_demand.available():
        pytest.skip("Numba is not installed: there are no compiled kernels to test")
    x = _numbers(rng, shape, dtype)
    k = shape[axis] // 2 + 1
    calls = [lambda: torch.sort(x, axis), lambda: torch.topk(x, k, axis), lambda: torch.kthvalue(x, k, axis),
             lambda: torch.median(x, axis), lambda: torch.mode(x, axis)]
    _same_in_both(calls)


def _same_in_both(calls: Sequence[Callable[[], Any]]) -> None:
    """Asserts that calls give the same numbers, with the same signs, and strides with kernels and without."""
    found = {}
    for mode in ("numpy", "numba"):
        previous = _on_demand.use_numba(mode)
        try:
            results = [call() for call in calls]
        finally:
            _on_demand.use_numba(previous)
        results = [t for r in results for t in (r if isinstance(r, tuple) else (r,))]
        found[mode] = [(str(t.tolist()), t.stride(), t.dtype) for t in results]
    assert found["numba"] == found["numpy"]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
def test_running_and_searches_as_composed(dtype: str, rng: np.random.Generator) -> None:
    if not _on_demand.available():
        pytest.skip("Numba is not installed: there are no compiled kernels to test")
    for shape, axis in SHAPES:
        x = _numbers(rng, shape, dtype)
        bounds, rows = torch.sort(x.reshape(-1)[:9]).values, torch.sort(x).values
        x[..., 1] = float("nan") if dtype != "int64" else 7
        _same_in_both([lambda: torch.cumsum(x, axis), lambda: torch.cumprod(x, axis), lambda: torch.cummax(x, axis),
                       lambda: torch.cummin(x, axis), lambda: torch.nanmedian(x, axis), lambda: torch.bucketize(x, bounds, right=True),
                       lambda: torch.searchsorted(rows, x)])


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("shape", [(1,), (33,), (30, 41), (3, 500), (64, 80)])
def test_lines_as_composed(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    """Runs of equal elements, and the median of all, along a line of memory."""
    if not _on_demand.available():
        pytest.skip("Numba is not installed: there are no compiled kernels to test")
    given = _numbers(rng, shape, dtype)
    missing = given.clone()
    if dtype.startswith(("float", "bfloat")):
        missing.reshape(-1)[-1] = float("nan")
    for x in (given, missing, given.mT if given.ndim > 1 else given[::2]):
        calls = [lambda x=x: torch.unique_consecutive(x, return_inverse=True, return_counts=True), lambda x=x: torch.unique_consecutive(x),
                 lambda x=x: torch.unique(x, return_inverse=True, return_counts=True)]
        medians = [] if dtype == "bool" else [lambda x=x: torch.median(x), lambda x=x: torch.nanmedian(x)]
        _same_in_both([*calls, *medians])


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "int64", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(1, 9), (5, 5), (2, 3, 4), (3, 20, 30), (2, 1500), (1500, 2)])
def test_triangles_and_turns_as_composed(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    if not _on_demand.available():
        pytest.skip("Numba is not installed: there are no compiled kernels to test")
    given = torch.tensor(3 * rng.standard_normal(shape)).to(getattr(torch, dtype))
    for x in (given, given.mT, given[..., 1:]):
        _same_in_both([lambda x=x, cut=cut, k=k: cut(x, k) for cut in (torch.tril, torch.triu) for k in (0, 1, -2, 40, -1500, 1500)])
        _same_in_both([lambda x=x, d=d: torch.flip(x, d) for d in ((0,), (-1,), (0, -1))])


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "bool"])
def test_parts_of_arrays_as_their_copies(dtype: str, rng: np.random.Generator) -> None:
    """Sums and extremes of what lies with gaps in memory are those of its copy in rows, in each mode."""
    for shape in ((2, 3), (26, 39), (4, 5, 6)):
        whole = _numbers(rng, (shape[0] + 1, *shape[1:-1], shape[-1] + 2), dtype)
        part = whole[1:, ..., :-2]
        for mode in ("numpy", "numba") if _on_demand.available() else ("numpy",):
            previous = _on_demand.use_numba(mode)
            try:
                for call in (torch.sum, torch.amax, torch.amin, torch.count_nonzero, torch.any, torch.all):
                    for dim in (None, -1, 0, (0, -1)):
                        found, wanted = call(part, dim), call(part.contiguous(), dim)
                        assert (found.tolist(), found.stride(), found.dtype) == (wanted.tolist(), wanted.stride(), wanted.dtype)
                for along in (torch.max, torch.min):
                    assert [t.tolist() for t in along(part, 1)] == [t.tolist() for t in along(part.contiguous(), 1)]
            finally:
                _on_demand.use_numba(previous)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_positions_as_composed(dtype: str, rng: np.random.Generator) -> None:
    if not _on_demand.available():
        pytest.skip("Numba is not installed: there are no compiled kernels to test")
    for shape, axis in SHAPES:
        x = _numbers(rng, shape, dtype)
        n = x.shape[axis]
        if not x.numel():
            continue
        index = torch.tensor(rng.integers(0, n, tuple([m if d == axis % x.ndim else max(m - 1, 1) for d, m in enumerate(shape)])))
        row, source = torch.tensor(rng.integers(0, n, n)), _numbers(rng, shape, dtype)
        source[..., 1] = float("nan")
        once = torch.tensor(rng.permutation(n))
        _same_in_both([lambda: torch.gather(x, axis, index), lambda: torch.scatter_add(x, axis, index, source),
                       lambda: torch.index_add(x, axis, row, source), lambda: torch.index_copy(x, axis, once, source),
                       *[lambda r=r: torch.scatter_reduce(x, axis, index, source, r) for r in ("prod", "amax", "amin", "mean")],
                       *[lambda r=r: torch.index_reduce(x, axis, row, source, r) for r in ("prod", "amax", "amin")]])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_keys_are_in_order(dtype: str, kernels: str) -> None:
    x = np.array([-np.inf, -2, -1e-7, -0.0, 0.0, 1e-7, 1, np.inf, np.nan, -np.nan], dtype)
    found = order.keys(x)
    assert (np.diff(found) >= 0).all() and np.flatnonzero(np.diff(found) == 0).tolist() == [3, 8]


def test_keys_of_large_integers_are_in_order() -> None:
    assert (np.diff(order.keys(np.array([0, 1, 2**63 - 1, 2**63, 2**64 - 1], np.uint64))) > 0).all()
    assert order.keys(np.array([False, True])).tolist() == [0, 1]


@pytest.mark.parametrize("width", [2, 39, 40, 41, 300])
def test_places_of_any_integers(width: int, rng: np.random.Generator) -> None:
    if not _on_demand.available():
        pytest.skip("Numba is not installed: there are no compiled kernels to test")
    rows = rng.integers(-2**62, 2**62, (4, width)) >> rng.integers(0, 60, (4, 1))
    for descending in (False, True):
        expected = np.argsort(~rows if descending else rows, 1, "stable")
        np.testing.assert_array_equal(order.ordered(rows, descending), expected)


@pytest.mark.parametrize("width", [2, 12, 13, 47, 48, 97, 300])
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float32", "float64"])
def test_places_of_numbers_with_ties(dtype: str, width: int, rng: np.random.Generator, kernels: str) -> None:
    rows = rng.integers(-3, 4, (40, width)).astype(dtype)[:, ::-1]
    for descending in (False, True):
        expected = np.argsort(~order.keys(rows) if descending else rows, 1, "stable")
        np.testing.assert_array_equal(order.ordered(rows, descending), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "int64", "uint8", "bool"])
@pytest.mark.parametrize(("shape", "axis"), [((5, 1), 1), ((6, 2), 1), ((3, 5), 0), ((4, 9), 0), ((5, 26, 3), 1), ((3, 97), 1),
                                             ((2, 900), -1)])
def test_orders_along_any_axis_of_any_layout(shape: tuple[int, ...], axis: int, dtype: str, rng: np.random.Generator, kernels: str) -> None:
    rows = _numbers(rng, shape, dtype)
    if rows.dtype.is_floating_point:
        rows[0, 0] = float("nan")
    for x in (rows, rows.mT.contiguous().mT, torch.cat([rows, rows], -1)[..., ::2]):
        for descending in (False, True):
            values, places = torch.sort(x, axis, descending)
            assert torch.argsort(x, axis, descending).tolist() == places.tolist()
            assert str(torch.gather(x, axis, places).tolist()) == str(values.tolist())
            key = order.keys(x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy())
            expected = np.argsort(~key if descending else key, axis, kind="stable")
            assert places.tolist() == expected.tolist()
            assert values.stride() == torch.empty_like(x).stride() == places.stride()
        assert str(torch.msort(x).tolist()) == str(torch.sort(x, 0).values.tolist())


def test_unique_of_numbers_that_lie_apart(kernels: str) -> None:
    assert torch.unique(torch.arange(4000)[::2] % 5).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("d", [0, 1, 2])
def test_gradients_go_where_selections_were_and_nowhere_else(d: int) -> None:
    x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
    values, places = x.max(d)
    grad = torch.arange(1.0, values.numel() + 1).reshape(values.shape)
    expected = np.zeros((2, 3, 4))
    np.put_along_axis(expected, np.expand_dims(places.numpy(), d), np.expand_dims(grad.numpy(), d), d)
    assert torch.autograd.grad(values, x, grad, retain_graph=True)[0].tolist() == expected.tolist()
    for wrong in (-1, x.shape[d]):
        found = RECORDS["at_indices"].body.__dict__["numpy"]
        with pytest.raises(IndexError):
            found(grad.numpy(), np.full(values.shape, wrong), (2, 3, 4), d, False)


@pytest.mark.parametrize("name", ["kthvalue", "topk", "median", "nanmedian", "mode"])
def test_along_one_element_each_is_its_own(name: str) -> None:
    x = torch.tensor([[3.0, float("nan"), -0.0]])
    values, places = getattr(torch, name)(x, *((1, 0) if name in ("kthvalue", "topk") else (0,)))
    assert str(values.reshape(-1).tolist()) == str(x[0].tolist()) and places.reshape(-1).tolist() == [0, 0, 0]
    values += 1
    assert x[0, 0] == 3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_boxes_of_histograms(dtype: str, rng: np.random.Generator, kernels: str) -> None:
    points = torch.tensor(np.round(4 * rng.standard_normal((300, 2)))).to(getattr(torch, dtype))
    line, weight = points[:, 0], torch.rand(300, dtype=getattr(torch, dtype))
    line[7] = float("nan")
    for edges in ([-3.0, -3.0, 0.5, 2.0, 9.0], np.linspace(-7, 5, 30), [4.0, 1.0, 2.0]):
        border = torch.tensor(edges, dtype=points.dtype)
        inside = [(i, x) for i, x in enumerate(line.tolist()) if edges[0] <= x <= edges[-1]]
        if sorted(edges) == list(edges):
            at = np.minimum(np.searchsorted(border.numpy(), [x for _, x in inside], "right") - 1, len(edges) - 2)
            expected = np.bincount(at, weight.numpy()[[i for i, _ in inside]], len(edges) - 1)
            np.testing.assert_allclose(torch.histogram(line, border, weight=weight).hist.numpy(), expected, 1e-6)
    line[7] = 0
    whole, parts = torch.histogram(line, 9), torch.histogramdd(points, [9, 3])
    assert whole.hist.sum().item() == parts.hist.sum().item() == 300
    assert parts.hist.sum(1).tolist() == whole.hist.tolist() == torch.histogram(line, whole.bin_edges).hist.tolist()
    assert torch.histogram(line, 4, range=(-1.0, 3.0)).hist.sum().item() == ((line >= -1) & (line <= 3)).sum().item()


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
def test_medians_of_few_different_numbers(dtype: str, kernels: str) -> None:
    """Of which a sample leaves nothing out, or is all there is; the place is the first in the stable order."""
    rng = np.random.default_rng(0)
    for n in (256, 257, 1000, 5003):
        for numbers in (rng.integers(0, 2, n), rng.integers(0, 3, n), np.full(n, 7), np.arange(n) == 5, rng.permutation(n),
                        -np.arange(n) // 9, np.where(rng.random(n) < 0.01, -5, 2), np.repeat([0, 9, 1], n)[::3][:n]):
            x, at = numbers.astype(dtype), (n - 1) // 2
            place = np.argsort(x, kind="stable")[at]
            for skip_nan in (False, True):
                if (found := order.median(x, 0, (), skip_nan)) is not None:
                    assert (found[0], found[1]) == (x[place], place)
