"""torch.quasirandom is torch's."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import torchcompat as torch
from autograd_tape.random.directions import direction_numbers
from tests.random.sobol_cases import TABLE


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


def test_numbers_are_those_of_the_table_that_scipy_has() -> None:
    sobol: Any = pytest.importorskip("scipy.stats._sobol", reason="SciPy is missing: pip install .[test]")
    theirs = np.zeros((21201, 30), np.uint32)
    sobol._initialize_v(theirs, 21201, 30)
    assert np.array_equal(direction_numbers(21201), theirs)


@pytest.mark.no_numbers("which shapes are taken")
@pytest.mark.parametrize("call", [
    lambda q, z: torch._sobol_engine_draw(q[:2], 3, z, 3, 0, None), lambda q, z: torch._sobol_engine_draw(q, 3, z[:, :20], 3, 0, None),
    lambda q, z: torch._sobol_engine_ff_(q, 3, z[:2], 3, 0), lambda q, z: torch._sobol_engine_scramble_(z, z, 3),
    lambda q, z: torch._sobol_engine_scramble_(z, z[:1, :20, None], 1), lambda q, z: torch._sobol_engine_initialize_state_(q, 3),
    lambda q, z: torch._sobol_engine_initialize_state_(torch.zeros(30000, 30, dtype=torch.int64), 30000),
    lambda q, z: torch._sobol_engine_draw(q, 1, z, 3, 2 ** 30, None), lambda q, z: torch._sobol_engine_ff_(q, 2 ** 60, z, 3, 0)])
def test_what_torch_reads_past_the_end_for_is_refused(call: Any) -> None:
    with pytest.raises(RuntimeError, match="needs to have|are known for|points, but number"):
        call(torch.zeros(3, dtype=torch.int64), torch.zeros(3, 30, dtype=torch.int64))


@pytest.mark.parametrize("columns", [0, 1, 29, 30, 31, 45, 60, 70, 270])
def test_matrices_of_any_width_scramble(columns: int) -> None:
    """Bit by bit, as torch: of the sums of powers of 2 the lower 30 bits, so of wide matrices the last columns."""
    rng = np.random.default_rng(columns)
    width = max(columns, 30)
    state, matrices = rng.integers(0, 2 ** 40, (3, width)), rng.integers(-9, 9, (3, width, columns))
    expected = state.copy()
    for d in range(2):
        rows = [sum([2 ** (columns - 1 - c) * (1 if c == r else int(matrices[d, r, c])) for c in range(columns)]) for r in range(30)]
        for j in range(30):
            expected[d, j] = int("".join([str((row & int(state[d, j]) & 2 ** 30 - 1).bit_count() & 1) for row in rows]), 2)
    given = torch.from_numpy(state)
    assert torch._sobol_engine_scramble_(given, torch.from_numpy(matrices), 2) is given
    assert np.array_equal(given.numpy(), expected)


@pytest.mark.no_numbers("what is imported")
def test_nothing_is_read_at_start_up() -> None:
    code = ("import sys, torchcompat; from autograd_tape.random import directions;"
            "print('torchcompat.quasirandom' in sys.modules, directions._table.cache_info().currsize)")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stdout == "False 0\n"
    assert find_spec("torchcompat.quasirandom") is not None


@pytest.mark.parametrize("dimension", [1, 2, 40, 70])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_at_once_as_step_by_step(dimension: int, dtype: str) -> None:
    """What plain tensors give at once, and what is carried out where somebody looks."""
    state = torch.quasirandom.SobolEngine(dimension + 1).sobolstate
    for first, n in ((0, 1), (0, 5), (6, 9), (1000, 33), (0, 0)):
        found = []
        for draw, forward in ((torch._sobol_engine_draw, torch._sobol_engine_ff_),
                              (torch._sobol_engine_draw.door.plain, torch._sobol_engine_ff_.door.plain)):
            last = torch.arange(dimension + 1)
            points, after = draw(last, n, state, dimension, first, getattr(torch, dtype))
            version, same = last._version, forward(last, n, state, dimension, first)
            assert same is last and last._version == version
            found.append([points.tolist(), after.tolist(), last.tolist(), points.dtype, points.stride()])
        assert found[0] == found[1] and found[0][1] == found[0][2]
