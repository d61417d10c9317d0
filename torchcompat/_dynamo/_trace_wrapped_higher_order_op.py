"""The mode that programs enter where masks are made by functions of indices that `vmap` maps.

>>> import torchcompat as torch
>>> table = torch.tensor([10, 20, 30])
>>> with TransformGetItemToIndex():
...     torch.vmap(lambda i: table[i])(torch.tensor([2, 0]))
tensor([30, 10])
"""

from __future__ import annotations

from typing import Any

from ..overrides import TorchFunctionMode

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(TorchFunctionMode):
    """Makes `table[i]` an operation on tensors where `i` is a number that `vmap` maps; here it always is one."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))
