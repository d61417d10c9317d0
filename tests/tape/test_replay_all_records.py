"""Every operation in a trace, and on an explicit tape: run again on other data, it gives what it gives when called on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.ops.op_cases import bind, is_array, samples, tree_map
from .record_samples import RANDOM, UNINITIALISED

from autograd_tape import F, Graph, Tape, TensorRef, backward_on_trace, no_grad, trace, vjp
from autograd_tape.errors import AutogradError
from autograd_tape.held import tensors_in
from autograd_tape.ops import RECORDS
from autograd_tape.tree import leaves

pytestmark = pytest.mark.filterwarnings("ignore")

DRAWS = {"rrelu", "fractional_max_pool2d", "fractional_max_pool3d", "bernoulli", "multinomial"}
NUMBERS = {"equal", "allclose"}  # what values decide comes out as a Python number
NAMES = sorted(name for name, rec in RECORDS.items() if rec.field("samples") is not None and name not in UNINITIALISED | DRAWS
               and rec.module.rpartition(".")[2] not in RANDOM | {"dropout"}
               and any(is_array(x) and x.size for s in samples(rec) for x in leaves(bind(rec, s))))


@pytest.fixture(autouse=True)
def silent() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def programs(name: str) -> Iterator[tuple[str, Callable[..., Any], list[np.ndarray], list[np.ndarray]]]:
    """For each sample with tensors: (its text, the call as a function of its tensors, its arrays, other arrays that it takes)."""
    rec = RECORDS[name]
    for sample in samples(rec):
        args, kwargs = bind(rec, sample)
        arrays: list[np.ndarray] = []
        tree_map(lambda x: arrays.append(np.asarray(x)) if is_array(x) else None, (args, kwargs))
        if not any(a.size for a in arrays):
            continue

        def call(*tensors: Any, args: Any = args, kwargs: Any = kwargs) -> Any:
            given = iter(tensors)
            a, k = tree_map(lambda x: next(given) if is_array(x) else x, (args, kwargs))
            result = F.function(name)(*a, **k)
            return a[0] if result is None else result  # what was written to

        with no_grad():
            for other in others(arrays):
                try:
                    call(*[TensorRef.of(a) for a in other])
                except (AutogradError, ValueError, np.linalg.LinAlgError):
                    continue  # values that the operation refuses: a matrix that is not definite, positions out of range
                yield f"{name}({sample})", call, arrays, other
                break
            else:
                raise AssertionError(f"{name}({sample}) takes no other values than its own")


def others(arrays: list[np.ndarray]) -> Iterator[list[np.ndarray]]:
    """The same shapes and dtypes with other values, the more different the earlier."""
    moved = lambda a: np.roll(a.reshape(-1), 1).reshape(a.shape)
    scaled = lambda a: (a * 0.75).astype(a.dtype)
    floating = lambda a: a.dtype.kind in "fcV" or a.dtype.name == "bfloat16"
    yield [scaled(moved(a)) if floating(a) else moved(a) for a in arrays]
    yield [scaled(a) if floating(a) else moved(a) for a in arrays]
    yield [scaled(a) if floating(a) else a for a in arrays]
    yield [moved(a) for a in arrays]
    yield arrays


def arrays_of(result: Any) -> list[np.ndarray]:
    return [np.array(t.numpy() if isinstance(t, TensorRef) else t) for t in leaves(result)]


def expect_equal(found: Any, expected: Any, text: str, but_for_rounding: bool = False) -> None:
    assert len(found) == len(expected), text
    for a, b in zip(found, expected):
        assert a.shape == b.shape and a.dtype == b.dtype, text
        if but_for_rounding:
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14, err_msg=text)
        else:
            np.testing.assert_array_equal(a, b, err_msg=text)


@pytest.mark.parametrize("name", NAMES)
def test_again_on_other_data(name: str, excused: Callable[[str], None]) -> None:
    for text, call, first, second in programs(name):
        # An in-place operation on a leaf is an error, so the function works on tensors of its own.
        all_require_grad = not RECORDS[name].field("refuses_grad")

        def f(*tensors: TensorRef) -> Any:
            if all_require_grad:
                return call(*[t * 1.0 if t.requires_grad and t.dtype.group != "float8" else t.clone() for t in tensors])
            with no_grad():
                return call(*[t.clone() for t in tensors])

        differentiable = (RECORDS[name].has_gradient or not RECORDS[name].differentiable) and all_require_grad and \
            not any(s.no_gradient for s in samples(RECORDS[name]))
        pull = vjp(f, *second)[1] if all(a.dtype.kind == "f" for a in second) and differentiable and name not in NUMBERS else None
        with no_grad():
            direct = arrays_of(f(*[TensorRef.of(a) for a in second]))
        if name in NUMBERS:
            with pytest.raises(AutogradError, match=rf"cannot follow the values read by {name}\(\)"):
                trace(f, *first)
            excused("values decide what comes out as a Python number, which is said")
            continue
        t = trace(f, *first)
        fused = bool(RECORDS[name].field("fused"))  # who looks sees what it is made of, which rounds otherwise
        expect_equal(arrays_of(t.refresh_graph_values(*second)), direct, text, fused)
        if pull is not None and any(o.requires_grad for o in t.outputs):
            rng = np.random.default_rng(0)
            cotangents = [rng.standard_normal(d.shape).astype(d.dtype) * (d.dtype.kind == "f") for d in direct]
            given = iter(cotangents)
            wanted = pull(tree_map(lambda x: next(given), t.output))
            for _ in range(2):  # the second time by a straight function
                given = iter(cotangents)
                found = backward_on_trace(t, tree_map(lambda x: next(given), t.output))
                for x, g in zip(t.inputs, wanted):
                    np.testing.assert_array_equal(found[x.id], g, err_msg=text)

        with no_grad(), Tape():
            seen = arrays_of(f(*[TensorRef.of(a) for a in second]))
        expect_equal(seen, direct, text, fused)
        leaves_ = [TensorRef.of(a, requires_grad=all_require_grad and a.dtype.kind in "fc") for a in first]
        with Tape() as tape:
            result = f(*leaves_)
        graph = tape.to_graph(tensors_in(result))
        for again in (graph, Graph.from_json(graph.to_json())):
            expect_equal(again.replay({x.id: b for x, b in zip(leaves_, second) if x.id in graph.values}), seen, text)


def test_a_list_of_one_piece_goes_back() -> None:
    x = np.arange(8.).reshape(4, 2)
    t = trace(lambda x: F.split_with_sizes(x * 2.0, [4])[0], x)
    t.refresh_graph_values(x + 1)
    for _ in range(2):  # the second time by a straight function
        np.testing.assert_array_equal(backward_on_trace(t, x)[t.inputs[0].id], 2 * x)
