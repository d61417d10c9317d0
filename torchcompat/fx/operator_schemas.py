"""Arguments of functions and modules put in the order of their signatures."""

from __future__ import annotations

import ast
import inspect
import numbers
import typing
from typing import Any, NamedTuple

from autograd_tape.annotations import Arguments, Fn, Keywords
import torchcompat as torch
from torchcompat._calls.aten import OpOverload, OpOverloadPacket
from torchcompat._library.schema import FunctionSchema
from torchcompat._calls.absent import absences as _absences

__all__ = ["ArgsKwargsPair", "check_for_mutable_operation", "get_signature_for_torch_op", "create_type_hint", "type_matches",
           "normalize_function", "normalize_module"]


class ArgsKwargsPair(NamedTuple):
    """Arguments by position and by name."""

    args: Arguments
    kwargs: Keywords


def _signature(target: Fn) -> inspect.Signature | None:
    try:
        return inspect.signature(inspect.unwrap(target))
    except (TypeError, ValueError):
        return None


_NAMES = {"Tensor": torch.Tensor, "Device": torch.device, "int": int, "float": float, "bool": bool, "str": str, "complex": complex,
          "NoneType": type(None), "number": numbers.Number, "Any": Any, "List": typing.List, "Dict": typing.Dict,  # noqa: UP006
          "Tuple": typing.Tuple, "Optional": typing.Optional}  # noqa: UP006


def _torchscript_type_to_python_type(ts_type: Any) -> Any:
    """Python's type for one of TorchScript's.

    Raises:
        KeyError: there is none.
    """
    def read(node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return _NAMES[node.id]
        if isinstance(node, ast.Tuple):
            return tuple([read(part) for part in node.elts])
        if isinstance(node, ast.Subscript):
            return read(node.value)[read(node.slice)]
        raise KeyError(ast.unparse(node))

    return read(ast.parse(ts_type.annotation_str, mode="eval").body)


def check_for_mutable_operation(target: Fn | str, args: Arguments, kwargs: Keywords) -> None:
    """Raises where a function of torch changes its argument, or writes to `out`.

    Raises:
        RuntimeError: it does.
    """
    from autograd_tape.ops import RECORDS

    name = getattr(target, "__name__", "")
    if not getattr(target, "__module__", "") or not str(target.__module__).startswith("torchcompat"):
        return
    in_place = name.endswith("_") and not name.endswith("__") and (name[:-1] in RECORDS or name in RECORDS)
    if in_place or kwargs.get("out") is not None:
        raise RuntimeError(f"Tried to trace mutable operation {name}. FX only supports functional code, so operations that mutate operands "
                           "in-place (e.g. via `out` arguments) are not supported")


def get_signature_for_torch_op(op: Any, return_schemas: bool = False) -> Any:
    """The signatures of an operator, in a list; None where it has none."""
    if isinstance(op, OpOverload):
        return ([_of_schema(op._schema)], [op._schema]) if return_schemas else [_of_schema(op._schema)]
    if isinstance(op, OpOverloadPacket):
        schemas = [getattr(op, name)._schema for name in op.overloads()]
        return ([_of_schema(s) for s in schemas], schemas) if return_schemas else [_of_schema(s) for s in schemas]
    found = _signature(op)
    signatures = None if found is None else [found]
    return (signatures, None) if return_schemas else signatures


def _python(kind: object) -> object:
    """Python's type for a schema's, `Any` where there is none."""
    try:
        found: object = _torchscript_type_to_python_type(kind)
    except KeyError:
        return Any
    return found


def _of_schema(schema: FunctionSchema) -> inspect.Signature:
    """The signature of a schema: what it calls `self` is `input`, as in torch's functions; `from` is no name in Python."""
    parameters = []
    given = [a.name for a in schema.arguments]
    for a in schema.arguments:
        name = "input" if a.name == "self" and "input" not in given else "_from" if a.name == "from" else a.name
        parameters.append(inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY if a.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=_python(a.type),
            default=a.default if a.has_default_value() else inspect.Parameter.empty))
    returned = [_python(r.type) for r in schema.returns]
    back: object = returned[0] if len(returned) == 1 else typing.Tuple[tuple(returned)] if returned else None  # noqa: UP006
    return inspect.Signature(parameters, return_annotation=back)


def create_type_hint(x: object) -> Any:
    """The `List` or `Tuple` of the one type that all of a sequence's types are, if they are."""
    from typing import List, Tuple, Union  # noqa: UP035

    if not isinstance(x, (list, tuple)):
        return x
    wrap: Any = List if isinstance(x, list) else Tuple  # noqa: UP006
    if not x:
        return wrap[Any] if isinstance(x, list) else Tuple[Any, ...]  # noqa: UP006
    kinds = set(x)
    inner = x[0] if len(kinds) == 1 else Union[tuple(x)]  # noqa: UP007
    return wrap[inner] if isinstance(x, list) else Tuple[inner, ...]  # noqa: UP006


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether an argument of one type may be given where another is asked for."""
    if signature_type is argument_type or signature_type is Any:
        return True
    if signature_type is numbers.Number and argument_type in (int, float):
        return True
    origin, inner = typing.get_origin(signature_type), typing.get_args(signature_type)
    if origin is typing.Union:
        return any([type_matches(kind, argument_type) for kind in inner])
    if origin is list and inner == (int,) and argument_type is int:
        return True
    if origin is list:
        kinds = typing.get_args(argument_type)
        return typing.get_origin(argument_type) in (list, tuple) and all([
            issubclass(kind, inner[0]) for kind in kinds if isinstance(kind, type)])
    if (signature_type, argument_type) in ((float, int), (torch.dtype, int), (int, torch.dtype)):  # a dtype is a number there
        return True
    return isinstance(argument_type, type) and isinstance(signature_type, type) and issubclass(argument_type, signature_type)


def normalize_function(target: Fn, args: Arguments, kwargs: Keywords | None = None, arg_types: object = None,
                       kwarg_types: object = None, normalize_to_only_use_kwargs: bool = False) -> ArgsKwargsPair | None:
    """The arguments of a function of torch with defaults filled in; None where its signature does not tell."""
    if isinstance(target, OpOverload):
        return _args_kwargs_to_normalized_args_kwargs(_of_schema(target._schema), args, kwargs or {}, normalize_to_only_use_kwargs)
    module = str(getattr(target, "__module__", ""))
    signature = _signature(target) if module.startswith(("torchcompat", "torch.")) or module == "torch" else None
    if signature is None:
        return None
    if "out" not in (kwargs or {}):  # that is another overload
        signature = signature.replace(parameters=[p for p in signature.parameters.values() if p.name != "out"])
    return _args_kwargs_to_normalized_args_kwargs(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def normalize_module(root: Any, target: str, args: Arguments, kwargs: Keywords | None = None,
                     normalize_to_only_use_kwargs: bool = False) -> ArgsKwargsPair | None:
    """The arguments of one of torch's modules with defaults filled in; None for other modules.

    Raises:
        RuntimeError: there is no such module.
    """
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(f"Tried to normalize node with target {target} but root did not have that target!") from error
    if getattr(torch.nn, type(module).__name__, None) is not type(module):
        return None
    signature = inspect.signature(module.forward)
    return _args_kwargs_to_normalized_args_kwargs(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def _args_kwargs_to_normalized_args_kwargs(sig: inspect.Signature, args: Arguments, kwargs: Keywords,
                                           normalize_to_only_use_kwargs: bool) -> ArgsKwargsPair | None:
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if any([p.kind not in kinds for p in sig.parameters.values()]):
        return None
    if "input" in sig.parameters and "self" in kwargs and "input" not in kwargs:
        kwargs = {"input": kwargs["self"], **{k: v for k, v in kwargs.items() if k != "self"}}
    bound = sig.bind(*args, **kwargs)
    bound.apply_defaults()
    new_args: list[Any] = []
    new_kwargs: Keywords = {}
    for i, name in enumerate(sig.parameters):
        if not normalize_to_only_use_kwargs and i < len(args):
            new_args.append(bound.arguments[name])
        else:
            new_kwargs[name] = bound.arguments[name]
    return ArgsKwargsPair(tuple(new_args), new_kwargs)


_absences(__name__)
