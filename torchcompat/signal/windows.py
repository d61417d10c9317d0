"""torch.signal.windows: windows of `M` numbers, symmetric ones, or, with `sym=False`, periods of one with `M` numbers.

>>> import torchcompat as torch
>>> torch.signal.windows.hann(5)
tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from autograd_tape.annotations import DeviceLike, Keywords
from autograd_tape.dtypes import DType, default_dtype

from .._memory.layout import strided
from .._tensor import Tensor, frontend as F
from torchcompat._memory.layout import layout

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann", "kaiser",
           "nuttall"]


class _Options:
    """How a window is made, checked in torch's words: ValueError for what none can be."""

    def __init__(self, name: str, M: int, dtype: DType | None, layout: layout, device: object, requires_grad: bool) -> None:
        wanted = default_dtype() if dtype is None else dtype
        if M < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={M}")
        if layout is not strided:
            raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
        if wanted not in (DType.by_name["float32"], DType.by_name["float64"]):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {wanted}")
        self.M = M
        self.keywords: Keywords = {"dtype": wanted, "layout": layout, "device": device, "requires_grad": requires_grad}

    @property
    def empty(self) -> Tensor:
        """The window of no numbers."""
        found: Tensor = F.function("empty")((0,), **self.keywords)
        return found

    @property
    def one(self) -> Tensor:
        """The window of one number."""
        found: Tensor = F.function("ones")((1,), **self.keywords)
        return found

    def line(self, start: float, step: float, last: float = math.inf) -> Tensor:
        """`M` numbers from `start`, `step` apart, to `last` at most."""
        found: Tensor = F.function("linspace")(start, min(start + (self.M - 1) * step, last), self.M, **self.keywords)
        return found


def _gaps(M: int, sym: bool) -> int:
    """How many steps a window is long."""
    return M if not sym and M > 1 else M - 1


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: DType | None = None,
                layout: layout = strided, device: DeviceLike | None = None, requires_grad: bool = False) -> Tensor:
    """exp(-|n - center| / tau)."""
    options = _Options("exponential", M, dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return options.empty
    center = _gaps(M, sym) / 2 if center is None else center
    return (-options.line(-center / tau, 1 / tau).abs()).exp()


def cosine(M: int, *, sym: bool = True, dtype: DType | None = None, layout: layout = strided, device: DeviceLike | None = None,
           requires_grad: bool = False) -> Tensor:
    """Half a period of a sine."""
    options = _Options("cosine", M, dtype, layout, device, requires_grad)
    if M == 0:
        return options.empty
    step = math.pi / (M + 1 if not sym and M > 1 else M)
    return options.line(0.5 * step, step).sin()


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, dtype: DType | None = None, layout: layout = strided,
             device: DeviceLike | None = None, requires_grad: bool = False) -> Tensor:
    """exp(-(n - middle)^2 / (2 std^2))."""
    options = _Options("gaussian", M, dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return options.empty
    step = 1 / (std * math.sqrt(2))
    return (-options.line(-_gaps(M, sym) / 2 * step, step) ** 2).exp()


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, dtype: DType | None = None, layout: layout = strided,
           device: DeviceLike | None = None, requires_grad: bool = False) -> Tensor:
    """The Bessel function I0 of beta times a half circle, 1 in the middle."""
    options = _Options("kaiser", M, dtype, layout, device, requires_grad)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M == 0:
        return options.empty
    if M == 1:
        return options.one
    step = 2.0 * beta / _gaps(M, sym)
    line = options.line(-beta, step, beta)
    whole = F.function("full")((), beta, dtype=options.keywords["dtype"], device=device)
    return (beta * beta - line ** 2).sqrt().i0() / whole.i0()


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, dtype: DType | None = None, layout: layout = strided,
                   device: DeviceLike | None = None, requires_grad: bool = False) -> Tensor:
    """a[0] - a[1] cos x + a[2] cos 2x - ..."""
    options = _Options("general_cosine", M, dtype, layout, device, requires_grad)
    if M == 0:
        return options.empty
    if M == 1:
        return options.one
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    weights = list(a)
    line = options.line(0, 2 * math.pi / _gaps(M, sym))
    found: Tensor = F.function("stack")([(line * i).cos() * ((-1) ** i * w) for i, w in enumerate(weights)]).sum(0)
    return found


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, dtype: DType | None = None, layout: layout = strided,
                    device: DeviceLike | None = None, requires_grad: bool = False) -> Tensor:
    """alpha - (1 - alpha) cos x."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hamming(M: int, *, sym: bool = True, dtype: DType | None = None, layout: layout = strided, device: DeviceLike | None = None,
            requires_grad: bool = False) -> Tensor:
    """0.54 - 0.46 cos x."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(M: int, *, sym: bool = True, dtype: DType | None = None, layout: layout = strided, device: DeviceLike | None = None,
         requires_grad: bool = False) -> Tensor:
    """0.5 - 0.5 cos x."""
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def blackman(M: int, *, sym: bool = True, dtype: DType | None = None, layout: layout = strided, device: DeviceLike | None = None,
             requires_grad: bool = False) -> Tensor:
    """0.42 - 0.5 cos x + 0.08 cos 2x."""
    _Options("blackman", M, dtype, layout, device, requires_grad)
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def bartlett(M: int, *, sym: bool = True, dtype: DType | None = None, layout: layout = strided, device: DeviceLike | None = None,
             requires_grad: bool = False) -> Tensor:
    """A triangle."""
    options = _Options("bartlett", M, dtype, layout, device, requires_grad)
    if M == 0:
        return options.empty
    if M == 1:
        return options.one
    return 1 - options.line(-1, 2 / _gaps(M, sym)).abs()


def nuttall(M: int, *, sym: bool = True, dtype: DType | None = None, layout: layout = strided, device: DeviceLike | None = None,
            requires_grad: bool = False) -> Tensor:
    """Nuttall's sum of four cosines."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)
