"""Every operation in every data type, complex and bool among them, on MindSpore's executor against NumPy's: values, data types,
gradients, and what is refused, in the same words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import autograd_tape as at
from autograd_tape.executors import set_executor
from autograd_tape.executors.choose import available_executors
from autograd_tape.ops import RECORDS, Record, Sample
from tests.ops.op_cases import NAMES, as_tensors, bind, copied, is_array, run, samples, tensors, tree_map

REASON = available_executors()["mindspore"]
pytestmark = [pytest.mark.skipif(bool(REASON), reason=REASON), pytest.mark.filterwarnings("ignore")]

DTYPES = [np.dtype(d) for d in (ml_dtypes.bfloat16, "f2", "f4", "i1", "i2", "i4", "i8", "u1", "?", "c8", "c16")]
UNSPECIFIED = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}  # memory as it was found
DRAWN = {n for n in NAMES if RECORDS[n].module.endswith(".random")}
# Where NumPy's executor does not do what it should, and there is nothing to compare with.
NUMPY_IS_WRONG = {("conj_physical", "bool"), ("conj_view", "bool"),   # gives int8
                  ("neg_view", "bool"),                               # refuses in words of its own
                  ("nan_to_num", "bfloat16")}                         # refuses
SAMPLED = [n for n in NAMES if RECORDS[n].field("samples") is not None]


def converted(value: Any, dtype: np.dtype) -> Any:
    """float64 arrays in another dtype: whole numbers from one on where it is an integer one, with an imaginary part where it is complex."""
    def one(x: Any) -> Any:
        a = np.asarray(x)
        if a.dtype != np.float64:
            return a
        if dtype.kind in "iub":
            return (np.abs(np.nan_to_num(a, posinf=3, neginf=3)) + 1).astype(dtype)
        return (a + 0.5j * a[..., ::-1] if a.ndim else a + 0.5j).astype(dtype) if dtype.kind == "c" else a.astype(dtype)

    return tree_map(one, value)


def outcome(executor: str, rec: Record, sample: Sample, dtype: np.dtype, gradient: bool) -> list[Any]:
    """Results, and gradients of their squares' sum; or the exception."""
    args, kwargs = bind(rec, sample)
    set_executor("cpu", executor)
    try:
        with np.errstate(all="ignore"):
            given = as_tensors(converted(copied(args), dtype)), as_tensors(converted(copied(kwargs), dtype))
            leaves = [t for t in tensors(given) if gradient and t.numpy().dtype == dtype]
            for t in leaves:
                t._node = at.tensor.LEAF
            result = run(rec, *given)
            result = given[0][0] if result is None else result  # what was written to
            found = tensors(result)
            results: list[Any] = [t.numpy().copy() for t in found] or [np.asarray(result)]
            recorded = [t for t in found if t.requires_grad and not t.is_leaf]
            if recorded:
                got = at.backward(recorded, grad_outputs=[np.ones(t.shape, t.numpy().dtype) for t in recorded])
                results += [got.get(t.id) for t in leaves]
            return results
    except Exception as error:  # compared between executors
        return [error]
    finally:
        set_executor("cpu", "numpy")


def kind_of(x: Any) -> Any:
    return (type(x), str(x)) if isinstance(x, Exception) else None if x is None else (x.dtype, x.shape)


@pytest.mark.parametrize("name", SAMPLED)
def test_every_dtype(name: str, excused: Callable[[str], None]) -> None:
    rec = RECORDS[name]
    for sample in samples(rec)[:1]:
        if not any(np.asarray(x).dtype == np.float64 for x in sample.args if is_array(x)):
            excused("no argument in float64")
            continue
        for dtype in DTYPES:
            if (name, dtype.name) in NUMPY_IS_WRONG:
                continue
            gradient = rec.has_gradient and dtype.kind in "fcV"
            expected, found = (outcome(e, rec, sample, dtype, gradient) for e in ("numpy", "mindspore"))
            assert [kind_of(f) for f in found] == [kind_of(e) for e in expected], dtype
            if name in UNSPECIFIED | DRAWN:
                excused("values left open, or random")
                continue
            for f, e in zip(found, expected):
                if isinstance(e, np.ndarray):
                    if e.dtype.names:  # complex32, two halves
                        f, e = [np.ascontiguousarray(a).view(np.float16) for a in (f, e)]
                    wide = "c16" if dtype.kind == "c" else "f8"
                    tolerance = 1e-8 if dtype.char == "D" else {2: 4e-2, 1: 1e-5}.get(dtype.itemsize, 2e-4)
                    np.testing.assert_allclose(f.astype(wide), e.astype(wide), rtol=tolerance, atol=tolerance, err_msg=str(dtype))
