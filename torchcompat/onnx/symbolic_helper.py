"""torch.onnx.symbolic_helper: what functions that are registered as translations call.

Their arguments are values of the graph, or Python's own numbers, lists and strings.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from .._calls.absent import absences
from ._graph import Val
from .errors import OnnxExporterError, SymbolicValueError

__all__ = ["parse_args"]
_KINDS: dict[str, Callable[[Any], Any]] = {"i": int, "f": float, "b": bool, "s": str, "is": lambda v: [int(x) for x in v],
                                           "fs": lambda v: [float(x) for x in v]}


def _is_none(x: object) -> bool:
    return x is None


def _is_value(x: object) -> bool:
    return isinstance(x, Val)


_is_tensor = _is_value


def _get_tensor_sizes(x: Val, allow_nonstatic: bool = True) -> list[int | None] | None:
    """The sizes, None for those that inputs decide."""
    return None if x.shape is None else [n if isinstance(n, int) else None for n in x.shape]


def _get_tensor_rank(x: Val) -> int | None:
    return None if x.shape is None else len(x.shape)


def _get_tensor_dim_size(x: Val, dim: int) -> int | None:
    sizes = _get_tensor_sizes(x)
    return None if sizes is None else sizes[dim]


def _maybe_get_const(value: Any, desc: str) -> Any:
    """What `desc` says of a number, or of a constant; other values as they are."""
    if isinstance(value, Val) and value.const is not None and desc != "v":
        value = value.const if desc == "t" else value.const.tolist()
    if value is None or isinstance(value, Val) or desc in ("v", "none"):
        return value
    return np.asarray(value) if desc == "t" else _KINDS[desc](value)


def _get_const(value: Any, desc: str, arg_name: str) -> Any:
    """As `_maybe_get_const`.

    Raises:
        SymbolicValueError: it is not constant.
    """
    found = _maybe_get_const(value, desc)
    if isinstance(found, Val):
        raise SymbolicValueError(f"ONNX symbolic expected a constant value of the '{arg_name}' argument, got '{value}'", value)
    return found


def parse_args(*arg_descriptors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Converts the arguments of a translation: "v" a value, "i", "f", "b", "s" a number or string, "is", "fs" a list, "t" an array.

    Raises:
        OnnxExporterError: when it is called, with more arguments than are described.
    """
    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(g: Any, *args: Any, **kwargs: Any) -> Any:
            if len(args) > len(arg_descriptors):
                raise OnnxExporterError(f"A mismatch between the number of arguments ({len(args)}) and their descriptors "
                                        f"({len(arg_descriptors)}) was found at symbolic function '{function.__name__}'.")
            return function(g, *[x if kind == "v" else _get_const(x, kind, f"{i}") if kind != "none" else None
                                 for i, (x, kind) in enumerate(zip(args, arg_descriptors))], **kwargs)

        return wrapper

    return decorated


def _unimplemented(op: str, msg: str, value: object = None) -> NoReturn:
    """Refuses an operation."""
    raise OnnxExporterError(f"ONNX export failed on {op}, {msg}")


absences(__name__)
