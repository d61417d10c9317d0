"""Tensors of layout `torch._mkldnn`, which torch lays out as oneDNN likes it and lets few operations look at.

Here their elements lie in rows, in an ordinary array; what tells them apart is the layout in their kind. No quiet set holds such a kind, so
calls on them come to the door, where `OPAQUE` carries out on the plain elements what torch has for them, and refuses the rest in its words.

>>> import torchcompat as torch
>>> x = torch.ones(1, 1, 2, 2).to_mkldnn()
>>> torch.nn.functional.avg_pool2d(x + x, 2)
tensor([[[[2.]]]], layout=torch._mkldnn)
>>> x.to_dense().sum()
tensor(4.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from autograd_tape.annotations import Arguments
from autograd_tape.calls import Call, Interceptor, listen_for_good, mapped
from autograd_tape.dtypes import DType, bfloat16, float16, float32, int8, kind, uint8
from autograd_tape.tensor import TensorRef
from autograd_tape.version import Version

from .._memory.layout import _mkldnn
from .._tensor import Tensor, frontend
from ._door import aten_name, could_not_run
from ._nodes import recorded

DTYPES = (float32, bfloat16, float16, uint8, int8)
BACKEND = "MkldnnCPU"


def is_opaque(x: object) -> bool:
    """Whether something is a tensor of this layout."""
    return isinstance(x, Tensor) and x._k.special is _mkldnn


def to_mkldnn(x: Tensor, dtype: DType | None = None) -> Tensor:
    """The elements in oneDNN's layout.

    Args:
        x: (up to five dimensions), float32, bfloat16, float16, uint8 or int8.
        dtype: another of these.

    Raises:
        RuntimeError: another dtype, or more dimensions.
        NotImplementedError: a tensor that is not strided, or has no data.
    """
    if dtype is not None and not isinstance(dtype, DType):
        raise TypeError(f"to_mkldnn(): argument 'dtype' (position 1) must be torch.dtype, not {type(dtype).__name__}")
    if x._k.special is not None or x._k.device.type != "cpu":
        raise could_not_run("to_mkldnn", BACKEND if is_opaque(x) else "SparseCPU" if x.is_sparse else "SparseCsrCPU"
                            if x._k.special is not None else x._k.device.type.capitalize())
    if dtype is not None and dtype not in DTYPES:
        raise RuntimeError("cpu tensor only can be converted to be a float, bfloat16, half, uint8, int8 mkldnn tensor")
    if x._data.ndim > 5:
        raise RuntimeError("Can't convert cpu tensor with the number of dimensions > 5")
    if x._k.dtype not in DTYPES:
        raise RuntimeError("dense_to_mkldnn expects float, bfloat16, half, uint8, int8 tensor input")
    if not x._data.ndim:
        raise RuntimeError("could not create a primitive descriptor for the reorder primitive. Run workload with environment variable "
                           "ONEDNN_VERBOSE=all to get additional diagnostic information.")
    own = x._k.dtype
    dtype, values = own if dtype is None else dtype, x.detach()
    if own.is_floating_point and not dtype.is_floating_point:  # to the nearest of those there are
        info = np.iinfo(dtype.np)
        values = values.round().clamp(int(info.min), int(info.max))
    made = frontend.wrap(np.array(values.to(dtype)._data, order="C"))
    return recorded(_marked(made), "ToMkldnnBackward0", (x, lambda g: to_dense(g, own)))


def to_dense(x: Tensor, dtype: DType | None = None) -> Tensor:
    """The elements in rows, in an ordinary tensor."""
    if not is_opaque(x):
        return x if dtype is None else x.to(dtype)
    own = x._k.dtype
    dense = frontend.wrap(x._data.copy(), kind(own, x._k.device)).to(own if dtype is None else dtype)
    return recorded(dense, "ToDenseBackward0", (x, lambda g: g.to(own)))


def empty(name: str, shape: tuple[int, ...], dtype: DType | None, requires_grad: bool) -> Tensor:
    """What the factory `name` makes in this layout."""
    if name not in ("empty", "zeros"):
        raise could_not_run("empty_strided" if name.endswith("_like") else "fill_.Scalar", BACKEND)
    made = to_mkldnn(frontend.zeros(shape, dtype=dtype))
    return made.requires_grad_() if requires_grad else made


def _marked(t: Tensor) -> Tensor:
    """A fresh tensor, from now on of this layout."""
    listen_for_good(OPAQUE)
    t._k = kind(t._k.dtype, t._k.device, _mkldnn, t._k.inference)
    return t


def _plain(x: Tensor) -> Tensor:
    """An ordinary tensor of the same memory and version, with the history of `x`."""
    twin = frontend.wrap(x._data, kind(x._k.dtype, x._k.device))
    twin._v = Version.of(x)
    return recorded(twin, "AliasBackward0", (x, lambda g: g))


# -- what there is ----------------------------------------------------------------------------------------------------------------

Rule = Callable[..., object]
RULES: dict[str, Rule] = {}
"""By the name of a record: what raises torch's error for arguments it has no kernel for. What is in the table is carried out."""


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def enter(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, rule))
        return rule

    return enter


@_rule("relu", "sigmoid", "tanh", "softmax", "zero", "avg_pool_nd", "prelu", "real", "conj", "reshape", "transpose", "t", "new_empty",
       "new_zeros")
def _any(x: Tensor, *args: object) -> None:
    """Every call on tensors of the layout."""


@_rule("gelu")
def _exact(x: Tensor, approximate: str) -> None:
    if approximate != "none":
        raise RuntimeError("mkldnn_gelu: fast, approximate gelu is not supported")


@_rule("clone", "contiguous")
def _in_rows(x: Tensor, memory_format: Any) -> None:
    if memory_format is not None and memory_format.name.startswith("channels_last"):
        raise RuntimeError(f"unsupported memory format option {memory_format.name.title().replace('_', '')}")


@_rule("cast", "empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like")
def _nothing_like(x: Tensor, *_: object) -> None:
    raise could_not_run("empty_strided", BACKEND)


@_rule("nn_functional_dropout")
def _in_evaluation(x: Tensor, p: float, training: bool, inplace: bool) -> None:
    if training:
        raise could_not_run("empty_strided", BACKEND)


@_rule("nn_functional_max_pool2d", "nn_functional_max_pool3d")
def _no_indices(*args: object) -> None:
    if args[-1]:
        raise RuntimeError("'memory_format' argument is incompatible with mkldnn tensor")


@_rule("nn_functional_max_pool1d")
def _no_pointer(*_: object) -> None:
    raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


@_rule("view")
def _reshape_instead(*_: object) -> None:
    raise RuntimeError("Currently Mkldnn tensor does not support view. Change to use reshape instead")


@_rule("avg_pool1d", "adaptive_avg_pool1d", "getitem", "pixel_shuffle", "pixel_unshuffle")
def _no_strides(*_: object) -> None:
    raise could_not_run("as_strided", BACKEND)


@_rule("add", "mul")
def _alike(x: Tensor, other: object, *alpha: object) -> None:
    if not (is_opaque(x) and is_opaque(other)) and (alpha or isinstance(other, Tensor)):
        raise RuntimeError("itensor_from_mkldnn expects MKL-DNN tensor input")


@_rule("copy")
def _copy(x: Tensor, other: Tensor, *_: object) -> None:
    if not (is_opaque(x) and is_opaque(other)):
        raise RuntimeError("copy_mkldnn_: between mkldnn layout and dense Tensors is not implemented! Found self type = "
                           f"{_type(x)} and src type = {_type(other)}")


@_rule("convolution_nd", "convolution_nd_input")
def _convolution(x: Tensor, weight: Tensor, *_: object) -> None:
    if not is_opaque(x):
        raise RuntimeError(f"Input type ({_type(x)}) and weight type ({_type(weight)}) should be the same or input should be a MKLDNN "
                           "tensor and weight is a dense tensor")


@_rule("linear")
def _linear(x: Tensor, *_: object) -> None:
    if not is_opaque(x):
        raise could_not_run("mm.out", BACKEND)


@_rule("channel_norm")
def _norm(x: Tensor, weight: object, bias: object, mean: object, *_: object) -> None:
    if weight is None and mean is None:
        raise RuntimeError("mkldnn_batch_norm: currently mkldnn only support affine model")


@_rule("adaptive_avg_pool_nd")
def _two_dimensions(x: Tensor, size: Arguments) -> None:
    if len(size) != 2:
        raise RuntimeError("resize_reduction: support for output with Mkldnn layout is not implemented yet")


def _type(x: Tensor) -> str:
    return ("Mkldnn" if is_opaque(x) else "") + f"torch.{x._k.dtype.scalar}Tensor"


def refusal(call: Call) -> Exception:
    """The error of an operation that torch does not have for the layout."""
    rec = call.rec
    if rec.family in ("unary", "binary") or rec.broadcasts:
        return RuntimeError("unsupported tensor layout: Mkldnn")
    if rec.family in ("view", "view?"):
        return could_not_run("as_strided", BACKEND)
    return could_not_run(aten_name(call.door, call.args, call.inplace), BACKEND)


class _Opaque(Interceptor):
    """Carries out operations on tensors of the layout."""

    place = "opaque"
    all_functions = False
    frontend = frontend

    def __call__(self, call: Call) -> object:
        if not any(map(is_opaque, _tensors(call.args))) and not is_opaque(call.out):
            return NotImplemented
        rule = RULES.get(call.rec.name)
        if rule is None and call.door.irregular:
            return NotImplemented  # what it is made of comes here
        if rule is None or call.out is not None:
            raise refusal(call)
        if call.inplace and call.rec.family in ("view", "view?"):
            raise RuntimeError(f"mkldnn_{call.rec.name}_: in-place mkldnn operations are not supported yet")
        rule(*call.args)
        if not call.door.irregular and call.rec.params[-1].name == "inplace" and call.args[-1]:
            return call.door((*call.args[:-1], False), None, True)
        return _changed(call) if call.inplace else _computed(call)


OPAQUE = _Opaque()


def _tensors(args: Iterable[object]) -> Iterable[TensorRef]:
    for a in args:
        if isinstance(a, TensorRef):
            yield a
        elif a.__class__ is tuple or a.__class__ is list:
            yield from _tensors(a)


def _computed(call: Call) -> object:
    """A call carried out on plain elements, whose results are of the layout."""
    twins: list[tuple[Tensor, Tensor]] = []

    def plain(t: object) -> object:
        if not isinstance(t, Tensor) or not is_opaque(t):
            return t
        twins.append((t, _plain(t)))
        return twins[-1][1]

    def result(t: Any) -> Any:
        for own, twin in twins:
            if t is twin:
                return own
        if t._base is not None or any([np.may_share_memory(t._data, twin._data) for _, twin in twins]):  # torch's are copies
            node = t.creator
            t = frontend.wrap(np.array(t._data, order="C"))
            t._node = node
        return _marked(t)

    return mapped(result, call.proceed(mapped(plain, tuple(call.args))))


def _changed(call: Call) -> Tensor:
    """A call in place, on the elements of its first argument."""
    target: Any = call.args[0]
    own, target._k = target._k, kind(target._k.dtype, target._k.device, None, target._k.inference)
    try:
        call.proceed((target, *[mapped(lambda t: _plain(t) if is_opaque(t) else t, a) for a in call.args[1:]]))
    finally:
        target._k = own
    return target
