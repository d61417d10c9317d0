"""Batching rules of the operations of networks: convolutions, pooling, norms, losses, attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._batching import Call, F, aligned, rule, shifted


def _merged(t: Any) -> Any:
    """The batch dimension and the next as one."""
    shape = t._data.shape
    return F.reshape(t, (shape[0] * shape[1], *shape[2:]))


def _parted(call: Call, t: Any) -> Any:
    """The inverse of `_merged`."""
    shape = t._data.shape
    return F.reshape(t, (call.size, shape[0] // call.size, *shape[1:]))


@rule("max_pool_nd avg_pool_nd adaptive_avg_pool_nd adaptive_max_pool_nd im2col pad_reflect pad_replicate pad_circular")
def images(call: Call) -> Any:
    """Operations on batches of images: a bigger batch."""
    if call.ranks["input"] < 2 or not call.size:
        return NotImplemented
    if "pool" in call.rec.name:
        return call()  # whose kernels take any dimensions before those of the image
    if call.ranks["input"] < 3:
        return NotImplemented
    result = call(input=_merged(call.input))
    return [_parted(call, r) for r in result] if isinstance(result, (tuple, list)) else _parted(call, result)


@rule("adaptive_avg_pool_nd_grad avg_pool_nd_grad")
def pooled_gradient(call: Call) -> Any:
    """Kernels that take any dimensions before those of the image, and the input's shape."""
    return call(size=(call.size, *call.values["size"]))


@rule("max_unpool_nd picked spread_picked")
def at_picked(call: Call) -> Any:
    """Kernels that take any dimensions before those of the image, the same of both tensors."""
    first = next(iter(call.values))
    more = {"size": (call.size, *call.values["size"])} if "size" in call.values else {}
    return call(**{first: call.whole(first), "indices": call.whole("indices")}, **more)


@rule("max_unpool1d max_unpool2d max_unpool3d")
def max_unpool(call: Call) -> Any:
    """A bigger batch."""
    n, size = int(call.rec.name[-2]), call.output_size
    if not call.size or call.ranks["input"] != call.ranks["indices"] or call.ranks["input"] not in (n + 1, n + 2):
        return NotImplemented
    x, indices = call.whole("input"), call.whole("indices")
    if call.ranks["input"] == n + 1:
        return call(input=x, indices=indices, output_size=None if size is None else tuple(size)[-n:])
    return _parted(call, call(input=_merged(x), indices=_merged(indices), output_size=None if size is None else tuple(size)[-n:]))


@rule("col2im")
def col2im(call: Call) -> Any:
    """A bigger batch."""
    return _parted(call, call(input=_merged(call.input))) if call.size else NotImplemented


@rule("pad_by_index_backward")
def pad_by_index_backward(call: Call) -> Any:
    """What concerns the last dimensions."""
    return call(shape=(call.size, *call.shape))


@rule("resample resample_grad")
def resample(call: Call) -> Any:
    """One dimension further."""
    return call(dim=call.dim + 1)


@rule("grid_sample")
def grid_sample(call: Call) -> Any:
    """A bigger batch; more channels where all examples share the grid."""
    if not call.size or call.ranks["input"] != call.ranks["grid"] or call.ranks["input"] not in (4, 5):
        return NotImplemented
    if not call.is_batched["grid"]:
        return _from_channels(call, call(input=_as_channels(call, call.input)))
    return _parted(call, call(input=_merged(call.whole("input")), grid=_merged(call.grid)))


@rule("convolution_nd")
def convolution(call: Call) -> Any:
    """A bigger batch where the weights are shared, more groups where each example has its own."""
    x, weight, bias = call.input, call.weight, call.bias
    if not call.size or call.ranks["input"] != call.ranks["weight"]:
        return NotImplemented
    if not call.is_batched["weight"] and not call.is_batched["bias"]:
        return _parted(call, call(input=_merged(x)))
    x, weight = call.whole("input"), call.whole("weight")
    bias = None if bias is None else F.reshape(call.whole("bias"), (-1,))
    result = call(input=_as_channels(call, x), weight=_merged(weight), bias=bias, groups=call.groups * call.size)
    return _from_channels(call, result)


def _as_channels(call: Call, t: Any) -> Any:
    """(B, N, C, ...) as (N, B C, ...)."""
    t = F.transpose(t, 0, 1)
    shape = t._data.shape
    return F.reshape(t, (shape[0], shape[1] * shape[2], *shape[3:]))


def _from_channels(call: Call, t: Any) -> Any:
    """The inverse of `_as_channels`."""
    shape = t._data.shape
    return F.transpose(F.reshape(t, (shape[0], call.size, shape[1] // call.size, *shape[2:])), 0, 1)


@rule("convolution_nd_input")
def convolution_input(call: Call) -> Any:
    """A bigger batch where the weights are shared, more groups where each example has its own."""
    size = tuple(call.values["size"])
    if not call.size:
        return NotImplemented
    if not call.is_batched["weight"]:
        return _parted(call, call(input=_merged(call.input), size=(call.size * size[0], *size[1:])))
    result = call(input=_as_channels(call, call.whole("input")), weight=_merged(call.weight),
                  size=(size[0], call.size * size[1], *size[2:]),
                  groups=call.groups * call.size)
    return _from_channels(call, result)


@rule("convolution_nd_weight")
def convolution_weight(call: Call) -> Any:
    """More groups."""
    size = tuple(call.values["size"])
    if not call.size:
        return NotImplemented
    result = call(input=_as_channels(call, call.whole("input")), output=_as_channels(call, call.whole("output")),
                  size=(call.size * size[0], *size[1:]), groups=call.groups * call.size)
    return _parted(call, result)


def _scaled_after(call: Call, result: Any, places: int) -> Any:
    """A normed batch with the weight and bias of each example, whose dimensions begin `places` behind that of the batch."""
    for name, function in (("weight", F.mul), ("bias", F.add)):
        t = call.values[name]
        if t is not None:
            t, own = call.whole(name), call.ranks[name]
            trailing = result._data.ndim - 1 - places - own
            result = function(result, F.reshape(t, (call.size, *(1,) * places, *t._data.shape[1:], *(1,) * trailing)))
    return result


@rule("group_norm")
def group_norm(call: Call) -> Any:
    """A bigger batch; weights that differ are applied afterwards."""
    if not call.size:
        return NotImplemented
    if not call.is_batched["weight"] and not call.is_batched["bias"]:
        return _parted(call, call(input=_merged(call.input)))
    return _scaled_after(call, _parted(call, call(input=_merged(call.whole("input")), weight=None, bias=None)), 1)


@rule("channel_norm")
def channel_norm(call: Call) -> Any:
    """More channels. Running statistics that training changes are for each example to change in turn."""
    if not call.size or call.training and call.running_mean is not None:
        return NotImplemented
    names = ("weight", "bias", "running_mean", "running_var")
    rows = {n: None if call.values[n] is None else F.reshape(call.whole(n), (-1,)) for n in names}
    return _from_channels(call, call(input=_as_channels(call, call.whole("input")), **rows))


@rule("masked_scale")
def masked_scale(call: Call) -> Any:
    """Element by element."""
    return call(input=call.whole("input"), mask=call.whole("mask"))


@rule("linalg_cross")
def cross(call: Call) -> Any:
    """One dimension of both."""
    rank = call.ranks["input"]
    if rank != call.ranks["other"]:
        return NotImplemented
    return call(input=call.whole("input"), other=call.whole("other"), dim=shifted(call.dim, rank))


@rule("layer_norm")
def layer_norm(call: Call) -> Any:
    """The last dimensions of each example; weights that differ are applied afterwards."""
    if not call.is_batched["weight"] and not call.is_batched["bias"]:
        return call()
    n = len(call.normalized_shape) if not isinstance(call.normalized_shape, int) else 1
    return _scaled_after(call, call(input=call.whole("input"), weight=None, bias=None), call.ranks["input"] - n)


@rule("cross_entropy nll_loss")
def class_losses(call: Call) -> Any:
    """Losses of class numbers: one per example of each example, reduced afterwards."""
    x, target, rank, weight = call.input, call.target, call.ranks["input"], call.weight
    if target._k.dtype.is_floating_point or call.size_average is not None or call.values["reduce"] is not None or \
            call.ranks["target"] != max(rank - 1, 0) or rank < 1 or x._k.dtype.name in ("float16", "bfloat16"):
        return NotImplemented
    x, target = call.whole("input"), call.whole("target")
    log_p = F.log_softmax(x, 1 if rank == 1 else 2) if call.rec.name == "cross_entropy" else x
    if rank == 1:
        log_p, target = F.unsqueeze(log_p, 1), F.unsqueeze(target, 1)
    classes = log_p._data.shape[2]
    counted = F.ne(target, call.ignore_index)
    index = F.unsqueeze(F.where(counted, target, 0), 2)
    each = F.neg(F.squeeze(F.gather(log_p, 2, index), 2))
    factor = F.cast(counted, x._k.dtype)
    if weight is not None:
        rows = F.reshape(call.whole("weight"), (call.size, 1, classes, *(1,) * (log_p._data.ndim - 3)))
        rows = F.expand(rows, tuple(log_p._data.shape))
        factor = F.mul(F.squeeze(F.gather(rows, 2, index), 2), factor)
    each = F.where(counted, F.mul(each, factor) if weight is not None else each, 0)
    smoothing = call.values.get("label_smoothing", 0.0)
    if smoothing:
        spread = F.neg(F.sum(log_p if weight is None else F.mul(log_p, rows), 2))
        each = F.add(F.mul(each, 1 - smoothing), F.mul(F.where(counted, spread, 0), smoothing / classes))
    if call.reduction == "none":
        return F.squeeze(each, 1) if rank == 1 else each
    dims = tuple(range(1, each._data.ndim))
    total = F.sum(each, dims)
    return total if call.reduction == "sum" else F.div(total, F.sum(factor, dims))


@rule("mse")
def mse(call: Call) -> Any:
    """Element by element, reduced afterwards."""
    each = call(**aligned(call), reduction="none")
    dims = tuple(range(1, each._data.ndim))
    if call.reduction == "none" or not dims:
        return each
    return F.mean(each, dims) if call.reduction == "mean" else F.sum(each, dims)


@rule("attention")
def attention(call: Call) -> Any:
    """Every tensor with a batch dimension, and as many others before the matrices; those of a mask broadcast."""
    rank = max([call.ranks[n] for n in ("query", "key", "value")])
    changed = {}
    for name, own in call.ranks.items():
        t = call.whole(name) if name in ("query", "key", "value") else call.values[name]
        for _ in range(max(rank, 2) - own if call.is_batched[name] or name in ("query", "key", "value") else 0):
            t = F.unsqueeze(t, 1)
        changed[name] = t
    lead = tuple(np.broadcast_shapes(*[changed[n]._data.shape[:-2] for n in ("query", "key", "value")]))
    for name in ("query", "key", "value"):
        changed[name] = F.expand(changed[name], (*lead, *changed[name]._data.shape[-2:]))
    return call(**changed)
