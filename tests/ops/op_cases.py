"""The operation records as test cases; what their samples stand for is said by `autograd_tape.samples`."""

from __future__ import annotations

from autograd_tape.ops import RECORDS
from autograd_tape.samples import (  # noqa: F401  # for tests that go over all records
    Problem, arrays_of, as_tensors, bind, central_differences, copied, float_outputs, is_array, may_require_grad,
    no_derivative, problems, refuses_out, rng_of, run, samples, tensors, tree_map, weighted,
)

NAMES = sorted(RECORDS)
UNINITIALISED = frozenset([name for name in NAMES if RECORDS[name].field("unset")])
"""Operations whose values are left to chance."""
DIFFERENTIABLE_NAMES = [n for n in NAMES if RECORDS[n].has_gradient or (RECORDS[n].field("function") and RECORDS[n].field("samples"))]
IN_PLACE = {name for name in NAMES if name.endswith("_")} | {"setitem"}
