"""torch.jit: functions and modules that are scripted, traced, saved as programs and loaded again.

Scripting carries out the Python of a function. Tracing writes down its operations. What is saved is a program in TorchScript's language
(`_code`), which torch reads, too, and which is carried out here without giving anything of a file to Python.

>>> import torchcompat as torch
>>> traced = torch.jit.trace(lambda x: x.relu() + 1, torch.zeros(2))
>>> traced(torch.tensor([-1.0, 1.0, 2.0]))
tensor([1., 2., 3.])
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from torchcompat._calls.absent import on_demand as _on_demand
from torchcompat._jit_internal import (
    _drop, _IgnoreContextManager, _isinstance, _overload, _overload_method, export, ignore, is_scripting, unused,
)
from torchcompat.futures import Future

from autograd_tape import warned
from . import frontend as frontend
from ._state import Error
from ._async import _fork, fork, wait
from ._freeze import freeze, optimize_for_inference, run_frozen_optimizations
from ._fuser import enable_onednn_fusion, fuser, onednn_fusion_enabled, optimized_execution, set_fusion_strategy
from ._script import (
    Attribute, CompilationUnit, RecursiveScriptClass, RecursiveScriptModule, ScriptFunction, ScriptMethod, ScriptModule, ScriptWarning,
    _unwrap_optional, interface, script, script_method,
)
from ._serialization import export_opnames, jit_module_from_flatbuffer, load, save, save_jit_module_to_flatbuffer
from ._trace import (
    TopLevelTracedModule, TracedModule, TracerWarning, TracingCheckError, _script_if_tracing, _unique_state_dict, is_tracing, trace,
    trace_module,
)

_set_fusion_strategy, _wait = set_fusion_strategy, wait

__all__ = ["Attribute", "CompilationUnit", "Error", "Future", "ScriptFunction", "ScriptModule", "annotate", "enable_onednn_fusion",
           "export", "export_opnames", "fork", "freeze", "interface", "ignore", "isinstance", "load", "onednn_fusion_enabled",
           "optimize_for_inference",
           "save", "script", "script_if_tracing", "set_fusion_strategy", "strict_fusion", "trace", "trace_module", "unused", "wait"]


def annotate(the_type: object, the_value: object) -> Any:
    """`the_value`, of which scripted programs know the type."""
    return the_value


def script_if_tracing(fn: Any) -> Any:
    """A function that is scripted where it is called from what is traced, so that its branches stay."""
    return _script_if_tracing(fn)


def isinstance(obj: object, target_type: object) -> bool:
    """Whether a value is of a type, containers with all that is in them.

    >>> from typing import List
    >>> isinstance([1, 2], List[int]), isinstance([1, 2], List[str])
    (True, False)
    """
    return _isinstance(obj, target_type)


class strict_fusion:
    """A block of which all is to be fused, in scripted programs; there is no use for it in others."""

    def __init__(self) -> None:
        if not is_scripting():
            warned.warn("Only works in script mode")

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


@contextmanager
def _hide_source_ranges() -> Iterator[None]:
    """A block in which programs do not show where they come from."""
    yield


def last_executed_optimized_graph() -> Any:
    """Nothing: no graph is optimized."""
    return None


TracerWarning.ignore_lib_warnings()

_on_demand(__name__)
