"""What the specification side derives from records, on every operation's samples: OpSpecs, gradient functions, graphs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from autograd_tape import F, Graph, OpSpec, Tape, TensorRef, backward, cpu_executor, get_grad_fn, has_grad_fn
from autograd_tape.errors import ArgumentError, AutogradError, MissingKernelError, ShapeMismatchError
from autograd_tape.ops import RECORDS

from .record_samples import NAMES, cases

# The shape of their output depends on values, so it cannot be declared.
VALUE_DEPENDENT = {"argwhere", "bincount", "masked_select", "nonzero", "one_hot", "unique", "unique_consecutive", "unique_index"}
GRADIENTS = [name for name in NAMES if has_grad_fn(name)]

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def silent() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("name", NAMES)
def test_an_op_spec_knows_shape_and_dtype_and_computes_what_the_operation_computes(name: str, excused: Callable[[str], None]) -> None:
    for case in cases(name):
        expected = case.call()
        declared = [TensorRef.declare(tuple(t.shape), t.dtype) for t in case.tensors]
        if expected is None:
            with pytest.raises(ArgumentError, match=f"'{name}' gives no tensor"):
                OpSpec(name, declared, **case.arguments)
            excused("the result is no tensor, so it cannot be declared")
            continue
        try:
            spec = OpSpec(name, declared, **case.arguments)
        except MissingKernelError as error:
            assert name in VALUE_DEPENDENT and "depends on the values" in str(error), str(case)
            excused("the shape depends on the values, which is said")
            continue
        assert not any(o.has_data for o in spec.outputs)
        for ref, tensor in zip(declared, case.tensors):
            cpu_executor().bind(ref, tensor.numpy())
        try:
            spec.output.numpy()
        except ShapeMismatchError as error:
            assert name in VALUE_DEPENDENT and "declared with another shape" in str(error), str(case)
            excused("the shape depends on the values, which is said")
            continue
        for output, other in zip(spec.outputs, expected, strict=True):
            assert (tuple(output.shape), output.dtype) == (tuple(other.shape), other.dtype), str(case)
            if case.rec.field("fused"):
                np.testing.assert_allclose(output.numpy(), other.numpy(), rtol=1e-13, atol=1e-14, err_msg=str(case))
            else:
                np.testing.assert_array_equal(output.numpy(), other.numpy(), err_msg=str(case))


def cotangent(rng: np.random.Generator, output: TensorRef, of: str) -> np.ndarray:
    """A random one; of what `of` makes of the output where the operation is determined but for that, as eigenvectors but for a phase."""
    if of:
        detached = TensorRef.of(output.numpy(), requires_grad=True)
        return backward(F.sum(getattr(F, of)(detached)))[detached.id]
    values = rng.standard_normal(output.shape) + (1j * rng.standard_normal(output.shape) if output.dtype.is_complex else 0)
    return np.asarray(values).astype(output.numpy().dtype)


@pytest.mark.parametrize("name", GRADIENTS)
def test_a_derived_gradient_function_gives_what_backward_gives(name: str, excused: Callable[[str], None]) -> None:
    for case in cases(name, requires_grad=True):
        outputs = case.call() or []
        differentiable = [o for o in outputs if o.requires_grad and type(o._node).__name__ != "NotImplemented"]
        grad_fn: Any = get_grad_fn(name)
        rng = np.random.default_rng(1)
        cotangents = [cotangent(rng, o, case.of) for o in differentiable or outputs[:1]]
        given = cotangents if len(cotangents) > 1 else cotangents[0]
        if not differentiable:
            try:
                none = grad_fn.bind(**case.arguments)(given, [t.numpy() for t in case.tensors])
            except (AutogradError, NotImplementedError) as error:
                said = f"'{name}' has no gradient|derivative for (aten::|')_?{name}(2|_ex|_bin_edges)?'? is not"
                assert re.search(said, str(error)), str(case)
            else:
                assert none == [None] * len(case.tensors), str(case)
            excused("nothing differentiable comes out of it, which is said")
            continue
        expected = backward(differentiable, grad_outputs=cotangents)
        found = grad_fn.bind(**case.arguments)(given, [t.numpy() for t in case.tensors])
        assert len(found) == len(case.tensors), str(case)
        for tensor, gradient in zip(case.tensors, found):
            if tensor.id in expected:
                assert gradient is not None, str(case)
                np.testing.assert_allclose(gradient, expected[tensor.id], rtol=1e-7, atol=1e-9, err_msg=str(case))


def test_every_differentiable_record_has_a_gradient_function() -> None:
    differentiable = [rec.name for rec in RECORDS.values() if rec.has_gradient]
    assert len(differentiable) > 100 and all(has_grad_fn(name) for name in differentiable)
    assert not any(has_grad_fn(name) for name in ("eq", "isnan", "floor_divide"))


@pytest.mark.parametrize("name", GRADIENTS)
def test_a_recorded_operation_replays_and_survives_json(name: str, excused: Callable[[str], None]) -> None:
    for case in cases(name, requires_grad=True):
        with Tape() as tape:
            outputs = case.call()
        assert outputs, str(case)
        wanted = [o for o in outputs if not any(o is t for t in case.tensors)]
        if not wanted:
            excused("it gives its argument back, so there is nothing to carry out again")
            continue
        try:
            graph = tape.to_graph(wanted)
        except AutogradError as error:
            assert "shares memory with a view" in str(error), str(case)
            excused("it is a view of what is changed, which is said")
            continue
        computed = {value for node in graph.nodes for value in node.outputs}
        assert all(o.id in computed for o in wanted), f"{case} is not in the graph"
        for again in (graph, Graph.from_json(graph.to_json())):
            for found, output in zip(again.replay(), wanted, strict=True):
                np.testing.assert_allclose(found, output.numpy(), rtol=1e-10, atol=1e-12, err_msg=str(case))
