"""The MindSpore executor: the CPU on request, Ascend ("npu") and CUDA where the installed build has them.

Buffers stay NumPy arrays, so strides, views and in-place updates are our own; a kernel is handed contiguous memory. On the CPU
MindSpore shares that memory without a copy; on another device each kernel copies its operands there and its result back.

Three facts decide how kernels are called (all measured on MindSpore 2.10): asynchronous launches cost milliseconds and report errors
on the wrong operation, so launches are blocking; oneDNN kernels crash when two threads run them, so one lock covers all; and a process
forked after a kernel ran hangs in MindSpore, so a child refuses instead.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import threading
from typing import Any, Callable

import numpy as np

from ..errors import ExecutorUnavailableError
from ..ops._record import Record
from .base import Executor

_lock = threading.RLock()
_module: Any = None
_pid = 0
_TARGETS = {"cpu": "CPU", "npu": "Ascend", "cuda": "GPU"}
REMEDY = "pip install 'autograd-tape[mindspore]'"


def load() -> Any:
    """The mindspore module, imported and set up on first need.

    Raises:
        ExecutorUnavailableError: it is missing, or was built against another NumPy than the one installed.
    """
    global _module, _pid
    if _module is None:
        with _lock:
            if _module is None:
                _module = _import()
                _pid = os.getpid()
    if _pid != os.getpid():
        raise ExecutorUnavailableError("MindSpore cannot be used in a process forked after it started", expected="a spawned process",
                                       found="a forked one", remedy="start worker processes with the 'spawn' method")
    return _module


def _import() -> Any:
    if int(np.__version__.partition(".")[0]) >= 2:
        try:
            importlib.metadata.version("mindspore")
        except importlib.metadata.PackageNotFoundError as error:
            raise _missing(error) from None
        raise ExecutorUnavailableError("MindSpore 2.10 is built against NumPy 1.x", expected="numpy<2", found=f"numpy {np.__version__}",
                                       remedy=f"pip install 'numpy<2' (or {REMEDY})")
    os.environ.setdefault("GLOG_v", "4")
    try:
        import mindspore
    except ImportError as error:
        raise _missing(error) from None
    mindspore.runtime.launch_blocking()
    return mindspore


def _missing(error: Exception) -> ExecutorUnavailableError:
    return ExecutorUnavailableError(f"MindSpore is not installed ({error})", expected="the package mindspore", found="none", remedy=REMEDY)


class MindSporeExecutor(Executor):
    """Kernels are the records' `mindspore` fields: the dotted name of a primitive that takes the tensors alone ("ops.Exp"), or a
    function `(ms, *arguments)` on MindSpore tensors. What a kernel does not take (a dtype it lacks) is composed where the record says how.
    """

    name = "mindspore"
    field = "mindspore"

    def __init__(self, device_type: str = "cpu") -> None:
        super().__init__()
        self.ms = load()
        self.device_type = device_type
        self._kernels: dict[str, Callable[..., Any] | None] = {}
        if device_type != "cpu":
            target = _TARGETS[device_type]
            try:
                with _lock:
                    self.ms.set_device(target)
            except Exception as error:  # whatever the plugin loader says
                raise ExecutorUnavailableError(f"MindSpore cannot use the device '{device_type}' here ({str(error).strip().splitlines()[0]})",
                                               expected=f"a MindSpore build with {target} and its driver", found="none",
                                               remedy="use device 'cpu'") from None

    def status(self, rec: Record) -> str:
        """"native", "composite" or "missing"; views need no kernel, they are made on our own storage."""
        if rec.family in ("view", "view?", "store"):
            return "native"
        return super().status(rec)

    def kernel(self, rec: Record) -> Callable[..., Any] | None:
        """The kernel of an operation on NumPy arrays."""
        if rec.name not in self._kernels:
            self._kernels[rec.name] = self._make(rec)
        return self._kernels[rec.name]

    def _make(self, rec: Record) -> Callable[..., Any] | None:
        if rec.family in ("view", "view?", "store"):
            return rec.field("numpy")
        field = rec.field("mindspore")
        if field is None:
            return None
        native = self._named(rec, field) if isinstance(field, str) else field
        ms, compose, host = self.ms, rec.field("compose"), rec.field("numpy")

        def call(*values: Any) -> Any:
            if any(v.size == 0 for v in _arrays(values)):
                return host(*values)  # nothing to compute, and MindSpore refuses empty tensors
            try:
                with _lock:
                    return self._to_host(native(ms, *[self._to_device(v) for v in values]))
            except (TypeError, ValueError, RuntimeError, NotImplementedError) as error:
                if compose is not None:
                    return compose(self.F, *values)
                raise _translated(rec, error) from None

        return call

    def _named(self, rec: Record, dotted: str) -> Callable[..., Any]:
        """A primitive by name. An instance is made once: making one costs more than calling it."""
        module, _, attribute = dotted.rpartition(".")
        try:
            found = getattr(importlib.import_module(f"mindspore.{module}"), attribute)
        except (ImportError, AttributeError):
            raise ExecutorUnavailableError(f"MindSpore has no '{dotted}', which the record of '{rec.name}' names", expected="an existing primitive",
                                           found=dotted, remedy=f"correct the field 'mindspore' in {rec.module}") from None
        function = found() if isinstance(found, type) else found
        return lambda ms, *values: function(*values)

    def _to_device(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            # MindSpore copies other layouts silently and keeps the wrong byte order; it must own what it writes to.
            array = value if value.flags.c_contiguous and value.flags.writeable else np.array(value, order="C")
            return self.ms.Tensor.from_numpy(array) if array.ndim else self.ms.Tensor(array)
        if isinstance(value, list) and any(isinstance(v, np.ndarray) for v in value):
            return [self._to_device(v) for v in value]
        return value

    def _to_host(self, value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return tuple(self._to_host(v) for v in value)
        return value.asnumpy() if hasattr(value, "asnumpy") else value


def _arrays(values: Any) -> Any:
    for v in values:
        if isinstance(v, np.ndarray):
            yield v
        elif isinstance(v, list):
            yield from (x for x in v if isinstance(x, np.ndarray))


def _translated(rec: Record, error: Exception) -> Exception:
    """MindSpore raises different types without system; the first line of its text is the message."""
    lines = [line for line in str(error).strip().splitlines() if line.strip(" -")]
    text = lines[0] if lines else type(error).__name__
    return RuntimeError(f"{rec.name}: MindSpore refused the operands ({text})")
