"""Object files that are linked without a compiler, whatever is in them, and what the way into machine code refuses."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from autograd_tape.executors.kernels import _elf, _on_demand, _store, sharing

pytestmark = pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there is no machine code")
NUMBERS = np.arange(8, dtype=np.float32)


@pytest.fixture(scope="module")
def fill() -> Callable[..., None]:
    """The kernel that sets all numbers of an array: (cells, items, chunks, array, number)."""
    return sharing._arithmetic.fill.shared["f"]


def swapped() -> np.ndarray:
    return NUMBERS.astype(NUMBERS.dtype.newbyteorder())


def misaligned() -> np.ndarray:
    return np.zeros(33, np.uint8)[1:].view(np.float32)


def fixed() -> np.ndarray:
    array = NUMBERS.copy()
    array.flags.writeable = False
    return array


BAD: dict[str, tuple[Callable[[], object], type[Exception]]] = {
    "doubles": (lambda: NUMBERS.astype(np.float64), TypeError), "integers of as many bytes": (lambda: NUMBERS.view(np.int32), TypeError),
    "no dimensions": (lambda: np.array(1, np.float32), ValueError),
    "every other": (lambda: np.zeros(16, np.float32)[::2], TypeError), "backwards": (lambda: NUMBERS[::-1], TypeError),
    "the other order of bytes": (swapped, TypeError), "misaligned": (misaligned, TypeError), "read-only": (fixed, TypeError),
    "fewer": (lambda: NUMBERS[:7].copy(), ValueError), "none": (lambda: None, TypeError), "a number": (lambda: 1, TypeError),
    "a list": (lambda: [0.0] * 8, TypeError), "a scalar of NumPy": (lambda: np.float32(1), TypeError),
    "a record": (lambda: np.zeros(8, [("x", np.float32)]), TypeError), "objects": (lambda: np.array([None] * 8), TypeError),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_entry_refuses(name: str, fill: Callable[..., None]) -> None:
    make, error = BAD[name]
    array = make()
    before = np.array(array, copy=True)
    with pytest.raises(error, match="kernel arithmetic.fill"):
        fill(sharing._pool.cells, 8, 1, array, 2.0)
    np.testing.assert_array_equal(np.asarray(array), before)


@pytest.mark.parametrize("array", [np.zeros((2, 4), np.float32), np.zeros((), np.float32)], ids=["two", "none"])
def test_entry_refuses_other_dimensions(array: np.ndarray) -> None:
    """Where a kernel says how many there are."""
    with pytest.raises(TypeError, match="kernel arithmetic.line"):
        sharing._arithmetic.line.shared["f"](sharing._pool.cells, 8, 1, 1.0, 2.0, 0.5, 8, array)
    assert not array.any()


def test_entry_takes(fill: Callable[..., None]) -> None:
    class Own(np.ndarray):
        pass

    for array in (NUMBERS.copy(), NUMBERS.copy().view(Own), np.zeros((8, 1), np.float32)[:, 0]):
        assert fill(sharing._pool.cells, 8, 1, array, 2) is None
        assert (np.asarray(array) == 2).all()
    for wrong in ((), (sharing._pool.cells,), (sharing._pool.cells, 8, 1, NUMBERS, "2"), (sharing._pool.cells, 8.5, 1, NUMBERS, 2.0)):
        with pytest.raises(TypeError):
            fill(*wrong)
    with pytest.raises(OverflowError):
        fill(sharing._pool.cells, 1 << 70, 1, NUMBERS, 2.0)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems' objects are linked by LLVM")
def test_any_bytes_are_linked_or_refused(fill: Callable[..., None]) -> None:
    payload = _store.Store(_store.file_name("arithmetic.fill", "shared", "f"))._read()
    assert payload is not None
    symbol, content = payload.split()[0].decode(), payload.partition(b"\n")[2]
    if content[18] != 62:
        pytest.skip("another processor's objects are linked by LLVM")
    assert _elf.link(content, symbol)[0]
    rng = np.random.default_rng(5)
    tables = [0, int.from_bytes(content[40:48], "little")]  # the head, and the table of sections, where most numbers mean something
    refused = 0
    for i in range(600):
        damaged = bytearray(content)
        begin, length = (0, len(content)) if not i % 3 else (tables[i % 2], 64 if i % 2 == 0 else len(content) - tables[1])
        at = begin + int(rng.integers(0, length))
        damaged[at] = int(rng.choice([0, 1, 0x7F, 0xFF, int(rng.integers(0, 256))]))
        try:
            _elf.link(bytes(damaged[: int(rng.integers(0, len(content)))] if i % 10 == 9 else damaged), symbol)
        except _elf.Refused:
            refused += 1
    assert refused > 100
    with pytest.raises(_elf.Refused, match="no such function"):
        _elf.link(content, "malloc")


def test_all_that_is_kept_is_linked_without_a_compiler(fill: Callable[..., None]) -> None:
    """Kernels of every kind, whatever this machine has compiled so far: none asks for what only LLVM knows."""
    names = sorted(os.listdir(_store.cache_dir()))
    assert any(name.startswith("arithmetic.fill.") for name in names)
    refused = {}
    for name in names:
        payload = _store.Store(name)._read()
        if payload is not None:  # a file that another process is writing has another name
            symbols, _, content = payload.partition(b"\n")
            try:
                _elf.link(content, symbols.decode().split()[0])
            except _elf.Refused as error:
                refused[name] = str(error)
    assert not refused


_LATER = """
import sys
import numpy as np
import torchcompat as torch
x = torch.from_numpy(np.linspace(0.5, 2, 40000, dtype=np.float32))
torch.special.i0e(x), torch.lerp(x, x, 0.25), torch.nn.functional.gelu(x)
p = torch.nn.Parameter(x.clone())
p.grad = x
torch.optim.NAdam([p]).step()
print([name for name in ("numba", "llvmlite") if name in sys.modules])
"""


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="other systems' objects are linked by LLVM")
def test_what_was_kept_imports_no_compiler() -> None:
    """Kernels, formulas of records and optimizers' steps, in the second of two processes; also where the environment sets how many threads
    the compiler's own code may take, which changes no code."""
    for more in ({}, {"NUMBA_NUM_THREADS": "2"}):
        done = subprocess.run([sys.executable, "-c", _LATER], capture_output=True, text=True, check=True, env={**os.environ, **more})
        out = done.stdout
    assert out == "[]\n"
