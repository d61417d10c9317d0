"""torch.onnx: models as graphs of ONNX, by the package `onnx`, which is imported when a model is exported.

A model is run on its example inputs, and its operations are noted (`_trace`); each is translated into nodes by its row of the table in
`_rows`. Where dimensions are to be dynamic it is run on inputs of other sizes, too, and the numbers that differ are computed in the graph
(`_sizes`). `dynamo=True` and `dynamo=False` differ in what is returned, in names and in warnings, not in how the graph is made.
"""

from __future__ import annotations

import enum
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torchcompat as torch

from autograd_tape import warned
from .._calls.absent import on_demand as _on_demand
from ..nn import Module as _Module
from . import errors
from ._program import ONNXProgram
from ._state import is_in_onnx_export as is_in_onnx_export, state as _state
from .errors import OnnxExporterError

if TYPE_CHECKING:
    from . import testing as testing, utils as utils, verification as verification

__all__ = ["errors", "export", "is_in_onnx_export", "OnnxExporterError", "ONNXProgram"]

producer_name, producer_version = "pytorch", "2.13.0"
_DEFAULT, _LEAST, _MOST, _MOST_LEGACY = 20, 13, 23, 20


class TrainingMode(enum.Enum):
    """The mode that a model is put into while it is exported."""

    EVAL, PRESERVE, TRAINING = range(3)

    def __int__(self) -> int:
        return int(self.value)


class OperatorExportTypes(enum.Enum):
    """What operations become: those of ONNX."""

    ONNX, ONNX_ATEN, ONNX_ATEN_FALLBACK, ONNX_FALLTHROUGH = range(4)

    def __int__(self) -> int:
        return int(self.value)


class TensorProtoDataType(enum.IntEnum):
    """The types of ONNX's tensors, by their numbers there."""

    (UNDEFINED, FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL, FLOAT16, DOUBLE, UINT32, UINT64, COMPLEX64, COMPLEX128,
     BFLOAT16, FLOAT8E4M3FN, FLOAT8E4M3FNUZ, FLOAT8E5M2, FLOAT8E5M2FNUZ) = range(21)


for _cls in (TrainingMode, OperatorExportTypes, TensorProtoDataType):
    _cls.__module__ = "torch._C._onnx"


def export(model: Any, args: Any = (), f: str | os.PathLike[str] | None = None, *, kwargs: dict[str, Any] | None = None,
           verbose: bool | None = None, input_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None,
           opset_version: int | None = None, dynamo: bool = True, external_data: bool = True, dynamic_shapes: Any = None,
           custom_translation_table: dict[Callable[..., Any], Callable[..., Any]] | None = None, report: bool = False,
           optimize: bool = True, verify: bool = False, profile: bool = False, dump_exported_program: bool = False,
           artifacts_dir: str | os.PathLike[str] = ".", export_params: bool = True, keep_initializers_as_inputs: bool = False,
           dynamic_axes: Mapping[str, Any] | None = None, training: TrainingMode = TrainingMode.EVAL,
           operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX, do_constant_folding: bool = True,
           custom_opsets: Mapping[str, int] | None = None, export_modules_as_functions: Any = False,
           autograd_inlining: bool = True) -> ONNXProgram | None:
    """A model in ONNX.

    Args:
        model: a module, or an ExportedProgram.
        args: example inputs; a dict at the end holds keyword arguments. Tensors are inputs of the graph, all else is constant in it.
        f: a path to write to; without `dynamo` also an open binary file.
        opset_version: the version of ONNX's operations, 13 to 23; 20 where left out.
        dynamo: whether to return a program; else the model is put into `training` meanwhile, and nothing is returned.
        external_data: whether a program's parameters are written to a file of their own, `<f>.data`.
        dynamic_shapes: as for `torch.export.export`: for each input, the names of the dimensions that may be of any size.
        dynamic_axes: the same by the names of inputs and outputs: `{"x": {0: "batch"}}` or `{"x": [0]}`.
        verify: whether to compare the graph's outputs, by ONNX Runtime, with the model's.

    Raises:
        ModuleNotFoundError: the package `onnx` is not there.
        UnsupportedOperatorError: an operation has no translation (of ConversionError, where `dynamo`). No file is written then.
        OnnxExporterError: other sizes than the example's cannot be had, or Python reads numbers of the inputs.
    """
    exported = model if hasattr(model, "graph_signature") and hasattr(model, "module") else None
    args, kwargs = _arguments(args, kwargs)
    if exported is not None:
        if not args and not kwargs and exported.example_inputs is not None:
            args, kwargs = exported.example_inputs
        model = exported.module()
    names = list(input_names or []), list(output_names or [])
    if not dynamo and exported is None:
        warned.warn(
          "You are using the legacy TorchScript-based ONNX export. Starting in PyTorch 2.9, the new torch.export-based ONNX exporter has "
          "become the default. Learn more about the new export logic: https://docs.pytorch.org/docs/stable/onnx_export.html. "
          "For exporting control flow: https://pytorch.org/tutorials/beginner/onnx/export_control_flow_model_to_onnx_tutorial.html",
          category=DeprecationWarning)
        if dynamic_shapes:
            raise ValueError("The exporter only supports dynamic shapes through parameter dynamic_axes when dynamo=False.")
        with utils.select_model_mode_for_export(model, training):
            program = _legacy(model, args, kwargs, dynamic_axes or {}, custom_opsets, opset_version, *names)
        program.save(f, include_initializers=export_params,  # type: ignore[arg-type]
                     keep_initializers_as_inputs=keep_initializers_as_inputs or not export_params, external_data=False)
        if verbose:
            print(program)
        return None
    if custom_translation_table:
        raise OnnxExporterError("custom_translation_table is written in ONNX Script, which is not taken here; register symbolics with "
                                "torch.onnx.register_custom_op_symbolic and export with dynamo=False")
    program = _program(model, args, kwargs, dynamic_shapes, dynamic_axes, verbose is not False, exported, opset_version, *names)
    if verify:
        from .testing import assert_onnx_program

        try:
            assert_onnx_program(program, rtol=1e-3, atol=1e-4)
        except AssertionError as error:
            raise OnnxExporterError(f"The graph does not return what the model does: {error}") from error
    if f is not None:
        program.save(f, include_initializers=export_params, keep_initializers_as_inputs=keep_initializers_as_inputs,
                     external_data=external_data)
    return program


def _arguments(args: Any, kwargs: dict[str, Any] | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    args = (args,) if isinstance(args, torch.Tensor) or not isinstance(args, (tuple, list)) else tuple(args)
    if args and isinstance(args[-1], dict) and not kwargs:
        return args[:-1], dict(args[-1])
    return args, dict(kwargs or {})


def _named(inputs: Sequence[Any], names: Sequence[str]) -> None:
    for x, name in zip(inputs, names):
        x.name = name


def _legacy(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_axes: Mapping[str, Any],
            custom_opsets: Mapping[str, int] | None, opset: int | None, input_names: Sequence[str],
            output_names: Sequence[str]) -> ONNXProgram:
    from . import _export

    opset = _DEFAULT if opset is None else opset
    if opset < 7:
        raise ValueError(f"Unsupported ONNX opset version: {opset}")
    if opset > _MOST:
        raise RuntimeError(f"Unsupported onnx_opset_version: {opset}")
    _at_least(opset)
    inputs = _export.inputs_of(model, args, kwargs)
    if len(input_names) > len(inputs):
        raise RuntimeError(f"number of input names provided ({len(input_names)}) exceeded number of inputs ({len(inputs)})")
    _named(inputs, input_names)
    names = {x.name for x in inputs} | set(output_names)
    axes: dict[str, dict[int, str]] = {}
    for name, dims in dynamic_axes.items():
        if name not in names:
            warnings.warn(f"Provided key {name} for dynamic axes is not a valid input/output name")
        if not isinstance(dims, Mapping):
            warnings.warn(f"No names were found for specified dynamic axes of provided input.Automatically generated names will be "
                          f"applied to each dynamic axes of input {name}")
            dims = {d: f"{name}_dynamic_axes_{i + 1}" for i, d in enumerate(dims)}
        axes[name] = {int(d): str(n) for d, n in dims.items()}
    for x in inputs:
        x.axes = {d % x.tensor.dim(): n for d, n in axes.get(x.name, {}).items()}
    with _state.exporting():
        proto, _ = _export.translated(model, args, kwargs, inputs, opset, output_names, axes, False, True, custom_opsets)
    return ONNXProgram(proto)


def _at_least(opset: int) -> None:
    if opset < _LEAST:
        raise errors.OnnxExporterError(f"Exporting to ONNX opset version {opset} is not supported; the first that is is {_LEAST}")


def _program(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any, dynamic_axes: Mapping[str, Any] | None,
             told: bool, exported: Any, opset: int | None, input_names: Sequence[str], output_names: Sequence[str]) -> ONNXProgram:
    import onnx  # noqa: F401  # an error here, before anything is said

    from . import _export
    from ._shapes import take_dynamic_shapes

    opset = _DEFAULT if opset is None else min(opset, _MOST)
    _at_least(opset)
    inputs = _export.inputs_of(model, args, kwargs)
    axes: Mapping[str, Any] = {}
    by_axes = dynamic_axes is not None and dynamic_shapes is None
    if dynamic_axes is not None and by_axes:
        warned.warn("# 'dynamic_axes' is not recommended when dynamo=True, and may lead to 'torch._dynamo.exc.UserError: Constraints "
                    "violated.' Supply the 'dynamic_shapes' argument instead if export is unsuccessful.")
        axes = {name: dims if isinstance(dims, Mapping) else {d: f"{name}_dim_{d}" for d in dims} for name, dims in dynamic_axes.items()}
        own = [x.name for x in inputs]
        _named(inputs, input_names)
        for x, name in zip(inputs, own):
            x.axes = {d % x.tensor.dim(): str(n) for d, n in {**axes.get(name, {}), **axes.get(x.name, {})}.items()}
    what = f"`{type(model).__name__}([...]`"
    steps = [f"Obtain model graph for {what} with `torch.export.export(..., strict=False)`...", "Run decompositions...",
             "Translate the graph into ONNX...", "Optimize the ONNX graph..."]

    def say(i: int, end: str = "") -> None:
        if told:
            print(f"[torch.onnx] {steps[i]}{end}")

    say(0)
    try:
        if not isinstance(model, _Module):
            raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(model)}.")
        if not by_axes:
            take_dynamic_shapes(dynamic_shapes, inputs, args, kwargs, _export.argument_names(model, len(args)))
            _named(inputs, input_names)
        with _state.exporting():
            proto, _ = _export.translated(model, args, kwargs, inputs, opset, output_names, axes, True)
    except errors.UnsupportedOperatorError as error:
        say(0, " ✅")
        raise errors.ConversionError("Failed to convert the exported program to an ONNX model. \033[96mThis is step 3/3\033[0m of "
                                     f"exporting the model to ONNX.\n\n## Exception summary\n\n{type(error)}: {error}\n") from error
    except Exception as error:
        say(0, " ❌")
        raise errors.TorchExportError("Failed to export the model with torch.export. \033[96mThis is step 1/3\033[0m of exporting "
                                      f"the model to ONNX.\n\n## Exception summary\n\n{type(error)}: {error}\n") from error
    for i in range(4):
        for end in ("", " ✅")[i == 0:]:
            say(i, end)
    return ONNXProgram(proto, (lambda: torch.export.export(model, args, kwargs)) if exported is None else exported)


_on_demand(__name__, dict.fromkeys(
    ["register_custom_op_symbolic", "unregister_custom_op_symbolic", "select_model_mode_for_export"], "utils"))

from . import utils  # noqa: E402
