"""What the processes of `test_mpi` do: `python -m tests.sharding.processes SCENE`. Each prints one line for what it found to hold."""

from __future__ import annotations

import itertools
import os
import random
import signal
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

import autograd_tape as at
from autograd_tape.random import default_generator
from autograd_tape.sharding import Mesh, ReplicationWarning, collectives, gather, shard
from autograd_tape.sharding.carriers import SIMULATED
from autograd_tape.sharding.mindspore import MindSpore
from autograd_tape.sharding.mpi import MPI
from autograd_tape.sharding.ranks import SMALL, CollectiveError

from tests.sharding import programs

DTYPES = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16, np.complex64, np.complex128, np.bool_, np.int8, np.int64, np.uint8]
REDUCTIONS = ["add", "multiply", "maximum", "minimum", "logical_or", "logical_and"]

carrier: Any = MindSpore() if sys.argv[1] == "on_mindspore" else MPI()


def meshes() -> list[Mesh]:
    """Meshes of all processes, shaped in all ways."""
    if isinstance(carrier, MindSpore):
        return [Mesh({"a": carrier.count}, "mindspore")]
    axes = {2: [{"a": 2}, {"a": 1, "b": 2}], 4: [{"a": 4}, {"a": 2, "b": 2}, {"a": 2, "b": 1, "c": 2}]}
    return [Mesh(a, "mpi") for a in axes[carrier.count]]


def same(found: Any, expected: Any) -> None:
    """Raises unless both are the same arrays, bit for bit."""
    assert (found is None) == (expected is None)
    if found is not None:
        assert found.dtype == expected.dtype and found.shape == expected.shape, (found.dtype, found.shape, expected.dtype, expected.shape)
        assert found.tobytes() == expected.tobytes()


def check_collectives(dtypes: Sequence[type] = tuple(DTYPES)) -> int:
    """Every collective does what it does on the simulated mesh; the number of cases."""
    cases = 0

    def compare(name: str, mesh: Mesh, parts: list[np.ndarray], *args: Any) -> None:
        nonlocal cases
        (found,) = getattr(carrier, name)(mesh, [parts[carrier.rank]], *args)
        same(found, getattr(SIMULATED, name)(mesh, parts, *args)[carrier.rank])
        cases += 1

    for mesh in meshes():
        ways = [w for n in range(1, len(mesh.names) + 1) for w in itertools.permutations(mesh.names, n)]
        for number, dtype in enumerate(dtypes):
            r = np.random.default_rng(number)

            def made(shape: tuple[int, ...], order: str = "C") -> np.ndarray:
                return np.asarray(r.normal(0, 3, shape) + (1j * r.normal(0, 3, shape) if dtype(0).dtype.kind == "c" else 0)).astype(
                    dtype, order=order)

            ways_now = ways if dtype is np.float32 else [ways[number % len(ways)]]
            for axes in ways_now:
                k = mesh.count(axes)
                for shape in [(), (0, 3), (5, 3), (SMALL // k // 8 - 1,), (SMALL // k // 8 + 1,), (SMALL // k + 1,), (7, 1, 30)]:
                    operations = REDUCTIONS if shape == (5, 3) else ["add"]
                    parts = [made(shape, "F") for _ in range(mesh.size)]
                    for operation in operations:
                        if operation.startswith("logical") or np.dtype(dtype).kind != "c" or operation in ("add", "multiply"):
                            compare("all_reduce", mesh, parts, axes, operation)
                    for dim in range(len(shape)):
                        compare("reduce_scatter", mesh, parts, axes, dim)
                for whole, dim in [((5, 3), 0), ((5, 3), 1), ((2, 0), 0), ((3, 4, 5), 1)]:
                    sizes = r.integers(0, 4, mesh.size)
                    uneven = [made((*whole[:dim], int(n), *whole[dim + 1:])) for n in sizes]
                    compare("all_gather", mesh, uneven, axes, dim)
                    compare("all_to_all", mesh, uneven, axes, (dim + 1) % len(whole), dim)
                for root in range(k):
                    compare("broadcast", mesh, [made((3, 2), "F") for _ in range(mesh.size)], axes, root)
            for pairs in [[(0, 1)], [(i, (i + 1) % mesh.size) for i in range(mesh.size)], [(1, 1), (1, 0)], []]:
                parts = [made((i, 2), "F") for i in range(mesh.size)]
                (found,) = carrier.exchange(mesh, [parts[carrier.rank]], pairs)
                same(found, SIMULATED.exchange(mesh, parts, pairs)[carrier.rank])
                cases += 1
        carrier.barrier(mesh)
    return cases


def check_programs() -> int:
    """Random programs give what they give on the simulated mesh; the number of these."""
    warnings.simplefilter("ignore", ReplicationWarning)
    for seed in range(16):
        r, numbers = random.Random(seed), np.random.default_rng(seed)
        mesh, shape = r.choice(meshes()), (r.choice([1, 2, 4, 5, 6, 8]), r.choice([2, 3, 4, 6, 8]))
        arrays = [numbers.standard_normal(shape) for _ in range(2)]
        shardings = [programs.random_sharding(r, mesh, 2) for _ in arrays]
        results = []
        for m in (mesh, Mesh(mesh.axes)):
            leaves = [shard(a, m, s.dims, s.partial_sum_axes) for a, s in zip(arrays, shardings)]
            for leaf in leaves:
                leaf.requires_grad = True
            results.append(programs.derivatives(seed, leaves))
        for found, expected in zip(*results):
            assert (found is None) == (expected is None)
            if found is not None:
                assert found.sharding.dims == expected.sharding.dims and found.shape == expected.shape
                ours, theirs = found._data.parts[0], expected._data.parts[carrier.rank]
                assert ours.shape == theirs.shape
                np.testing.assert_allclose(ours, theirs, 1e-9, 1e-10)
                same_everywhere(gather(found).numpy(), mesh)
    return 16


def same_everywhere(array: np.ndarray, mesh: Mesh) -> None:
    """Raises unless all processes have the same, bit for bit."""
    (found,) = carrier.all_gather(mesh, [array[None]], mesh.names, 0)
    for other in found:
        same(other, array)


def check_random() -> int:
    """Random numbers are those of a tensor on no mesh, on every process; a process with other ones is named."""
    mesh, plain = meshes()[0], at.TensorRef.of(np.ones((6, 4)))
    for dims in [("a", None), (None, "a"), (None, None)]:
        drawn = []
        for t in (plain, shard(plain, mesh, dims)):
            default_generator.manual_seed(3)
            drawn.append(gather(at.F.dropout(t, 0.5, True)).numpy())
        same(drawn[1], drawn[0])
    default_generator.manual_seed(4 + (carrier.rank == 1))
    refused(lambda: at.F.dropout(shard(plain, mesh, ("a", None)), 0.5, True), "other values of the array for .*dropout")
    default_generator.manual_seed(0)
    return 4


def check_quiet() -> int:
    """What tells of a tensor does not communicate: one process may ask alone."""
    mesh = meshes()[0]
    x = shard(np.arange(12.0).reshape(6, 2), mesh, ("a", None))
    if carrier.rank == 0:
        with collectives() as found:
            texts = [repr(x), str(x), f"{x}", repr(x.sharding), repr(x._data), str(x.device), str(x.dtype)]
            assert all(texts) and len(x) == 6 and x.shape == (6, 2) and x.ndim == 2 and x.sharding == x.sharding and hash(x.sharding)
        assert not found
    carrier.barrier(mesh)
    return 1


def refused(call: Callable[[], Any], text: str) -> None:
    """Raises unless a call ends by an error that says so."""
    import re
    try:
        call()
    except CollectiveError as e:
        assert re.search(text, str(e)), str(e)
    else:
        raise AssertionError(f"no error, expected {text}")


def check_disagreement() -> int:
    """A process that does something else is named on all of them, and they can go on."""
    last, odd = carrier.count - 1, carrier.rank == carrier.count - 1
    mesh, other = meshes()[0], meshes()[1]
    x = np.ones((4, 3), np.float32)
    axis = ("a",)
    many = f"^rank {last} and "
    for text, mine, theirs in [
        (r"different collectives.*all_reduce by add over a.*all_reduce by maximum over a",
         lambda: carrier.all_reduce(mesh, [x], axis), lambda: carrier.all_reduce(mesh, [x], axis, "maximum")),
        (r"different collectives.*all_reduce.*all_gather along dimension 0",
         lambda: carrier.all_reduce(mesh, [x], axis), lambda: carrier.all_gather(mesh, [x], axis, 0)),
        (r"shapes differ in all_reduce by add. Expected \(4, 3\).*found \(3, 4\)",
         lambda: carrier.all_reduce(mesh, [x], axis), lambda: carrier.all_reduce(mesh, [x.T], axis)),
        (r"shapes differ in all_gather along dimension 0, beside dimension 0",
         lambda: carrier.all_gather(mesh, [x], axis, 0), lambda: carrier.all_gather(mesh, [x[:, :2]], axis, 0)),
        (r"numbers of dimensions differ", lambda: carrier.broadcast(mesh, [x], axis), lambda: carrier.broadcast(mesh, [x[0]], axis)),
        (r"dtypes differ in reduce_scatter.*Expected float32.*found float64", lambda: carrier.reduce_scatter(mesh, [x], axis, 0),
         lambda: carrier.reduce_scatter(mesh, [x.astype(float)], axis, 0)),
        (r"different collectives.*over a of.*over b of", lambda: carrier.all_reduce(other, [x], axis),
         lambda: carrier.all_reduce(other, [x], ("b",))),
        (r"different collectives.*Mesh\(a=\d\).*Mesh\(a=\d, b=\d\)", lambda: carrier.barrier(mesh), lambda: carrier.barrier(other)),
        (r"different collectives.*exchange", lambda: carrier.exchange(mesh, [x], [(0, 1)]), lambda: carrier.exchange(mesh, [x], [(1, 0)])),
        (r"other values of the array for shard", lambda: shard(x, mesh, (None, None)), lambda: shard(x + 1, mesh, (None, None))),
    ]:
        refused(theirs if odd else mine, (many if carrier.count > 2 else "") + r".*" + text)
    carrier.barrier(mesh)
    return 10


def check_dead() -> None:
    """A process that is killed is named by the others; this ends all."""
    mesh = meshes()[0]
    carrier.timeout = 20.0
    if carrier.rank == 1:
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    start = time.monotonic()
    refused(lambda: carrier.barrier(mesh), rf"waits in barrier of .*, but rank 1 of {carrier.count} ended without a word")
    refused(lambda: carrier.barrier(mesh), "has parted from the others: rank 1 of")
    assert time.monotonic() - start < 10


def all_of_it() -> None:
    """All that can be checked while all live; then one is killed."""
    for check in (check_collectives, check_programs, check_random, check_quiet, check_disagreement):
        print(f"{check.__name__} {check()}\n", end="", flush=True)
    check_dead()
    print("check_dead 1\n", end="", flush=True)
    time.sleep(3)  # in which others say the same: the first to end ends all


def on_mindspore() -> None:
    """Collectives, and an operation with its gradient, by MindSpore's communication."""
    print(f"check_collectives {check_collectives((np.float32, ml_dtypes.bfloat16))}\n", end="", flush=True)
    x = np.arange(6.0)
    if carrier.rank == 1:
        x = x.astype(np.float32)
    refused(lambda: carrier.all_reduce(meshes()[0], [x], ("a",)), "dtypes differ in all_reduce.*float64.*float32")
    t = shard(np.arange(12.0).reshape(4, 3), meshes()[0], ("a", None))
    t.requires_grad = True
    grads = at.backward(at.F.sum(at.F.sin(at.F.matmul(t, at.F.transpose(t, 0, 1)))))
    plain = at.TensorRef.of(np.arange(12.0).reshape(4, 3), requires_grad=True)
    expected = at.backward(at.F.sum(at.F.sin(at.F.matmul(plain, at.F.transpose(plain, 0, 1)))))
    np.testing.assert_allclose(gather(grads[t]).numpy(), expected[plain], 1e-9)
    print("on_mindspore 1\n", end="", flush=True)


def late() -> None:
    """One process does not come."""
    carrier.timeout = 0.3
    if carrier.rank == 1:
        time.sleep(60)
    carrier.barrier(meshes()[0])


def failing() -> None:
    """One process ends by an error."""
    if carrier.rank == 1:
        raise ValueError("no more")
    carrier.barrier(meshes()[0])


def early() -> None:
    """One process ends before the others."""
    if carrier.rank != 1:
        carrier.barrier(meshes()[0])


def waiting() -> None:
    """Processes that wait for ever."""
    print(f"pid {os.getpid()}\n", end="", flush=True)
    if carrier.rank == 1:
        time.sleep(600)
    carrier.barrier(meshes()[0])


if __name__ == "__main__":
    globals()[sys.argv[1]]()
