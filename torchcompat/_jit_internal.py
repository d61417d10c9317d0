"""Marks on functions that say what scripting makes of them, and what annotations are to it."""

from __future__ import annotations

import contextlib
import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any, Dict, Final, Generic, List, Optional, Tuple, TypeVar, Union  # noqa: UP035  # names that programs import from here

import torchcompat as torch

from autograd_tape import warned
from ._calls.absent import absences as _absences
from .futures import Future

Fn = Callable[..., Any]
F = TypeVar("F")

boolean_dispatched: dict[Any, dict[str, Any]] = {}
"""What `boolean_dispatch` made, and of what."""


class BroadcastingListCls:
    """`BroadcastingList2[int]`: two numbers, or one that stands for both."""

    def __getitem__(self, types: object) -> None:
        return None


BroadcastingList1, BroadcastingList2, BroadcastingList3, BroadcastingList4, BroadcastingList5, BroadcastingList6 = [
    BroadcastingListCls() for _ in range(6)]


class FunctionModifiers:
    """What `_torchscript_modifier` of a function may be."""

    UNUSED = "unused (ignored and replaced with raising of an exception)"
    IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
    EXPORT = "export (compile this function even if nothing calls it)"
    DEFAULT = "default (compile if called from an exported function / forward)"
    COPY_TO_SCRIPT_WRAPPER = "if this method is not scripted, copy the python method onto the scripted model"
    _DROP = "_drop (function is fully ignored, declaration can be unscriptable)"


def export(fn: F) -> F:
    """Marks a method that is scripted though nothing scripted calls it."""
    fn._torchscript_modifier = FunctionModifiers.EXPORT  # type: ignore[attr-defined]
    return fn


def unused(fn: F) -> F:
    """Marks a function, method or property that scripted programs may name, and raise where they come to it."""
    if isinstance(fn, property):
        for part in (fn.fget, fn.fset):
            if part is not None:
                part._torchscript_modifier = FunctionModifiers.UNUSED  # type: ignore[union-attr]
        return fn
    fn._torchscript_modifier = FunctionModifiers.UNUSED  # type: ignore[attr-defined]
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Marks a function or method that stays Python when it is called from what is scripted: as `@ignore`, or `@ignore(drop=...)`, with
    which it raises there.

    Raises:
        RuntimeError: `drop` is no bool, and no function.
    """
    if callable(drop):
        drop._torchscript_modifier = FunctionModifiers.IGNORE
        return drop
    if not isinstance(drop, bool):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}")
    old = kwargs.pop("drop_on_export", None)
    if old:
        warned.warn("ignore(drop_on_export=True) has been deprecated. TorchScript will now drop the function call on compilation. Use "
                    "torch.jit.unused now. {}", category=FutureWarning)
        drop = old
    elif drop:
        warned.warn("ignore(True) has been deprecated. TorchScript will now drop the function call on compilation. Use torch.jit.unused "
                    "now. {}", category=FutureWarning)

    def decorator(fn: Any) -> Any:
        fn._torchscript_modifier = FunctionModifiers.UNUSED if drop else FunctionModifiers.IGNORE
        return fn

    return decorator


def _drop(fn: F) -> F:
    """Marks a function of which scripting sees not even the declaration."""
    fn._torchscript_modifier = FunctionModifiers._DROP  # type: ignore[attr-defined]
    return fn


def _copy_to_script_wrapper(fn: F) -> F:
    """Marks a method that scripted modules have as Python's, unless it is scripted."""
    fn._torchscript_modifier = FunctionModifiers.COPY_TO_SCRIPT_WRAPPER  # type: ignore[attr-defined]
    return fn


def get_torchscript_modifier(fn: object) -> str | None:
    """The mark of a function or method; None of what is neither."""
    if not callable(fn):
        return None
    fn = getattr(fn, "__func__", fn)
    return getattr(fn, "_torchscript_modifier", FunctionModifiers.DEFAULT)


def copy_torchscript_modifier(orig: object, new: Any) -> None:
    """Gives one function the mark of another."""
    mark = get_torchscript_modifier(orig)
    if mark is not None:
        new._torchscript_modifier = mark


def is_ignored_fn(fn: object) -> bool:
    """Whether a function stays Python, or raises, where scripted programs call it."""
    return get_torchscript_modifier(fn) in (FunctionModifiers.UNUSED, FunctionModifiers.IGNORE, FunctionModifiers._DROP)


def should_drop(fn: object) -> bool:
    """Whether a function raises where scripted programs call it."""
    return get_torchscript_modifier(fn) == FunctionModifiers.UNUSED


def _is_drop_fn(fn: object) -> bool:
    return get_torchscript_modifier(fn) == FunctionModifiers._DROP


def module_has_exports(mod: torch.nn.Module) -> bool:
    """Whether a method of a module is marked by `export`."""
    return any([get_torchscript_modifier(getattr(type(mod), name, None)) is FunctionModifiers.EXPORT for name in dir(type(mod))])


def is_scripting() -> bool:
    """Whether this is carried out as scripted."""
    from .jit._state import state

    return state.scripting


# -- several functions of one name --------------------------------------------------------------------------------------------------------


_overloaded_fns: dict[str, list[Fn]] = {}
_overloaded_methods: dict[str, dict[str, list[Fn]]] = {}


def _qualified_name(obj: Any, mangle_name: bool = True) -> str:
    """What TorchScript calls a class or function: `__torch__.module.name`.

    Raises:
        RuntimeError: it has no name, or one of a local or anonymous thing.
    """
    if hasattr(obj, "_jit_override_qualname"):
        return str(obj._jit_override_qualname)
    if isinstance(getattr(obj, "qualified_name", None), str):
        return str(obj.qualified_name)
    name: str = getattr(obj, "__name__", None) or obj.name
    if name == "<lambda>":
        name = "_lambda"
    module = obj.__module__
    if module is None:
        raise RuntimeError(f"Could not get qualified name for class '{name}': __module__ can't be None.")
    if module.split(".")[0] == "torchcompat":
        module = "torch" + module[11:]
    if "." in name:
        raise RuntimeError(f"Could not get qualified name for class '{name}': '{name}' is not a valid identifier")
    return f"__torch__.{name}" if module == "__main__" else f"__torch__.{module}.{name}"


def _overload(func: F) -> F:
    """Notes one of several declarations of a function, which its definition follows."""
    _overloaded_fns.setdefault(_qualified_name(func), []).append(func)  # type: ignore[arg-type]
    return func


def _overload_method(func: F) -> F:
    """Notes one of several declarations of a method."""
    _overloaded_methods.setdefault(_qualified_name(func), {}).setdefault(func.__module__, []).append(func)  # type: ignore[arg-type]
    return func


def _get_fn_overloads(qual_name: str) -> list[Fn] | None:
    return _overloaded_fns.get(qual_name)


def _clear_fn_overloads(qual_name: str) -> None:
    del _overloaded_fns[qual_name]


def boolean_dispatch(arg_name: str, arg_index: int, default: bool, if_true: Fn, if_false: Fn, module_name: str, func_name: str) -> Fn:
    """A function that is one of two others, by the value of an argument."""
    def fn(*args: object, **kwargs: object) -> Any:
        chosen = kwargs[arg_name] if arg_name in kwargs else args[arg_index] if arg_index < len(args) else default
        return (if_true if chosen else if_false)(*args, **kwargs)

    if if_true.__doc__ is not None and if_false.__doc__ is not None:
        raise RuntimeError("only one function can have a docstring")
    fn.__doc__ = if_true.__doc__ or if_false.__doc__
    if module_name is not None:
        fn.__module__ = module_name
    if func_name is not None:
        fn.__name__ = func_name
    boolean_dispatched[fn] = {"if_true": if_true, "if_false": if_false, "index": arg_index, "default": default, "arg_name": arg_name}
    return fn


def _try_get_dispatched_fn(fn: object) -> dict[str, Any] | None:
    return boolean_dispatched.get(fn) if callable(fn) else None


# -- annotations ------------------------------------------------------------------------------------------------------------------------


def _contained(ann: object, kind: type, name: str) -> bool:
    if ann is kind or ann is getattr(typing, name):
        raise_error_container_parameter_missing(name)
    return typing.get_origin(ann) is kind


def raise_error_container_parameter_missing(target_type: str) -> None:
    """Raises for a container of nobody knows what."""
    example = f"{target_type.lower()}[int, int]" if target_type == "Dict" else f"{target_type.lower()}[int]"
    raise RuntimeError(f"Attempted to use {target_type} without {'contained types' if target_type == 'Dict' else 'a contained type'}. "
                       f"Please add {'contained type' if target_type == 'Dict' else 'a contained type'}, e.g. {example}")


def is_tuple(ann: object) -> bool:
    """Whether an annotation is a tuple of something."""
    return _contained(ann, tuple, "Tuple")


def is_list(ann: object) -> bool:
    """Whether an annotation is a list of something."""
    return _contained(ann, list, "List")


def is_dict(ann: object) -> bool:
    """Whether an annotation is a dictionary of something."""
    return _contained(ann, dict, "Dict")


def is_union(ann: object) -> bool:
    """Whether an annotation is a choice."""
    import types

    return typing.get_origin(ann) in (Union, types.UnionType)


def is_optional(ann: object) -> bool:
    """Whether an annotation is something, or None."""
    return is_union(ann) and len(typing.get_args(ann)) == 2 and type(None) in typing.get_args(ann)


def is_future(ann: object) -> bool:
    """Whether an annotation is a future of something."""
    return typing.get_origin(ann) is Future


def is_final(ann: object) -> bool:
    """Whether an annotation says that a value does not change."""
    return typing.get_origin(ann) is Final


def _isinstance(obj: object, target_type: object) -> bool:
    """Whether a value is of an annotated type, containers with all that is in them.

    Raises:
        RuntimeError: a container of nobody knows what.
    """
    if isinstance(obj, (list, dict, tuple)) and not obj and typing.get_origin(target_type) in (list, dict, tuple):
        warned.warn("The inner type of a container is lost when calling torch.jit.isinstance in eager mode. For example, List[int] would "
                    "become list and therefore falsely return True for List[float] or List[str].")
    return _is_of(obj, target_type)


def _is_of(obj: Any, target: Any) -> bool:
    import types

    if isinstance(target, (tuple, list)):
        return any([_is_of(obj, one) for one in target])
    for kind in (list, dict, tuple):
        if target is kind or target is getattr(typing, kind.__name__.capitalize()):
            raise RuntimeError(f"Attempted to use {kind.__name__} without a contained type. Please add a contained type, e.g. "
                               f"{kind.__name__}[int]")
    origin, args = typing.get_origin(target), typing.get_args(target)
    if origin in (Union, types.UnionType):
        return any([obj is None if one is type(None) else _is_of(obj, one) for one in args])
    if origin is list:
        return isinstance(obj, list) and all([_is_of(x, args[0]) for x in obj])
    if origin is dict:
        return isinstance(obj, dict) and all([_is_of(k, args[0]) and _is_of(v, args[1]) for k, v in obj.items()])
    if origin is tuple:
        return isinstance(obj, tuple) and len(obj) == len(args) and all([_is_of(x, one) for x, one in zip(obj, args)])
    return bool(isinstance(obj, origin or target))


def get_callable_argument_names(fn: Fn) -> list[str]:
    """The names of the parameters that may be given by position or by name; none where there are others, too."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]


class _IgnoreContextManager(contextlib.AbstractContextManager[None]):
    """A block that scripted programs leave out, with the types of what goes in and comes out."""

    def __init__(self, **kwargs: object) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        return None


@contextlib.contextmanager
def _disable_emit_hooks() -> Any:
    """A block in which nobody is told of what is scripted or traced."""
    hooks = torch._C._jit_get_emit_hooks()
    torch._C._jit_set_emit_hooks(None, None)
    try:
        yield
    finally:
        torch._C._jit_set_emit_hooks(*hooks)


__all__ = ["Any", "BroadcastingList1", "Dict", "Final", "Future", "Generic", "List", "Optional", "Tuple", "Union", "boolean_dispatch",
           "export",
           "functools", "ignore", "is_scripting", "unused"]

_absences(__name__)
