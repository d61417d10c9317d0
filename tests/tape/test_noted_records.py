"""Every operation, noted by a tape and held at once: the tape holds the same, with gradient and without."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.ops.op_cases import bind, is_array, samples, tree_map
from .record_samples import RANDOM, UNINITIALISED

from autograd_tape import F, Graph, Tape, TensorRef, no_grad, register_grad_fn, unregister_grad_fn
from autograd_tape.modes import noting
from autograd_tape.ops import RECORDS
from autograd_tape.tree import leaves

pytestmark = pytest.mark.filterwarnings("ignore")

NAMES = sorted(name for name, rec in RECORDS.items() if rec.field("samples") is not None and name not in UNINITIALISED
               and not name.endswith("_") and not rec.field("writes")
               and rec.module.rpartition(".")[2] not in RANDOM
               and any(is_array(x) and x.size for s in samples(rec) for x in leaves(bind(rec, s))))
INDICES = [1, -1, slice(1, None), slice(None), None, ..., (0, 1), (0, None, slice(1, 3)), (None, 1), (..., 0),
           (slice(None), slice(0, 4, 2)), (), [2, 0], (slice(1, None), [1, 1]), True, np.int64(1)]


@pytest.fixture(autouse=True)
def silent() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def described(call: Callable[..., Any], arrays: list[np.ndarray], grad: bool, name: str) -> tuple[list[Any], list[Any], list[Any]]:
    """What a tape holds of a call, with ids by the order in which they are met, and what the call gave."""
    assert noting.calls is None
    wanted = not RECORDS.get(name) or not RECORDS[name].field("refuses_grad")
    given = [F.mul(TensorRef.of(a, requires_grad=wanted), 1) if a.dtype.kind in "fc" else TensorRef.of(a) for a in arrays]
    with Tape() as tape:
        with contextlib.nullcontext() if grad else no_grad():
            result = call(*given)
    met: dict[int, int] = {}
    nr = lambda ids: [met.setdefault(id, len(met)) for id in ids]
    text = lambda arguments: re.sub(r"[\[\]()]|object at \w+", "", repr(arguments))
    return ([(o.op_name, _decides(o) and o.mode, o.inplace, o.written, text(o.arguments), nr(o.inputs), nr(o.outputs))
             for o in tape.held.operations],
            [(e.op_name, repr([k for k, v in e.op_kwargs.items() if not isinstance(v, TensorRef)]), len(e.inputs), nr(e.value_ids[0]),
              len(e.get_alive_outputs()), nr(e.value_ids[1])) for e in tape.entries],
            [np.asarray(x._data if isinstance(x, TensorRef) else x) for x in leaves(result)])


def _decides(operation: Any) -> bool:
    """Whether the grad mode decides anything about an operation."""
    rec = operation.op
    return any([x.requires_grad for x in operation.refs[0]]) and (
        rec.differentiable or rec.field("function") is not None or rec.field("make") is not None)


def expect_the_same(call: Callable[..., Any], arrays: list[np.ndarray], text: str, name: str = "getitem") -> None:
    for grad in (True, False):
        async def at_once(grad: bool = grad) -> tuple[list[Any], list[Any], list[Any]]:
            return described(call, arrays, grad, name)  # tasks take turns on a thread, so that nothing is noted

        noted, held = described(call, arrays, grad, name), asyncio.run(at_once())
        assert noted[:2] == held[:2], text
        for found, expected in zip(noted[2], held[2], strict=True):
            np.testing.assert_array_equal(found, expected, err_msg=text)
        if not grad:
            assert not noted[1] and not any([mode for _, mode, *_ in noted[0]]), text


@pytest.mark.parametrize("name", NAMES)
def test_a_call_is_noted_as_it_is_held(name: str) -> None:
    for sample in list(samples(RECORDS[name]))[:1]:
        args, kwargs = bind(RECORDS[name], sample)
        arrays: list[np.ndarray] = []
        tree_map(lambda x: arrays.append(np.asarray(x)) if is_array(x) else None, (args, kwargs))

        def call(*tensors: Any, args: Any = args, kwargs: Any = kwargs) -> Any:
            given = iter(tensors)
            a, k = tree_map(lambda x: next(given) if is_array(x) else x, (args, kwargs))
            return F.function(name)(*a, **k)

        expect_the_same(call, arrays, f"{name}({sample})", name)


@pytest.mark.no_numbers("what is held is compared, not what is computed")
@pytest.mark.parametrize("name", NAMES)
def test_a_call_with_a_gradient_function_of_ones_own_is_held_as_without(name: str) -> None:
    rec = RECORDS[name]
    args, kwargs = bind(rec, next(iter(samples(rec))))
    wanted = "" if rec.field("refuses_grad") else "fc"

    def held() -> tuple[str, list[bool]]:
        given = tree_map(lambda x: TensorRef.of(x, requires_grad=np.asarray(x).dtype.kind in wanted) if is_array(x) else x, (args, kwargs))
        with Tape() as tape:
            F.function(name)(*given[0], **given[1])
        sized = [id(o) in tape.held._sized for operation in tape.held.operations for o in operation.refs[1]]
        return str(Graph.from_tape(tape)), sized

    before = held()
    register_grad_fn(name, lambda grad, saved: [None] * len(saved))
    try:
        assert held() == before
    finally:
        unregister_grad_fn(name)


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_an_index_is_noted_as_it_is_held(index: Any) -> None:
    expect_the_same(lambda x: x[index], [np.arange(24.0).reshape(4, 6)], repr(index))


def test_an_index_by_a_tensor_is_noted_as_it_is_held() -> None:
    x = np.arange(12.0).reshape(3, 4)
    for at in (np.array([2, 0]), x > 4, np.array(1)):
        expect_the_same(lambda x, at: x[at], [x, at], repr(at))
