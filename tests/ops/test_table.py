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
    Problem,
    as_tensors,
    bind,
    central_differences,
    copied,
    is_array,
    no_derivative,
    problems,
    refuses_out,
    run,
    samples,
    tensors,
    tree_map,
)

import autograd_tape as at
from autograd_tape import F, TensorRef
from autograd_tape.dtypes import CPU
from autograd_tape.errors import ArgumentError, AutogradError, MissingKernelError
from autograd_tape.executors import executor_for
from autograd_tape.executors.choose import available_executors, get_executor, set_executor
from autograd_tape.frontend import Frontend, install_methods
from autograd_tape.node import TapeEntry
from autograd_tape.ops import ALIASES, RECORDS
from autograd_tape.ops._host import data_dependent
from autograd_tape.tree import leaves
from autograd_tape.version import number_of

pytestmark = pytest.mark.filterwarnings("error::DeprecationWarning:autograd_tape")
TENSOR_NAMES = [n for n in NAMES if RECORDS[n].tensor_params and not RECORDS[n].field("function") and not RECORDS[n].field("make")]


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
    """Runs on every sample; the meta executor predicts shapes and dtypes of the result."""
    rec = RECORDS[name]
    meta = get_executor("meta", "meta")
    for sample in samples(rec):
        args, kwargs = bind(rec, sample)
        result = run(rec, as_tensors(copied(args)), as_tensors(copied(kwargs)))
        outputs = tensors(result)
        if name in TENSOR_NAMES and outputs:
            from autograd_tape.dtypes import META, kind

            def to_meta(x: Any) -> Any:
                from autograd_tape.executors.meta import meta_array

                a = np.asarray(x)
                t = TensorRef.of(np.zeros(()))
                t._data, t._k = meta_array(a.shape, a.dtype, a.strides), kind(t.dtype.by_np[a.dtype], META)
                return t

            assert meta.status(rec) != "missing", f"{name} has no rule for shapes"
            if rec.field("meta") is data_dependent:
                with pytest.raises(MissingKernelError, match="depends on the values"):
                    run(rec, tree_map(to_meta, args), tree_map(to_meta, kwargs))
                continue
            predicted = tensors(run(rec, tree_map(to_meta, args), tree_map(to_meta, kwargs)))
            assert [(p.shape, p.dtype) for p in predicted] == [(o.shape, o.dtype) for o in outputs]


@pytest.mark.parametrize("name", NAMES)
def test_gradient(name: str, excused: Callable[[str], None]) -> None:
    """First derivatives are those of central differences, in float64, of every operation: one that has none is locally constant."""
    reason = no_derivative(RECORDS[name])
    if reason:
        excused(reason)
        return
    for sample in samples(RECORDS[name]):
        floating = {np.asarray(x).dtype.char for x in leaves(bind(RECORDS[name], sample)) if is_array(x)} & set("efFE")
        assert not floating or any(np.asarray(x).dtype.char in "dD" for x in leaves(bind(RECORDS[name], sample)) if is_array(x)), (
            f"{sample} is in single precision alone, for which central differences are too coarse")
    for problem in problems(name):
        if problem.no_gradient:
            _, outputs = problem.call(problem.inputs, requires_grad=True)
            for output in [t for t in tensors(outputs) if t.requires_grad]:
                with pytest.raises((AutogradError, NotImplementedError), match="derivative for .* is not implemented"):
                    at.backward(F.sum(output))
            excused(problem.no_gradient)
            continue
        inputs, gradients = problem.gradients(problem.inputs)
        numerical = central_differences(problem.value, problem.inputs)
        for value, found, expected in zip(inputs, gradients, numerical):
            if found is None:
                found = np.zeros(value.shape, value.dtype.np)
            assert found.dtype == value.dtype.np and found.shape == value.shape
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6, err_msg=f"{name}{problem.args}")


@pytest.mark.parametrize("name", DIFFERENTIABLE_NAMES)
def test_gradient_of_gradient(name: str, excused: Callable[[str], None]) -> None:
    """Second derivatives, through create_graph, are the central differences of the first; and both ways of computing the first agree."""
    reason = no_derivative(RECORDS[name])
    if reason:
        excused(reason)
        return
    for problem in problems(name):
        if problem.no_gradient:
            excused(problem.no_gradient)
    for problem in [p for p in problems(name) if not p.no_gradient][:2]:
        inputs, gradients = problem.gradients(problem.inputs, create_graph=True)
        _, plain = problem.gradients(problem.inputs)
        weights = []
        rng = np.random.default_rng(0)
        loss = None
        for recorded, raw in zip(gradients, plain):
            assert (recorded is None) == (raw is None)
            weights.append(rng.uniform(0.5, 1.5, () if raw is None else raw.shape))
            if recorded is not None:
                np.testing.assert_allclose(recorded.numpy(), raw, rtol=1e-9, atol=1e-12)
                if recorded.requires_grad:
                    term = F.sum(recorded * TensorRef.of(weights[-1]))
                    loss = term if loss is None else loss + term

        def first(values: list[np.ndarray], problem: Problem = problem, weights: list[np.ndarray] = weights) -> float:
            return float(sum(np.sum(w * g) for w, g in zip(weights, problem.gradients(values)[1]) if g is not None))

        seconds = [None] * len(inputs) if loss is None else at.grad(loss, inputs)
        for value, found, expected in zip(inputs, seconds, central_differences(first, problem.inputs)):
            found = np.zeros(value.shape) if found is None else found
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=f"{name}{problem.args}")


def assert_refuses_an_unrecorded_view(name: str, args: list[Any], kwargs: dict[str, Any]) -> None:
    """A view made without recording must not be changed once its base has a history: no quiet path may do it."""
    base = TensorRef.of(np.stack([args[0]] * 2))
    with at.no_grad():
        view = base[0]
    base[1] = TensorRef.of(np.ones((), base.dtype.np), requires_grad=True)
    with pytest.raises(AutogradError, match="A view was created in no_grad mode and is being modified inplace"):
        F.function(name + "_")(view, *as_tensors(copied(args[1:])), **as_tensors(copied(kwargs)))
    np.testing.assert_array_equal(view.numpy(), args[0])
    assert base.requires_grad and number_of(base) == 1


@pytest.mark.parametrize("name", [n for n in NAMES if RECORDS[n].inplace])
def test_in_place(name: str) -> None:
    """`name_` gives what `name` gives, in the tensor's own buffer, counts a version, and has the same gradients."""
    rec, tested = RECORDS[name], 0
    # The method takes the tensor first, as the in-place variant does, where the function takes a number first: polygamma.
    function = F.function(name) if rec.params[0].is_tensor else F.method(name)
    for sample in samples(rec):
        args, kwargs = bind(rec, sample)
        if not rec.params[0].is_tensor:
            args[:2] = args[1], args[0]
        if not is_array(args[0]):
            continue
        expected = function(*as_tensors(copied(args)), **as_tensors(copied(kwargs)))
        if expected.shape != np.shape(args[0]) or expected.dtype.category > TensorRef.of(np.asarray(args[0])).dtype.category:
            continue
        target, *rest = as_tensors(copied(args))
        buffer, before = target._data, number_of(target)
        result = F.function(name + "_")(target, *rest, **as_tensors(copied(kwargs)))
        assert result is target and target._data is buffer
        assert number_of(target) == before + 1
        np.testing.assert_array_equal(target.numpy(), expected.numpy().astype(target.dtype.np))
        tested += 1
        if target.dtype.is_floating_point:
            assert_refuses_an_unrecorded_view(name, args, kwargs)
        if rec.has_gradient and np.asarray(args[0]).dtype == np.float64 and expected.dtype.is_floating_point:
            if rec.field("no_derivative_"):
                with pytest.raises(NotImplementedError, match=f"the derivative for 'inplace version of {name}' is not implemented"):
                    at.backward(F.sum(F.function(name + "_")(as_tensors(copied(args), requires_grad=True)[0] * 1)))
                continue
            gradients = []
            for inplace in (False, True):
                leaves = as_tensors(copied(args), requires_grad=True)
                root = leaves[0] * 1
                out = (F.function(name + "_") if inplace else function)(root, *leaves[1:], **as_tensors(copied(kwargs)))
                wanted = [t for t in tensors(leaves) if t.requires_grad]
                gradients.append(at.grad(F.sum(out * out), wanted))
            for a, b in zip(*gradients):
                np.testing.assert_array_equal(np.zeros(()) if a is None else a, np.zeros(()) if b is None else b)
    assert tested, f"no sample of {name} fits its in-place variant"


OUT_NAMES = [n for n in TENSOR_NAMES if RECORDS[n].out and RECORDS[n].family not in ("view", "view?") and not RECORDS[n].returns_list]


@pytest.mark.parametrize("name", OUT_NAMES)
def test_out(name: str, excused: Callable[[str], None]) -> None:
    """`out=` receives the result, and is what is returned."""
    rec = RECORDS[name]
    for sample in samples(rec):
        args, kwargs = bind(rec, sample)
        expected = run(rec, as_tensors(copied(args)), as_tensors(copied(kwargs)))
        outs = [TensorRef.of(np.zeros_like(t.numpy())) for t in tensors(expected)]
        given = outs[0] if isinstance(expected, TensorRef) else tuple(outs)
        operands, options = as_tensors(copied(args)), as_tensors(copied(kwargs))
        if refuses_out(rec, operands, options):
            with pytest.raises(ArgumentError, match="this signature has no out="):
                F.function(name)(*operands, **options, out=given)
            excused("torch has no out= in this signature")
            continue
        returned = F.function(name)(*operands, **options, out=given)
        for o, r, e in zip(outs, tensors(returned), tensors(expected)):
            assert r is o
            np.testing.assert_array_equal(o.numpy(), e.numpy())


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
            for f, e in zip(found, expected):
                if e.dtype.np == np.float64 and rec.result in ("same", "numpy") and name not in KEEPS_FLOAT64:
                    assert f.dtype.np == dtype, f"{name} makes {f.dtype} of {dtype}"
                    np.testing.assert_allclose(f.numpy().astype("f8"), e.numpy(), rtol=tolerance, atol=tolerance)
                elif dtype.itemsize > 2:  # positions and answers, which half precision may change
                    assert f.shape == e.shape
                    np.testing.assert_allclose(f.numpy(), e.numpy(), rtol=tolerance, atol=tolerance)


KEEPS_FLOAT64: frozenset[str] = frozenset()  # operations that compute in float64 whatever they are given


class BareTensor(TensorRef):
    """The tensors of a front end that raises bare built-in exceptions, as a front end with torch's semantics does."""

    __slots__ = ()


class BareFrontend(Frontend):
    """A front end with torch's error types and texts."""

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
            return [n for n, reason in available_executors().items() if not reason and n not in ("numpy", "meta")]
        except ImportError:  # the module of an executor that is named but not part of this build
            return []


EXECUTORS = _executors()


@pytest.mark.parametrize("name", [n for n in TENSOR_NAMES if RECORDS[n].field("compose") is not None])
def test_composition_agrees_with_kernel(name: str) -> None:
    """`compose`, which other executors run, computes what the NumPy kernel computes."""
    rec = RECORDS[name]
    compose = rec.field("compose")
    raw = executor_for(CPU).F
    for sample in samples(rec):
        args, kwargs = bind(rec, sample)
        positional = [p for p in rec.params if p.passed]
        given = dict(zip([p.name for p in rec.params if not p.keyword_only], copied(args))) | copied(kwargs)
        values = [given.get(p.name, rec.defaults.get(p.name)) for p in positional]
        if any(p.scales for p in rec.params) and given.get("alpha", 1) != 1:  # applied to the operand before the kernel
            values[1] = values[1] * given["alpha"]
        expected = tensors(run(rec, as_tensors(copied(args)), as_tensors(copied(kwargs))))
        found = compose(raw, *values)
        for f, e in zip(found if isinstance(found, (tuple, list)) else [found], expected):
            np.testing.assert_allclose(np.asarray(f), e.numpy(), rtol=1e-7, atol=1e-9, err_msg=name)


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
