"""A single tensor in the place of a list of one, of zero dimensions and of more; and how tensors iterate."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograd_tape as at
from autograd_tape import F, GradManager, OpSpec, Tape, TensorRef, backward, jvp
from autograd_tape.backward import BackwardOptions, topological_order
from autograd_tape.errors import ArgumentError, AutogradError, DTypeError

SHAPES: list[tuple[int, ...]] = [(), (1,), (2,), (2, 3)]


def clipped(how: Callable[[GradManager, Any], Any]) -> Callable[[TensorRef, Any], Any]:
    def run(x: TensorRef, given: Any) -> Any:
        gm = GradManager()
        gm.set_grad(x, np.full(x.shape, 3.0))
        return how(gm, given), gm.get_grad(x)

    return run


def on_a_tape(use: Callable[[Tape, TensorRef, TensorRef], Any]) -> Callable[[TensorRef, Any], Any]:
    def run(x: TensorRef, given: Any) -> Any:
        with Tape() as tape:
            y = x * 2.0
        return use(tape, y, [y] if isinstance(given, list) else y)

    return run


def recorded(x: TensorRef, given: Any) -> Any:
    y = TensorRef.of(-x.numpy())
    with Tape() as tape:
        tape.record("neg", given, y, lambda g, saved: [-g], given)
    return len(tape.entries[0].saved), backward(y, tape, grad_outputs=np.ones(x.shape))[x.id]


TAKES: dict[str, Callable[[TensorRef, Any], Any]] = {
    "zero_grad": clipped(lambda gm, x: gm.zero_grad(x)), "clip_grad_norm": clipped(lambda gm, x: gm.clip_grad_norm(x, 1.0)),
    "clip_grad_value": clipped(lambda gm, x: gm.clip_grad_value(x, 1.0)),
    "inputs": lambda x, given: list(backward(F.sum(x * 2.0), options=BackwardOptions(inputs=given)).values()),
    "backward": on_a_tape(lambda tape, y, given: list(backward(given, tape, grad_outputs=[np.ones(y.shape)]).values())),
    "topological_order": on_a_tape(lambda tape, y, given: len(topological_order(tape, given))),
    "to_graph": on_a_tape(lambda tape, y, given: tape.to_graph(given).replay()),
    "to_graph of the default tape": lambda x, given: len(at.get_default_tape().to_graph(
        [y] if isinstance(given, list) else y).nodes) if (y := x * 2.0) is not None else None,
    "grad": lambda x, given: at.grad(F.sum(x * x), given), "OpSpec": lambda x, given: OpSpec("neg", given).output.numpy(),
    "record": recorded,
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", TAKES)
def test_one_tensor_is_a_list_of_one(name: str, shape: tuple[int, ...]) -> None:
    found, expected = [TAKES[name](x, given(x)) for x in [TensorRef.of(np.full(shape, 2.0), requires_grad=True)]
                       for given in (lambda x: x, lambda x: [x])]
    flat = lambda value: [np.asarray(v) for v in at.tree.leaves(value)]
    assert len(flat(found)) == len(flat(expected)) > 0
    for a, b in zip(flat(found), flat(expected)):
        np.testing.assert_array_equal(a, b)
    assert not isinstance(expected, int) or expected, "nothing was done"


def test_one_cotangent_is_a_list_of_one() -> None:
    x = TensorRef.of([1.0, 2.0], requires_grad=True)
    for given in (np.array([1.0, 10.0]), TensorRef.of([1.0, 10.0])):
        np.testing.assert_array_equal(backward(x * x, options=BackwardOptions(grad_outputs=given))[x.id], [2.0, 40.0])


def test_jvp_wants_tuples() -> None:
    for primals, tangents in ((np.ones(2), (np.ones(2),)), ((np.ones(2),), np.ones(2)), (TensorRef.of([1.0]), (1.0,)), (1.0, 1.0)):
        with pytest.raises(ArgumentError, match="jvp.. takes its (primals|tangents) as a tuple"):
            jvp(lambda *x: x[0], primals, tangents)


def test_iteration() -> None:
    for use in (iter, list, tuple, sum, lambda x: [*x], lambda x: dict(x), lambda x: (lambda *a: a)(*x)):
        with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
            use(TensorRef.of(1.0))
    with pytest.raises(TypeError, match=r"len\(\) of a 0-d tensor"):
        len(TensorRef.of(1.0))
    x = TensorRef.of(np.arange(6.0).reshape(3, 2), requires_grad=True)
    rows = list(x)
    assert [r.shape for r in rows] == [(2,)] * 3 and list(TensorRef.of(np.ones((0, 2)))) == []
    np.testing.assert_array_equal(backward(F.sum(rows[1] * rows[2]))[x.id], [[0, 0], [4, 5], [2, 3]])


class TestNorms:
    SCALES = (1e-310, 1e-300, 1e-160, 1e-30, 1.0, 1e18, 1e30, 1e37, 1e150, 1e200, 1e307)

    @pytest.mark.parametrize("p", [0.5, 1.0, 1.5, 2.0, 3.0, 10.0, math.inf])
    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64, np.complex128, "bfloat16"])
    @pytest.mark.parametrize("split", [False, True])
    def test_right_wherever_the_numbers_lie(self, dtype: Any, p: float, split: bool) -> None:
        dtype = at.tensor.as_dtype(dtype).np
        for scale in self.SCALES:
            exact = [3.0, 4.0] if dtype.kind != "c" else [3.0, 4.0j]
            with np.errstate(over="ignore"):
                g = (np.array(exact) * scale).astype(dtype)
            if not np.isfinite(g).all() or not g.all():
                continue  # the dtype does not hold it
            as_double = np.abs(g.astype(np.complex128))
            largest = as_double.max()
            expected = largest * (1.0 if math.isinf(p) else np.sum((as_double / largest) ** p) ** (1 / p))
            gm, refs = GradManager(), [TensorRef.of(part) for part in (np.split(g, 2) if split else [g])]
            for ref in refs:
                gm.set_grad(ref, ref.numpy())
            limit = float(expected) / 2
            assert gm.clip_grad_norm(refs, limit, p) == pytest.approx(expected, rel=1e-12, abs=0)
            after = np.abs(np.concatenate([gm.get_grad(ref).astype(np.complex128) for ref in refs]))
            wanted = as_double * min(1.0, limit / (expected + 1e-6))
            tiny = float(np.finfo(dtype).smallest_subnormal) if dtype.name != "bfloat16" else 1e-40
            np.testing.assert_allclose(after, wanted, rtol={2: 1e-2}.get(dtype.itemsize, 1e-6), atol=tiny)
            assert all(gm.get_grad(ref).dtype == dtype for ref in refs)

    def test_dtypes_mixed(self) -> None:
        gm, refs = GradManager(), [TensorRef.of(np.array([a], d)) for a, d in ((3e30, np.float32), (4e30, np.float64), (0.0, np.float16))]
        for ref in refs:
            gm.set_grad(ref, ref.numpy())
        assert gm.clip_grad_norm(refs, 5.0) == pytest.approx(5e30)
        assert [float(gm.get_grad(r)[0]) for r in refs] == pytest.approx([3.0, 4.0, 0.0])

    @pytest.mark.parametrize("p", [1.0, 2.0, 3.0, math.inf])
    @pytest.mark.parametrize("bad, norm", [([1.0, math.inf], math.inf), ([-math.inf], math.inf), ([math.nan], math.nan),
                                           ([math.inf, math.nan], math.nan)])
    def test_norms_that_are_not_finite(self, bad: list[float], norm: float, p: float) -> None:
        gm, x = GradManager(), TensorRef.of(bad)
        gm.set_grad(x, bad)
        with pytest.raises(AutogradError, match=f"The total norm of order {p} is not finite.*found {norm}"):
            gm.clip_grad_norm(x, 1.0, p, error_if_nonfinite=True)
        np.testing.assert_array_equal(gm.get_grad(x), bad)
        with np.errstate(invalid="ignore"):
            assert str(gm.clip_grad_norm(x, 1.0, p)) == str(norm)
        assert not np.isfinite(gm.get_grad(x)).all(), "spoiled visibly"

    def test_zeros_and_nothing(self) -> None:
        gm, x, e = GradManager(), TensorRef.of([0.0]), TensorRef.of(np.ones((0, 2)))
        gm.set_grad(x, [0.0]), gm.set_grad(e, np.ones((0, 2)))
        assert [gm.clip_grad_norm([x, e], 1.0, p) for p in (1.0, 2.0, math.inf)] == [0.0] * 3
        assert gm.clip_grad_norm([e], 1.0) == gm.clip_grad_norm([], 1.0) == 0.0

    def test_complex_gradients_have_no_value_to_clip(self) -> None:
        gm, x, z = GradManager(), TensorRef.of([5.0]), TensorRef.of([5.0 + 1j])
        gm.set_grad(x, [5.0]), gm.set_grad(z, [5.0 + 1j])
        with pytest.raises(DTypeError, match="not defined for complex gradients.*found complex128"):
            gm.clip_grad_value([x, z], 1.0)
        assert gm.get_grad(x) == 5.0 and gm.get_grad(z) == 5.0 + 1j
