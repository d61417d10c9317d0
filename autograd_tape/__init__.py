"""Tape-based reverse-mode automatic differentiation, organised as tape / backward / grad.

PYTEST_DONT_REWRITE: programs that run pytest may have imported it before, as `python -m torchcompat -m pytest` has.

>>> import autograd_tape as at
>>> x = at.TensorRef.of([[1.0, 2.0]], requires_grad=True)
>>> loss = at.F.sum(at.F.exp(x))
>>> at.backward(loss)[x.id].round(3)
array([[2.718, 7.389]])
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .dtypes import DType, Device
from .errors import ArgumentError, AutogradError, GradCheckFailedError
from .errors import NoGradError, NoGradFnError, ShapeMismatchError, TapeNotRecordingError
from .modes import GradMode, no_grad
from .tape import RecordingContext, Tape, clear_default_tape, current_tape, get_default_tape, set_default_tape
from .node import GradFn, TapeEntry
from .scopes import scope
from .tensor import TapeId, TensorRef
from .frontend import F, install_methods

install_methods(TensorRef, F)

from .lazy import OpSpec
from .manual import OpKind, Operation, vjp_rule
from .registry import get_grad_fn, has_grad_fn, named_grad_fn, register_grad_fn, unregister_grad_fn
from .executors import Executor, available_executors, compiled_kernels, cpu_executor, get_executor, register_executor, set_executor
from .executors.choose import apply_environment as _apply_environment

_apply_environment()
from .tree import register_tree
from .backward import BackwardContext, BackwardOptions, Gradients, accumulate_cotangent, reduce_to_shape, topological_order

from . import warned as _warned

_warned.silence(__name__ + ".")

if TYPE_CHECKING:  # modules, and functions when they are called, see `autograd_tape.callable`
    from .backward import backward
    from .check import assert_gradients, check_grad
    from .grad import GradManager, GradientInfo, grad
    from .graph import Graph
    from .samples import check_operation
    from .transforms import Trace, backward_on_trace, hessian, jacobian, jvp, trace, value_and_grad, vjp
else:
    from . import backward

__version__ = "0.1.0"
OpNode = TapeEntry
"""An entry as a node of a trace."""

__all__ = [
    "ArgumentError", "AutogradError", "BackwardContext", "BackwardOptions", "DType", "Device", "Executor", "F",
    "GradCheckFailedError", "GradFn", "GradManager", "GradMode", "GradientInfo", "Gradients", "Graph", "NoGradError", "NoGradFnError",
    "OpKind", "OpNode", "OpSpec", "Operation", "RecordingContext", "ShapeMismatchError", "Tape", "TapeEntry", "TapeId",
    "TapeNotRecordingError", "TensorRef", "Trace", "accumulate_cotangent", "assert_gradients", "available_executors", "backward",
    "backward_on_trace", "check_grad", "check_operation", "clear_default_tape", "compiled_kernels", "cpu_executor", "current_tape",
    "get_default_tape", "get_executor", "get_grad_fn", "grad", "has_grad_fn", "hessian", "jacobian", "jvp", "no_grad", "reduce_to_shape",
    "register_executor", "register_grad_fn", "register_tree", "scope", "set_default_tape", "set_executor", "topological_order",
    "trace", "unregister_grad_fn", "value_and_grad", "vjp", "vjp_rule",
]


_MODULES = frozenset(["array_api", "check", "grad", "graph", "numpy", "samples", "sharding", "show", "transforms"])
_LAZY = {
    **dict.fromkeys(["assert_gradients", "check_grad"], "check"), **dict.fromkeys(["GradManager", "GradientInfo"], "grad"),
    "Graph": "graph", "check_operation": "samples", **dict.fromkeys(
        ["Trace", "backward_on_trace", "hessian", "jacobian", "jvp", "trace", "value_and_grad", "vjp"], "transforms"),
}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        module = import_module(f"{__name__}.{_LAZY[name]}")
        _warned.silence(__name__ + ".")
        return globals().setdefault(name, getattr(module, name))
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    # float32, int64, ... and grad_add, grad_matmul, ...: there is no list of the latter, which are derived from the records.
    return DType.by_name[name] if name in DType.by_name else named_grad_fn(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
