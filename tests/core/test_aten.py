"""What dispatch modes and classes see of operations, in ATen's words, against what torch 2.13 itself shows."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

import torchcompat as torch
from torchcompat._calls import aten
from tests.core.aten_cases import TABLE
from tests.ops.op_cases import bind, copied, samples
from tests.ops.test_quiet import REGULAR, plain
from autograd_tape import calls
from autograd_tape.ops import RECORDS

from torchcompat._tensor import frontend
from torchcompat.utils import _python_dispatch
from torchcompat.utils._mode_utils import no_dispatch
from torchcompat.utils._python_dispatch import TorchDispatchMode
from torchcompat.utils._pytree import tree_leaves



@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


class Log(TorchDispatchMode):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def test_modes_see_backward_passes() -> None:
    x, w = torch.ones(2, 3, requires_grad=True), torch.ones(4, 3, requires_grad=True)
    with Log() as log:
        torch.nn.functional.linear(x, w).relu().sum().backward()
    assert "aten.threshold_backward.default" in log.seen and log.seen.count("aten.mm.default") == 3
    assert x.grad.tolist() == [[4.0] * 3] * 2 and w.grad.tolist() == [[2.0] * 3] * 4


def test_pieces_of_a_composite_are_recorded() -> None:
    x, w, b = [t.requires_grad_() for t in (torch.ones(2, 3), torch.ones(4, 3), torch.ones(4))]
    with Log():
        y = torch.nn.functional.linear(x, w, b)
    assert y.grad_fn.name() == "AddmmBackward0"
    y.sum().backward()
    assert (x.grad.sum(), w.grad.sum(), b.grad.sum()) == (24, 24, 8)


def test_nobody_listens_when_modes_are_left() -> None:
    before = list(calls.LISTENING)
    with Log():
        with Log():
            pass
        assert len(calls.LISTENING) >= len(before) and calls.LISTENING
    assert calls.LISTENING == before


def test_overloads_are_the_same_objects_each_time() -> None:
    found = []

    class Keep(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            found.append(func)
            return func(*args, **(kwargs or {}))

    with Keep():
        torch.ones(2) + 1
    assert found[1] is torch.ops.aten.add.Tensor and found[0].overloadpacket is torch.ops.aten.ones
    assert found[1](torch.ones(2), torch.ones(2)).tolist() == [2.0, 2.0]


class Wrapper(torch.Tensor):
    """Holds another tensor, and notes what is asked of it."""

    log: list[str] = []

    @staticmethod
    def __new__(cls: Any, inner: Any) -> Any:
        t = torch.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype)
        t.inner = inner
        return t

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.log.append(str(func))
        result = func(*[a.inner if isinstance(a, cls) else a for a in args], **(kwargs or {}))
        return cls(result) if isinstance(result, torch.Tensor) else result


@pytest.mark.parametrize(("make", "op"), [
    (torch.ones_like, "aten.ones_like.default"), (torch.zeros_like, "aten.zeros_like.default"),
    (torch.empty_like, "aten.empty_like.default"), (torch.rand_like, "aten.rand_like.default"),
    (lambda x: torch.full_like(x, 2), "aten.full_like.default"), (lambda x: x.new_zeros(2), "aten.new_zeros.default"),
    (lambda x: x.new_full((2,), 1.0), "aten.new_full.default"), (lambda x: x.new_empty(2), "aten.new_empty.default"),
])
def test_tensors_made_like_one_of_a_class_are_made_by_the_class(make: Any, op: str) -> None:
    x = Wrapper(torch.ones(2))
    Wrapper.log.clear()
    with torch.no_grad():
        found = getattr(torch, make.__name__, make)(x)  # the function as it is called now
    assert Wrapper.log == [op] and type(found) is Wrapper and found.shape == (2,)


def test_without_dispatch_classes_and_modes_are_not_asked() -> None:
    x = torch.Tensor._make_subclass(Wrapper, torch.ones(2))
    Wrapper.log.clear()
    with Log() as log, no_dispatch():
        assert (x + 1).tolist() == [2.0, 2.0]
    assert Wrapper.log == [] and log.seen == []


def test_gradients_of_a_convolution() -> None:
    x, w, b = torch.ones(1, 2, 4, 4, requires_grad=True), torch.ones(3, 2, 2, 2, requires_grad=True), torch.ones(3, requires_grad=True)
    y = torch.nn.functional.conv2d(x, w, b)
    expected = torch.autograd.grad(y, (x, w, b), torch.ones_like(y))
    arguments = (3,), (1, 1), (0, 0), (1, 1), False, (0, 0), 1
    found = torch.ops.aten.convolution_backward(torch.ones_like(y), x.detach(), w.detach(), *arguments, (True, True, True))
    assert all(torch.equal(f, e) for f, e in zip(found, expected))
    only = torch.ops.aten.convolution_backward(torch.ones_like(y), x.detach(), w.detach(), *arguments, (False, True, False))
    assert only[0] is None and only[2] is None and torch.equal(only[1], expected[1])


def test_zeros_with_the_layout_of_another_tensor() -> None:
    new_zeros = torch.ops.aten._new_zeros_with_same_feature_meta
    t, target = torch.randn(5), torch.randn(2, 3, 4, dtype=torch.double).transpose(0, 1)
    z = new_zeros(t, target, self_num_batch_dims=1)
    assert z.shape == (5, 3, 2, 4) and z.stride() == (24, *target.stride()) and z.dtype is torch.double and not z.any()


def test_function_modes_see_what_makes_tensors() -> None:
    class Mode(torch.overrides.TorchFunctionMode):
        seen: list[str] = []

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with Mode() as mode:
        torch.ones(2)
        torch.tensor([1.0])
    assert mode.seen == ["ones", "tensor"]


def test_operations_are_recorded_where_dispatch_is_reentrant() -> None:
    with torch.no_grad(), torch.overrides.enable_reentrant_dispatch():
        assert torch.ones(1, requires_grad=True).exp().grad_fn is not None


class Passing(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


IN_PIECES = {
    **dict.fromkeys("basic_slice basic_unsqueeze basic_alias".split(), "parts of x[index], shown as the views they are made of"),
    **dict.fromkeys("max_pool_nd max_pool1d nn_functional_max_pool1d max_pool1d_with_indices".split(), "squeezed, as in torch"),
    **dict.fromkeys("fft_ifft fft_ihfft".split(), "modes are shown conjugates, not views of them"),
    **dict.fromkeys("reshape_as attention_backward".split(), "a view of a copy"),
}
"""What is recorded otherwise when a mode looks at it."""


@pytest.mark.parametrize("part", range(4))
def test_what_a_mode_passes_on_is_recorded_as_without_it(part: int) -> None:
    """Of every operation and its in-place variant: results, what made them, version counters, and gradients."""
    from tests.ops.op_cases import bind, is_array, samples, tree_map

    from autograd_tape.ops import RECORDS

    def outcome(rec: Any, function: Any, mode: Any) -> Any:
        torch.manual_seed(0)
        leaves: list[Any] = []

        def given(x: Any) -> Any:
            if not is_array(x):
                return x
            t = torch.tensor(x)
            if not t.is_floating_point() or t.itemsize == 1:  # numbers of 8 bits are converted, and not computed with
                return t
            leaves.append(t.requires_grad_())
            return t * 1

        args, kwargs = tree_map(given, bind(rec, samples(rec)[0]))
        try:
            with mode:
                result = function(*args, **kwargs)
            outputs = [o for o in tree_leaves(result) if isinstance(o, torch.Tensor)]
            wanted = [o for o in outputs if o.requires_grad]
            if wanted:
                torch.autograd.backward(wanted, [torch.ones_like(o) for o in wanted])
        except (RuntimeError, NotImplementedError, TypeError) as error:
            return str(error)
        seen = [(None if o.grad_fn is None else o.grad_fn.name(), o._version, o._is_view()) for o in outputs]
        return seen, [o.detach() for o in outputs], [t.grad for t in leaves]

    compared = 0
    for name, rec in list(RECORDS.items())[part::4]:
        if rec.field("samples") is None or name in IN_PIECES or "empty" in name:
            continue
        for function in [getattr(torch._tensor.frontend, name), *([getattr(torch._tensor.frontend, name + "_")] if rec.inplace else [])]:
            alone, under = outcome(rec, function, contextlib.nullcontext()), outcome(rec, function, Passing())
            compared += 1
            if isinstance(alone, str) or isinstance(under, str):
                assert alone == under, name
                continue
            assert alone[0] == under[0], name
            for a, b in zip(alone[1] + alone[2], under[1] + under[2]):
                assert a is b is None or torch.allclose(a, b, rtol=1e-12, atol=1e-15, equal_nan=True), name
    assert compared > 150


class Refused(Exception):
    pass


class Refusing(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise Refused(str(func))


@pytest.mark.no_numbers("what a call that fails leaves behind")
@pytest.mark.parametrize("inplace", [False, True])
def test_a_mode_that_raises_leaves_all_as_it_was(inplace: bool) -> None:
    """Tensors, their versions and histories, the modes and the grad mode, for every regular operation and its variant in place."""
    refused = 0
    for name in REGULAR:
        rec = RECORDS[name]
        if inplace and not rec.inplace:
            continue
        for recording in (False, True):
            args, kwargs = plain(rec, frontend, copied(bind(rec, samples(rec)[0])), recording and not inplace, True)
            tensors = [t for t in tree_leaves([args, kwargs]) if isinstance(t, torch.Tensor)]
            if inplace and recording:
                tensors = [t.requires_grad_() if t.is_floating_point() else t for t in tensors]
                args = [t * 1 if isinstance(t, torch.Tensor) and t.requires_grad else t for t in args]
                tensors += [t for t in args if isinstance(t, torch.Tensor)]
            before = [(t._version, t.grad_fn, t.requires_grad, t.detach().clone()) for t in tensors]
            own = None
            with Refusing():
                inside = _python_dispatch._state.modes
                try:
                    frontend.function(name + "_" * inplace)(*args, **kwargs)
                except Refused:
                    refused += 1
                except (RuntimeError, TypeError, IndexError, NotImplementedError) as error:  # what the operation itself says of the sample
                    own = type(error)
                assert _python_dispatch._state.modes is inside and torch.is_grad_enabled(), name
            after = [(t._version, t.grad_fn, t.requires_grad, t.detach()) for t in tensors]
            assert [b[:3] for b in before] == [a[:3] for a in after], name
            assert all([torch.equal(b[3], a[3]) or bool(b[3].isnan().any()) for b, a in zip(before, after)]), name
            if own is not None:
                with pytest.raises(own):
                    frontend.function(name + "_" * inplace)(*args, **kwargs)
    assert refused > (200 if inplace else 450)


@pytest.mark.no_numbers("what is shown")
def test_changes_in_place_of_what_has_a_history_are_shown_as_they_are() -> None:
    """No copy is made of what no gradient needs, and one of what it needs."""
    x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    for change, seen in ((lambda y: y.mul_(2), []), (lambda y: y.add_(w), []), (lambda y: y.mul_(w), ["aten.clone.default"])):
        y = x * 1
        with Log() as log:
            change(y)
        assert [s for s in log.seen if "clone" in s] == seen and y._version == 1


def test_shared_libraries_and_modules_of_operations() -> None:
    with pytest.raises(OSError, match=r"^Could not load this library: /nope\.so$"):
        torch.ops.load_library("/nope.so")
    with pytest.raises(TypeError, match="expected str, bytes or os.PathLike object, not int"):
        torch.ops.load_library(3)
    assert torch.ops.loaded_libraries == set() and torch.ops.import_module("math") is None
    assert torch.ops.aten.add.__module__ == torch.ops.aten.add.Tensor.__module__ == "torch._ops.aten"


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", aten._LOSSES)
def test_the_reductions_of_losses_are_numbers(name: str, reduction: str) -> None:
    """By position and by name, whatever stands before them."""
    own = {"huber_loss": {"delta": 0.6}, "smooth_l1_loss": {"beta": 0.6}, "multi_margin_loss": {"p": 2, "margin": 0.8, "weight": None},
           "nll_loss": {"weight": torch.arange(1.0, 5.0), "ignore_index": 3},
           "hinge_embedding_loss": {"margin": 0.7}, "poisson_nll_loss": {"log_input": False, "full": True, "eps": 1e-3},
           "cosine_embedding_loss": {"margin": 0.1}, "margin_ranking_loss": {"margin": 0.2},
           "ctc_loss": {"blank": 1, "zero_infinity": True},
           "triplet_margin_loss": {"margin": 0.9, "p": 1.0, "eps": 1e-3, "swap": True},
           "binary_cross_entropy": {"weight": torch.tensor(2.0)},
           "binary_cross_entropy_with_logits": {"weight": None, "pos_weight": torch.tensor(3.0)}}.get(name, {})
    count, parameters = aten._LOSSES[name]
    tensors = list(torch.rand(count, 3, 4).unbind(0))
    if name in ("cosine_embedding_loss", "margin_ranking_loss"):
        tensors = [*tensors[:2], torch.tensor([1.0, -1.0, 1.0])] if name.startswith("cosine") else [*torch.rand(2, 3), torch.ones(3)]
    elif name in ("multi_margin_loss", "nll_loss", "multilabel_margin_loss"):
        tensors[1] = torch.tensor([0, 3, 1]) if name != "multilabel_margin_loss" else torch.tensor([[0, 2, -1, 1]] * 3)
    elif name == "ctc_loss":
        tensors = [torch.rand(6, 2, 4).log_softmax(2), torch.tensor([[0, 2], [3, 2]]), torch.tensor([6, 5]), torch.tensor([2, 1])]
    expected = getattr(torch.nn.functional, name)(*tensors, **own, reduction=reduction)
    number = {"none": 0, "mean": 1, "sum": 2}[reduction]
    behind = [number if p == "reduction" else own[p] for p in parameters.split()]
    called = getattr(torch.ops.aten, name)
    for found in called(*tensors, *behind), called(*tensors, **own, reduction=number):
        assert found.shape == expected.shape and torch.allclose(found, expected)
