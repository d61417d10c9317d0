"""What a tensor is asked about its gradient: hooks on it, to keep it, to start the pass that brings it.

The methods of `TensorRef` are here; torchcompat's tensors have the same with torch's words.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .annotations import Fn
from .errors import ArgumentError, AutogradError, NoGradError
from .node import Hooks, NoGradView, RemovableHandle
from .tensor import LEAF, TensorRef, info_of, table_of
from .views import Poisoned


def hooks_on(tensor: TensorRef) -> dict[int, Any]:
    """The table of hooks on the gradient of a tensor.

    Raises:
        NoGradError: the tensor does not require grad.
        AutogradError: it is a view that lost its history.
    """
    node = tensor._node
    if node is None:
        raise NoGradError("cannot register a hook on a tensor that doesn't require gradient", expected="a tensor that requires grad",
                          found=f"tensor {tensor.id}, which does not", remedy="set requires_grad on what it is computed from")
    if node is LEAF or node.__class__ is NoGradView:
        Hooks()  # from now on backward passes look for hooks
        return table_of(tensor, "hooks")
    creator: Any = tensor.creator
    if creator.forbids is not None:
        raise AutogradError(creator.forbids)
    table: dict[int, Any] = creator._hooks().tensor_pre.setdefault(node.nr if node._tag == 2 else 0, {})
    return table


def hooks_after(tensor: TensorRef) -> dict[int, Any]:
    """The table of hooks that run after the `.grad` of a leaf was added to.

    Raises:
        NoGradError: the tensor does not require grad, or is no leaf.
    """
    for wrong, message in ((tensor._node is None, "cannot register a hook on a tensor that doesn't require gradient"),
                           (not tensor.is_leaf, "post accumulate grad hooks cannot be registered on non-leaf tensors")):
        if wrong:
            raise NoGradError(message, expected="a leaf that requires grad", found=f"tensor {tensor.id}",
                              remedy="register it on what the tensor is computed from")
    Hooks()
    return table_of(tensor, "post_accumulate")


def _checked(hook: Fn) -> Fn:
    if not callable(hook):
        raise ArgumentError("A hook is called with the gradient", expected="a callable", found=type(hook).__name__,
                            remedy="pass hook(grad)")
    return hook


def register_hook(tensor: TensorRef, hook: Callable[[Any], Any]) -> RemovableHandle:
    """`hook(grad)` runs when the gradient of the tensor is computed; what it returns, but None, replaces it.

    Raises:
        NoGradError: the tensor does not require grad.

    >>> from autograd_tape import F, backward
    >>> x = TensorRef.of([1.0], requires_grad=True)
    >>> with x.register_hook(lambda grad: grad * 10.0):
    ...     backward(F.sum(x))[x]
    array([10.])
    """
    return RemovableHandle.add(hooks_on(tensor), _checked(hook))


def register_post_accumulate_grad_hook(tensor: TensorRef, hook: Callable[[Any], None]) -> RemovableHandle:
    """`hook(tensor)` runs after a gradient was added to the `.grad` of this leaf.

    Raises:
        NoGradError: the tensor does not require grad, or is no leaf.
    """
    return RemovableHandle.add(hooks_after(tensor), _checked(hook))


def retain_grad(tensor: TensorRef) -> None:
    """Has backward passes add the gradient of this computed tensor to its `.grad`, as they do for leaves.

    Raises:
        NoGradError: the tensor does not require grad.

    >>> from autograd_tape import F, backward
    >>> x = TensorRef.of([1.0, 2.0], requires_grad=True)
    >>> y = x * x
    >>> y.retain_grad()
    >>> F.sum(y * 3.0).backward()
    >>> y.grad, x.grad
    (TensorRef([3., 3.], dtype=float64), TensorRef([ 6., 12.], dtype=float64))
    """
    node = tensor._node
    if not tensor.requires_grad:
        raise NoGradError("can't retain_grad on Tensor that has requires_grad=False", expected="a tensor that requires grad",
                          found=f"tensor {tensor.id}, which does not", remedy="set requires_grad on what it is computed from")
    info = info_of(tensor)
    if node.__class__ is Poisoned and node.bare or tensor.is_leaf or info.retains_grad:
        return
    info.retains_grad = True
    target = weakref.ref(tensor)  # an entry must not hold its output

    def keep(gradient: TensorRef) -> None:
        found = target()
        if found is not None:
            found._keep_grad(gradient)

    creator: Any = tensor.creator
    creator._hooks().retain[node.nr if node._tag == 2 else 0] = keep


TensorRef.register_hook, TensorRef.retain_grad = register_hook, retain_grad  # type: ignore[attr-defined]
TensorRef.register_post_accumulate_grad_hook = register_post_accumulate_grad_hook  # type: ignore[attr-defined]
