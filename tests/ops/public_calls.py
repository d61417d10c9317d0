"""Calls of public operations as source, so that torch and torchcompat can be asked the same: made from the records' samples when
recording, replayed from what was recorded."""

from __future__ import annotations

import math
import operator
import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from tests.ops.op_cases import UNINITIALISED, bind, is_array, samples
from tests.recording import Table

from autograd_tape.dtypes import DType
from autograd_tape.ops import ALIASES, RECORDS, Record

DTYPES = ("float32", "float64", "bfloat16", "float16", "complex64", "complex128", "int64", "int32", "uint8", "bool", "int8", "int16")

INNER = ("AttributeError", "NameError", "UnboundLocalError", "KeyError", "RecursionError", "SyntaxError", "ZeroDivisionError",
         "AssertionError", "UFuncTypeError", "DTypePromotionError", "MemoryError", "SystemError")
"""What is no answer to a call, but a fault inside."""


class NoSource(TypeError):
    """A sample's argument cannot be written as source."""


def tensors(torch: Any) -> dict[str, Any]:
    """The names that calls use. `f(2, 3)` is a float tensor, `g(2, 3)` one that requires grad, `i`, `b`, `c` of integers, bools,
    complex numbers; their values are fixed."""
    def f(*shape: int, dtype: Any = torch.float32) -> Any:
        n = math.prod(shape)
        return ((torch.arange(n, dtype=torch.float64) * 0.618) % 1 * 0.8 + 0.1).to(dtype).reshape(shape)

    def backward(function: Any, *args: Any, **kwargs: Any) -> Any:
        """The gradients of the tensors of floating-point numbers among the arguments."""
        flat = [x for a in (*args, *kwargs.values()) for x in (a if isinstance(a, (list, tuple)) else [a])]
        leaves = [x.requires_grad_() for x in flat if isinstance(x, torch.Tensor) and x.is_floating_point()]
        result = function(*args, **kwargs)
        outputs = [x for x in (result if isinstance(result, (list, tuple)) else [result]) if isinstance(x, torch.Tensor)
                   and x.requires_grad]
        torch.autograd.backward(outputs, [torch.ones_like(x) for x in outputs])
        return [x.grad for x in leaves]

    def trained(module: Any, *inputs: Any) -> Any:
        """A module's outputs, and the gradients of its parameters and of its first input."""
        if inputs[0].is_floating_point():
            inputs[0].requires_grad_()
        flat: list[Any] = [module(*inputs)]
        while any(isinstance(x, (list, tuple)) for x in flat):
            flat = [y for x in flat for y in (x if isinstance(x, (list, tuple)) else [x])]
        outputs = [x for x in flat if isinstance(x, torch.Tensor)]
        torch.autograd.backward([x for x in outputs if x.requires_grad], [torch.ones_like(x) for x in outputs if x.requires_grad])
        return outputs, [p.grad for p in (*module.parameters(), inputs[0])]

    def into(kind: str, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Whether a function returned its `out`, and that: of another dtype, or "empty", "bigger", in "columns"; or empty, for arguments
        in "columns of all"."""
        def columns(x: Any) -> Any:
            if isinstance(x, (list, tuple)):
                return type(x)([columns(y) for y in x])
            if not isinstance(x, torch.Tensor):
                return x
            turned = tuple(range(x.dim()))[::-1]
            return x.permute(turned).contiguous().permute(turned)

        def made(x: Any) -> Any:
            if kind in ("empty", "columns of all"):
                return torch.zeros(0, dtype=x.dtype)
            made = torch.zeros((2, *x.shape) if kind == "bigger" else tuple(x.shape), dtype=getattr(torch, kind, x.dtype))
            return columns(made) if kind == "columns" else made

        torch.manual_seed(0)
        result = function(*args, **kwargs)
        many = not isinstance(result, torch.Tensor)
        outs = tuple([made(x) for x in result]) if many else made(result)
        if kind == "columns of all":
            args, kwargs = columns(args), {k: columns(v) for k, v in kwargs.items()}
        returned = function(*args, **kwargs, out=outs)
        return all([x is y for x, y in zip(returned, outs)]) if many else returned is outs, outs

    def cast(dtype: str, function: Any, *args: Any, **kwargs: Any) -> str:
        """The dtypes of results and gradients under autocast."""
        def name(x: Any) -> Any:
            if isinstance(x, (list, tuple)):
                return [name(y) for y in x]
            return str(x.dtype).rpartition(".")[2] if isinstance(x, torch.Tensor) else None

        leaves = [x for a in (*args, *kwargs.values()) for x in (a if isinstance(a, (list, tuple)) else [a])
                  if isinstance(x, torch.Tensor) and x.is_floating_point()]
        with torch.autocast("cpu", dtype=getattr(torch, dtype)):
            plain = name(function(*args, **kwargs))
            for x in leaves:
                x.requires_grad_()
            try:
                result = function(*args, **kwargs)
            except (RuntimeError, NotImplementedError):  # not to be recorded for all of them
                return f"{plain}"
        outputs = [x for x in (result if isinstance(result, (list, tuple)) else [result]) if isinstance(x, torch.Tensor)
                   and x.requires_grad]
        try:
            torch.autograd.backward(outputs, [torch.ones_like(x) for x in outputs])
        except (RuntimeError, NotImplementedError):
            return f"{name(result)}"
        return f"{name(result)} {name([x.grad for x in leaves])}"

    def meta(function: Any, *args: Any, **kwargs: Any) -> str:
        """What comes of meta tensors in rows and in columns, in each dtype in place of those of floating point: dtype, shape and strides
        ("=" for the dtype itself), or the type of the error."""
        found: dict[str, list[str]] = {}
        for dtype in DTYPES:
            def convert(x: Any, columns: bool) -> Any:
                if isinstance(x, (list, tuple)):
                    return type(x)([convert(y, columns) for y in x])
                if not isinstance(x, torch.Tensor):
                    return x
                kind = getattr(torch, dtype) if x.is_floating_point() or x.is_complex() else x.dtype
                if not columns:
                    return torch.empty(x.shape, dtype=kind, device="meta")
                return torch.empty(tuple(x.shape)[::-1], dtype=kind, device="meta").permute(tuple(range(x.dim()))[::-1])

            for columns in (False, True) if dtype == "float32" else (False,):
                try:
                    result = function(*convert(args, columns), **{k: convert(v, columns) for k, v in kwargs.items()})
                    text = re.sub(rf"\b{dtype}\b", "=", seen(torch, result))
                except Exception as error:  # noqa: BLE001  # any exception is an outcome
                    text = type(error).__name__
                found.setdefault(text, []).append(dtype + " in columns" * columns)
        return "; ".join([f"{', '.join(dtypes)}: {text}" for text, dtypes in found.items()])

    def lies(function: Any, *args: Any, **kwargs: Any) -> str:
        """Where results' elements lie: strides of those of columns, of matrices whose first dimensions change places, and of images whose
        channels lie together. Without the steps over a single element."""
        def turned(order: str, x: Any) -> Any:
            if isinstance(x, (list, tuple)):
                return type(x)([turned(order, y) for y in x])
            if not isinstance(x, torch.Tensor) or x.dim() < 2 or order == "channels" and x.dim() != 4:
                return x
            if order == "channels":
                return x.contiguous(memory_format=torch.channels_last)
            to = tuple(range(x.dim()))[::-1] if order == "columns" else (1, 0, *range(2, x.dim()))
            return x.permute(to).contiguous().permute(to)

        def steps(x: Any) -> str:
            if isinstance(x, (list, tuple)):
                return f"({', '.join(map(steps, x))})"
            dense = isinstance(x, torch.Tensor) and x.layout is torch.strided and x.numel()
            return str([s for s, n in zip(x.stride(), x.shape) if n > 1]) if dense else "-"

        torch.manual_seed(0)
        return "; ".join([steps(function(*turned(order, args), **{k: turned(order, v) for k, v in kwargs.items()}))
                          for order in ("columns", "swapped", "channels")])

    def called(mode: str, name: str, dtype: str) -> Any:
        """A record's sample, see `mode_cases`."""
        from tests.ops.mode_cases import called

        return called(torch, mode, name, dtype)

    from tests.ops import expanded_cases

    return {
        "write": partial(expanded_cases.write, torch), "write_out": partial(expanded_cases.write_out, torch),
        "called": called, "cast": cast, "meta": meta, "lies": lies, "torch": torch, "backward": backward, "into": into, "trained": trained,
        "F": torch.nn.functional, "nn": torch.nn, "inf": math.inf,
        "nan": math.nan, "f": f,
        "g": lambda *shape: f(*shape).requires_grad_(),
        "i": lambda *shape: torch.zeros(shape, dtype=torch.int64),
        "b": lambda *shape: (torch.arange(math.prod(shape)) % 2 == 0).reshape(shape),
        "c": lambda *shape: f(*shape, dtype=torch.complex64) * (1 + 0.5j),
        "d": lambda *shape: f(*shape, dtype=torch.float64), "h": lambda *shape: f(*shape, dtype=torch.bfloat16),
    }


def seen(torch: Any, value: Any) -> str:
    """What is compared of a result: dtype, shape and strides of tensors, the value of what is none. "~" are strides other than usual
    of a tensor without elements."""
    if isinstance(value, torch.Tensor):
        shape = ",".join(str(n) for n in value.shape)
        strides = "" if value.is_contiguous() else f"({','.join(str(s) for s in value.stride())})"
        if not value.numel():
            strides = "~" * (list(value.stride()) != [math.prod([max(n, 1) for n in value.shape[i + 1:]]) for i in range(value.dim())])
        return f"{str(value.dtype).rpartition('.')[2]}[{shape}]{strides}{'g' * value.requires_grad}"
    if isinstance(value, (list, tuple)):
        return f"({' '.join(seen(torch, v) for v in value)})"
    return repr(value).replace("torchcompat", "torch")


def outcome(torch: Any, call: str, after: str = "", names: dict[str, Any] | None = None) -> str:
    """What a call gives: see `seen`; or the error and the first line of its text. `after` is an expression of what is looked at in the
    end, with the call's result as `result`; `names` are further names that the call uses."""
    names = {**tensors(torch), **(names or {})}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = eval(call, names)
            if after:
                names["result"] = result
                result = eval(after, names)
            return seen(torch, result)
        except Exception as error:  # noqa: BLE001  # any exception is an outcome
            text = str(error).partition("\n")[0]
            return f"{type(error).__name__}: {text}"


def agree(recorded: str, found: str) -> bool:
    """Whether an outcome is that of torch. TypeErrors say in other words what does not fit; unusual strides of tensors without elements
    need not be there."""
    if recorded.startswith("TypeError"):
        return found.startswith("TypeError")
    return recorded == found or "~" in recorded and recorded.replace("~", "") == found.replace("~", "")


def refused(found: str) -> bool:
    """Whether an outcome is an error."""
    return found.partition(":")[0].endswith("Error")


def result_or_refused(found: str) -> str:
    """"refused" for an error, of whatever kind and text; a result as it is."""
    return "refused" if refused(found) else found


def table(name: str, calls: Callable[[Any], list[str]], kept: Callable[[str], str] = str, same: Callable[[str, str], bool] = operator.eq,
          apart: int = 0) -> Table:
    """A table of calls; `kept` is what is compared of an outcome."""
    return Table(name, calls, lambda torch, call: kept(outcome(torch, call)), same=same, zipped=True, apart=apart)


def source(value: Any, shapes: Iterator[tuple[int, ...]] | None = None) -> str:
    """A sample's argument as source; tensors take the next of `shapes`."""
    if is_array(value):
        array = np.asarray(value)
        letter = {"f": "f", "i": "i", "u": "i", "b": "b", "c": "c"}[array.dtype.kind]
        shape = array.shape if shapes is None else next(shapes)
        return f"{letter}({', '.join(str(n) for n in shape)})"
    if isinstance(value, DType):
        return f"torch.{value.name}"
    if value is Ellipsis:
        return "..."
    if isinstance(value, slice):
        return f"slice({value.start}, {value.stop}, {value.step})"
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return repr(value)
    if type(value) in (list, tuple):
        items = ", ".join(source(v, shapes) for v in value)
        return f"[{items}]" if isinstance(value, list) else f"({items}{',' * (len(value) == 1)})"
    raise NoSource(type(value).__name__)


def arrays(value: Any) -> list[np.ndarray]:
    """The arrays within a sample's arguments, in order."""
    if is_array(value):
        return [np.asarray(value)]
    if isinstance(value, dict):
        value = list(value.values())
    return [a for v in value for a in arrays(v)] if isinstance(value, (list, tuple)) else []


def resolve(root: Any, path: str) -> Any:
    """What `path`, dotted, names in `root`; None where it names nothing."""
    for name in path.split("."):
        root = getattr(root, name, None)
        if root is None:
            return None
    return root


def names(rec: Record) -> list[str]:
    """The dotted names that a record may have in torch, the function's first."""
    own = [rec.name, *[alias for alias, name in ALIASES.items() if name == rec.name]]
    return [*[f"{rec.namespace}.{name}" for name in own if rec.namespace and "." not in name], *own,
            *[f"Tensor.{name}" for name in own if "." not in name and rec.method]]


def public_name(torch: Any, rec: Record) -> str | None:
    """The first of a record's names that torch has; None where it is no operation of torch's own."""
    return next((name for name in names(rec) if resolve(torch, name) is not None), None)


def bound(rec: Record) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """The arguments of a record's samples that can be written as source."""
    if rec.field("samples") is None:
        return
    for sample in samples(rec):
        args, kwargs = bind(rec, sample)
        try:
            source(args), [source(v) for v in kwargs.values()]
        except (NoSource, KeyError):
            continue
        yield args, kwargs


def argument_source(args: list[Any], kwargs: dict[str, Any], shapes: list[tuple[int, ...]]) -> list[str]:
    """The arguments of a call as source, with other shapes."""
    following = iter(shapes)
    return [*[source(a, following) for a in args], *[f"{k}={source(v, following)}" for k, v in kwargs.items()]]


PUBLIC = [rec for name, rec in sorted(RECORDS.items()) if name not in UNINITIALISED]
