"""What may require grad, who may say so, and copies of tensors: leaves, computed ones, views, parameters, in both front ends."""

from __future__ import annotations

import copy
import pickle
from typing import Any
from collections.abc import Callable

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape import AutogradError, DType, F, GradManager, OpSpec, Operation, Tape, TensorRef, backward, cpu_executor, no_grad
from autograd_tape.dtypes import OPAQUE
from autograd_tape.errors import ArgumentError, GradientDTypeError, NoGradError
from autograd_tape.modes import GradMode
from autograd_tape.tensor import LEAF

DTYPES = [name for name, dtype in DType.by_name.items() if dtype.category != OPAQUE]  # the others can be given no numbers
DOORS: dict[str, Callable[[DType], Any]] = {
    "of": lambda d: TensorRef.of(np.ones(2, d.np), requires_grad=True),
    "constructor, shape": lambda d: TensorRef.declare((2,), d, requires_grad=True),
    "constructor, array": lambda d: TensorRef(np.ones(2, d.np), requires_grad=True),
    "setter": lambda d: setattr(TensorRef.of(np.ones(2, d.np)), "requires_grad", True),
    "requires_grad_": lambda d: TensorRef.of(np.ones(2, d.np)).requires_grad_(),
    "setter of a view": lambda d: setattr(TensorRef.of(np.ones(2, d.np))[0], "requires_grad", True),
    "manager": lambda d: GradManager().set_requires_grad(TensorRef.of(np.ones(2, d.np)), True),
    "manager, set_grad": lambda d: GradManager().set_grad(TensorRef.of(np.ones(2, d.np)), np.full(2, 0.5)),
    "factory": lambda d: F.zeros(2, dtype=d, requires_grad=True),
    "torch.zeros": lambda d: torch.zeros(2, dtype=d, requires_grad=True),
    "torch.empty": lambda d: torch.empty(2, dtype=d, requires_grad=True),
    "torch.tensor": lambda d: torch.tensor([1, 0], dtype=d, requires_grad=True),
    "torch.ones_like": lambda d: torch.ones_like(torch.zeros(2), dtype=d, requires_grad=True),
    "torch setter": lambda d: setattr(torch.zeros(2, dtype=d), "requires_grad", True),
    "torch requires_grad_": lambda d: torch.zeros(2, dtype=d).requires_grad_(),
    "Parameter": lambda d: torch.nn.Parameter(torch.zeros(2, dtype=d)),
    "torch.asarray": lambda d: torch.asarray(torch.zeros(2, dtype=d), requires_grad=True),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", DTYPES)
def test_only_numbers_that_can_hold_a_gradient_may_require_one(door: str, name: str) -> None:
    dtype = DType.by_name[name]
    if dtype.is_floating_point or dtype.is_complex:
        found = DOORS[door](dtype)
        assert found is None or found.requires_grad
        return
    with pytest.raises(RuntimeError, match="ensors of floating point (and complex )?dtype can (require|have) gradients") as caught:
        DOORS[door](dtype)
    assert type(caught.value) is (RuntimeError if "orch" in door or door == "Parameter" else GradientDTypeError)
    assert isinstance(caught.value, ArgumentError) or "orch" in door or door == "Parameter"


@pytest.mark.parametrize("draw", [lambda: torch.randint(3, (2,), requires_grad=True), lambda: torch.randperm(3, requires_grad=True),
                                  lambda: torch.arange(3, requires_grad=True), lambda: torch.full((2,), 1, requires_grad=True)])
def test_factories_of_integers_refuse_gradients(draw: Callable[[], Any]) -> None:
    with pytest.raises(RuntimeError, match="^Only Tensors of floating point and complex dtype can require gradients$"):
        draw()


def test_integer_results_recorded_by_hand_carry_no_gradient() -> None:
    x = TensorRef.of([3.0, 1.0], requires_grad=True)
    with Tape() as tape:
        spec = OpSpec("argmax", [x])
        tape.record(spec)
    assert not spec.output.requires_grad and spec.output.item() == 0

    class Rounded(Operation):
        name = "rounded_for_this_test"

        def execute(self, x: np.ndarray) -> np.ndarray:
            return np.rint(x).astype(np.int64)

    assert not Rounded()(x).requires_grad


def test_data_bound_later_cannot_change_the_dtype() -> None:
    x = TensorRef.declare((2,), "float64", requires_grad=True)
    with pytest.raises(AutogradError, match="wrong dtype"):
        cpu_executor().bind(x, np.array([1, 2]))
    p = torch.nn.Parameter(torch.ones(2))
    with pytest.raises(RuntimeError, match="must be floating point or complex dtype"):
        p.data = torch.ones(2, dtype=torch.int64)


class TestSaying:
    @pytest.mark.parametrize("make", [lambda x: x * 2.0, lambda x: (x * 2.0)[0:1], lambda x: x[0:1], lambda x: x.unbind(0)[0]])
    def test_a_computed_tensor_keeps_its_history(self, make: Callable[[Any], Any]) -> None:
        for x in (TensorRef.of([1.0, 2.0], requires_grad=True), torch.tensor([1.0, 2.0], requires_grad=True)):
            y = make(x)
            node = y._node
            for value in (True, False):
                with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
                    y.requires_grad = value
                if isinstance(x, torch.Tensor):
                    continue
                manager = GradManager()
                if value:
                    manager.set_requires_grad(y, True)
                else:
                    with pytest.raises(NoGradError, match="leaf variables"):
                        manager.set_requires_grad(y, False)
            with pytest.raises(RuntimeError, match="leaf variables. If you want to use a computed variable in a subgraph"):
                y.requires_grad_(False)
            assert y.requires_grad_() is y and y._node is node

    def test_only_booleans_are_taken(self) -> None:
        for x, error in ((TensorRef.of([1.0]), ArgumentError), (torch.tensor([1.0]), RuntimeError)):
            with pytest.raises(error, match="requires_grad must be a bool"):
                x.requires_grad = 1
            assert not x.requires_grad

    def test_views_require_grad_as_their_base_does(self) -> None:
        for x in (TensorRef.of([1.0, 2.0]), torch.tensor([1.0, 2.0])):
            v = x[0:1]
            x.requires_grad_()
            assert v.requires_grad and v.is_leaf
            x.requires_grad = False
            assert not v.requires_grad


COPIES: dict[str, Callable[[Any], Any]] = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda t: pickle.loads(pickle.dumps(t))}


class Named(TensorRef):
    """A class of somebody's, with attributes."""


@pytest.mark.parametrize("how", COPIES)
class TestCopies:
    @pytest.mark.parametrize("cls", [TensorRef, Named, torch.Tensor, torch.nn.Parameter])
    @pytest.mark.parametrize("requires_grad", [False, True])
    def test_a_copy_of_a_leaf_is_a_leaf_of_its_own(self, how: str, cls: Any, requires_grad: bool) -> None:
        if issubclass(cls, torch.Tensor):
            x = cls(torch.tensor([1.0, 2.0], dtype=torch.float64)).requires_grad_(requires_grad)
        else:
            x = cls.of(np.array([1.0, 2.0]), requires_grad=requires_grad)
        first, manager = x.id, GradManager()
        if cls is TensorRef and requires_grad:
            manager.set_requires_grad(x)
        if hasattr(x, "__dict__"):
            x.note = ["kept"]
        c = COPIES[how](x)
        assert type(c) is cls and c._k is x._k and c.requires_grad is requires_grad and c.is_leaf and c.creator is None
        assert c._node is (LEAF if requires_grad else None) and c.id != first and x.id == first
        assert np.shares_memory(c.numpy() if cls in (TensorRef, Named) else c.detach().numpy(), x._data) is (how == "copy")
        if hasattr(x, "__dict__"):  # torch's parameters lose theirs when they are deeply copied
            assert how == "deepcopy" and cls is torch.nn.Parameter or c.note == ["kept"]
        if requires_grad:
            grads = backward(F.sum(c * c * 1.0) if not isinstance(c, torch.Tensor) else (c * c).sum())
            assert list(grads) == [c.id] and grads[c.id].tolist() == [2.0, 4.0]
            assert manager.get_grad(x) is None if cls is TensorRef else True
        with no_grad():
            c.mul_(10.0)
        assert x._data.tolist() == ([10.0, 20.0] if how == "copy" else [1.0, 2.0])

    @pytest.mark.parametrize("make", [lambda x: x * 2.0, lambda x: x[0:1], lambda x: (x * 2.0).unbind(0)[0]])
    def test_computed_tensors_refuse_or_do_as_torch(self, how: str, make: Callable[[Any], Any]) -> None:
        y = make(TensorRef.of([1.0, 2.0], requires_grad=True))
        with pytest.raises(NoGradError, match="Only leaves support .* Expected a leaf, found the output of .* To fix it, copy its data"):
            COPIES[how](y)
        y = make(torch.tensor([1.0, 2.0], requires_grad=True))
        if how == "deepcopy":
            with pytest.raises(RuntimeError, match=r"Only Tensors created explicitly by the user \(graph leaves\)"):
                COPIES[how](y)
        else:
            c = COPIES[how](y)
            assert c.is_leaf and c.requires_grad and c.tolist() == y.tolist()

    def test_tensors_without_data(self, how: str) -> None:
        x = TensorRef.declare((2, 3), "float32", requires_grad=True)
        c = COPIES[how](x)
        assert c.shape == (2, 3) and c.dtype is x.dtype and not c.has_data and c.requires_grad and c.id != x.id
        y = OpSpec("mul", [x, x]).output
        with pytest.raises(NoGradError, match="found the output of an OpSpec"):
            COPIES[how](y)

    def test_views_without_recording_and_changed_tensors(self, how: str) -> None:
        x = TensorRef.of([1.0, 2.0], requires_grad=True)
        with no_grad():
            x.mul_(3.0)
            v = x[1:]
        c = COPIES[how](v)
        assert c.is_leaf and c._base is None and c.numpy().tolist() == [6.0]


class TestDeepCopies:
    @pytest.mark.parametrize("front", ["TensorRef", "Tensor"])
    def test_what_is_shared_is_shared_in_the_copy(self, front: str) -> None:
        x = TensorRef.of(np.arange(6.0).reshape(2, 3).T) if front == "TensorRef" else torch.arange(6.0).reshape(2, 3).t()
        both, part, again = copy.deepcopy([x, x[1:], x])
        assert both is again and np.shares_memory(both._data, part._data) and not np.shares_memory(both._data, x._data)
        assert both._data.strides == x._data.strides and part._data.tolist() == x._data[1:].tolist()
        part.mul_(0.0)
        assert both._data[1:].tolist() == [[0.0, 0.0]] * 2 and x._data[1, 0] == 1.0

    def test_gradients_go_along_hooks_do_not(self) -> None:
        x = torch.tensor([1.0], requires_grad=True)
        x.register_hook(lambda g: g * 100.0)
        (x * x).sum().backward()
        c = copy.deepcopy(x)
        (c * 3.0).sum().backward()
        assert c.grad.tolist() == [203.0] and x.grad.tolist() == [200.0]

    def test_graph_nodes_are_not_copied(self) -> None:
        y = TensorRef.of([1.0], requires_grad=True) * 2.0
        for how in COPIES.values():
            with pytest.raises(TypeError, match="cannot pickle 'MulBackward"):
                how(y.creator)

    def test_marks_are_what_they_were(self) -> None:
        assert copy.deepcopy(LEAF) is LEAF is pickle.loads(pickle.dumps(LEAF))
        k = TensorRef.of([1.0])._k
        assert copy.deepcopy(k) is k is copy.copy(k) is pickle.loads(pickle.dumps(k))
        assert copy.deepcopy(GradMode.ENABLED) is GradMode.ENABLED


# -- constructors ---------------------------------------------------------------------------------------------------------------

COULD_BE_SHAPES = [(2, 3), [2, 3], 2, (), [], (0,), [-1, 2], np.int64(2), (np.int32(2), 3)]
ONLY_DATA = [[[2, 3]], [2.0, 3.0], 2.0, 1j, True, [True, False], np.array([2, 3]), np.array(2), ((1, 2), (3, 4)), [[]], np.float32(2)]


@pytest.mark.parametrize("data", COULD_BE_SHAPES, ids=repr)
def test_whole_numbers_need_a_named_constructor(data: Any) -> None:
    with pytest.raises(ArgumentError, match="could mean these numbers or a tensor of this shape") as info:
        TensorRef(data)
    assert f"TensorRef.of({data!r})" in str(info.value) and f"TensorRef.declare({data!r})" in str(info.value)
    made = TensorRef.of(data)
    assert made.has_data and made.tolist() == np.array(data).tolist() and made.shape == np.shape(data)


@pytest.mark.parametrize("data", ONLY_DATA, ids=repr)
def test_what_can_only_be_data_is(data: Any) -> None:
    made, named = TensorRef(data), TensorRef.of(data)
    assert made.tolist() == named.tolist() == np.array(data).tolist() and made.dtype is named.dtype
    with pytest.raises(ArgumentError, match="declared by its sizes"):
        TensorRef.declare(data)


@pytest.mark.parametrize("shape", [(2, 3), [2, 3], 2, (), [], (0, 2), np.int64(3)], ids=repr)
def test_declared_tensors_have_a_shape_and_no_data(shape: Any) -> None:
    made = TensorRef.declare(shape, "float64", requires_grad=True)
    assert not made.has_data and made.shape == np.zeros(shape).shape and made.requires_grad and made.dtype is DType.by_name["float64"]
    assert cpu_executor().bind(made, np.ones(shape)).tolist() == np.ones(shape).tolist()


def test_data_that_is_no_number_is_refused_by_every_constructor() -> None:
    for make in (TensorRef, TensorRef.of):
        for data in ("2", [None], {}, object(), np.array("2020", "M8")):
            with pytest.raises(ArgumentError, match="made of numbers"):
                make(data)
    with pytest.raises(ArgumentError, match="no dtype"):
        TensorRef.of([1.0], "float31")
    for shape in [(-1,), (1.5,), "2", None, (True,)]:
        with pytest.raises(ArgumentError, match="declared by its sizes"):
            TensorRef.declare(shape)
