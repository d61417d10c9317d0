"""Translations that programs register, and those of `torch.autograd.Function.symbolic`.

Such a function is called with a context that makes nodes, and the arguments: values of the graph for tensors, Python's numbers, and lists.
`g.op("domain::Name", x, alpha_f=1.0)` makes a node; the last letter of an attribute's name says of which kind it is.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._calls.above import above
from .._tensor import Tensor
from ._graph import Graph, Operand
from ._trace import Recorder
from .errors import OnnxExporterError

Symbolic = Callable[..., Any]
_REGISTERED: dict[str, dict[int, Symbolic]] = {}
_NAME = re.compile(r"[A-Za-z_]\w*::[A-Za-z_][\w.]*")


def register(name: str, function: Symbolic, opset: int) -> None:
    """From `opset` on, `function` translates the operation.

    Raises:
        OnnxExporterError: the name is not `domain::name`.
    """
    if _NAME.fullmatch(name) is None:
        raise OnnxExporterError(f"Failed to register operator {name}. The symbolic name must match the format domain::name, and should "
                                "start with a letter and contain only alphanumeric characters")
    _REGISTERED.setdefault(name, {})[opset] = function


def unregister(name: str, opset: int) -> None:
    """Undoes `register`."""
    found = _REGISTERED.get(name, {})
    found.pop(opset, None)
    if not found:
        _REGISTERED.pop(name, None)


def registered(name: str, opset: int | None = None) -> Symbolic | None:
    """The function registered for an operation: of the latest opset up to this one."""
    found = _REGISTERED.get(name)
    if not found:
        return None
    fitting = [n for n in found if opset is None or n <= opset]
    return found[max(fitting)] if fitting else None


class GraphContext:
    """What makes nodes.

    Attributes:
        opset: the version of ONNX's operations.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph, self.opset = graph, graph.opset

    def op(self, opname: str, *raw_args: Operand | Tensor | None, outputs: int = 1, **kwargs: Any) -> Any:
        """The value of a new node, or several.

        Args:
            opname: of ONNX, or `domain::Name`.
            kwargs: attributes, each with the letter of its kind: `axis_i=0`, `mode_s="linear"`, `value_t=tensor`.
        """
        domain, _, name = opname.rpartition("::")
        given = {key[:-2] if key[-2:-1] == "_" else key: value for key, value in kwargs.items()}
        if not domain and name == "Constant":
            value = next(iter(given.values()))
            if isinstance(value, Tensor):
                return self._graph.const(np.array(value._data), value.dtype)
            return self._graph.const(np.array(value), self._graph.dtype_of(value))
        if domain:
            self._graph.domains.setdefault(domain, 1)
        inputs = [self._graph.const(np.array(x._data), x.dtype) if isinstance(x, Tensor) else x for x in raw_args]
        return self._graph.op(name, *inputs, outputs=outputs, domain=domain, **given)


def called(graph: Graph, function: Symbolic, args: tuple[Any, ...]) -> Any:
    """What a registered function makes."""
    return function(GraphContext(graph), *args)


FUNCTION = "<autograd.Function>"
"""The name of the steps that are a Function's."""


class _Noting(threading.local):
    recorder: Recorder | None = None


_noting = _Noting()


@contextmanager
def functions_noted(recorder: Recorder) -> Iterator[None]:
    """Inside, Functions that have a `symbolic` are noted whole."""
    before, _noting.recorder = _noting.recorder, recorder
    try:
        yield
    finally:
        _noting.recorder = before


def _exported(cls: Any, args: tuple[Any, ...]) -> Any:
    """What a Function returns, noted where it says how it is translated; NotImplemented where nobody asks."""
    recorder = _noting.recorder
    if recorder is None or recorder.inside or getattr(cls, "symbolic", None) is None:
        return NotImplemented
    return recorder.whole(FUNCTION, f"{cls.__module__}::{cls.__name__}", {"cls": cls, "args": args}, lambda: cls.apply(*args))


above.exported_function = _exported
