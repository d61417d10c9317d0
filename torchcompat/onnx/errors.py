"""Errors of the export to ONNX."""

from __future__ import annotations

from typing import Any

from .._calls.absent import absences

__all__ = ["OnnxExporterWarning", "SymbolicValueError", "UnsupportedOperatorError"]


class OnnxExporterWarning(UserWarning):
    """What the export warns of."""


class OnnxExporterError(RuntimeError):
    """What went wrong in an export."""


class UnsupportedOperatorError(OnnxExporterError):
    """An operation has no translation.

    Args:
        name: of the operation, with its namespace: `aten::foo`.
        version: the opset that was asked for.
        supported_version: the first opset that has a translation, or None.
    """

    def __init__(self, name: str, version: int, supported_version: int | None) -> None:
        if supported_version is not None:
            text = (f"Exporting the operator '{name}' to ONNX opset version {version} is not supported. Support for this operator was "
                    f"added in version {supported_version}, try exporting with this version")
        elif name.startswith(("aten::", "prim::", "quantized::")):
            text = f"Exporting the operator '{name}' to ONNX opset version {version} is not supported"
        else:
            text = (f"ONNX export failed on an operator with unrecognized namespace {name}. If you are trying to export a custom operator, "
                    "make sure you registered it with the right domain and version.")
        super().__init__(text)


class SymbolicValueError(OnnxExporterError):
    """A value of the graph is not what a translation needs."""

    def __init__(self, msg: str, value: Any) -> None:
        super().__init__(f"{msg}  [Caused by the value '{value}']")


class TorchExportError(OnnxExporterError):
    """The model cannot be captured."""


class ConversionError(OnnxExporterError):
    """The graph cannot be translated."""


OnnxExporterError.__module__ = "torch.onnx"
for _cls in (OnnxExporterWarning, UnsupportedOperatorError, SymbolicValueError):
    _cls.__module__ = "torch.onnx.errors"
TorchExportError.__module__ = ConversionError.__module__ = "torch.onnx._internal.exporter._errors"

absences(__name__)
