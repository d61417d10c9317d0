"""Every operation on MindSpore's kernels against NumPy's: dtypes, gradients to second order, special values, errors.

(Results in float64 on every executor are the table's own test, `tests/ops/test_table.py`.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograd_tape as at
from autograd_tape import F, TensorRef
from autograd_tape.executors import set_executor
from autograd_tape.executors.choose import available_executors, get_executor
from autograd_tape.ops import RECORDS, Record, Sample
from tests.ops.op_cases import (
    DIFFERENTIABLE_NAMES, NAMES, as_tensors, bind, copied, no_derivative, problems, run, samples, tensors, tree_map,
)

REASON = available_executors()["mindspore"]
pytestmark = [pytest.mark.skipif(bool(REASON), reason=REASON), pytest.mark.filterwarnings("ignore::UserWarning")]

# What is only rounding: single-precision kernels that keep fewer digits than float32 has, as (rtol, atol).
SINGLE = {
    "digamma": (2e-4, 1e-5), "polygamma": (2e-4, 1e-4), "logcumsumexp": (5e-5, 5e-5), "logaddexp2": (2e-5, 5e-6),
}
DTYPES = {"float": ["f4"], "int": ["i8", "i4", "u1"], "bool": ["?"], "half": ["f2"], "complex": ["c8"]}
UNSPECIFIED = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}  # memory as it was found
SAMPLED = [n for n in NAMES if RECORDS[n].field("samples") is not None]


@pytest.fixture(autouse=True)
def silent() -> Any:
    with np.errstate(all="ignore"):
        yield
    set_executor("cpu", "numpy")


def on(executor: str, function: Any) -> Any:
    """`function()` with an executor serving the CPU; an exception is returned."""
    set_executor("cpu", executor)
    try:
        return function()
    except Exception as error:  # compared between executors
        return error
    finally:
        set_executor("cpu", "numpy")


def dtypes_of(rec: Record) -> list[np.dtype]:
    plain = "float" if rec.differentiable or rec.field("function") or rec.field("make") else "float int"
    return [np.dtype(d) for word in (rec.dtypes or plain).split() for d in DTYPES[word]]


def converted(value: Any, dtype: np.dtype) -> Any:
    """float64 arrays in another dtype; positive where it is an integer one, so that divisors and shifts are in range."""
    def one(x: Any) -> Any:
        a = np.asarray(x)
        if a.dtype != np.float64:
            return a
        return (np.abs(np.nan_to_num(a, posinf=3, neginf=3)) + 1).astype(dtype) if dtype.kind in "iub" else a.astype(dtype)

    return tree_map(one, value)


def results(rec: Record, sample: Sample, dtype: np.dtype) -> list[np.ndarray]:
    args, kwargs = bind(rec, sample)
    args, kwargs = as_tensors(converted(copied(args), dtype)), as_tensors(converted(copied(kwargs), dtype))
    result = run(rec, args, kwargs)
    result = args[0] if result is None else result  # what was written to
    return [t.numpy().copy() for t in tensors(result)] or [np.asarray(result)]


@pytest.mark.parametrize("name", SAMPLED)
def test_dtypes(name: str, excused: Callable[[str], None]) -> None:
    """The same values, shapes and dtypes in single precision, integers, bool and half, as far as the record says it takes them."""
    rec = RECORDS[name]
    for dtype in dtypes_of(rec):
        for sample in samples(rec):
            expected = on("numpy", lambda: results(rec, sample, dtype))
            found = on("mindspore", lambda: results(rec, sample, dtype))
            if isinstance(expected, Exception):
                assert type(found) is type(expected) and str(found) == str(expected), f"{dtype}: {found!r} for {expected!r}"
                continue
            assert not isinstance(found, Exception), f"{dtype}: {found!r}"
            assert [(f.dtype, f.shape) for f in found] == [(e.dtype, e.shape) for e in expected], dtype
            if name in UNSPECIFIED:
                excused("memory as it was found")
                continue
            rtol, atol = (5e-3, 5e-3) if dtype.char == "e" else SINGLE.get(name, (2e-5, 1e-5))
            for f, e in zip(found, expected):
                np.testing.assert_allclose(f, e, rtol=rtol, atol=atol, err_msg=str(dtype))


@pytest.mark.parametrize("name", [n for n in DIFFERENTIABLE_NAMES if n in SAMPLED])
def test_gradients(name: str, excused: Callable[[str], None]) -> None:
    """First derivatives, and second ones through create_graph, computed by the formulas on MindSpore's kernels, are NumPy's."""
    reason = no_derivative(RECORDS[name])
    if reason:
        excused(reason)
    rtol = 1e-4 if name in ("digamma", "polygamma", "lgamma") else 1e-8
    for problem in problems(name):
        for order in (1, 2):
            expected = on("numpy", lambda: gradients(problem, order))
            found = on("mindspore", lambda: gradients(problem, order))
            if isinstance(expected, Exception):
                once = order == 2 and "derivative for aten::" in str(expected)
                assert (problem.no_gradient or once) and type(found) is type(expected), f"order {order}: {found!r} for {expected!r}"
                excused(problem.no_gradient or "torch has no second derivative")
                continue
            assert not isinstance(found, Exception), f"order {order}: {found!r}"
            assert [g is None for g in found] == [g is None for g in expected]
            if all(g is None for g in expected):
                excused("nothing differentiable comes out, on either")
            for f, e in zip(found, expected):
                if e is not None:
                    assert f.dtype == e.dtype and f.shape == e.shape
                    np.testing.assert_allclose(f, e, rtol=rtol, atol=1e-9, err_msg=f"order {order}")


def gradients(problem: Any, order: int) -> list[Any]:
    """The first or second derivatives of a problem's scalar, as arrays."""
    inputs, first = problem.gradients(problem.inputs, create_graph=order == 2)
    if order == 1:
        return [None if g is None else np.asarray(g) for g in first]
    total = None
    for g in first:
        if g is not None and g.requires_grad:
            term = F.sum(g * g)
            total = term if total is None else total + term
    return [None] * len(inputs) if total is None else [None if g is None else np.asarray(g) for g in at.grad(total, inputs)]


VALUES = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-30, 1e30, 3.0]
NEAR = {"tan", "sin", "cos"}  # differ in the reduction of huge arguments, where a function of period pi has no digits left to be right


def elementwise() -> list[str]:
    """Operations on one or two tensors, element by element, with defaults for the rest."""
    return [n for n in NAMES if RECORDS[n].family in ("unary", "binary", "compare") and RECORDS[n].field("numpy") is not None
            and all(p.default is not None or p.type in ("Tensor", "Operand") for p in RECORDS[n].params)]


@pytest.mark.parametrize("name", elementwise())
def test_special_values(name: str, excused: Callable[[str], None]) -> None:
    """NaN, infinities and zeros of both signs come out as on NumPy."""
    rec = RECORDS[name]
    count = sum(p.type in ("Tensor", "Operand") and p.default is None for p in rec.params)
    for dtype in ("f4", "f8"):
        x = np.array(VALUES, dtype)
        operands = [x] if count == 1 else [x[:, None], x] if count == 2 else [x[:, None, None], x[:, None], x]
        expected = on("numpy", lambda: run(rec, as_tensors(copied(operands)), {}).numpy())
        found = on("mindspore", lambda: run(rec, as_tensors(copied(operands)), {}).numpy())
        if isinstance(expected, Exception):
            assert type(found) is type(expected) and str(found) == str(expected)
            excused("both refuse it in the same words")
            continue
        assert not isinstance(found, Exception), repr(found)
        usual = np.broadcast_to(np.logical_and.reduce(np.broadcast_arrays(*[np.abs(a) < 1e20 for a in operands])), expected.shape)
        if name in NEAR:
            found, expected = found[usual], expected[usual]
        atol = SINGLE.get(name, (0, 1e-37))[1] if dtype == "f4" else 1e-37
        np.testing.assert_allclose(found, expected, rtol=1e-4 if dtype == "f4" else 1e-5, atol=atol, err_msg=dtype)


@pytest.mark.no_numbers("errors")
@pytest.mark.parametrize("name", [n for n in NAMES if RECORDS[n].field("errors")])
def test_errors(name: str) -> None:
    """Bad input is refused before or after MindSpore sees it, in the same words as on NumPy."""
    rec = RECORDS[name]
    for args, _, _ in rec.field("errors")(np.random.default_rng(0)):
        positional, kwargs = bind(rec, args if isinstance(args, Sample) else Sample(tuple(args)))
        call = lambda: run(rec, as_tensors(copied(positional)), as_tensors(copied(kwargs)))
        expected, found = on("numpy", call), on("mindspore", call)
        assert type(found) is type(expected)
        assert not isinstance(expected, Exception) or str(found) == str(expected)


def test_nothing_is_missing() -> None:
    executor = get_executor("mindspore")
    assert [n for n in NAMES if executor.status(RECORDS[n]) == "missing"] == []


def test_named_primitives_exist() -> None:
    """A name in a record is that of something MindSpore has; making the kernel looks it up."""
    executor = get_executor("mindspore")
    native = [name for name in NAMES if executor.status(RECORDS[name]) == "native"]
    assert len(native) > 100 and all(callable(executor.kernel(RECORDS[name])) for name in native)


def test_what_only_the_host_does_is_moving_and_drawing() -> None:
    """Operations left to the host pick, move or count elements, or draw random numbers; arithmetic has kernels or compositions."""
    executor = get_executor("mindspore")
    arithmetic = {"pointwise", "elementary", "activation", "reduce", "linalg", "softmax", "norm", "loss", "entropy", "attention",
                  "distance"}
    found = {n for n in NAMES if executor.status(RECORDS[n]) == "host"}
    assert not {n for n in found if RECORDS[n].module.rpartition(".")[2] in arithmetic}


def test_half_precision_is_rounded_once() -> None:
    x = TensorRef.of(np.full(4096, 0.1, np.float16))
    assert on("mindspore", lambda: F.sum(x)).numpy() == np.float16(np.full(4096, 0.1, np.float16).astype("f4").sum())
    a = np.random.default_rng(0).standard_normal((64, 512)).astype(np.float16)
    found = on("mindspore", lambda: F.mm(TensorRef.of(a), TensorRef.of(a.T.copy())))
    np.testing.assert_allclose(found.numpy(), a.astype("f4") @ a.astype("f4").T, rtol=1e-3, atol=5e-2)
    assert found.dtype.name == "float16"


def test_softmax_of_masked_rows() -> None:
    """A row of infinities is NaN, and other rows are not touched by it."""
    x = np.array([[0.0, 1.0], [-np.inf, -np.inf], [-np.inf, 0.0]], np.float32)
    found = on("mindspore", lambda: F.softmax(TensorRef.of(x), 1)).numpy()
    np.testing.assert_allclose(found[[0, 2]], [[0.26894143, 0.7310586], [0.0, 1.0]], rtol=1e-5)
    assert np.isnan(found[1]).all()
