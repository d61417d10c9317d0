"""The dtype of gradients: what a hook sees of a gradient has its tensor's dtype, whatever NumPy makes of 0-dim arrays and numbers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from tests.ops import op_cases
import pytest
from tests.ops.op_cases import NAMES, bind, copied, samples, tensors, tree_map

import torchcompat as torch
from autograd_tape.dtypes import DType
from autograd_tape.ops import RECORDS
from torchcompat._tensor import frontend

RECORDED = [n for n in NAMES if RECORDS[n].has_gradient or RECORDS[n].field("function") is not None]
DTYPES = [np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]


class Watched:
    """The tensors of one call, each with a hook that notes the dtype of its gradient."""

    def __init__(self, dtype: np.dtype, single: bool) -> None:
        self.dtype, self.single = dtype, single
        self.seen: list[str] = []
        self.made = 0
        self.wanted: list[int] = []

    def tensor(self, x: Any) -> Any:
        array = np.asarray(x)
        if array.dtype.kind != "f":
            return frontend.wrap(array)
        if self.single:
            array = array.reshape(-1)[:1].reshape(())
        leaf = frontend.wrap(array.astype(self.dtype))
        if id(x) not in self.wanted:
            return leaf
        leaf.requires_grad_()
        t, number = leaf * torch.ones((), dtype=leaf.dtype), self.made
        self.made += 1

        def note(g: Any) -> None:
            self.seen.append(f"input {number} is {t.dtype}, its gradient {g.dtype}") if g.dtype is not t.dtype else None

        t.register_hook(note)
        return t


def watch(name: str, dtype: np.dtype, single: bool) -> tuple[int, list[str]]:
    """How many samples of an operation went through, and which gradients had another dtype than their tensors."""
    rec, ran, seen = RECORDS[name], 0, []
    for sample in samples(rec):
        args, kwargs = copied(bind(rec, sample))
        watched = Watched(dtype, single)
        watched.wanted = [id(x) for x in op_cases.arrays_of(op_cases.may_require_grad(rec, args, kwargs))]
        try:
            with np.errstate(all="ignore"):
                result = frontend.function(name)(*tree_map(watched.tensor, args), **tree_map(watched.tensor, kwargs))
                outputs = [t for t in tensors(result) if t.requires_grad]
                if outputs:
                    torch.autograd.backward(outputs, [torch.ones_like(t) for t in outputs])
        except (RuntimeError, TypeError, ValueError, AttributeError):  # operations that take no half precision, or no 0-dim tensors
            continue
        ran += 1
        seen += watched.seen
    return ran, seen


@pytest.mark.filterwarnings("ignore")
@pytest.mark.no_numbers("dtypes of gradients")
@pytest.mark.parametrize("name", RECORDED)
def test_gradients_have_their_tensors_dtype(name: str) -> None:
    everywhere = RECORDS[name].family in ("unary", "binary")
    ran = 0
    for dtype in DTYPES:
        for single in (False, True) if everywhere else (False,):
            done, seen = watch(name, dtype, single)
            assert not seen, f"{name}, {dtype}: {seen}"
            ran += done
    refuses = all([s.no_gradient for s in samples(RECORDS[name])])
    assert ran or refuses or RECORDS[name].namespace == "_internal", f"no sample of {name} could be run"


@pytest.mark.parametrize("loss", [
    lambda x: (x.sum() * 0.3).sin(), lambda x: x.mean() / 3, lambda x: x.var() ** 2, lambda x: torch.sigmoid(x.std() - 1.5),
    lambda x: torch.nn.functional.mse_loss(x, x.detach() + 1) * 2, lambda x: torch.nn.functional.elu(x.sum() - 9, 0.7),
    lambda x: 2 - torch.add(x.amax(), x.amin(), alpha=0.3), lambda x: torch.nn.functional.logsigmoid(x.norm()).exp(),
])
def test_a_scalar_loss_stays_single(loss: Any) -> None:
    """Nothing on the way back to a float32 array, or to a custom Function, becomes float64."""
    seen = []

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            seen.append(grad.dtype)
            return grad

    x = torch.arange(6, dtype=torch.float32).reshape(2, 3).requires_grad_()
    total = loss(Same.apply(x * 1.5))
    assert total.dtype is torch.float32
    node = total.grad_fn
    while node is not None:
        node.register_prehook(lambda grads: seen.extend([g.dtype for g in grads if g is not None]))
        node = next((n for n, _ in node.next_functions if n is not None and hasattr(n, "register_prehook")), None)
    total.backward()
    assert len(seen) > 2 and set(seen) == {torch.float32}


DOUBLE = {"float_power", "bincount"}
"""Operations that give double precision, whatever they are given, as torch's do."""


@pytest.mark.parametrize("name", [n for n in RECORDS if RECORDS[n].field("samples") and n not in DOUBLE])
def test_half_precision_stays_half_precision(name: str, excused: Any, compared: Any) -> None:
    """Where a computation on half precision gives floating-point numbers of another dtype, double precision does so, too."""
    rec = RECORDS[name]
    done = 0
    for sample in op_cases.samples(rec):
        args, kwargs = op_cases.bind(rec, sample)
        given = [x for x in [*args, *kwargs.values()] if x is not None]
        mixed = {np.asarray(x).dtype for x in given if op_cases.is_array(x)} & {np.dtype(c) for c in ("c16", "c8", "f4")}
        if mixed or any([isinstance(x, (DType, np.dtype)) for x in given]):
            continue

        def dtypes(dtype: Any, args: Any = args, kwargs: Any = kwargs) -> list[str]:
            def converted(x: Any) -> Any:
                if isinstance(x, (list, tuple)):
                    return type(x)([converted(y) for y in x])
                if not op_cases.is_array(x):
                    return x
                t = torch.from_numpy(np.array(x))
                return t.to(dtype) if t.dtype is torch.float64 else t

            torch.manual_seed(0)
            found = frontend.function(name)(*converted(list(args)), **{k: converted(v) for k, v in kwargs.items()})
            return [str(t.dtype) for t in (found if isinstance(found, (tuple, list)) else [found]) if isinstance(t, torch.Tensor)]

        try:
            wide = dtypes(torch.float64)
            half = {d: dtypes(getattr(torch, d)) for d in ("float16", "bfloat16")}
        except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError) as error:
            excused(str(error))
            continue
        for dtype, found in half.items():
            assert found == [w.replace("float64", dtype) for w in wide], (dtype, sample)
            done += 1
    compared(done)
    if not done:
        excused("not for half precision")
