"""Kernels that threads share: every item once, whoever calls; and the kernels that only big arrays reach."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import torchcompat as torch

from autograd_tape.executors.kernels import _on_demand, elementwise, embedding, sharing, reduce, select

pytestmark = pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there is nothing to share")


@pytest.fixture(autouse=True)
def compiled():
    mode, before = _on_demand.use_numba("numba"), sharing.get_num_threads()
    sharing.set_num_threads(2)
    yield
    sharing.set_num_threads(before)
    _on_demand.use_numba(mode)


@pytest.mark.parametrize(("n", "grain", "threads"), [(0, 1, 2), (1, 1, 2), (103, 1, 5), (7, 100, 2), (5000, 3, 3)])
def test_every_item_once(n, grain, threads):
    sharing.set_num_threads(threads)
    kernel = sharing._arithmetic.each
    for _ in range(20):
        x, y = np.arange(n, dtype=np.float64), np.full(n, np.nan)
        sharing.share(kernel, "d", n, grain, 0, x, y)
        np.testing.assert_array_equal(y, -x)


def test_workers_take_part_and_go_to_sleep():
    x = np.ones(1 << 20, np.float32)
    deadline = time.monotonic() + 60
    while sharing._pool.cells[16] == 0 and time.monotonic() < deadline:  # chunks that workers took of the last job
        elementwise.sigmoid(x)
    assert sharing._pool.cells[16] > 0
    while not sharing._pool.workers[0].asleep and time.monotonic() < deadline:
        time.sleep(0.001)
    assert sharing._pool.workers[0].asleep
    seen = []
    sharing.parallel_for(8, 1, lambda start, stop: seen.append(stop - start))  # a sleeper serves both ways
    assert sum(seen) == 8


def test_python_work_calls_workers_back():
    x = np.ones(1 << 20, np.float32)
    for _ in range(50):
        elementwise.sigmoid(x)
        meet = threading.Barrier(2, timeout=60)
        met: list[int] = []
        sharing.parallel_for(2, 1, lambda start, stop, meet=meet, met=met: met.append(meet.wait()))  # opens only if a worker has come
        assert sorted(met) == [0, 1]


def test_concurrent_callers():
    wrong, done = [], []

    def caller(seed):
        x = np.random.default_rng(seed).standard_normal(200_000)
        for _ in range(30):
            if not np.array_equal(elementwise.threshold_backward(x, x, 0.0), np.maximum(x, 0)):
                wrong.append(seed)
        done.append(seed)

    threads = [threading.Thread(target=caller, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
    assert sorted(done) == [0, 1, 2, 3]  # none ended by an error
    assert not any(thread.is_alive() for thread in threads)


def test_a_process_ends_while_workers_look_out():
    code = (
        "import numpy as np\n"
        "from autograd_tape.executors.kernels import elementwise, sharing\n"
        "sharing.set_num_threads(3)\n"
        "for _ in range(30): elementwise.sigmoid(np.ones(1 << 20, np.float32))"
    )
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
        assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_child_of_a_fork_shares():
    x = np.random.default_rng(0).standard_normal(1 << 18)
    expected = elementwise.sigmoid(x)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if all(np.array_equal(elementwise.sigmoid(x), expected) for _ in range(20)) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_results_do_not_depend_on_threads(rng):
    x = rng.standard_normal((64, 9000)).astype(np.float32)
    found = []
    for threads in (1, 2, 5):
        sharing.set_num_threads(threads)
        found.append((reduce.sum(x), reduce.sum(x, 0), reduce.sum(x, 1), reduce.square_distance(x, -x)))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_where_matches_numpy(rng, dtype):
    mask, a, b = rng.random((70, 90)) > 0.5, *rng.standard_normal((2, 70, 90)).astype(dtype)
    a[0, 0], b[1, 1] = np.nan, np.inf
    number = np.array(2.5, dtype)
    pairs = [(a, b), (a, 0), (1.5, b), (a, number), (number, b), (a.T.copy().T, b), (a, b[0]), (0, number)]
    for first, second in [*pairs, (a, b.astype(np.float16)), (a, np.array(1.0, np.float64))]:
        result, expected = select.where(mask, first, second), np.where(mask, first, second)
        np.testing.assert_array_equal(result, expected)
        assert result.dtype == expected.dtype


@pytest.mark.parametrize("shape", [(1000, 300), (3, 5000, 40), (5000, 16), (300, 1000)])
def test_sums_over_leading_axes(shape, rng, dtype):
    x = rng.standard_normal(shape).astype(dtype)
    axes = tuple(range(len(shape) - 1))
    expected = x.astype(np.float64).sum(axes)
    np.testing.assert_allclose(reduce.sum(x, axes), expected, atol=1e-2 if dtype == np.float32 else 1e-9)
    if len(shape) == 3:
        np.testing.assert_allclose(reduce.sum(x, 1), x.sum(1), atol=1e-2 if dtype == np.float32 else 1e-9)


def test_copies_in_order(rng):
    x = rng.standard_normal((6, 130, 17, 50))
    views = [x.transpose(0, 2, 1, 3), x.transpose(3, 2, 1, 0), x.reshape(6 * 130, -1).T, x[:, ::2], x[..., ::3], x[:, :, 3]]
    views += [x[::-1], np.broadcast_to(x[0], (6, 130, 17, 50)), np.broadcast_to(x[:, :1], x.shape), x.transpose(1, 0, 3, 2)[1:, :, 2:]]
    views += [x[:, :128].reshape(6, 2, 8, 8, 17, 50).transpose(5, 1, 0, 3, 2, 4), x.reshape(1, -1, 1)]
    views += [x[..., 4:9], x[..., ::20], x[0, :, :, 1:3], x[:, :, 2, :6], x[:, 1:, 1:, 7:8], x[..., 0, 5:2:-1]]  # narrow rows
    views += [x[..., 3:43], x[:, :, 1:, :9], x[:, :, 2, 5:25], x[:, :9, :, 8:12]]  # rows with gaps between them
    for view in views:
        for dtype in (np.float64, np.float32, np.int64, np.int16, np.complex64, bool):
            a = view.astype(dtype, order="K") if dtype != np.float64 else view
            copy = sharing.copy(a)
            assert not np.shares_memory(copy, a)
            np.testing.assert_array_equal(sharing.copy(a, np.empty(a.shape, a.dtype)), copy)
            assert copy.flags.c_contiguous
            assert copy.dtype == a.dtype
            np.testing.assert_array_equal(copy, a)


@pytest.mark.parametrize("name", ["float32", "float64", "float16", "bfloat16", "int32", "int64", "bool"])
@pytest.mark.parametrize("shape, width", [((9, 8), 5), ((400, 16), 9), ((3, 150, 7), 6), ((90, 70), 60)])
def test_rows_with_gaps_give_what_rows_give(rng, name, shape, width):
    x, z = [torch.tensor(rng.standard_normal(shape) * 4).to(getattr(torch, name)) for _ in range(2)]
    functions = [getattr(torch, f) for f in ("neg", "abs", "sqrt", "sign", "relu", "exp", "sigmoid", "erf", "isnan", "square", "lgamma")]
    functions += [lambda a, f=f: f(a, z[..., 1:width + 1]) for f in (torch.mul, torch.lt, torch.maximum, torch.atan2, torch.logical_and)]
    functions += [lambda a: a * 2, lambda a: a.clamp(0, 2), lambda a: torch.addcmul(a, a, a), lambda a: a + a[..., :1], torch.clone]
    with torch.no_grad():
        for function in functions:
            for part in (x[..., :width], x[..., :width].mT):
                try:
                    expected = function(part.mT.contiguous().mT if part.stride(-1) > 1 else part.contiguous())
                except (RuntimeError, NotImplementedError) as error:  # not for this dtype, or for its shape in columns
                    with pytest.raises(type(error)):
                        function(part)
                else:
                    found = function(part)
                    assert found.stride() == expected.stride() and found.dtype == expected.dtype
                    assert torch.equal(found.nan_to_num(), expected.nan_to_num())


def test_square_distance(rng, dtype):
    x, z = rng.standard_normal((2, 700, 501)).astype(dtype)
    assert reduce.fits_distance(x, z)
    assert not reduce.fits_distance(x, z[0])
    np.testing.assert_allclose(reduce.square_distance(x, z), np.square(x - z, dtype=np.float64).sum(), rtol=1e-5)
    dx, dz = reduce.square_distance_backward(0.5, x, z, (True, True))
    np.testing.assert_array_equal(dx, x - z)
    np.testing.assert_array_equal(dz, z - x)
    assert reduce.square_distance_backward(0.5, x, z, (True, False))[1] is None
    only = reduce.square_distance_backward(0.5, x, z, (False, True))
    assert only[0] is None
    np.testing.assert_array_equal(only[1], z - x)


def test_embedding_checks_the_index(rng, dtype):
    table = rng.standard_normal((50, 40)).astype(dtype)
    index = rng.integers(0, 50, (30, 20))
    np.testing.assert_array_equal(embedding.embedding(table, index), table[index])
    for bad in (-1, 50):
        index[7, 3] = bad
        with pytest.raises(IndexError, match="index out of range"):
            embedding.embedding(table, index)


def test_running_values_are_read_where_they_lie(rng):
    x = rng.integers(-4, 5, (5, 130, 10)).astype(float)
    views = [x, x.T, x.transpose(1, 0, 2), x.transpose(2, 0, 1), x[:, ::3], x[..., 2:7], x[:, 4:5], x[::-1]]
    views += [np.broadcast_to(x[:1], x.shape)]
    for view in views:
        for dtype in (np.float64, np.float32, np.int64):
            a = view.astype(dtype, order="K") if dtype != np.float64 else view
            for axis in range(3):
                for product, ufunc in enumerate((np.add, np.multiply)):
                    found = reduce.running_total(a, axis, bool(product))
                    with np.errstate(over="ignore", invalid="ignore"):
                        expected = ufunc.accumulate(a, axis, np.float64 if dtype != np.int64 else None).astype(dtype)
                    np.testing.assert_array_equal(found, expected)
                    assert found.flags.c_contiguous
                values, index = reduce.running_extreme(a, axis, True)
                np.testing.assert_array_equal(values, np.minimum.accumulate(a, axis))
                np.testing.assert_array_equal(np.take_along_axis(a, index, axis), values)
