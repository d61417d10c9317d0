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
from types import ModuleType
from typing import Any
from collections.abc import Callable

import numpy as np

from ..annotations import Arguments, Fn
from ..errors import AutogradError, ExecutorUnavailableError, MissingKernelError
from ..locks import fork_safe_lock
from ..record import Record
from .base import Executor
from .kernels._on_demand import is_half
from .numpy import in_single
from ..warned import ignoring

_lock = fork_safe_lock()
_module: Any = None
_pid = 0
_TARGETS = {"cpu": "CPU", "npu": "Ascend", "cuda": "GPU"}
REMEDY = "pip install 'autograd-tape[mindspore]'"
STRIDED = ("view", "view?", "store")  # families whose work is on our own storage, whatever the executor


def _takes(rec: Record, what: str) -> bool:
    return what in (rec.field("mindspore_takes") or "")


def load() -> ModuleType:
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


def _import() -> ModuleType:
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


class _Namespace:
    """What kernels in records get as `ms`: the module mindspore, and primitives made once."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self._made: dict[Arguments, Any] = {}

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.module, name)
        self.__dict__[name] = value
        return value

    def primitive(self, name: str, *args: object) -> Any:
        """The instance `ops.<name>(*args)` (the name may be dotted), made at its first use: making one costs more than calling it."""
        key = (name, *args)
        found = self._made.get(key)
        if found is None:
            maker = self.module.ops
            for part in name.split("."):
                maker = getattr(maker, part)
            found = self._made[key] = maker(*args)
        return found


class MindSporeExecutor(Executor):
    """Kernels are the records' `mindspore` fields: the dotted name of a primitive that takes the tensors alone ("ops.Exp"), or a
    function `(ms, *arguments)` on MindSpore tensors, where `ms` is the module with `ms.primitive(name, *args)` besides.

    A dtype that a kernel does not take is computed by the record's composition, or in the next wider dtype. Half precision is
    computed in float32 and rounded, as torch does, except in matrix products, whose float16 kernels accumulate in float32.
    """

    name = "mindspore"
    field = "mindspore"

    def __init__(self, device_type: str = "cpu") -> None:
        super().__init__()
        module = load()
        if device_type != "cpu":
            target = _TARGETS[device_type]
            try:
                with _lock:
                    module.set_device(target)
            except Exception as error:  # whatever the plugin loader says
                reason = _first_line(error).split(". ")[0]
                raise ExecutorUnavailableError(f"MindSpore cannot use the device '{device_type}' here ({reason})",
                                               expected=f"a MindSpore build with {target} and its driver", found="none",
                                               remedy="use device 'cpu'") from None
        self.device_type = device_type
        self.ms = _Namespace(module)
        self._kernels: dict[str, Fn | None] = {}

    def status(self, rec: Record) -> str:
        """"native", "composite", "host" or "missing", as the record's fields have it; strided views are native everywhere."""
        return "native" if rec.family in STRIDED or rec.field("mindspore") is not None else super().status(rec)

    def kernel(self, rec: Record) -> Fn | None:
        """The kernel of an operation on NumPy arrays."""
        if rec.family in STRIDED:
            return rec.field("numpy")
        field, host = rec.field("mindspore"), rec.field("numpy")
        if field is None and (host is None or rec.field("compose") is None or getattr(rec.field("compose"), "host", False)):
            return None
        found = self._kernels.get(rec.name)
        if found is None:
            native = self._composed(rec) if field is None else self._make(rec, self._named(rec, field) if isinstance(field, str) else field)
            kinds = "ciubV" if field is None else "c"  # V: bfloat16, in which MindSpore has next to nothing
            found = self._kernels[rec.name] = native if host is None or _takes(rec, "complex") else _on_host(kinds, native, host)
        return found

    def _composed(self, rec: Record) -> Fn:
        compose = rec.field("compose")
        return lambda *values: compose(self.F, *values)

    def call(self, rec: Record, kernel: Fn, values: list[Any]) -> Any:
        """Calls a kernel or composition; half precision is computed in float32 and rounded, except where it pays."""
        if rec.quiet in ("float", "numbers") and rec.family not in STRIDED and not _takes(rec, "half"):
            return in_single(rec, kernel, values)
        return kernel(*values)

    def _make(self, rec: Record, native: Fn) -> Fn:
        """`native` on NumPy arrays, with the composition or a wider dtype for what it declines."""
        ms, compose, host = self.ms, rec.field("compose"), rec.field("numpy")
        tensors, half = [p.is_tensor for p in rec.params if p.passed], _takes(rec, "half")
        typed = [p.differentiable for p in rec.params if p.passed]
        refused: set[tuple[str, ...]] = set()  # dtypes that the kernel does not take

        def call(*values: Any) -> Any:
            if _pid != os.getpid():
                load()  # says that a forked process cannot go on
            if not all([isinstance(v, np.ndarray) or v is None or isinstance(v, list) for v, t in zip(values, tensors) if t]):
                values = _as_arrays(values, tensors, typed)
            arrays = list(_arrays(values))
            if any([is_half(a.dtype) and (a.dtype.char != "e" or not half) for a in arrays]):
                return in_single(rec, call, list(values))
            if any([a.size == 0 for a in arrays]):
                return host(*values)  # nothing to compute, and MindSpore refuses empty tensors
            dtypes = tuple([a.dtype.char for a in arrays])
            problem: Exception = TypeError(f"no kernel for {', '.join(sorted({str(a.dtype) for a in arrays}))}")
            if dtypes not in refused:
                try:
                    with _lock:
                        return self._to_host(native(ms, *[self._to_device(v) for v in values]), arrays)
                except AutogradError:
                    raise
                except NotImplementedError as error:
                    problem = error  # declined by the kernel in the record
                except (TypeError, ValueError, RuntimeError) as error:
                    problem = error
                    if isinstance(error, TypeError):
                        refused.add(dtypes)
                    worded = _host_error(host, values)
                    if worded is not None:
                        raise worded from None
            if compose is not None:
                return compose(self.F, *values)
            wider = _wider(arrays)
            if wider is None:
                raise _translated(rec, problem) from None
            narrow, results = arrays[0].dtype, call(*[_cast(v, wider) for v in values])
            back = lambda r: r.astype(narrow) if r.dtype == wider else r
            return tuple([back(r) for r in results]) if isinstance(results, tuple) else back(results)

        return call

    def _named(self, rec: Record, dotted: str) -> Callable[..., Any]:
        """A primitive or function by name."""
        module, _, attribute = dotted.rpartition(".")
        try:
            found = getattr(importlib.import_module(f"mindspore.{module}"), attribute)
        except (ImportError, AttributeError):
            raise ExecutorUnavailableError(f"MindSpore has no '{dotted}', which the record of '{rec.name}' names",
                                           expected="an existing primitive", found=dotted,
                                           remedy=f"correct the field 'mindspore' in {rec.module}") from None
        function = found() if isinstance(found, type) else found
        return lambda ms, *values: function(*values)

    def _to_device(self, value: object) -> Any:
        if isinstance(value, np.ndarray):
            # MindSpore copies other layouts silently and misreads the other byte order; what it shares must be writeable.
            flags = value.flags
            if not (flags.c_contiguous and flags.writeable and value.dtype.isnative):
                value = np.array(value, value.dtype.newbyteorder("="), order="C")
            return self.ms.Tensor.from_numpy(value)
        if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
            return tuple([self._to_device(v) for v in value])
        return value

    def _to_host(self, value: object, arrays: list[np.ndarray]) -> Any:
        if isinstance(value, (tuple, list)):
            return tuple([self._to_host(v, arrays) for v in value])
        if not hasattr(value, "asnumpy"):
            return value
        result = value.asnumpy()
        # A primitive with nothing to do may return its operand, whose memory a result must not share.
        return result.copy() if any([np.may_share_memory(result, a) for a in arrays]) else result


def _on_host(kinds: str, native: Fn, host: Fn) -> Fn:
    """`native`, but NumPy's kernel where the first operand is of one of these kinds. Of complex numbers MindSpore's kernels make complex
    results where they are real (`abs`), and zeros where there is no such operation; compositions are written for floating point."""
    def kernel(*values: object) -> object:
        first = next(_arrays(values), None)
        return host(*values) if first is not None and first.dtype.kind in kinds or any([a.dtype.kind == "c" for a in _arrays(values)]) \
            else native(*values)

    return kernel


def _arrays(values: Any) -> Any:
    for v in values:
        if isinstance(v, np.ndarray):
            yield v
        elif isinstance(v, list):
            yield from (x for x in v if isinstance(x, np.ndarray))


def _as_arrays(values: tuple[object, ...], tensors: list[bool], typed: list[bool]) -> Arguments:
    """Numbers in the places of tensors as arrays; Python's take the dtype of the others, as NumPy's operators have it."""
    dtype = next((v.dtype for v, t in zip(values, typed) if t and isinstance(v, (np.ndarray, np.generic))), None)
    return tuple([np.asarray(v, v.dtype if isinstance(v, np.generic) else dtype)
                  if t and isinstance(v, (int, float, complex, np.generic)) else v for v, t in zip(values, tensors)])


_LADDER = {"?": "i4", "b": "i4", "B": "i4", "h": "i4", "H": "i4", "i": "i8", "I": "i8"}


def _wider(arrays: list[np.ndarray]) -> np.dtype | None:
    """The integer dtype in which to try again what a kernel refused; None where there is none that loses nothing."""
    found = {_LADDER.get(a.dtype.char) for a in arrays if a.dtype.kind in "iub"}
    return np.dtype(found.pop()) if len(found) == 1 and None not in found else None


def _cast(value: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if isinstance(value, list):
        return [_cast(v, dtype) for v in value]
    return value.astype(dtype) if isinstance(value, np.ndarray) and value.dtype.kind in "iub" else value


def _host_error(host: Callable[..., Any], values: Any) -> AutogradError | None:
    """What the NumPy kernel, which words errors as torch does, says to arguments that another kernel refused."""
    try:
        with ignoring():
            host(*values)
    except AutogradError as error:
        return error
    except Exception:
        pass  # its own trouble; the refusal is reported instead
    return None


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).strip().splitlines() if line.strip(" -")]
    return lines[0] if lines else type(error).__name__


def _translated(rec: Record, error: Exception) -> AutogradError:
    """MindSpore raises different types without system; the first line of its text is the message."""
    return MissingKernelError(f"{rec.name}: MindSpore refused the operands ({_first_line(error)})",
                              expected="operands that its kernel takes", found="others",
                              remedy="convert them, or set_executor('cpu', 'numpy')")
