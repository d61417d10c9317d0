"""Dropout, with the masks that torch's CPU generator draws; the gradient uses the saved mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import warned
from ...dtypes import SCALAR_TYPE_NAMES, bool_
from ...errors import AutogradError, UnsupportedDTypeError
from ...executors.kernels import dropout as fused
from ...executors.kernels._on_demand import state
from ...random import default_generator
from ...record import Sample, op
from ...strided import by_memory
from .. import _batch as batches
from .. import _shapes as shapes
from .._host import on_host
from .._samples import refuse_complex_gradient
from collections.abc import Sequence
from ...annotations import Fn, Functions
from ...tensor import TensorRef

ALPHA = 1.7580993408473766  # of the SELU activation


def _scaled(input: np.ndarray, mask: np.ndarray, scale: Any) -> np.ndarray:
    """input where `mask`, times `scale`; dropped NaNs stay NaN, as in torch."""
    if input.size < state.cheap:
        return input * (mask * input.dtype.type(scale))
    if mask.shape != input.shape:
        mask = np.broadcast_to(mask, input.shape)
    if input.flags.c_contiguous:
        return fused.apply_mask(input, mask, scale)
    order = by_memory(input)  # the result lies in memory as the input does
    scaled = fused.apply_mask(input.transpose(order), mask.transpose(order), scale)
    return scaled.transpose(sorted(range(input.ndim), key=order.__getitem__))


def _kept(like: np.ndarray, p: float, dtype: type) -> np.ndarray:
    """1 with chance 1 - p, else 0, in the layout of `like`: numbers are drawn in the order of the elements in memory."""
    if like.flags.c_contiguous:
        return default_generator.bernoulli(1 - p, like.shape, dtype)
    order = by_memory(like)
    drawn = default_generator.bernoulli(1 - p, tuple([like.shape[d] for d in order]), dtype)
    return drawn.transpose(sorted(range(like.ndim), key=order.__getitem__))


def _dropout(input: np.ndarray, p: float) -> tuple[np.ndarray, np.ndarray, float]:
    one = input.dtype.type(1)
    scale = one / input.dtype.type(1 - p)
    mask = _kept(input, p, np.bool_)
    return _scaled(input, mask, scale), mask, float(scale)


@op("random_dropout(Tensor input, float p) -> (Tensor result, Saved mask, Saved scale)", namespace="_internal", method=False, out=False,
    node="MulBackward0")
class random_dropout:
    """Each element zero with chance `p`, else divided by 1 - p."""

    def sharding(call):
        """Numbers are drawn for the whole, so that they are the same however it lies; none for a plan."""
        def dropped(F, input, p):
            scale = float(input.dtype.type(1) / input.dtype.type(1 - p))
            mask = F.ne(input, 0) if input.mesh.carrier.empty else F.reshard(_kept(input, p, np.bool_), input.sharding)
            return F.masked_scale(input, mask, scale), mask, scale

        return call.of(dropped)
    numpy = _dropout
    def shape(input, p): return input, input, None
    compose = on_host(_dropout)
    def vjp_input(F, grad, mask, scale): return F.masked_scale(grad, mask, scale)
    aten = "dropout"
    random = True
    def decompose(F, input, p): return F.mul(input, F.empty_like(input).bernoulli_(1 - p).div_(1 - p))
    def samples(rng): yield rng.standard_normal((2, 3)), 0.0


def _mask(like: np.ndarray, shape: Sequence[int], p: float) -> np.ndarray:
    dtype = np.float64 if like.dtype == np.float64 else np.float32
    return _kept(like, p, dtype) if like.shape == tuple(shape) else default_generator.bernoulli(1 - p, tuple(shape), dtype)


@op("random_mask(Tensor like, int[] shape, float p) -> Tensor", namespace="_internal", method=False, out=False, dtypes="float")
class random_mask:
    """Zeros with chance `p`, else ones, of a shape; float64 where `like` is, else float32."""

    def sharding(call): return call.of(lambda F, like, shape, p: _mask(like, shape, p))
    numpy = _mask
    compose = on_host(_mask)
    def shape(like, shape, p): return tuple(shape)
    random = True
    def samples(rng): yield rng.standard_normal((2, 3)), (2, 1), 0.0


@op("masked_scale(Tensor input, Mask mask, float scale) -> Tensor", namespace="_internal", method=False, out=False)
class masked_scale:
    """`input` times `scale` where `mask`, else zero."""

    sharding = "*a, *a -> *a"
    numpy = _scaled
    layout = "input"
    shape = shapes.like_first
    def compose(F, input, mask, scale): return input * (mask * input.dtype.type(scale))
    def vjp_input(F, grad, mask, scale): return F.masked_scale(grad, mask, scale)
    jvp = "linear"
    batch = batches.together
    def samples(rng): yield rng.standard_normal((2, 3)), rng.uniform(size=(2, 3)) < 0.5, 2.0


def _refuse(x: TensorRef, integers: str = "") -> None:
    """Refuses what torch draws no mask in, and integers, with which no mask is multiplied; it calls them `integers` where it converts."""
    dtype = x._k.dtype
    if dtype.category < 2 and not dtype.group:
        raise AutogradError("result type Float can't be cast to the desired output type "
                            f"{integers or SCALAR_TYPE_NAMES[dtype.name]}")
    if dtype.is_complex or dtype.group:
        raise UnsupportedDTypeError(f"\"bernoulli_scalar_cpu_\" not implemented for '{SCALAR_TYPE_NAMES[x._k.dtype.name]}'",
                                    expected="a real dtype", found=x._k.dtype.name, remedy="drop real and imaginary parts")


_NO_PROBABILITY = "dropout probability has to be between 0 and 1, but got "


def _dropped(F: Functions, input: TensorRef, p: float) -> TensorRef:
    if p == 0 or not input._data.size:
        return input
    if p == 1:
        return input * F.wrap(np.zeros((), input._k.np), input._k)
    if input._k.dtype.name not in ("float32", "float64", "float16", "bfloat16"):
        _refuse(input)
    return F.random_dropout(input, p)


def _cast(F: Functions, x: TensorRef, like: TensorRef) -> TensorRef:
    return x if x._k.dtype is like._k.dtype else F.cast(x, like._k.dtype)


def _feature_shape(input: TensorRef) -> tuple[int, ...]:
    if input.ndim < 2:
        raise AutogradError("Feature dropout requires at least 2 dimensions in the input")
    return (*tuple(input.shape)[:2], *(1,) * (input.ndim - 2))


def _feature_dropped(F: Functions, input: TensorRef, p: float) -> TensorRef:
    if p == 0 or not input._data.size:
        return input
    if p == 1:
        return input * F.wrap(np.zeros((), input._k.np), input._k)
    _refuse(input)
    return input * _cast(F, F.random_mask(input, _feature_shape(input), p) / (1 - p), input)


def _alpha_dropped(F: Functions, input: TensorRef, p: float, shape: Fn) -> TensorRef:
    if p == 0 or not input._data.size:
        return input
    if p == 1:
        return input * F.wrap(np.zeros((), input._k.np), input._k)
    _refuse(input, "Long" if input._k.dtype.name == "bool" else "")
    noise = F.random_mask(input, shape(input), p)
    a = float(1.0 / np.sqrt((ALPHA * ALPHA * p + 1) * (1 - p)))
    shift = (noise + -1) * (ALPHA * a) + ALPHA * a * p
    return input * _cast(F, noise * a, input) + _cast(F, shift, input)


def _into(F: Functions, input: TensorRef, result: TensorRef) -> TensorRef:
    """The result as torch's in-place dropouts leave it: in the input itself."""
    if result is input:
        return input
    return F.function("copy_")(input, result)


def _whole(input: TensorRef) -> tuple[int, ...]:
    return tuple(input.shape)


def _records(name: str, what: str, dropped: Fn) -> None:
    """`torch.name(input, p, train)`, `torch.name_`."""
    def function(F, input, p, train):
        if not 0 <= p <= 1:
            raise AutogradError(f"{_NO_PROBABILITY}{p:g}")
        return dropped(F, input, p) if train else input

    def inplace(F, input, p, train):
        if not 0 <= p <= 1:
            raise AutogradError(f"{_NO_PROBABILITY}{p:g}")
        return _into(F, input, dropped(F, input, p)) if train else input

    def samples(rng): yield rng.standard_normal((2, 3, 4)), 0.5, False
    def errors(rng):
        yield (np.ones((2, 3)), 1.5, True), RuntimeError, _NO_PROBABILITY + "1.5"
        yield (np.ones((2, 3)), float("nan"), False), RuntimeError, _NO_PROBABILITY + "nan"

    example = f">>> torch.{name}%s(torch.ones(1, 2), 0.5, False)\ntensor([[1., 1.]])"
    op(f"{name}(Tensor input, float p, bool train) -> Tensor", method=False, out=False)(
        type(name, (), {"__doc__": f"{what}\n\n{example % ''}", "__module__": __name__, "function": function, "samples": samples,
                        "errors": errors}))
    op(f"{name}_(Tensor input, float p, bool train) -> Tensor", method=False, out=False)(
        type(name + "_", (), {"__doc__": f"`{name}`, in place.\n\n{example % '_'}", "__module__": __name__, "function": inplace,
                              "samples": samples}))


_records("dropout", "Each element zero with chance `p`, else divided by 1 - p.", _dropped)
_records("feature_dropout", "Each channel of (N, C, ...) zero with chance `p`, else divided by 1 - p.", _feature_dropped)
_records("alpha_dropout", "Dropout that keeps the mean and variance of SELU's output (Klambauer et al., arXiv:1706.02515).",
         lambda F, input, p: _alpha_dropped(F, input, p, _whole))
_records("feature_alpha_dropout", "`alpha_dropout` of whole channels of (N, C, ...).",
         lambda F, input, p: _alpha_dropped(F, input, p, _feature_shape))


@op("native_dropout(Tensor input, float p, bool? train) -> (Tensor result, Mask mask)", method=False, out=False)
class native_dropout:
    """`dropout`, and which elements were kept.

    >>> torch.native_dropout(torch.ones(2), 0.5, False)
    (tensor([1., 1.]), tensor([True, True]))
    """

    def function(F, input, p, train):
        refuse_complex_gradient("native_dropout", input)
        if not input._data.size or train is False:
            if not input._data.size:
                return input, F.empty_like(input)
            return F.clone(input), F.ones_like(input, dtype=bool_)
        mask = F.ne(F.random_mask(input, input._data.shape, p), 0)
        return F.masked_scale(input, mask, 0.0 if p == 1 else 1 / (1 - p)), F.clone(mask)

    def quick(input, p, train):
        if train is False and input.size and input.flags.c_contiguous:
            kept = np.empty(input.shape, np.uint8)
            kept.fill(1)  # truth values NumPy sets one by one
            return input.copy(), kept.view(np.bool_)

    def samples(rng): yield rng.standard_normal((2, 3)), 0.5, False


# -- torch.nn.functional ----------------------------------------------------------------------------------------------


def _functional(name: str, what: str, dropped: Fn, check: Fn | None = None, default_training: bool = True) -> None:
    """`nn.functional.name(input, p=0.5, training, inplace=False)`."""
    def function(F, input, p=0.5, training=default_training, inplace=False):
        if p < 0 or p > 1:
            raise ValueError(f"{_NO_PROBABILITY}{p}")
        if check is not None:
            input_, after = check(F, input)
            result = dropped(F, input_, p) if training else input_
            return after(_into(F, input_, result) if inplace else result)
        if not training:
            return input
        result = dropped(F, input, p)
        return _into(F, input, result) if inplace else result

    def samples(rng): yield Sample((rng.standard_normal((2, 3, 4)), 0.5, False))
    def errors(rng): yield (np.ones((2, 3, 4)), 1.5), ValueError, "dropout probability has to be between 0 and 1, but got 1.5"

    shape = "1, 1, 2" if check is not None else "2"
    shown = "[[[1., 1.]]]" if check is not None else "[1., 1.]"
    op(f"nn_functional_{name}(Tensor input, float p=0.5, bool training={default_training}, bool inplace=False) -> Tensor",
       namespace="_internal", alias=f"nn.functional.{name}", method=False, out=False)(
        type(f"nn_functional_{name}", (), {
            "__doc__": f"{what}\n\n>>> torch.nn.functional.{name}(torch.ones({shape}), training=False)\ntensor({shown})",
            "__module__": __name__, "function": function, "samples": samples, "errors": errors,
            "composite": lambda input, p, training, inplace: None if inplace or name != "dropout" else "dropout(input, p, training)"}))


def _as_given(x: TensorRef) -> TensorRef:
    return x


def _check_dropout1d(F: Functions, input: TensorRef) -> tuple[TensorRef, Fn]:
    if input.ndim not in (2, 3):
        raise AutogradError(f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that dropout1d exists to "
                            "provide "
                            "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension "
                            "(i.e. 2D or 3D inputs).")
    return (input, _as_given) if input.ndim == 3 else (F.unsqueeze(input, 0), lambda y: F.squeeze(y, 0))


def _check_dropout2d(F: Functions, input: TensorRef) -> tuple[TensorRef, Fn]:
    if input.ndim not in (3, 4):
        warned.warn(f"dropout2d: Received a {input.ndim}-D input to dropout2d, which is deprecated and will result in an error in a "
                    "future "
                    "release. To retain the behavior and silence this warning, please use dropout instead. Note that dropout2d exists to "
                    "provide channel-wise dropout on inputs with 2 spatial dimensions, a channel dimension, and an optional batch "
                    "dimension "
                    "(i.e. 3D or 4D inputs).")
    elif input.ndim == 3:
        warned.warn("dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input "
                    "is "
                    "interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to "
                    "interpret "
                    "the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise dropout behavior, "
                    "please switch to using dropout1d instead.")
    return input, _as_given


def _check_dropout3d(F: Functions, input: TensorRef) -> tuple[TensorRef, Fn]:
    if input.ndim not in (4, 5):
        warned.warn(f"dropout3d: Received a {input.ndim}-D input to dropout3d, which is deprecated and will result in an error in a "
                    "future "
                    "release. To retain the behavior and silence this warning, please use dropout instead. Note that dropout3d exists to "
                    "provide channel-wise dropout on inputs with 3 spatial dimensions, a channel dimension, and an optional batch "
                    "dimension "
                    "(i.e. 4D or 5D inputs).")
    return (input, _as_given) if input.ndim != 4 else (F.unsqueeze(input, 0), lambda y: F.squeeze(y, 0))


_functional("dropout", "Each element zero with chance `p`, else divided by 1 - p; nothing where not `training`.", _dropped)
_functional("alpha_dropout", "Dropout that keeps the mean and variance of SELU's output.",
            lambda F, input, p: _alpha_dropped(F, input, p, _whole), None, False)
_functional("feature_alpha_dropout", "`alpha_dropout` of whole channels of (N, C, ...).",
            lambda F, input, p: _alpha_dropped(F, input, p, _feature_shape), None, False)
_functional("dropout1d", "Dropout of whole channels of (N, C, L) or (C, L).", _feature_dropped, _check_dropout1d)
_functional("dropout2d", "Dropout of whole channels of (N, C, H, W).", _feature_dropped, _check_dropout2d)
_functional("dropout3d", "Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W).", _feature_dropped, _check_dropout3d)
