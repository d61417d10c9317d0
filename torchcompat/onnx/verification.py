"""torch.onnx.verification: exported models held to the programs that they were made of."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import torchcompat as torch
from autograd_tape.dtypes import DType

from .._calls.absent import absences
from .._tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..utils._pytree import tree_flatten
from ._program import ONNXProgram
from .errors import OnnxExporterError

__all__ = ["VerificationInfo", "verify_onnx_program"]
_EDGES = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 1e6)


@dataclasses.dataclass
class VerificationInfo:
    """How far an output of a graph is from what the program returns.

    Attributes:
        abs_diff_hist, rel_diff_hist: (how many elements differ by so much, the edges between them).
    """

    name: str
    max_abs_diff: float
    max_rel_diff: float
    abs_diff_hist: tuple[Tensor, Tensor]
    rel_diff_hist: tuple[Tensor, Tensor]
    expected_dtype: DType
    actual_dtype: DType

    @classmethod
    def from_tensors(cls, name: str, expected: Tensor | float, actual: Tensor | float) -> VerificationInfo:
        """Of two tensors; relative differences are those to the expected one."""
        wanted, found = [x if isinstance(x, Tensor) else torch.tensor(x) for x in (expected, actual)]
        a, b = [x.detach().to(torch.float32) if x.dtype.itemsize < 8 or not x.is_floating_point() else x.detach() for x in (wanted, found)]
        apart = (a - b).abs()
        relative = apart / (a.abs() + 1e-7)
        edges = torch.tensor(_EDGES)
        counted: list[Any] = [torch.histogram(x.to(torch.float32).flatten(), edges) for x in (apart, relative)]
        most = [x.max().item() if x.numel() else 0.0 for x in (apart, relative)]
        return cls(name, most[0], most[1], counted[0], counted[1], wanted.dtype, found.dtype)

    def asdict(self) -> dict[str, Any]:
        """For files of JSON."""
        lists = {key: [x.tolist() for x in getattr(self, key)] for key in ("abs_diff_hist", "rel_diff_hist")}
        return {"name": self.name, "max_abs_diff": self.max_abs_diff, "max_rel_diff": self.max_rel_diff, **lists,
                "expected_dtype": str(self.expected_dtype), "actual_dtype": str(self.actual_dtype)}


VerificationInfo.__module__ = "torch.onnx.verification"


def compared(program: ONNXProgram, args: Sequence[Any] | None, kwargs: Mapping[str, Any] | None, reference: bool = False
             ) -> list[tuple[str, Tensor, Tensor]]:
    """(name, expected, found) of each output.

    Raises:
        ValueError: it is not known of what program the model was made, or no arguments are given and none are known.
    """
    source = program.exported_program
    if source is None:
        raise ValueError("The ONNX program does not contain an exported_program. Please provide an exported_program to verify the ONNX "
                         "program.")
    if args is None and kwargs is None:
        if source.example_inputs is None:
            raise ValueError("No example inputs provided and the exported_program does not contain example inputs. Please provide "
                             "arguments to verify the ONNX program.")
        args, kwargs = source.example_inputs
    args, kwargs = args or (), kwargs or {}
    with no_grad():
        expected = [x for x in tree_flatten(source.module(check_guards=False)(*args, **kwargs))[0] if isinstance(x, Tensor)]
    names = [value.name for value in program.model_proto.graph.output]
    return list(zip(names, expected, (program.call_reference if reference else program)(*args, **kwargs), strict=True))


def verify_onnx_program(onnx_program: ONNXProgram, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None,
                        compare_intermediates: bool = False) -> list[VerificationInfo]:
    """How far each output, by ONNX Runtime, is from what the exported program returns.

    Raises:
        ValueError: there is nothing to compare with.
        OnnxExporterError: values in between are to be compared, of which no record is kept.
    """
    if compare_intermediates:
        raise OnnxExporterError("Values in between are not compared: the graph keeps no record of what they were made of")
    return [VerificationInfo.from_tensors(*of) for of in compared(onnx_program, args, kwargs)]


absences(__name__)
