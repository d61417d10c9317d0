"""Handles that remove hooks, and the wiring of a module's backward hooks into the graph."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Any
from collections.abc import Callable, Sequence

from autograd_tape import warned
from autograd_tape.annotations import Arguments, Fn
import torchcompat as torch

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor
    from torchcompat.nn.modules.module import Module

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


class RemovableHandle:
    """Removes a hook from the table it was put in; also a context manager that does so at its end.

    Args:
        hooks_dict: the table (weakly referenced), keyed by the handle's `id`.
        extra_dict: further tables (one, or a list) whose entry of the same key goes with it.

    >>> from collections import OrderedDict
    >>> table = OrderedDict()
    >>> handle = RemovableHandle(table)
    >>> table[handle.id] = print
    >>> handle.remove()
    >>> len(table)
    0
    """

    id: int
    next_id: int = 0

    def __init__(self, hooks_dict: OrderedDict, *, extra_dict: list[OrderedDict] | None = None) -> None:
        self.hooks_dict_ref: Callable[[], Any] = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extra = [extra_dict] if isinstance(extra_dict, dict) else extra_dict or []
        self.extra_dict_ref: tuple[Callable[[], Any], ...] = tuple(weakref.ref(d) for d in extra)

    def remove(self) -> None:
        """Removes the hook; a second call does nothing."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            table = ref()
            if table is not None:
                table.pop(self.id, None)

    def __getstate__(self) -> Arguments:
        return self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state: Arguments) -> None:
        table, self.id, *extra = state
        # A handle whose table was not pickled with it refers to nothing.
        self.hooks_dict_ref = weakref.ref(OrderedDict() if table is None else table)
        self.extra_dict_ref = tuple(weakref.ref(d) for d in (extra[0] if extra and extra[0] else ()))
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def unserializable_hook(f: Any) -> Any:
    """Marks a tensor hook as one that is knowingly left out when the tensor is saved."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warns of the hooks of `tensor` that saving it will lose."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warned.warn(
              f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the function "
              "with @torch.utils.hooks.unserializable_hook to suppress this warning")


def _identity_function() -> Any:
    """The autograd function whose node stands at a module's entrance or exit; made when the first hook needs it."""
    global _BackwardHookFunction
    if _BackwardHookFunction is None:

        class BackwardHookFunction(torch.autograd.Function):
            """Passes its tensors and their gradients through."""

            @staticmethod
            def forward(ctx: Any, *args: Any) -> tuple[Tensor, ...]:
                ctx.mark_non_differentiable(*[a for a in args if not a.requires_grad])
                return args

            @staticmethod
            def backward(ctx: object, *args: Tensor) -> tuple[Tensor, ...]:
                return args

        _BackwardHookFunction = BackwardHookFunction
    return _BackwardHookFunction


_BackwardHookFunction: Any = None


class BackwardHook:
    """The full backward hooks of one call of a module.

    An identity node is put before the module's inputs and another behind its outputs. The gradients that reach the second
    are kept (pre-hooks may replace them) until those of the first are known; then the hooks are called with both.

    Args:
        module: the module called.
        user_hooks: `hook(module, grad_input, grad_output)` -> None or new grad_input.
        user_pre_hooks: `hook(module, grad_output)` -> None or new grad_output.
    """

    def __init__(self, module: Module, user_hooks: Sequence[Fn], user_pre_hooks: Sequence[Fn]) -> None:
        self.module, self.user_hooks, self.user_pre_hooks = module, user_hooks, user_pre_hooks
        self.grad_outputs: Any = None
        self.inputs: list[int] | None = None  # positions of the tensors among the inputs; None where no gradient flows there
        self.outputs: list[int] = []
        self.n_inputs = self.n_outputs = 0

    def setup_input_hook(self, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The inputs behind their identity node."""
        self.n_inputs = len(args)
        args, self.inputs = self._through_identity(args, self._at_inputs)
        return args

    def setup_output_hook(self, result: Tensor) -> Tensor:
        """The outputs behind their identity node."""
        outputs = result if isinstance(result, tuple) else (result,)
        self.n_outputs = len(outputs)
        outputs, positions = self._through_identity(outputs, self._at_outputs)
        self.outputs = positions or []
        return outputs if isinstance(result, tuple) else outputs[0]

    def _through_identity(self, args: tuple[Any, ...], hook: Fn) -> tuple[Arguments, list[int] | None]:
        positions = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        if not (torch.is_grad_enabled() and any(args[i].requires_grad for i in positions)):
            return args, None
        tensors = _identity_function().apply(*[args[i] for i in positions])
        node = next(t.grad_fn for t in tensors if t.grad_fn is not None)
        node.register_hook(hook)
        items = list(args)
        for i, t in zip(positions, tensors):
            items[i] = t
        return tuple(items) if type(args) is tuple else type(args)(*items), positions

    def _spread(self, positions: Sequence[int], grads: Sequence[Any], size: int) -> tuple[Any, ...]:
        spread = [None] * size
        for i, g in zip(positions, grads):
            spread[i] = g
        return tuple(spread)

    def _at_inputs(self, grad_inputs: tuple[Tensor, ...], _: tuple[Tensor, ...]) -> Any:
        if self.grad_outputs is None:
            return None  # the gradient came to the inputs without passing the outputs, as in a second differentiation
        assert self.inputs is not None
        grads = self._spread(self.inputs, grad_inputs, self.n_inputs)
        for hook in self.user_hooks:
            new = hook(self.module, grads, self.grad_outputs)
            if new is not None:
                if len(new) != len(grads):
                    raise RuntimeError(f"Backward hook returned an invalid number of grad_input, got {len(new)}, but expected {len(grads)}")
                grads = new
        self.grad_outputs = None
        return tuple(grads[i] for i in self.inputs)

    def _at_outputs(self, _: tuple[Tensor, ...], grad_outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        grads: Any = self._spread(self.outputs, grad_outputs, self.n_outputs)
        for hook in self.user_pre_hooks:
            new = hook(self.module, grads)
            if new is not None:
                if len(new) != len(grads):
                    raise RuntimeError(
                        f"Backward pre hook returned an invalid number of grad_output, got {len(new)}, but expected {len(grads)}")
                grads = new
        self.grad_outputs = grads
        if self.inputs is None:
            self._without_inputs()
        return tuple(grads[i] for i in self.outputs)

    def _without_inputs(self) -> None:
        """No gradient will reach the inputs, so the hooks are called now."""
        warned.warn(
          "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
          "gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook "
          "for more details.")
        for hook in self.user_hooks:
            result = hook(self.module, (None,) * self.n_inputs, self.grad_outputs)
            if result is not None and not (isinstance(result, tuple) and all(g is None for g in result)):
                raise RuntimeError("Backward hook for Modules where no input requires gradient should always return None or None "
                                   "for all gradients.")
        self.grad_outputs = None
