"""Module: a function with parameters, buffers and submodules."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Self, overload
from collections.abc import Callable, Iterable, Iterator

from autograd_tape import warned
from autograd_tape.annotations import DeviceLike, Fn, Keywords
import torchcompat as torch
from torchcompat import __future__
from torchcompat._calls.above import above
from torchcompat._making.conversion import parse_to
from torchcompat._memory.shared import share
from torchcompat._tensor import Tensor
from torchcompat.utils.hooks import RemovableHandle

from ..parameter import Buffer, Parameter, is_lazy
from . import _hooks
from ._hooks import (
    _global_backward_hooks, _global_backward_pre_hooks, _global_buffer_registration_hooks, _global_forward_hooks,
    _global_forward_pre_hooks,
    _global_module_registration_hooks, _global_parameter_registration_hooks, _WrappedHook, call_with_hooks, register,  # noqa: F401  # files name hooks so
    register_module_backward_hook, register_module_buffer_registration_hook, register_module_forward_hook,
    register_module_forward_pre_hook, register_module_full_backward_hook, register_module_full_backward_pre_hook,
    register_module_module_registration_hook, register_module_parameter_registration_hook,
)
from ._state import _EXTRA_STATE_KEY_SUFFIX as _EXTRA_STATE_KEY_SUFFIX, StateDict, _IncompatibleKeys as _IncompatibleKeys

if TYPE_CHECKING:
    from autograd_tape.dtypes import DType
    from torchcompat._memory.layout import memory_format

__all__ = [
    "Module", "register_module_backward_hook", "register_module_buffer_registration_hook", "register_module_forward_hook",
    "register_module_forward_pre_hook", "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook", "register_module_parameter_registration_hook",
]

_set = object.__setattr__


def _addindent(text: str, spaces: int) -> str:
    """`text` with all lines but its first indented; blank lines stay empty."""
    first, *rest = text.split("\n")
    return "\n".join([first, *[" " * spaces + line if line.strip() else "" for line in rest]])


def _typename(value: Tensor | int | Module) -> str:
    return torch.typename(value)


def _of_one_kind(new: Tensor, old: Tensor) -> bool:
    """Whether the one can lend the other its memory: both are of one layout, and have data or not."""
    return new.is_meta == old.is_meta and new.layout is old.layout


def _forward_unimplemented(self: object, *input: object) -> None:
    """Computes the module's result; every subclass defines its own."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class Module(StateDict):
    """The base of all neural network modules.

    Parameters, buffers and modules that are assigned as attributes are registered under the attribute's name; calling the
    module calls `forward`, with the hooks around it.

    Attributes:
        training: whether it is in training mode (see `train`, `eval`).

    >>> class Scale(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = torch.nn.Parameter(torch.tensor(2.0))
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> Scale()(torch.ones(2))
    tensor([2., 2.], grad_fn=<MulBackward0>)
    """

    training: bool
    _is_full_backward_hook: bool | None
    dump_patches = False
    call_super_init = False
    _compiled_call_impl: Fn | None = None

    def __init__(self, *args: object, **kwargs: object) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
            if args:
                raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        # Straight into the instance's dict: none of these is a parameter, and models are made of thousands of modules.
        self.__dict__.update(
            training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set(), _backward_pre_hooks=OrderedDict(),
            _backward_hooks=OrderedDict(), _is_full_backward_hook=None, _forward_hooks=OrderedDict(),
            _forward_hooks_with_kwargs=OrderedDict(), _forward_hooks_always_called=OrderedDict(), _forward_pre_hooks=OrderedDict(),
            _forward_pre_hooks_with_kwargs=OrderedDict(), _state_dict_hooks=OrderedDict(), _state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_pre_hooks=OrderedDict(), _load_state_dict_post_hooks=OrderedDict(), _modules={})
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward: Fn = _forward_unimplemented

    # -- the call ---------------------------------------------------------------------------------------------------

    def _call_impl(self, *args: Tensor, **kwargs: object) -> Any:
        own = self.__dict__
        try:
            hooked = (own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_backward_hooks"] or own["_backward_pre_hooks"]
                      or _global_forward_hooks or _global_forward_pre_hooks or _global_backward_hooks or _global_backward_pre_hooks)
        except KeyError as error:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute {error}") from None
        if not hooked:
            return self.forward(*args, **kwargs)
        return call_with_hooks(self, args, kwargs)

    def _wrapped_call_impl(self, *args: Tensor, **kwargs: object) -> Any:
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return self._call_impl(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        own = self.__dict__
        try:
            if not (own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_backward_hooks"] or own["_backward_pre_hooks"]
                    or _global_forward_hooks or _global_forward_pre_hooks or _global_backward_hooks or _global_backward_pre_hooks
                    or self._compiled_call_impl):
                forward = self.forward
            else:
                forward = self._wrapped_call_impl
        except KeyError:
            forward = self._wrapped_call_impl
        return forward(*args, **kwargs) if kwargs else forward(*args)

    def compile(self, *args: object, **kwargs: object) -> None:
        """Compiles the call of this module with `torch.compile`, which takes the same arguments."""
        self._compiled_call_impl = above.compile(self._call_impl, *args, **kwargs)

    # -- attributes -------------------------------------------------------------------------------------------------

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a buffer: state that is not trained.

        Args:
            name: the attribute it is found under.
            tensor: the buffer; where None, operations that run on buffers ignore it.
            persistent: whether it is part of the `state_dict`.
        """
        own = self.__dict__
        if "_buffers" not in own:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"buffer name should be a string. Got {_typename(name)}")
        if "." in name:
            raise KeyError('buffer name can\'t contain "."')
        if name == "":
            raise KeyError('buffer name can\'t be empty string ""')
        if name not in own["_buffers"] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, Tensor) and not hasattr(tensor, "__torch_function__"):
            raise TypeError(f"cannot assign '{_typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        for hook in _global_buffer_registration_hooks.values():
            replaced = hook(self, name, tensor)
            if replaced is not None:
                tensor = replaced
        own["_buffers"][name] = tensor
        if persistent:
            own["_non_persistent_buffers_set"].discard(name)
        else:
            own["_non_persistent_buffers_set"].add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter under `name`; None makes the name known without one."""
        own = self.__dict__
        if "_parameters" not in own:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"parameter name should be a string. Got {_typename(name)}")
        if "." in name:
            raise KeyError('parameter name can\'t contain "."')
        if name == "":
            raise KeyError('parameter name can\'t be empty string ""')
        if name not in own["_parameters"] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(f"cannot assign '{_typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)")
            if param.grad_fn is not None:
                raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                                 f"express '{name}' as a function of another Tensor, compute the value in the forward() method.")
            for hook in _global_parameter_registration_hooks.values():
                replaced = hook(self, name, param)
                if replaced is not None:
                    param = replaced
        own["_parameters"][name] = param

    def add_module(self, name: str, module: "Module | None") -> None:
        """Adds a submodule under `name`."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{_typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {_typename(name)}")
        if name not in self._modules and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._put_module(name, module)

    def register_module(self, name: str, module: "Module | None") -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    def _put_module(self, name: str, module: Module | None) -> None:
        for hook in _global_module_registration_hooks.values():
            replaced = hook(self, name, module)
            if replaced is not None:
                module = replaced
        self._modules[name] = module

    def __getattr__(self, name: str) -> Any:
        # Only called for what is not in the instance's dict, nor in the class.
        own = self.__dict__
        try:
            if name in (found := own["_modules"]) or name in (found := own["_parameters"]) or name in (found := own["_buffers"]):
                return found[name]
        except KeyError:  # one that is not initialized yet, or has left a table out
            for table in ("_parameters", "_buffers", "_modules"):
                if table in own and name in own[table]:
                    return own[table][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def _forget(self, name: str, *tables: str) -> None:
        """Removes `name` from the instance's dict and from the tables: it is about to be registered in another."""
        own = self.__dict__
        own.pop(name, None)
        for table in tables:
            own[table].pop(name, None)
        own["_non_persistent_buffers_set"].discard(name)

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        params, modules, buffers = own.get("_parameters"), own.get("_modules"), own.get("_buffers")
        if isinstance(value, Parameter):
            if params is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif params is not None and name in params:
            if value is not None:
                raise TypeError(f"cannot assign '{_typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_parameters", "_buffers")
            self._put_module(name, value)
        elif modules is not None and name in modules:
            if value is not None:
                raise TypeError(f"cannot assign '{_typename(value)}' as child module '{name}' (torch.nn.Module or None expected)")
            self._put_module(name, value)
        elif isinstance(value, Buffer) or buffers is not None and name in buffers:
            if value is not None and not isinstance(value, Tensor) and not hasattr(value, "__torch_function__"):
                raise TypeError(f"cannot assign '{_typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)")
            self._assign_buffer(name, value)
        else:
            _set(self, name, value)

    def _assign_buffer(self, name: str, value: Tensor) -> None:
        persistent: bool = value.persistent if isinstance(value, Buffer) else name not in self._non_persistent_buffers_set
        if type(self).register_buffer is not Module.register_buffer and "persistent" not in inspect.signature(
                self.register_buffer).parameters:
            if not persistent:
                raise RuntimeError("Registering a non-persistent buffer on a Module subclass that implements register_buffer() without "
                                   "the persistent argument is not allowed.")
            self.register_buffer(name, value)
        else:
            self.register_buffer(name, value, persistent)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in names if not name[0].isdigit())

    def __setstate__(self, state: Keywords) -> None:
        self.__dict__.update(state)
        # Modules pickled by older versions lack the tables of newer hooks.
        for table in ("_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_forward_hooks_with_kwargs", "_forward_hooks_always_called",
                      "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
                      "_backward_pre_hooks"):
            self.__dict__.setdefault(table, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    def __getstate__(self) -> Keywords:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    # -- by dotted name ---------------------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> "Module":
        """The submodule of a dotted name ("" is the module itself); AttributeError where there is none."""
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: "Module", strict: bool = False) -> None:
        """Puts `module` where the dotted name `target` says; where `strict`, something must be there already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a dotted name; AttributeError where there is none."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        param = getattr(module, name)
        if not isinstance(param, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return param

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted name; AttributeError where there is none."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return getattr(module, name)

    # -- iteration --------------------------------------------------------------------------------------------------

    def _named_members(self, members: Callable[["Module"], Iterable[tuple[str, Any]]], prefix: str = "", recurse: bool = True,
                       remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        seen: set[object] = set()
        for path, module in self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]:
            for name, value in members(module):
                if value is not None and value not in seen:
                    if remove_duplicate:
                        seen.add(value)
                    yield f"{path}.{name}" if path else name, value

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once; only the module's own where not `recurse`."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """(dotted name, parameter) of each parameter."""
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once; only the module's own where not `recurse`."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """(dotted name, buffer) of each buffer."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator["Module"]:
        """The immediate submodules, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, "Module"]]:
        """(name, module) of each immediate submodule."""
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator["Module"]:
        """The module itself and all below it, each once."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(self, memo: set["Module"] | None = None, prefix: str = "",
                      remove_duplicate: bool = True) -> Iterator[tuple[str, "Module"]]:
        """(dotted name, module) of the module itself and of all below it.

        Args:
            memo: modules to leave out; those yielded are added.
            prefix: put before every name.
            remove_duplicate: yield a module that is there twice only once.
        """
        memo = set() if memo is None else memo
        if self not in memo:
            if remove_duplicate:
                memo.add(self)
            yield prefix, self
            for name, module in self._modules.items():
                if module is not None:
                    yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    # -- changing all of it -----------------------------------------------------------------------------------------

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replaces the data of parameters, their gradients, and buffers by `fn` of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        overwrite = __future__.get_overwrite_module_params_on_conversion()
        for name, param in self._parameters.items():
            if param is None:
                continue
            with torch.no_grad():
                applied = fn(param)
            grad = param.grad
            new = param
            if overwrite or not _of_one_kind(applied, param):
                new = self._parameters[name] = Parameter(applied, param.requires_grad)
            else:
                param.data = applied
            if grad is not None:
                with torch.no_grad():
                    grad_applied = fn(grad)
                if new is param and _of_one_kind(grad_applied, grad):
                    grad.data = grad_applied
                else:
                    new.grad = grad_applied.requires_grad_(grad.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Calls `fn` on every submodule, children first, then on the module itself; returns the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    @overload
    def to(self, device: DeviceLike | None = ..., dtype: DType | None = ..., non_blocking: bool = ..., *,
           memory_format: memory_format | None = ...) -> Self: ...
    @overload
    def to(self, dtype: DType, non_blocking: bool = ..., *, memory_format: memory_format | None = ...) -> Self: ...
    @overload
    def to(self, tensor: Tensor, non_blocking: bool = ..., *, memory_format: memory_format | None = ...) -> Self: ...
    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Moves or casts parameters and buffers in place: `to(device, dtype, non_blocking)`, `to(dtype)`, `to(tensor)`,
        `to(memory_format=...)`. Only floating point tensors are cast."""
        dtype, device, copy, memory_format = parse_to(*args, **kwargs)
        if copy:
            raise RuntimeError(".to() does not accept copy argument")
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
            if dtype.is_complex:
                warned.warn(
                  "Complex modules are a new feature under active development whose design may change, and some modules might not work "
                  "as expected when using complex tensors as parameters or buffers. Please file an issue at "
                  "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex module does not work as expected.")

        def convert(t: Tensor) -> Tensor:
            wanted = dtype if t.is_floating_point() or t.is_complex() else None
            try:
                if memory_format is not None and t.dim() in (4, 5):
                    return t.to(device, wanted, memory_format=memory_format)
                return t.to(device, wanted)
            except NotImplementedError as error:
                if str(error) == "Cannot copy out of meta tensor; no data!":
                    raise NotImplementedError(f"{error} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving "
                                              "module from meta to a different device.") from None
                raise

        return self._apply(convert)

    def _cast(self, dtype: DType) -> Self:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def type(self, dst_type: object) -> Self:
        """Casts all parameters and buffers to `dst_type`."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        """Casts all floating point parameters and buffers to float32."""
        return self._cast(torch.float32)

    def double(self) -> Self:
        """Casts all floating point parameters and buffers to float64."""
        return self._cast(torch.float64)

    def half(self) -> Self:
        """Casts all floating point parameters and buffers to float16."""
        return self._cast(torch.float16)

    def bfloat16(self) -> Self:
        """Casts all floating point parameters and buffers to bfloat16."""
        return self._cast(torch.bfloat16)

    def cpu(self) -> Self:
        """Moves all parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: DeviceLike | None = None) -> Self:
        """Moves all parameters and buffers to a CUDA device."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self, device: DeviceLike | None = None) -> Self:
        """Moves all parameters and buffers to an XPU."""
        return self._apply(lambda t: t.xpu(device))

    def mtia(self, device: DeviceLike | None = None) -> Self:
        """Moves all parameters and buffers to an MTIA device."""
        return self._apply(lambda t: t.mtia(device))

    def ipu(self, device: DeviceLike | None = None) -> Self:
        """Moves all parameters and buffers to an IPU."""
        return self._apply(lambda t: t.ipu(device))

    def to_empty(self, *, device: DeviceLike, recurse: bool = True) -> Self:
        """Moves parameters and buffers to `device` without their values: their memory there is uninitialized."""
        return self._apply(lambda t: torch.empty_like(t, device=device), recurse=recurse)

    def share_memory(self) -> Self:
        """Puts all parameters and buffers into memory that processes share."""
        tensors = [t for t in (*self.parameters(), *self.buffers()) if not is_lazy(t) and t.device.type == "cpu"]
        tensors += [t.grad for t in tensors if t.is_leaf and t.grad is not None]
        share([t.untyped_storage() for t in tensors], tensors)
        return self._apply(lambda t: t.share_memory_())  # refused by what has no memory yet

    def train(self, mode: bool = True) -> Self:
        """Sets training mode (evaluation mode where not `mode`) for the module and all below it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Sets evaluation mode."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Sets whether gradients flow to the parameters."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Resets the gradients of all parameters, to None or else to zero."""
        if getattr(self, "_is_replica", False):
            warned.warn(
              "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. The parameters are copied (in a "
              "differentiable manner) from the original module. This means they are not leaf nodes in autograd and so don't accumulate "
              "gradients. If you need gradients in your forward method, consider using autograd.grad instead.")
        for param in self.parameters():
            if param.grad is not None:
                if set_to_none:
                    param.grad = None
                else:
                    if param.grad.grad_fn is not None:
                        param.grad.detach_()
                    else:
                        param.grad.requires_grad_(False)
                    param.grad.zero_()

    # -- hooks ------------------------------------------------------------------------------------------------------

    def register_forward_pre_hook(self, hook: Fn, *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """`hook(module, args)` -> None or new args, before `forward`.

        Args:
            hook: with `with_kwargs`, `hook(module, args, kwargs)` -> None or (new args, new kwargs).
            prepend: call it before the hooks registered so far.
        """
        return register(self._forward_pre_hooks, hook, prepend=prepend, flags=((self._forward_pre_hooks_with_kwargs, with_kwargs),))

    def register_forward_hook(self, hook: Fn, *, prepend: bool = False, with_kwargs: bool = False,
                              always_call: bool = False) -> RemovableHandle:
        """`hook(module, args, output)` -> None or a new output, after `forward`.

        Args:
            hook: with `with_kwargs`, `hook(module, args, kwargs, output)`.
            prepend: call it before the hooks registered so far.
            always_call: call it even if `forward` raises.
        """
        return register(self._forward_hooks, hook, prepend=prepend,
                        flags=((self._forward_hooks_with_kwargs, with_kwargs), (self._forward_hooks_always_called, always_call)))

    def register_full_backward_pre_hook(self, hook: Fn, prepend: bool = False) -> RemovableHandle:
        """`hook(module, grad_output)` -> None or new gradients, when the gradients of the outputs are known."""
        return register(self._backward_pre_hooks, hook, prepend=prepend)

    def _backward_hook_kind(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one "
                               "of them.")
        self._is_full_backward_hook = full

    def register_full_backward_hook(self, hook: Fn, prepend: bool = False) -> RemovableHandle:
        """`hook(module, grad_input, grad_output)` -> None or new grad_input, when the gradients of the inputs are known."""
        self._backward_hook_kind(full=True)
        return register(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Fn) -> RemovableHandle:
        """`hook(module, grad_input, grad_output)` on the last operation of `forward` only; `register_full_backward_hook` is what is
        usually wanted."""
        self._backward_hook_kind(full=False)
        return register(self._backward_hooks, hook)

    def _get_backward_hooks(self) -> tuple[list[Any], list[Any]]:
        """(full hooks, regular hooks), global ones first."""
        found: dict[bool | None, list[object]] = {True: [], False: [], None: []}
        found[_hooks._global_is_full_backward_hook] += _global_backward_hooks.values()
        found[self._is_full_backward_hook] += self._backward_hooks.values()
        return found[True], found[False]

    def _get_backward_pre_hooks(self) -> list[Any]:
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    # -- in words ---------------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What `repr` shows between the parentheses, besides submodules."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({extra})"
        lines += children
        body = "\n  " + "\n  ".join(lines) + "\n" if lines else ""
        return f"{self._get_name()}({body})"

    def _replicate_for_data_parallel(self) -> Self:
        replica = self.__new__(type(self))
        replica.__dict__ = {**self.__dict__, "_parameters": {}, "_buffers": self._buffers.copy(), "_modules": self._modules.copy(),
                            "_is_replica": True}
        return replica
