"""torch.onnx.utils: what the legacy exporter has there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from .._calls.absent import absences
from ._state import is_in_onnx_export

__all__ = ["is_in_onnx_export", "register_custom_op_symbolic", "select_model_mode_for_export", "unregister_custom_op_symbolic"]


@contextlib.contextmanager
def select_model_mode_for_export(model: Any, mode: Any) -> Iterator[None]:
    """Inside, the model is in the mode of a `TrainingMode`; afterwards each of its modules is in its own again."""
    if getattr(mode, "name", mode) == "PRESERVE" or mode is None:
        yield
        return
    before = [(module, module.training) for module in model.modules()]
    model.train(getattr(mode, "name", "") == "TRAINING")
    try:
        yield
    finally:
        for module, training in before:
            module.training = training


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int) -> None:
    """Translates an operation, `namespace::name`, by `symbolic_fn(g, *arguments)` from this opset on.

    Raises:
        ValueError: the name has not that form.
    """
    from ._custom import register

    register(symbolic_name, symbolic_fn, opset_version)


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Undoes `register_custom_op_symbolic`."""
    from ._custom import unregister

    unregister(symbolic_name, opset_version)


absences(__name__)
