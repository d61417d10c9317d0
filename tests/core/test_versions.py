"""Versions: one object for all who share memory, whatever it is asked to be; how tensors look that were detached in place."""

from __future__ import annotations

from typing import Any
from collections.abc import Callable

import pytest
import torchcompat as torch
from autograd_tape.version import Version, changes, number_of, sever, severed_since


class Memory:
    """What has a version and nothing else."""

    _v: Version | None = None


WRITES: dict[str, Callable[[Any], Any]] = {
    "add_": lambda t: t.add_(1.0), "mul_": lambda t: t.mul_(t.clone()), "set": lambda t: t.__setitem__(0, 1.0),
    "fill_": lambda t: t.fill_(2.0), "copy_": lambda t: t.copy_(torch.ones(4)), "exp_": lambda t: t.exp_(),
    "clamp_": lambda t: t.clamp_(0.0, 1.0), "view": lambda t: t[1:].zero_(), "random": lambda t: t.normal_()}
SHARING: dict[str, Callable[[Any], Any]] = {
    "detach": lambda t: t.detach(), "view": lambda t: t.view(2, 2), "select": lambda t: t[0], "split": lambda t: t.split(2)[1],
    "detach of a view": lambda t: t[1:].detach(), "copy": lambda t: t.as_subclass(torch.Tensor)}


@pytest.mark.parametrize("share", SHARING)
@pytest.mark.parametrize("write", WRITES)
def test_all_who_share_memory_count_together(write: str, share: str) -> None:
    for before in (0, 2):  # with a version made by the first view, or by a change before it
        t = torch.ones(4)
        for _ in range(before):
            t.add_(1.0)
        if share == "copy":
            t.detach()  # a subclass's tensor shares the version that there is
        other = SHARING[share](t)
        WRITES[write](t)
        assert t._v is other._v and (t._version, other._version) == (before + 1, before + 1)


@pytest.mark.parametrize("write", WRITES)
def test_what_a_tensor_detached_in_place_counts(write: str) -> None:
    x = torch.ones(4, requires_grad=True)
    y = x * 2
    alias = y.detach()
    alias.add_(1.0)
    y.detach_()
    assert y._version == alias._version == 1 and y._v is not alias._v
    WRITES[write](y)
    assert y._version == alias._version == 2
    alias.add_(1.0)
    assert y._version == alias._version == 3
    y.detach_()
    assert y._version == 3


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("after", [False, True])
def test_what_was_saved_of_a_tensor_detached_in_place(after: bool, changed: bool) -> None:
    x = torch.ones(4, requires_grad=True)
    w = torch.ones(4, requires_grad=True)
    y = x * 2
    y.detach().add_(0.0)
    early, alias = y * w, y.detach() * w
    y.detach_()
    late = y * w
    if changed:
        y.add_(1.0)
    result = late if after else early
    if after and not changed:
        result.sum().backward()
        assert w.grad.tolist() == [2.0] * 4
    else:
        text = "is at version 2; expected version 1 instead" if after else "has been detached in-place"
        with pytest.raises(RuntimeError, match=text):
            result.sum().backward()
    if changed:
        with pytest.raises(RuntimeError, match="is at version 2; expected version 1 instead"):
            alias.sum().backward()
    else:
        alias.sum().backward()


def test_a_tensor_detached_in_place_twice_and_with_views() -> None:
    x, w = torch.ones(4, requires_grad=True), torch.ones(4, requires_grad=True)
    y = x * 2
    view = y[1:]
    first, of_view = y * w, view * w[1:]
    y.detach_()
    y.mul_(w)
    second = y * w
    y.detach_()
    for result in (first, second):
        with pytest.raises(RuntimeError, match="has been detached in-place"):
            result.sum().backward()
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0 instead"):
        of_view.sum().backward()
    assert second.grad_fn._saved_self.tolist() == [2.0] * 4


@pytest.mark.parametrize("times", [0, 1, 3])
def test_who_watches_hears_of_changes_as_long_as_they_say_so(times: int) -> None:
    heard: list[str] = []
    version = Version.new()
    version.watch(lambda: heard.append("again") is None and len(heard) < times)
    version.watch(lambda: heard.append("once") is not None)
    for _ in range(5):
        version.number += 1
    assert version.number == 5 and type(version) is Version
    assert heard.count("once") == 1 and heard.count("again") == max(times - 1, 1)


def test_watchers_hear_of_changes_made_through_a_severed_tensor() -> None:
    memory, other = Memory(), Memory()
    other._v = Version.of(memory)
    heard: list[int] = []
    sever(memory)
    other._v.watch(lambda: heard.append(1) is not None)
    Version.count(memory)
    assert heard == [1] and other._v.number == 1 and changes(number_of(memory)) == 1 != number_of(memory)
    sever(memory)
    assert changes(number_of(memory)) == 1 and severed_since(memory, 1) and not severed_since(memory, number_of(memory))


def test_dead_views_are_forgotten() -> None:
    t = torch.ones(4)
    kept = [t[i] for i in range(3)]
    for _ in range(1000):
        t.view(2, 2)
    assert len(t._v.views) <= 64 and {id(v) for v in t._v.live_views()} == {id(v) for v in kept}
