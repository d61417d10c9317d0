"""Every operation record, through every path: what is tested follows from the record, so a new record is tested as it is written."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from tests.ops.op_cases import (
    DIFFERENTIABLE_NAMES,
    NAMES,
    as_tensors,
    bind,
    copied,
    is_array,
    no_derivative,
    run,
    samples,
    tensors,
    tree_map,
)

from autograd_tape import TensorRef
from autograd_tape.dtypes import CPU
from autograd_tape.errors import AutogradError
from autograd_tape.executors import executor_for
from autograd_tape.executors.choose import available_executors, get_executor, set_executor
from autograd_tape.frontend import Frontend, install_methods
from autograd_tape.node import TapeEntry
from autograd_tape.ops import ALIASES, RECORDS
from autograd_tape.ops._host import data_dependent
from autograd_tape.samples import check_operation, has_out, regular

pytestmark = pytest.mark.filterwarnings("error::DeprecationWarning:autograd_tape")
TENSOR_NAMES = [n for n in NAMES if regular(RECORDS[n])]


def numpy_dtypes(words: str | None, differentiable: bool) -> list[np.dtype]:
    """The dtypes that the words of a record's `dtypes` stand for."""
    table = {"float": ["f4", "f8"], "int": ["i8", "i4", "u1"], "bool": ["?"], "half": ["f2"], "complex": ["c8"]}
    words = words or ("float" if differentiable else "float int")
    return [np.dtype(d) for word in words.split() for d in table[word]]


@pytest.fixture(autouse=True)
def silent() -> Any:
    """Division by zero and the like, which samples may contain, are no news to the tests."""
    with np.errstate(all="ignore"):
        yield


@pytest.mark.no_numbers("what a record has")
@pytest.mark.parametrize("name", NAMES)
def test_record_is_complete(name: str) -> None:
    rec = RECORDS[name]
    assert samples(rec)
    assert rec.doc, f"{name} has no docstring"
    if rec.namespace != "_internal":
        assert ">>> " in rec.doc, f"{name} has no doctest"
    assert executor_for(CPU).status(rec) != "missing", f"{name} has no NumPy kernel"
    for alias in rec.alias:
        assert ALIASES[alias] == name


@pytest.mark.no_numbers("shapes and dtypes")
@pytest.mark.parametrize("name", NAMES)
def test_forward_agrees_with_meta(name: str) -> None:
    """Every sample runs; the meta executor predicts shapes and dtypes of the result."""
    rec = RECORDS[name]
    assert name not in TENSOR_NAMES or get_executor("meta", "meta").status(rec) != "missing", f"{name} has no rule for shapes"
    assert bool(check_operation(name, "meta")) == (regular(rec) and rec.field("meta") is not data_dependent)


@pytest.mark.parametrize("name", NAMES)
def test_gradient(name: str, excused: Callable[[str], None]) -> None:
    for sample in samples(RECORDS[name]):
        if sample.no_gradient:
            excused(sample.no_gradient)
    if not check_operation(name, "gradients"):
        reason = no_derivative(RECORDS[name])
        assert reason
        excused(reason)


@pytest.mark.parametrize("name", DIFFERENTIABLE_NAMES)
def test_gradient_of_gradient(name: str, excused: Callable[[str], None]) -> None:
    if not check_operation(name, "gradients of gradients"):
        reason = no_derivative(RECORDS[name]) or next(filter(None, [s.no_gradient for s in samples(RECORDS[name])]), "")
        assert reason
        excused(reason)


@pytest.mark.parametrize("name", [n for n in NAMES if RECORDS[n].inplace])
def test_in_place(name: str) -> None:
    assert check_operation(name, "in-place"), f"no sample of {name} fits its in-place variant"


@pytest.mark.parametrize("name", [n for n in NAMES if has_out(RECORDS[n])])
def test_out(name: str, excused: Callable[[str], None]) -> None:
    """`out=` receives the result, and is what is returned."""
    if not check_operation(name, "out"):
        assert RECORDS[name].field("no_out") is not None
        excused("torch has no out= in this signature")


@pytest.mark.parametrize("name", TENSOR_NAMES)
def test_dtypes(name: str, excused: Callable[[str], None]) -> None:
    """All dtypes that the record names are taken; narrow floats agree with float64 and keep their dtype."""
    rec = RECORDS[name]
    if not any(is_array(x) and np.asarray(x).dtype == np.float64 for s in samples(rec)[:2] for x in bind(rec, s)[0]):
        excused("no argument in float64")
    for nr, sample in enumerate(samples(rec)[:2]):
        args, kwargs = bind(rec, sample)
        if not any(np.asarray(x).dtype == np.float64 for x in args if is_array(x)):
            continue
        expected = tensors(run(rec, as_tensors(copied(args)), as_tensors(copied(kwargs))))
        for dtype in numpy_dtypes(rec.dtypes, rec.differentiable):
            if nr and dtype.kind in "iub":  # further arguments, such as digits to round to, may ask for floating point
                continue
            def convert(x: Any, dtype: np.dtype = dtype) -> Any:
                a = np.asarray(x)
                if a.dtype != np.float64:
                    return a
                if dtype.kind in "iub":  # positive, so that unsigned dtypes and divisors have no trouble
                    return (np.abs(np.nan_to_num(a, posinf=3, neginf=3)) + 1).astype(dtype)
                return a.astype(dtype)

            found = tensors(run(rec, as_tensors(tree_map(convert, args)), as_tensors(tree_map(convert, kwargs))))
            if dtype.kind != "f":
                continue
            tolerance = {2: 5e-2, 4: 2e-5, 8: 1e-12}[dtype.itemsize]
            size = np.abs if sample.of == "abs" else np.asarray  # of vectors that may point either way
            for f, e in zip(found, expected):
                if e.dtype.np == np.float64 and rec.result in ("same", "numpy") and name not in KEEPS_FLOAT64:
                    assert f.dtype.np == dtype, f"{name} makes {f.dtype} of {dtype}"
                    np.testing.assert_allclose(f.numpy().astype("f8"), e.numpy(), rtol=tolerance, atol=tolerance)
                elif dtype.itemsize > 2:  # positions and answers, which half precision may change
                    assert f.shape == e.shape
                    np.testing.assert_allclose(size(f.numpy()), size(e.numpy()), rtol=tolerance, atol=tolerance)


KEEPS_FLOAT64: frozenset[str] = frozenset()  # operations that compute in float64 whatever they are given


class BareTensor(TensorRef):
    """The tensors of a front end that raises bare built-in exceptions, as a front end with torch's semantics does."""

    __slots__ = ()


class BareFrontend(Frontend):
    """A front end with torch's error types and texts."""

    numpy_indexing = False

    def error(self, error: AutogradError) -> Exception:
        return error.as_builtin()


LATEST = TapeEntry.front_end
BARE = BareFrontend(BareTensor, "bare")
TapeEntry.front_end = LATEST  # other tests' tensors stay of their own class
install_methods(BareTensor, BARE)


@pytest.mark.no_numbers("errors")
@pytest.mark.parametrize("name", [n for n in NAMES if RECORDS[n].field("errors")])
def test_errors(name: str) -> None:
    """Bad input raises the type and text that the record names."""
    rec, cases = RECORDS[name], 0
    for args, expected, text in rec.field("errors")(np.random.default_rng(0)):
        from autograd_tape.ops import Sample

        positional, kwargs = bind(rec, args if isinstance(args, Sample) else Sample(tuple(args)))

        def tensor(x: Any) -> Any:
            t = BareTensor.__new__(BareTensor)
            ref = TensorRef.over(x)  # how it lies in memory counts
            t._data, t._k, t._node, t._v, t._base = ref._data, ref._k, None, None, None
            return t

        with pytest.raises(Exception) as caught:
            BARE.function(name)(*tree_map(tensor, positional), **tree_map(tensor, kwargs))
        assert type(caught.value) is expected, f"{name}{args}: {caught.value!r}"
        assert str(caught.value) == text
        cases += 1
    assert cases, f"errors() of {name!r} yields nothing"


def _executors() -> list[str]:
    """The executors other than NumPy's that can be used here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return [n for n, reason in available_executors().items() if not reason and n not in ("numpy", "meta", "mesh")]
        except ImportError:  # the module of an executor that is named but not part of this build
            return []


EXECUTORS = _executors()


@pytest.mark.parametrize("name", [n for n in TENSOR_NAMES if RECORDS[n].field("compose") is not None])
def test_composition_agrees_with_kernel(name: str) -> None:
    """`compose`, which other executors run, computes what the NumPy kernel computes."""
    assert check_operation(name, "compose")


@contextmanager
def serving_cpu(executor_name: str) -> Iterator[None]:
    """The CPU served by another executor."""
    set_executor("cpu", executor_name)
    try:
        yield
    finally:
        set_executor("cpu", "numpy")


@pytest.mark.parametrize("executor_name", EXECUTORS)
@pytest.mark.parametrize("name", [n for n in TENSOR_NAMES if RECORDS[n].family not in ("view", "view?")])
def test_other_executors(name: str, executor_name: str) -> None:
    """Every operation but views runs on every executor present, natively or composed, and agrees with NumPy."""
    rec, executor = RECORDS[name], get_executor(executor_name)
    assert executor.status(rec) != "missing", f"{name} has neither a kernel nor a composition on {executor_name}"
    for sample in samples(rec):
        args, kwargs = tree_map(np.asarray, bind(rec, sample))
        expected = tensors(run(rec, as_tensors(copied(args)), as_tensors(copied(kwargs))))
        with serving_cpu(executor_name):
            found = [t.numpy() for t in tensors(run(rec, as_tensors(copied(args)), as_tensors(copied(kwargs))))]
        assert len(found) == len(expected)
        for f, e in zip(found, expected):
            assert f.dtype == e.dtype.np
            np.testing.assert_allclose(f, e.numpy(), rtol=2e-4, atol=2e-5, err_msg=name)
