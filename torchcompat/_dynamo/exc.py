"""What is raised where a program cannot be compiled."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from torchcompat._calls.absent import absences as _absences


class TorchDynamoException(RuntimeError):
    """Of all errors that have to do with compiling."""


class InternalTorchDynamoError(TorchDynamoException):
    """A fault of the compiler's."""


class ResetRequired(TorchDynamoException):
    """Something is asked for that only `torch._dynamo.reset()` makes possible."""

    def __init__(self) -> None:
        super().__init__("\nMust call `torch._dynamo.reset()` before changing backends.  Detected two calls to\n`torch.compile()` with "
                         "different backends on the same function.")


class TorchRuntimeError(TorchDynamoException):
    """An operation failed while a program was written down."""


class Unsupported(TorchDynamoException):
    """The program does what no graph can hold, and was to be one graph."""

    def __init__(self, msg: str, gb_type: str = "", skip_frame: bool = False, *, case_name: str | None = None,
                 real_stack: object = None) -> None:
        super().__init__(msg)
        self.msg, self.gb_type, self.skip_frame, self.case_name, self.real_stack = msg, gb_type, skip_frame, case_name, real_stack


class InvalidBackend(TorchDynamoException):
    """There is no compiler of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.")


class BackendCompilerFailed(TorchDynamoException):
    """A compiler raised an error."""

    def __init__(self, backend_fn: Any, inner_exception: Exception, first_useful_frame: object = None) -> None:
        self.backend_name = getattr(backend_fn, "__name__", "?")
        self.inner_exception = inner_exception
        super().__init__(f"backend={self.backend_name!r} raised:\n{type(inner_exception).__name__}: {inner_exception}")


class UserErrorType(Enum):
    """What a program was asked for that cannot be."""

    DYNAMIC_CONTROL_FLOW = auto()
    ANTI_PATTERN = auto()
    STANDARD_LIBRARY = auto()
    CONSTRAINT_VIOLATION = auto()
    DYNAMIC_DIM = auto()
    INVALID_INPUT = auto()
    INVALID_OUTPUT = auto()
    UNSUPPORTED_ALIASED_MUTATED_DYNAMIC_INPUTS = auto()


class UserError(TorchDynamoException):
    """The arguments of `export` or `compile` are not such as they must be."""

    def __init__(self, error_type: UserErrorType, msg: str, case_name: str | None = None) -> None:
        super().__init__(msg)
        self.error_type, self.msg, self.case_name = error_type, msg, case_name


_absences(__name__)
