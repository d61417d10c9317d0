"""Automatic mixed precision: `autocast` runs matrix products and convolutions in a lower precision, sensitive operations in float32."""

from __future__ import annotations

import functools
import threading
from typing import Any
from collections.abc import Callable

from autograd_tape.dtypes import DType, bfloat16, float16, float32
from autograd_tape.tape import enter_quiet_path, leave_quiet_path

from ._tensor import Tensor, frontend

LOWER = frozenset(("matmul mm bmm mv addmm addbmm baddbmm linear bilinear conv1d conv2d conv3d conv_transpose1d conv_transpose2d "
                   "conv_transpose3d scaled_dot_product_attention").split())
FLOAT32 = frozenset(("avg_pool3d binary_cross_entropy grid_sample polar prod quantile nanquantile stft cdist trace cholesky inverse inv "
                     "det slogdet solve svd eigh qr matrix_norm mse_loss l1_loss smooth_l1_loss huber_loss nll_loss cosine_embedding_loss "
                     "poisson_nll_loss ctc_loss kl_div multilabel_margin_loss").split())
WIDEST = frozenset("cat stack index_copy".split())


class _State(threading.local):
    contexts: tuple["autocast", ...] = ()
    busy = False


_state = _State()


class autocast:
    """Mixed precision for a block or a function.

    >>> import torchcompat as torch
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
    torch.bfloat16
    """

    def __init__(self, device_type: str, dtype: DType | None = None, enabled: bool = True, cache_enabled: bool | None = None) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device, self.fast_dtype, self.enabled = device_type, dtype or (bfloat16 if device_type == "cpu" else float16), enabled

    def __enter__(self) -> "autocast":
        leave_quiet_path()
        _state.contexts += (self,)
        return self

    def __exit__(self, *exc: object) -> None:
        _state.contexts = _state.contexts[:-1]
        enter_quiet_path()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with autocast(self.device, self.fast_dtype, self.enabled):
                return function(*args, **kwargs)

        return wrapper


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether the innermost autocast of this device type is on."""
    return next((c.enabled for c in reversed(_state.contexts) if c.device == device_type), False)


def cast_arguments(fe: Any, general: Any, args: tuple[Any, ...], out: Any, inplace: bool) -> Any:
    """Casts the arguments of operations on the lists above, then carries them out."""
    contexts = _state.contexts
    if not contexts or _state.busy or out is not None or inplace:
        return NotImplemented
    name = general.rec.name
    context = next((c for c in reversed(contexts) if _on(args, c.device)), None)
    if context is None or not context.enabled:
        return NotImplemented
    if name in LOWER:
        target = context.fast_dtype
    elif name in FLOAT32:
        target = float32
    elif name in WIDEST:
        target = float32 if any(t._k.dtype is float32 for t in _tensors(args)) else None  # type: ignore[assignment]
    else:
        return NotImplemented
    if target is None:
        return NotImplemented
    _state.busy = True
    try:
        return general(tuple(_cast(a, target) for a in args), out, inplace)
    finally:
        _state.busy = False


def _tensors(args: Any) -> list[Tensor]:
    return [x for a in args for x in (a if isinstance(a, (tuple, list)) else (a,)) if isinstance(x, Tensor)]


def _on(args: Any, device_type: str) -> bool:
    return any(t._k.device.type == device_type for t in _tensors(args))


def _cast(value: Any, dtype: DType) -> Any:
    if isinstance(value, Tensor):
        return value.to(dtype) if value._k.dtype.is_floating_point and value._k.dtype in (float32, bfloat16, float16) else value
    if isinstance(value, (tuple, list)) and any(isinstance(v, Tensor) for v in value):
        return type(value)(_cast(v, dtype) for v in value)
    return value


frontend.interceptors.append(cast_arguments)
