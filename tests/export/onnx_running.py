"""Exported graphs, checked by ONNX's checker and run by ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torchcompat as torch
from torchcompat.utils._pytree import tree_flatten

RTOL, ATOL = 2e-3, 1e-4


class Of(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def exported(model: Callable[..., Any], args: Sequence[Any], **options: Any) -> Any:
    """The program of a model, which ONNX's checker takes, ready to run on one thread."""
    import onnx
    import onnxruntime

    program = torch.onnx.export(model if isinstance(model, torch.nn.Module) else Of(model), tuple(args), verbose=False, **options)
    onnx.checker.check_model(program.model_proto, full_check=True)
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level, quiet.intra_op_num_threads = 4, 1
    program.initialize_inference_session(lambda content: onnxruntime.InferenceSession(content, quiet, ["CPUExecutionProvider"]))
    return program


def assert_same(found: Sequence[Any], wanted: Any) -> None:
    """The graph's outputs are the model's."""
    tensors = [t.detach() for t in tree_flatten(wanted)[0] if isinstance(t, torch.Tensor)]
    assert len(found) == len(tensors)
    for ours, theirs in zip(found, tensors):
        torch.testing.assert_close(ours, theirs, rtol=RTOL, atol=ATOL, equal_nan=True)
