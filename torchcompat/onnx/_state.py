"""Whether a model is being exported."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class _State(threading.local):
    depth = 0

    @contextlib.contextmanager
    def exporting(self) -> Iterator[None]:
        """Inside, `is_in_onnx_export` says yes."""
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1


state = _State()


def is_in_onnx_export() -> bool:
    """Whether this thread is exporting a model."""
    return state.depth > 0


is_in_onnx_export.__module__ = "torch.onnx"
