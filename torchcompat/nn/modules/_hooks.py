"""Hooks on all modules, and the call of a module that has any hooks."""

from __future__ import annotations

import functools
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Any
from collections.abc import Callable

from autograd_tape import warned
from autograd_tape.annotations import Arguments, Fn, Keywords
import torchcompat as torch
from autograd_tape.modes import active_tapes
from autograd_tape.scopes import tell_of_recording
from torchcompat.utils.hooks import BackwardHook, RemovableHandle
from ..._calls.shown import shown_in

if TYPE_CHECKING:
    from torchcompat.nn.modules.module import Module

Table = OrderedDict[int, Any]

_global_buffer_registration_hooks: Table = OrderedDict()
_global_module_registration_hooks: Table = OrderedDict()
_global_parameter_registration_hooks: Table = OrderedDict()
_global_backward_pre_hooks: Table = OrderedDict()
_global_backward_hooks: Table = OrderedDict()
_global_forward_pre_hooks: Table = OrderedDict()
_global_forward_hooks: Table = OrderedDict()
_global_forward_hooks_always_called: Table = OrderedDict()
_global_forward_hooks_with_kwargs: Table = OrderedDict()
_global_is_full_backward_hook: bool | None = None


class _WrappedHook:
    """A hook that gets the module it was registered on as its first argument, without keeping that module alive."""

    def __init__(self, hook: Callable[..., Any], module: Any = None) -> None:
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if module is not None:
            self.module: Any = weakref.ref(module)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> Keywords:
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: Keywords) -> None:
        self.hook, self.with_module = state["hook"], state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


shown_in("torchcompat.nn.modules.module", _WrappedHook)


def register(table: Table, hook: Fn, *, prepend: bool = False, flags: tuple[tuple[Table, bool], ...] = ()) -> RemovableHandle:
    """Puts `hook` into `table`, at its front where `prepend`, and its key into each of the `flags` that is set."""
    handle = RemovableHandle(table, extra_dict=[t for t, _ in flags])
    table[handle.id] = hook
    for flag, on in flags:
        if on:
            flag[handle.id] = True
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def register_module_buffer_registration_hook(hook: Fn) -> RemovableHandle:
    """`hook(module, name, buffer)` -> None or another buffer, whenever a module gets a buffer."""
    return register(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Fn) -> RemovableHandle:
    """`hook(module, name, submodule)` -> None or another module, whenever a module gets a submodule."""
    return register(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Fn) -> RemovableHandle:
    """`hook(module, name, param)` -> None or another parameter, whenever a module gets a parameter."""
    return register(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Fn) -> RemovableHandle:
    """`hook(module, args)` -> None or new args, before every module's `forward`."""
    return register(_global_forward_pre_hooks, hook)


def register_module_forward_hook(hook: Fn, *, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
    """`hook(module, args, output)` -> None or a new output, after every module's `forward`."""
    return register(_global_forward_hooks, hook, flags=((_global_forward_hooks_with_kwargs, with_kwargs),
                                                        (_global_forward_hooks_always_called, always_call)))


def _global_kind(full: bool) -> None:
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is (not full):
        raise RuntimeError("Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only "
                           "one of them.")
    _global_is_full_backward_hook = full


def register_module_backward_hook(hook: Fn) -> RemovableHandle:
    """`hook(module, grad_input, grad_output)` on the last operation of every module; `register_module_full_backward_hook` is
    what is usually wanted."""
    _global_kind(full=False)
    return register(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Fn) -> RemovableHandle:
    """`hook(module, grad_output)` -> None or new gradients, when the gradients of a module's outputs are known."""
    return register(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Fn) -> RemovableHandle:
    """`hook(module, grad_input, grad_output)` -> None or new grad_input, when the gradients of a module's inputs are known."""
    _global_kind(full=True)
    return register(_global_backward_hooks, hook)


# -- the call of a module with hooks --------------------------------------------------------------------------------


def call_with_hooks(module: Module, args: Arguments, kwargs: Keywords) -> Any:
    """`module.forward(*args, **kwargs)` with all hooks, global ones first."""
    if _NAMING in _global_forward_pre_hooks:
        return _call_by_name(module, args, kwargs)
    return _HookedCall(module, args, kwargs).run()


class _HookedCall:
    """One call; it holds what the hooks have made of the arguments and of the result so far."""

    __slots__ = ("module", "args", "kwargs", "result", "called")

    def __init__(self, module: Module, args: Arguments, kwargs: Keywords) -> None:
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result: Any = None
        self.called: set[int] = set()

    def run(self) -> Any:
        try:
            return self._run()
        except Exception:
            self._always_called()
            raise

    def _run(self) -> Any:
        module = self.module
        pre = [*_global_backward_pre_hooks.values(), *module._backward_pre_hooks.values()]
        full, regular = module._get_backward_hooks()
        self._before_forward()
        backward = None
        if full or pre:
            backward = BackwardHook(module, full, pre)
            self.args = backward.setup_input_hook(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        for key, hook in (*_global_forward_hooks.items(), *module._forward_hooks.items()):
            if key in module._forward_hooks_always_called or key in _global_forward_hooks_always_called:
                self.called.add(key)
            self._after_forward(key, hook)
        if backward is not None:
            if not isinstance(self.result, (torch.Tensor, tuple)):
                warned.warn("For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                            f"{type(self.result)}")
            self.result = backward.setup_output_hook(self.result)
        if regular:
            self._regular_backward_hooks(regular)
        return self.result

    def _before_forward(self) -> None:
        module = self.module
        for key, hook in (*_global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()):
            if key in module._forward_pre_hooks_with_kwargs:
                new = hook(module, self.args, self.kwargs)
                if new is not None:
                    if not (isinstance(new, tuple) and len(new) == 2):
                        raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {new}.")
                    self.args, self.kwargs = new
            else:
                new = hook(module, self.args)
                if new is not None:
                    self.args = new if isinstance(new, tuple) else (new,)

    def _after_forward(self, key: int, hook: Fn) -> None:
        if key in self.module._forward_hooks_with_kwargs or key in _global_forward_hooks_with_kwargs:
            new = hook(self.module, self.args, self.kwargs, self.result)
        else:
            new = hook(self.module, self.args, self.result)
        if new is not None:
            self.result = new

    def _regular_backward_hooks(self, hooks: list[Fn]) -> None:
        tensor = self.result
        while not isinstance(tensor, torch.Tensor):
            tensor = next(v for v in tensor.values() if isinstance(v, torch.Tensor)) if isinstance(tensor, dict) else tensor[0]
        if tensor.grad_fn is not None:
            for hook in hooks:
                tensor.grad_fn.register_hook(_WrappedHook(hook, self.module))
            self._warn_of_regular_hooks(tensor.grad_fn)

    def _warn_of_regular_hooks(self, node: Any) -> None:
        """Warns where a hook on the last operation will not see all of the module's gradients."""

        def warn(what: str, advice: str) -> None:
            warned.warn(f"Using {what} is deprecated and will be removed in future versions. This hook will be missing some {advice}",
                        FutureWarning)

        documented = "Please use register_full_backward_hook to get the documented behavior."
        results = self.result if isinstance(self.result, tuple) else (self.result,)
        if not all(isinstance(r, torch.Tensor) for r in results):
            warn("non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors",
                 f"of the grad_output. {documented}")
        elif not all(isinstance(a, torch.Tensor) for a in self.args):
            warn("non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of Tensors",
                 f"of the grad_input. {documented}")
        else:
            nodes = {r.grad_fn for r in results if r.grad_fn is not None}
            if nodes != {node} and len(nodes) <= 1:
                warn("a non-full backward hook when outputs are nested in python data structure", "grad_output.")
            elif len(nodes) > 1:
                warn("a non-full backward hook when outputs are generated by different autograd Nodes", f"grad_output. {documented}")
            elif {a.grad_fn for a in self.args if a.grad_fn is not None} != {n for n, _ in node.next_functions}:
                warn("a non-full backward hook when the forward contains multiple autograd Nodes", f"grad_input. {documented}")

    def _always_called(self) -> None:
        """After an error: the forward hooks that asked to be called whatever happens, and were not yet."""
        module = self.module
        for hooks, always, which in ((_global_forward_hooks, _global_forward_hooks_always_called, "global module"),
                                     (module._forward_hooks, module._forward_hooks_always_called, "module")):
            for key, hook in hooks.items():
                if key in always and key not in self.called:
                    try:
                        self._after_forward(key, hook)
                    except Exception as error:
                        warned.warn(f"{which} forward hook with ``always_call=True`` raised an exception that was silenced as "
                                    f"another error was raised in forward: {error}")


# -- modules on tapes -----------------------------------------------------------------------------------------------

_NAMING = -1  # the key of the hook by which calls come here while a tape records


def _call_by_name(module: Module, args: Arguments, kwargs: Keywords) -> Any:
    """A call whose operations are the module's on the tapes that record them."""
    tapes = active_tapes()
    for tape in tapes:
        tape.scopes.enter(module)
    try:
        own = module.__dict__
        if (len(_global_forward_pre_hooks) > 1 or _global_forward_hooks or _global_backward_hooks or _global_backward_pre_hooks
                or own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_backward_hooks"] or own["_backward_pre_hooks"]):
            return _HookedCall(module, args, kwargs).run()
        return module.forward(*args, **kwargs)
    finally:
        for tape in tapes:
            tape.scopes.leave(module)


def _name_modules(recording: bool) -> None:
    """While a tape records, what modules do is recorded as theirs."""
    if recording:
        _global_forward_pre_hooks[_NAMING] = lambda module, args: None
    else:
        _global_forward_pre_hooks.pop(_NAMING, None)


tell_of_recording(_name_modules)


shown_in("torchcompat.nn.modules.module", register_module_backward_hook, register_module_buffer_registration_hook,
         register_module_forward_hook, register_module_forward_pre_hook, register_module_full_backward_hook,
         register_module_full_backward_pre_hook, register_module_module_registration_hook, register_module_parameter_registration_hook)
