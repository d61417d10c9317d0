"""The Fourier transform of overlapping pieces of a signal, and the signal of such transforms."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ...annotations import Shape
from ...dtypes import FLOATING, TENSOR_TYPE_NAMES
from ...errors import AutogradError, IndexRangeError, type_name
from ...executors.kernels.fourier import transformed
from ...functions.overloads import no_match
from ...functions.refusals import on_meta
from ...record import op
from ...tensor import TensorRef
from ...warned import warn_once
from .._host import NO_ITEM, on_one_device, values_of
from ..data.rearrange import pad_by_index, pad_constant
from ..views.parts import add_windows, unfold_array
from .fourier import c2c, c2r, factor_of, r2c
from .spectra import no_elements

_NONE = type(None)
_RECTANGULAR = ("A window was not provided. A rectangular window will be applied{consequence}To suppress this warning and use a "
                "rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`.")
_LEAKAGE = (",which is known to cause spectral leakage. Other windows such as torch.hann_window or torch.hamming_window are recommended to "
            "reduce spectral leakage.")
_PLACES = ("int n_fft, int hop_length = None, int win_length = None, Tensor window = None, {}bool normalized = False, bool onesided = "
           "None, bool return_complex = None, bool align_to_window = None")
_SIGNATURES = tuple(["Tensor input, " + _PLACES.format(more) for more in ('bool center = True, str pad_mode = "reflect", ', "")])


def _typed(t: TensorRef) -> str:
    """What torch writes for a tensor in these errors: its type, by an older name where it is of bool or complex numbers, and its shape."""
    return TENSOR_TYPE_NAMES[t._k.dtype.name]


def _shown(name: str, input: TensorRef, **arguments: Any) -> str:
    """A call as torch's errors show it."""
    if (window := arguments["window"]) is not None:
        arguments["window"] = f"{_typed(window)}{{{list(window.shape)}}}"
    parts = [f"{n}={int(v) if isinstance(v, bool) else v}" for n, v in arguments.items()]
    return f"{name}({_typed(input)}{list(input.shape)}, {', '.join(parts)}) "


def _check_device(name: str, input: TensorRef, window: TensorRef | None) -> None:
    if window is not None and not on_one_device(window, input):
        raise AutogradError(f"{name} input and window must be on the same device but got self on {input._k.device} and window on "
                            f"{window._k.device}")


@op("stft(Tensor input, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, "
    "str pad_mode='reflect', bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor",
    out=False)
class stft:
    """The Fourier transforms of pieces of `n_fft` numbers of a signal, or of several, `hop_length` apart, each times `window`.

    Of shape (..., frequencies, pieces): the first half of the frequencies of a real signal (`onesided`). With `center` the signal is padded
    at both ends so that pieces are around the numbers at which others begin.

    >>> torch.stft(torch.ones(8), 4, window=torch.hann_window(4), return_complex=True).shape
    torch.Size([3, 9])
    """

    home = "functional"
    amp = "float32"
    quick_complex = True
    several_types = ("input", "n_fft", "hop_length", "win_length", "window", "center", "pad_mode", "normalized", "onesided",
                     "return_complex", "align_to_window")

    def function(F, input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False,
                 onesided=None, return_complex=None, align_to_window=None):
        if center and align_to_window is not None:
            raise AutogradError("stft align_to_window should only be set when center = false", expected="None", found=str(align_to_window))
        x = input
        if center:
            if not isinstance(input, TensorRef):
                raise AttributeError(f"'{type_name(input)}' object has no attribute 'dim'")
            half, lead = int(n_fft // 2), (1,) * (3 - input.ndim)
            x = F.pad(F.reshape(input, lead + tuple(input.shape)), (half, half), pad_mode)
            x = F.reshape(x, tuple(x.shape)[len(lead):])
        given = (x, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window)
        kinds = (TensorRef, int, (int, _NONE), (int, _NONE), (TensorRef, _NONE), bool, *[(bool, _NONE)] * 3)
        if not all(map(isinstance, given, kinds)):
            raise no_match("stft", _SIGNATURES, given)
        _check_device("stft", x, window)
        return _transformed(F, *given)

    def quick(input, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex, align_to_window):
        if window is None:  # of which it warns
            return None
        mode, pad, before, hop, onesided = _plan(input.shape, input.dtype.char, window.shape, window.dtype.char, n_fft, hop_length,
                                                 win_length, center, pad_mode, onesided, return_complex, align_to_window)
        x = input if input.ndim == 2 else input[None]
        if mode == "reflect":
            x = pad_by_index(x[None], pad, mode)[0]
        elif mode:
            x = pad_constant(x, pad, 0)
        if before is not None:
            window, given = np.zeros(n_fft, window.dtype), window
            window[before:before + given.size] = given
        found = _of_pieces(x, window, n_fft, hop, int(normalized), onesided).swapaxes(1, 2)
        return found if input.ndim == 2 else found[0]

    def errors(rng):
        signal = np.ones(8)
        yield (signal, 4), RuntimeError, ("stft requires the return_complex parameter be given for real inputs, and will further require "
                                          "that return_complex=True in a future PyTorch release.")
        yield (signal, 4, 0, 4, np.ones(4), False, "reflect", False, None, True), RuntimeError, (
            "stft(torch.DoubleTensor[8], n_fft=4, hop_length=0, win_length=4, window=torch.DoubleTensor{[4]}, normalized=0, onesided=None, "
            "return_complex=1, align_to_window=None) : expected hop_length > 0, but got hop_length=0")

    def samples(rng):
        window = rng.random(4) + 0.5
        yield rng.standard_normal(9), 4, 2, 4, window, True, "reflect", False, None, True
        yield rng.standard_normal((2, 9)), 6, 3, 4, window, False, "reflect", True, False, True
        yield rng.standard_normal((2, 9)) + 1j * rng.standard_normal((2, 9)), 4, None, None, window
        yield rng.standard_normal((2, 9)), 4, None, None, window, True, "constant", False, True, False


def _transformed(F, input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window):
    if window is None:
        warn_once(_RECTANGULAR.format(consequence=_LEAKAGE))
    hop = n_fft >> 2 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    dtype = input._k.dtype
    as_complex = (dtype.is_complex or window is not None and window._k.dtype.is_complex) if return_complex is None else return_complex
    if not as_complex:
        if return_complex is None:
            raise AutogradError("stft requires the return_complex parameter be given for real inputs, and will further require that "
                                "return_complex=True in a future PyTorch release.")
        warn_once("stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex tensors for all "
                  "inputs, and return_complex=False will raise an error.\nNote: you can still call torch.view_as_real on the complex "
                  "output to recover the old return format.")

    def refused(why: str) -> AutogradError:
        return AutogradError(_shown("stft", input, n_fft=n_fft, hop_length=hop, win_length=width, window=window, normalized=normalized,
                                    onesided=onesided, return_complex=return_complex, align_to_window=align_to_window) + f": {why}")

    if dtype.category < FLOATING:
        raise refused("expected a tensor of floating point or complex values")
    if not 1 <= input.ndim <= 2:
        raise refused("expected a 1D or 2D tensor")
    length = input.shape[-1]
    if not 0 < n_fft <= length:
        raise refused(f"expected 0 < n_fft < {length}, but got n_fft={width}")
    if hop <= 0:
        raise refused(f"expected hop_length > 0, but got hop_length={hop}")
    if not 0 < width <= n_fft:
        raise refused(f"expected 0 < win_length <= n_fft, but got win_length={width}")
    if window is not None and tuple(window.shape) != (width,):
        raise refused(f"expected a 1D window tensor of size equal to win_length={width}, but got window with size {list(window.shape)}")
    x = input if input.ndim == 2 else F.unsqueeze(input, 0)
    if align_to_window:  # the window of the first piece, not the piece, begins where the signal does
        before = (n_fft - width) // 2
        x = F.constant_pad_nd(x, (before, n_fft - width - before))
    if window is None and width < n_fft:
        window = F.ones(width, dtype=dtype, device=input._k.device)
    if window is not None:
        window = _padded(F, window, n_fft)
    is_complex = dtype.is_complex or window is not None and window._k.dtype.is_complex
    onesided = not is_complex if onesided is None else onesided
    if is_complex and onesided and (x._data.size or on_meta(x)):
        raise AutogradError("Cannot have onesided output if window or input is complex")
    kind = int(normalized)
    if _plain(F, x, window) and x._data.size:
        found = _of_pieces(x._data, None if window is None else window._data, n_fft, hop, kind, onesided).swapaxes(1, 2)
        result = F.wrap(found if input.ndim == 2 else found[0])
        return result if as_complex else F.view_as_real(result)
    pieces = F.unfold(x, 1, n_fft, hop)
    if window is not None:
        pieces = F.mul(pieces, window)
    if not pieces._data.size and not on_meta(pieces):
        raise no_elements(pieces)
    result = F._fft_c2c(pieces, (2,), kind, True) if is_complex else F._fft_r2c(pieces, (2,), kind, onesided)
    result = F.transpose_(result, 1, 2)
    if input.ndim == 1:
        result = F.squeeze_(result, 0)
    return result if as_complex else F.view_as_real(result)


@lru_cache(512)
def _plan(shape: Shape, char: str, window: Shape, of_window: str, n_fft: int, hop_length: int | None, win_length: int | None, center: bool,
          pad_mode: str, onesided: bool | None, return_complex: bool | None, align_to_window: bool | None
          ) -> tuple[str, Shape, int | None, int, bool]:
    """(how signals are padded, if at all, by how much, how many zeros are before the window where there are any around it, how far pieces
    are apart, whether the first half of the frequencies is wanted).

    Raises:
        TypeError: it is refused, or warned of.
    """
    hop, width = n_fft >> 2 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    is_complex, half = char.isupper() or of_window.isupper(), n_fft // 2 if center else 0
    onesided = not is_complex if onesided is None else onesided
    if not (char in "fdFD" and of_window in "fdFD" and 1 <= len(shape) <= 2 and 0 not in shape and hop > 0 and window == (width,)
            and 0 < width <= n_fft <= shape[-1] + 2 * half and (is_complex if return_complex is None else return_complex)
            and not (onesided and is_complex) and not (center and align_to_window is not None)
            and (not center or pad_mode == "constant" or pad_mode == "reflect" and half < shape[-1])):
        raise TypeError
    before, missing = (n_fft - width) // 2, n_fft - width
    mode, pad = (pad_mode, (half, half)) if center else ("constant", (before, missing - before)) if align_to_window else ("", ())
    return mode, pad, before if missing else None, hop, onesided


def _of_pieces(x: np.ndarray, window: np.ndarray | None, n: int, hop: int, kind: int, onesided: bool) -> np.ndarray:
    """The transforms of pieces of `n` numbers of signals (several, numbers), times a window: (several, pieces, frequencies)."""
    pieces, char = unfold_array(x, 1, n, hop), x.dtype.char
    if (window is None or window.dtype.char == char.lower()) and x.flags.c_contiguous and hop <= x.shape[1]:  # pieces lie in order
        weights = () if window is None else (window.astype(np.float64),)
        length = n // 2 + 1 if onesided else n
        found = transformed(pieces, 2, n, length, np.dtype(char.upper()), False, factor_of(kind, n), False, *weights)
        if found is not None:
            return found
    pieces = pieces if window is None else pieces * window
    return c2c(pieces, (2,), kind, True) if pieces.dtype.kind == "c" else r2c(pieces, (2,), kind, onesided)


def _padded(F, window, n):
    """A window in the middle of `n` numbers, zeros around it."""
    missing = n - window.shape[0]
    return F.constant_pad_nd(window, (missing // 2, missing - missing // 2)) if missing else window


def _plain(F, *tensors):
    """Whether nobody records or looks at what is made of tensors that are transformed as they are, so that it is made of their arrays."""
    quiet = F.namespace["Q_ALL"]
    return not [x for x in tensors if x is not None and (x._node is not None or x._k not in quiet or x._k.np.char not in "fdFD")]


@op("istft(Tensor input, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, "
    "bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor", out=False)
class istft:
    """The signal that has such short-time transforms: pieces are added where they overlap, and divided by the sum of the windows' squares.

    >>> window, signal = torch.hann_window(4), torch.arange(8.)
    >>> torch.istft(torch.stft(signal, 4, window=window, return_complex=True), 4, window=window).round()
    tensor([0., 1., 2., 3., 4., 5., 6., 7.])
    """

    reads = "window"

    def function(F, input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None, length=None,
                 return_complex=False):
        if window is None:
            warn_once(_RECTANGULAR.format(consequence=".Please provide the same window used by stft to make the inversion lossless."))
        _check_device("istft", input, window)
        hop = n_fft >> 2 if hop_length is None else hop_length
        width = n_fft if win_length is None else win_length
        if not input._k.dtype.is_complex:
            raise AutogradError("istft requires a complex-valued input tensor matching the output from stft with return_complex=True.")
        if input.ndim < 2:
            raise IndexRangeError(f"Dimension out of range (expected to be in range of [{-1 - input.ndim}, {input.ndim}], but got -3)")
        count, pieces = input.shape[-2:]
        total = n_fft + hop * (pieces - 1)

        def refused(why: str) -> AutogradError:
            return AutogradError(_shown("istft", input, n_fft=n_fft, hop_length=hop, win_length=width, window=window, center=center,
                                        normalized=normalized, onesided=onesided, length=length, return_complex=return_complex) + why)

        half = count != n_fft if onesided is None else onesided
        for wrong, why in (
                (0 in input.shape, "input tensor cannot be empty."),
                (not 2 <= input.ndim <= 3, f"expected a tensor with 3 or 4 dimensions, but got {input.ndim + 1}"),
                (half and n_fft // 2 + 1 != count, "expected the frequency dimension (3rd to the last) of the input tensor to match n_fft "
                                                   f"/ 2 + 1 when onesided=True, but got {count}"),
                (not half and n_fft != count, "expected the frequency dimension (3rd to the last) of the input tensor to match n_fft when "
                                              f"onesided=False, but got {count}"),
                (not 0 < hop <= width, "expected 0 < hop_length <= win_length"),
                (not 0 < width <= n_fft, "expected 0 < win_length <= n_fft"),
                (window is not None and tuple(window.shape) != (width,),
                 "Invalid window shape. window has to be 1D and length of `win_length`")):
            if wrong:
                raise refused(": " + why)
        weights = F.ones(width, dtype=input._k.dtype.to_real(), device=input._k.device) if window is None else window
        x = F.transpose(input if input.ndim == 3 else F.unsqueeze(input, 0), 1, 2)
        kind = 1 if normalized else 2
        if return_complex and half:
            raise AutogradError("Cannot have onesided output if window or input is complex")
        if not return_complex:
            if weights._k.dtype.is_complex:
                raise AutogradError("Complex windows are incompatible with return_complex=False")
            x = x if half else F.slice(x, -1, 0, n_fft // 2 + 1)
        weights = _padded(F, weights, n_fft)
        start = n_fft // 2 if center else 0
        end = start + length if length is not None else -(n_fft // 2) if center else total
        plain = _plain(F, x, weights)
        if plain:
            w, y = weights._data, c2c(x._data, (2,), kind, False) if return_complex else c2r(x._data, (2,), kind, n_fft)
            overlap = add_windows(np.broadcast_to(w * w, (1, pieces, n_fft)), (1, total), 1, n_fft, hop)[:, start:end]
            signal = add_windows(y * w, (len(y), total), 1, n_fft, hop)[:, start:end]
            least = F.wrap(np.asarray(np.abs(overlap).min())) if overlap.size else F.min(F.wrap(overlap))
        else:
            x = F._fft_c2c(x, (2,), kind, False) if return_complex else F._fft_c2r(x, (2,), kind, n_fft)
            signal = F.unfold_backward(F.mul(x, weights), (x.shape[0], total), 1, n_fft, hop)
            squares = F.expand(F.mul(weights, weights), (1, pieces, n_fft))
            overlap = F.unfold_backward(squares, (1, total), 1, n_fft, hop)
            signal, overlap = F.slice(signal, 1, start, end), F.slice(overlap, 1, start, end)
            least = F.min(F.abs(overlap))
        if on_meta(least):
            raise AutogradError(NO_ITEM)
        if not F.valueless(least) and values_of(least) < 1e-11:
            raise refused("window overlap add min: 1\n[ CPUBoolType{} ]")
        result = F.wrap(signal / overlap) if plain else F.div(signal, overlap)
        if input.ndim == 2:
            result = F.squeeze(result, 0)
        if end > total:
            warn_once("The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. Please "
                      "check your center and hop_length settings.")
            result = F.constant_pad_nd(result, (0, end - total))
        return result

    def samples(rng):
        window = rng.random(4) + 0.5
        half = rng.standard_normal((3, 5)) + 1j * rng.standard_normal((3, 5))
        yield half, 4, 2, 4, window
        yield np.stack([half, half * 1j]), 4, 1, 4, window, False, True, None, 7
        yield rng.standard_normal((4, 5)) + 1j * rng.standard_normal((4, 5)), 4, 2, 4, window, True, False, False, None, True

    def errors(rng):
        yield (np.ones((3, 5)), 4), RuntimeError, ("istft requires a complex-valued input tensor matching the output from stft with "
                                                   "return_complex=True.")
