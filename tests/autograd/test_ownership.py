"""A gradient shares no memory with anything that somebody else holds, however the interpreter counts references."""

from __future__ import annotations

import importlib.util
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import autograd_tape as at
import torchcompat as torch
from autograd_tape import BackwardOptions, F, GradManager, Tape, TensorRef, ownership

passes: Any = sys.modules["autograd_tape.engine"]
ROOT = Path(__file__).parent.parent.parent

# How interpreters count: (what sys.getrefcount would give, whether the counts tell one holder from two).
INTERPRETERS: dict[str, tuple[Callable[[Any], int], bool]] = {
    "this": (ownership.count, True),
    "borrowing": (lambda g: sys.getrefcount(g) - 2, True),  # CPython 3.14: one less for what is on the stack (and one for this lambda)
    "generous": (lambda g: sys.getrefcount(g) + 5, True),
    "none": (lambda g: 0, False),
    "immortal": (lambda g: 2**32 - 1, False),
}


@pytest.fixture(params=INTERPRETERS)
def tells(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """The engine calibrated for an interpreter; whether its counts tell."""
    count, tells = INTERPRETERS[request.param]
    monkeypatch.setattr(passes, "_getrefcount", count)
    monkeypatch.setattr(passes, "_alone", ownership.calibrated(passes))
    assert (passes._alone != ownership.NEVER) is tells
    return tells


@pytest.fixture(params=[False, True], ids=["unwatched", "watched"], autouse=True)
def watched(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whether passes look for hooks, which is another way through the engine."""
    before, passes.WATCHED[:] = [*passes.WATCHED], [True] if request.param else []
    yield
    passes.WATCHED[:] = before


def leaf(*shape: int) -> Any:
    return torch.ones(*shape or (3,), requires_grad=True)


def memory(thing: Any) -> np.ndarray:
    return thing._data if isinstance(thing, TensorRef) else thing


class Gives(torch.autograd.Function):
    """Whose gradient is what `given` makes."""

    @staticmethod
    def forward(ctx: Any, x: Any, given: Any) -> Any:
        ctx.given = given
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return ctx.given(), None


# -- programs: each gives pairs of (gradient, its value), and what else holds memory ------------------------------------------------

Outcome = tuple[list[tuple[Any, list[float]]], list[Any]]
PROGRAMS: list[Callable[[], Outcome]] = []


def program(function: Callable[[], Outcome]) -> Callable[[], Outcome]:
    PROGRAMS.append(function)
    return function


@program
def two_leaves() -> Outcome:
    a, b = leaf(), leaf()
    (a + b).sum().backward()
    return [(a.grad, [1, 1, 1]), (b.grad, [1, 1, 1])], []


@program
def many_leaves_of_one_product() -> Outcome:
    a, b, c, w = leaf(), leaf(), leaf(), leaf()
    ((a + b - c) * w).sum().backward()
    return [(a.grad, [1] * 3), (b.grad, [1] * 3), (c.grad, [-1] * 3), (w.grad, [1] * 3)], [w]


@program
def the_root() -> Outcome:
    a, g = leaf(), torch.full((3,), 4.0)
    a.backward(g)
    return [(a.grad, [4, 4, 4])], [g]


@program
def a_root_passed_on() -> Outcome:
    a, b, g = leaf(), leaf(), torch.full((3,), 4.0)
    torch.autograd.backward([a + b, a], [g, g])
    return [(a.grad, [8, 8, 8]), (b.grad, [4, 4, 4])], [g]


@program
def of_inputs() -> Outcome:
    a, b, g = leaf(), leaf(), torch.full((3,), 4.0)
    (a + b).backward(g, inputs=[a, b])
    return [(a.grad, [4, 4, 4]), (b.grad, [4, 4, 4])], [g]


@program
def kept_by_a_function() -> Outcome:
    a, kept = leaf(), torch.full((3,), 5.0)
    Gives.apply(a, lambda: kept).sum().backward()
    return [(a.grad, [5, 5, 5])], [kept]


@program
def a_view_of_what_a_function_keeps() -> Outcome:
    a, kept = leaf(), torch.full((2, 3), 5.0)
    Gives.apply(a, lambda: kept[0]).sum().backward()
    return [(a.grad, [5, 5, 5])], [kept]


@program
def kept_retained() -> Outcome:
    a, b = leaf(), leaf()
    y = a * 1
    y.retain_grad()
    (y + b).sum().backward()
    return [(y.grad, [1, 1, 1]), (a.grad, [1, 1, 1]), (b.grad, [1, 1, 1])], []


@program
def seen_by_a_node_s_hook() -> Outcome:
    a, seen = leaf(), []
    y = a * 2
    y.grad_fn.register_hook(lambda inputs, outputs: seen.extend([*inputs, *outputs]))
    y.sum().backward()
    return [(a.grad, [2, 2, 2])], [s for s in seen if s is not None]


@program
def seen_by_a_leaf_s_hook() -> Outcome:
    a, seen = leaf(), []
    a.register_hook(lambda g: seen.append(g))
    (a * 2).sum().backward()
    return [(a.grad, [2, 2, 2])], seen


@program
def a_sum_seen_by_a_leaf_s_hook() -> Outcome:
    a, seen = leaf(), []
    a.register_hook(lambda g: seen.append(g))
    (a * 2 + a * 3).sum().backward()
    return [(a.grad, [5, 5, 5])], seen


@program
def a_sum_replaced_by_a_leaf_s_hook() -> Outcome:
    a, kept = leaf(), torch.full((3,), 7.0)
    a.register_hook(lambda g: kept)
    (a * 2 + a * 3).sum().backward()
    return [(a.grad, [7, 7, 7])], [kept]


@program
def added_to() -> Outcome:
    a, b = leaf(), leaf()
    for _ in range(2):
        (a + b).sum().backward()
    return [(a.grad, [2, 2, 2]), (b.grad, [2, 2, 2])], []


class Carries(torch.Tensor):
    """A class that carries out operations itself, on the tensor inside, whose gradients are tensors."""

    inside: Any

    @staticmethod
    def __new__(cls, inside: Any, requires_grad: bool = False) -> Any:
        made = torch.Tensor._make_wrapper_subclass(cls, inside.size(), dtype=inside.dtype, requires_grad=requires_grad)
        made.inside = inside
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*[getattr(a, "inside", a) for a in args], **kwargs or {})
        return cls(result) if isinstance(result, torch.Tensor) else result


@program
def of_a_class_that_carries_out_operations() -> Outcome:
    a, b = (Carries(torch.ones(3), requires_grad=True) for _ in range(2))
    g = torch.full((3,), 4.0)
    (a + b).backward(Carries(g))
    return [(a.grad.inside, [4, 4, 4]), (b.grad.inside, [4, 4, 4])], [g]


@program
def beside_forward_mode() -> Outcome:
    a, b = leaf(), leaf()
    with torch.autograd.forward_ad.dual_level():
        (a + b).sum().backward()
    return [(a.grad, [1, 1, 1]), (b.grad, [1, 1, 1])], []


def by_hand(given: np.ndarray, how: Callable[[TensorRef, TensorRef, Tape], Any]) -> Outcome:
    """A gradient function of the caller's that gives an array it keeps."""
    x = TensorRef.of([1.0, 2.0, 3.0], requires_grad=True)
    with Tape() as tape:
        y = TensorRef.of([2.0, 4.0, 6.0])
        tape.record("double", [x], y, grad_fn=lambda grad, saved: [given])
        loss = F.sum(y)
    return [(how(x, loss, tape), given.tolist())], [given, x, y]


@program
def by_hand_of_leaves() -> Outcome:
    return by_hand(np.full(3, 2.0), lambda x, loss, tape: at.backward(loss, tape)[x.id])


@program
def by_hand_of_inputs() -> Outcome:
    return by_hand(np.full(3, 2.0), lambda x, loss, tape: at.backward(loss, tape, options=BackwardOptions(inputs=[x]))[x.id])


@program
def by_hand_by_grad() -> Outcome:
    return by_hand(np.full(3, 2.0), lambda x, loss, tape: at.grad(loss, [x], tape)[0])


@program
def of_the_tape() -> Outcome:
    a, b = (TensorRef.of([1.0, 2.0], requires_grad=True) for _ in range(2))
    given = np.full(2, 3.0)
    found = at.backward(F.add(a, b), grad_outputs=given)
    return [(found[a.id], [3, 3]), (found[b.id], [3, 3])], [given]


@program
def of_a_manager() -> Outcome:
    a, b = (TensorRef.of([1.0, 2.0], requires_grad=True) for _ in range(2))
    gm = GradManager()
    for t in (a, b):
        gm.set_requires_grad(t, True)
    at.backward(F.sum(F.add(a, b)))
    return [(gm.get_grad(a), [1, 1]), (gm.get_grad(b), [1, 1])], []


@program
def of_a_vjp() -> Outcome:
    given = np.full(2, 3.0)
    _, pull = at.vjp(lambda x, y: F.add(x, y), np.ones(2), np.ones(2))
    a, b = pull(given)
    return [(a, [3, 3]), (b, [3, 3])], [given]


@pytest.mark.parametrize("run", PROGRAMS, ids=lambda p: p.__name__)
def test_gradients_share_no_memory(run: Callable[[], Outcome], tells: bool) -> None:
    gradients, others = run()
    for g, expected in gradients:
        assert memory(g).tolist() == expected
    things = [memory(g) for g, _ in gradients] + [memory(o) for o in others]
    for i in range(len(gradients)):
        for j in range(i + 1, len(things)):
            assert not np.shares_memory(things[i], things[j]), f"gradient {i} shares memory with thing {j}"


@pytest.mark.parametrize("ways", [1, 2])
def test_what_nobody_holds_is_taken(tells: bool, ways: int) -> None:
    """Without a copy where the counts tell, and with one where they do not; a sum of the engine's own is taken anyway."""
    made: list[Any] = []

    def make() -> Any:
        result = torch.full((3,), 5.0)
        made.append(weakref.ref(result._data))
        return result

    a = leaf()
    sum([Gives.apply(a, make).sum() for _ in range(ways)]).backward()
    assert a.grad.tolist() == [5.0 * ways] * 3
    if ways == 1:
        assert (made[0]() is a.grad._data) is tells


def test_a_constant_would_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests see what they look for: the limit of one interpreter, on another that borrows references."""
    monkeypatch.setattr(passes, "_getrefcount", INTERPRETERS["borrowing"][0])
    with pytest.raises(AssertionError, match="gradient 0 shares memory with thing 1"):
        test_gradients_share_no_memory(many_leaves_of_one_product, True)


@pytest.mark.parametrize("module, value", [("_jit", SimpleNamespace(is_enabled=lambda: True)), ("_is_gil_enabled", lambda: False)],
                         ids=["just in time", "free threads"])
def test_counts_that_may_change_are_not_trusted(monkeypatch: pytest.MonkeyPatch, module: str, value: Any) -> None:
    monkeypatch.setattr(sys, module, value, raising=False)
    assert ownership.calibrated(passes) == ownership.NEVER


def test_interpreters_without_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys, "getrefcount")
    spec: Any = importlib.util.spec_from_file_location("autograd_tape._without_counts", ownership.__file__)
    without = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(without)
    monkeypatch.setattr(passes, "_getrefcount", without.count)
    assert without.calibrated(passes) == without.NEVER


def modules() -> Iterator[Path]:
    for package in ("autograd_tape", "torchcompat"):
        yield from (ROOT / package).rglob("*.py")


def test_nothing_else_counts_references() -> None:
    """One place counts, and compares with nothing but the measured limit."""
    lines = [(path.name, line.strip()) for path in modules() for line in path.read_text().splitlines() if "getrefcount" in line]
    assert [line for name, line in lines if name != "ownership.py"] == [
        "_getrefcount = ownership.count", "accumulate(leaf, g, owned or _getrefcount(g) <= _alone)"]


def _writes(way: str, y: Any, x: Any) -> Any:
    """What becomes of the gradient of `x` where somebody writes to the cotangent of the root `y`, 3 x."""
    def by_five(g: Any) -> None:
        g.mul_(5)

    if way == "tensor hook":
        y.register_hook(by_five)
    elif way == "entry's hook before":
        y.grad_fn.register_prehook(lambda gs: by_five(gs[0]))
    elif way == "entry's hook after":
        y.grad_fn.register_hook(lambda _, gs: by_five(gs[0]))
    elif way == "function":
        y = Multiplies.apply(y)
    elif way == "retained":
        y.retain_grad()
    elif way == "asked for":
        (g,) = torch.autograd.grad(y, [y])
        by_five(g)
        return g
    elif way == "leaf's hook":
        x.register_hook(by_five)
        y = x
    y.backward()
    if way == "retained":
        by_five(y.grad)
    return x.grad


class Multiplies(torch.autograd.Function):
    """Whose gradient is computed in its cotangent's place."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1.0

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad.mul_(5)


@pytest.mark.parametrize("way, expected", {"tensor hook": 15.0, "entry's hook before": 15.0, "entry's hook after": 3.0, "function": 15.0,
                                           "retained": 3.0, "asked for": 5.0, "leaf's hook": 5.0}.items())
def test_who_writes_to_the_cotangent_of_a_scalar_changes_that_pass_alone(way: str, expected: float) -> None:
    x = leaf(1).sum().detach().requires_grad_()
    np.testing.assert_array_equal(_writes(way, x * 3.0, x).numpy(), expected)
    again = leaf(1).sum().detach().requires_grad_()
    (again * 1.0).backward()
    np.testing.assert_array_equal([again.grad.item(), *(torch.ones(2) + 1).numpy(), *(torch.ones(2) * 1).numpy()], [1, 2, 2, 1, 1])
    root = TensorRef.of(2.0, requires_grad=True)
    np.testing.assert_array_equal(at.grad(root * 1.0, [root])[0], 1.0)
