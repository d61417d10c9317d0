"""Variable: the old name of a tensor that autograd looks at, and the engine's callback queue."""

from __future__ import annotations

from typing import Any
from collections.abc import Callable

from autograd_tape import warned
from autograd_tape.modes import current_engine

from .._tensor import Tensor


class ImperativeEngine:
    """The face of the running backward pass, as `Variable._execution_engine`."""

    def queue_callback(self, callback: Callable[[], Any]) -> None:
        """`callback()` runs when the running backward pass is finished.

        Raises:
            RuntimeError: no backward pass is running on this thread.
        """
        engine = current_engine()
        if engine is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        engine.when_finished(callback)

    def is_checkpoint_valid(self) -> bool:
        """Whether the running pass computes gradients of all leaves, so that re-entrant checkpoints work."""
        engine = current_engine()
        return engine is None or not engine.names_inputs


class VariableMeta(type):
    """Makes every Tensor an instance of Variable."""

    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """A Tensor; kept because programs older than the merge of the two still say it.

    >>> import torchcompat as torch
    >>> torch.autograd.Variable(torch.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """

    _execution_engine = ImperativeEngine()

    def __new__(cls, data: object = None, requires_grad: bool = False, volatile: object = None) -> Any:
        if volatile is not None:

            warned.warn("volatile was removed (Variable.volatile is always False); use `with torch.no_grad():` instead.")
        if data is None:
            data = Tensor()
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        result = data.detach()
        result.requires_grad = requires_grad
        return result
