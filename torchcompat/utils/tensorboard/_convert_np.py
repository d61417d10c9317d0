"""Arrays of whatever is logged."""

from __future__ import annotations

import numpy as np

from ..._tensor import Tensor


def make_np(x: object) -> np.ndarray:
    """The array of an array, of a scalar (of one dimension), or of a tensor; one random number for a meta tensor.

    NumPy knows no bfloat16: such a tensor gives float16.

    Raises:
        NotImplementedError: it is something else.
    """
    if isinstance(x, np.ndarray):
        return x
    if np.isscalar(x):
        return np.array([x])
    if not isinstance(x, Tensor):
        raise NotImplementedError(f"Got {type(x)}, but numpy array or torch tensor are expected.")
    if x.device.type == "meta":
        return np.random.randn(1)
    import torchcompat as torch

    return (x.to(torch.float16) if x.dtype == torch.bfloat16 else x).detach().cpu().numpy()
