"""torch.onnx.testing: assertions about exported models."""

from __future__ import annotations

from typing import Any, Literal

import torchcompat as torch

from .._calls.absent import absences
from ._program import ONNXProgram
from .verification import compared

__all__ = ["assert_onnx_program"]


def assert_onnx_program(program: ONNXProgram, *, rtol: float | None = None, atol: float | None = None, args: tuple[Any, ...] | None = None,
                        kwargs: dict[str, Any] | None = None, strategy: str | None = "TorchExportNonStrictStrategy",
                        backend: Literal["onnxruntime", "reference"] = "onnxruntime") -> None:
    """Asserts that a graph returns what its program does.

    Raises:
        AssertionError: it does not.
        ValueError: there is nothing to compare with.
    """
    for _, expected, found in compared(program, args, kwargs, backend == "reference"):
        torch.testing.assert_close(found, expected, rtol=rtol, atol=atol, equal_nan=True, check_device=False)


absences(__name__)
