"""Views whose memory was changed in a way that leaves them no history: what torch 2.13 raises, and when. Also what views get anew."""

from __future__ import annotations

from typing import Any
from collections.abc import Callable

import pytest
import torchcompat as torch
from autograd_tape.version import Version

MULTI = ("Output 1 of Unbind is a view and its base or another view of its base has been modified inplace. This view is the output of "
         "a function that returns multiple views. Such functions do not allow the output views to be modified inplace. You should replace "
         "the inplace operation by an out-of-place one.")
NO_GRAD = ("A view was created in no_grad mode and its base or another view of its base has been modified inplace with grad mode "
           "enabled. Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the "
           "view and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if "
           "you want the inplace to be tracked).")


def base_no_grad(base: Any, view: Any) -> None:
    with torch.no_grad():
        base.add_(1)


def view_no_grad(base: Any, view: Any) -> None:
    with torch.no_grad():
        view.mul_(2)


def through_detach(base: Any, view: Any) -> None:
    base.detach()[0] = 5.0


UPDATES = [base_no_grad, view_no_grad, through_detach]
USES: list[Callable[[Any], Any]] = [
    lambda v: v * 2, lambda v: v.clone(), lambda v: v.view(2, 1), lambda v: v.sum().backward(), lambda v: v.grad_fn, lambda v: v.is_leaf,
    lambda v: v.register_hook(print), lambda v: torch.stack([v, v]), lambda v: v[0]]


def views(how: str) -> tuple[Any, Any]:
    base = torch.arange(1.0, 5.0).requires_grad_() * 2
    if how == "unbind":
        return base, base.view(2, 2).unbind(0)[1]
    with torch.no_grad():
        return base, base.view(2, 2)[1]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize(("how", "text"), [("unbind", MULTI), ("no_grad", NO_GRAD)])
def test_using_a_stale_view_raises(how: str, text: str, update: Any, use: Any) -> None:
    base, view = views(how)
    use(views(how)[1])  # which is allowed before
    update(base, view)
    with pytest.raises(RuntimeError) as caught:
        use(view)
    assert str(caught.value) == text
    with torch.no_grad():
        assert (view + 0).shape == view.detach().shape == (2,)
    assert view.requires_grad and repr(view).endswith("grad_fn=<Invalid>)")


def test_a_change_of_data_is_not_seen() -> None:
    base, view = views("unbind")
    base.data.add_(1)
    assert (view * 2).requires_grad and base._version == 0


def test_versions_are_plain_numbers_again() -> None:
    base, view = views("unbind")
    base_no_grad(base, view)
    assert type(base._v) is Version and base._version == view._version == 1


def test_views_of_a_tensor_told_to_require_grad_follow_it_from_the_next_change() -> None:
    base = torch.ones(4)
    view = base.view(2, 2)
    base.requires_grad_()
    assert view.requires_grad and view.grad_fn is None
    base_no_grad(base, view)
    assert view.grad_fn.name() == "AsStridedBackward0"
    view.sum().backward()
    assert base.grad.tolist() == [1.0] * 4


def test_views_of_a_detached_tensor_lose_their_history_with_the_next_change() -> None:
    leaf = torch.ones(4, requires_grad=True)
    base = leaf * 2
    view = base[:2]
    base.detach_()
    view.sum().backward()
    assert leaf.grad.tolist() == [2.0, 2.0, 0.0, 0.0]
    base.add_(1)
    assert view.requires_grad and view.grad_fn.next_functions == ((None, 0),)


def test_what_overlaps_what_was_saved_is_changed() -> None:
    base = torch.tensor(3.0, requires_grad=True) * 1
    one, other = base[...], base[...]
    one.mul_(other)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0 instead"):
        base.backward()


def test_a_region_of_memory_in_any_order_of_dimensions() -> None:
    base = torch.ones(2, 2, 2, 2, requires_grad=True).contiguous(memory_format=torch.channels_last) * 1
    base[-1] = 1.5
    base.sum().backward()
    assert base.stride() == (8, 1, 4, 2) and base.tolist()[1] == [[[1.5] * 2] * 2] * 2
