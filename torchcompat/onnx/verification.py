"""torch.onnx.verification: exported models held to the models that they were made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torchcompat as torch

from .._calls.absent import absences
from ._program import ONNXProgram
from .errors import OnnxExporterError


def verify_program(program: ONNXProgram, model: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Compares what a program returns, by ONNX Runtime, with what its model does.

    Raises:
        OnnxExporterError: they differ.
    """
    from ..autograd.grad_mode import no_grad
    from ..utils._pytree import tree_flatten

    with no_grad():
        expected = [x for x in tree_flatten(model(*args, **kwargs))[0] if isinstance(x, torch.Tensor)]
    for i, (found, wanted) in enumerate(zip(program(*args, **kwargs), expected, strict=True)):
        try:
            torch.testing.assert_close(found, wanted.detach(), rtol=1e-3, atol=1e-4)
        except AssertionError as error:
            raise OnnxExporterError(f"Output {i} of the graph differs from the model's: {error}") from error


__getattr__ = absences(__name__)
