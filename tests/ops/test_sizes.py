"""Every operation around every size from which another way is taken, in every layout and dtype, against the plain composition.

Some operations, which the generated functions hand to the pool, are always run. `AUTOGRAD_TAPE_ALL_SIZES=some` runs all
operations, `AUTOGRAD_TAPE_ALL_SIZES=all` with every sample, growth, layout and dtype at every threshold instead of some of each.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import pytest
from tests.ops import size_cases
from tests.ops.size_cases import CONSTANTS, LAYOUTS, LOW, PLAIN, SIZES, Case, plan

import torchcompat as torch
from autograd_tape.executors.kernels import _on_demand, sharing
from autograd_tape.ops import RECORDS

WANTED = os.environ.get("AUTOGRAD_TAPE_ALL_SIZES", "")
FULL = WANTED == "all"
LAID_OUT = "max_pool1d mean random_dropout stack"  # results that lie in memory as torch says, whatever the way taken
ALWAYS = f"{LAID_OUT} add div reciprocal remainder round rsqrt sgn sigmoid silu sin sinh sqrt square sub tan tanh xlogy".split()
NAMES = sorted(RECORDS) if WANTED else ALWAYS


@pytest.mark.parametrize("name", NAMES)
def test_sizes_layouts_and_dtypes_agree_with_the_plain_composition(name: str, compared: Callable[[int], None]) -> None:
    count, told = size_cases.check(RECORDS[name], FULL)
    compared(count)
    assert not told, f"{len(told)} of {name} differ\n" + "\n".join(told[:20])


def test_the_plan_has_each_pair_of_layout_and_dtype_and_each_threshold() -> None:
    """Of element-wise operations, at least: others may have no sample of two dimensions, or no size that reaches so far."""
    for name in ("add", "relu", "softmax", "where", "div"):
        seen = list(plan(RECORDS[name]))
        dtypes = size_cases.dtypes_of(RECORDS[name], full=False)
        assert {"f4", "f8"} <= set(dtypes)
        assert {(c.layout, c.dtype) for c, front in seen if front is LOW} >= {(layout, d) for layout in LAYOUTS for d in dtypes}, name
        largest = [max(np.size(x) for x in (*c.leaves, *([np.broadcast(*c.leaves)] if RECORDS[name].broadcasts else [])))
                   for c, front in seen if front is not LOW]
        for size in SIZES:
            if 64 < size <= 1 << 18:
                assert any(0.9 * size < n < 1.1 * size + 64 for n in largest), (name, size)


def test_thresholds_are_found_in_the_sources() -> None:
    found = {f"{module.rpartition('.')[2]}.{name}": value for (module, name), value in CONSTANTS.items()}
    assert found["sharing.BIG"] == found["compile.BIG"] == sharing.BIG and found["constants.SMALL"] and found["sums.LARGE"]
    assert {_on_demand.SIZE_CHEAP, _on_demand.SIZE_FUSED, sharing.BIG} <= {*SIZES}
    assert size_cases.literals() == [], "give the size a name in capitals, by which the tests find it"


def test_a_difference_is_noticed() -> None:
    """The comparison itself: a kernel that is wrong for big arrays alone."""
    case = Case(RECORDS["exp"], [np.linspace(-1, 1, 300_000)], torch.utils._pytree.tree_flatten(((np.zeros(1),), {}))[1])
    good = size_cases.run(case, PLAIN)
    assert not size_cases.differences(size_cases.run(case, size_cases.TAPE), good, case, size_cases.TAPE)
    bad = size_cases.run(case, size_cases.TAPE)
    bad.values[0][-1] *= 1 + 1e-9
    assert size_cases.differences(bad, good, case, size_cases.TAPE)
