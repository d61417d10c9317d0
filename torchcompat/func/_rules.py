"""Batching rules: how an operation deals with a batch dimension in front. See `_batching`."""

from __future__ import annotations

import math
from typing import Any
from collections.abc import Callable

import numpy as np

from autograd_tape.ops.index import _ALL

from ._batching import Call, F, aligned, is_example, shifted
from ._whole import front


RULES: dict[str, Callable[[Call], Any]] = {}


def rule(names: str) -> Callable[[Callable[[Call], Any]], Callable[[Call], Any]]:
    """Registers a batching rule for operations. It returns the result on whole batches (the examples along dimension 0 of each
    output), or NotImplemented."""
    def register(function: Callable[[Call], Any]) -> Callable[[Call], Any]:
        for name in names.split():
            RULES[name] = function
        return function

    return register


# -- dimensions one further ---------------------------------------------------------------------------------------------------


@rule("sum mean nansum prod all any count_nonzero var_of std_of amax amin argmax argmin aminmax logsumexp linalg_vector_norm "
      "cumsum cumprod cummax cummin logcumsumexp sort_along topk kthvalue median_along nanmedian_along mode max_along min_along softmax "
      "log_softmax flip")
def along_dims(call: Call) -> Any:
    """Operations along dimensions, all of them where none are named."""
    names = [p.name for p in call.rec.params]
    first, key = names[0], "dims" if "dims" in names else "dim"
    x, rank, dim = call.values[first], call.ranks[first], call.values[key]
    if not rank:  # examples of no dimension count as of one
        dims = (dim,) if isinstance(dim, int) else dim or ()
        for d in dims:
            shifted(d, 0)
        result = call(**{first: F.unsqueeze(x, 1), key: 1 if call_takes_int(call, key) else (1,)})
        single = lambda r: F.reshape(r, (call.size,))
        return [single(r) for r in result] if isinstance(result, (tuple, list)) else single(result)
    if dim is None or dim == ():
        if call_takes_int(call, key):
            keep = call.values.get("keepdim", False)
            result = call(**{first: F.reshape(x, (call.size, math.prod(x._data.shape[1:]))), key: 1})
            shape = (call.size, *(1,) * rank) if keep else (call.size,)
            return [F.reshape(r, shape) for r in result] if isinstance(result, (tuple, list)) else F.reshape(result, shape)
        return call(**{key: tuple(range(1, rank + 1))}) if call.rec.name != "flip" else F.clone(x)
    return call(**{key: shifted(dim, rank) if isinstance(dim, int) else tuple([shifted(d, rank) for d in dim])})


def call_takes_int(call: Call, key: str) -> bool:
    """Whether a parameter takes one number, not several."""
    return next(p.type for p in call.rec.params if p.name == key).startswith("int") and \
        not next(p.type for p in call.rec.params if p.name == key).startswith("int[")


@rule("max_all min_all median_all nanmedian_all")
def over_all(call: Call) -> Any:
    """Reductions of all elements, as those along a dimension."""
    x = call.input
    flat = F.reshape(x, (call.size, math.prod(x._data.shape[1:])))
    name = call.rec.name
    if name in ("max_all", "min_all"):
        return (F.amax if name == "max_all" else F.amin)(flat, (1,))
    return (F.median_along if name == "median_all" else F.nanmedian_along)(flat, 1, False)[0]


@rule("transpose diagonal")
def two_dims(call: Call) -> Any:
    """Two dimensions given by parameters."""
    rank, names = call.ranks["input"], [n for n in call.values if n in ("dim0", "dim1", "dim2")]
    if not rank and call.rec.name == "transpose":
        return F.view(call.input, call.input._data.shape)
    return call(**{n: shifted(call.values[n], rank) for n in names})


@rule("diag_embed")
def diag_embed(call: Call) -> Any:
    """Dimensions of the result."""
    rank = call.ranks["input"] + 1
    return call(dim1=shifted(call.dim1, rank), dim2=shifted(call.dim2, rank))


@rule("select slice unfold")
def one_dim(call: Call) -> Any:
    """One dimension of the input."""
    rank, key = call.ranks["input"], "dimension" if call.rec.name == "unfold" else "dim"
    return NotImplemented if not rank else call(**{key: shifted(call.values[key], rank)})


@rule("glu")
def glu(call: Call) -> Any:
    """One dimension of the input, which has one."""
    return call(dim=shifted(call.dim, call.ranks["input"])) if call.ranks["input"] else NotImplemented


@rule("unsqueeze")
def unsqueeze(call: Call) -> Any:
    """A dimension of the result."""
    return call(dim=shifted(call.dim, call.ranks["input"] + 1))


@rule("squeeze")
def squeeze(call: Call) -> Any:
    """The named dimensions, or all of size 1, but never that of the batch."""
    rank, dim = call.ranks["input"], call.dim
    if dim is None:
        dims = tuple([i for i, n in enumerate(call.input._data.shape) if i and n == 1])
    else:
        dims = tuple([shifted(d, rank) for d in ((dim,) if isinstance(dim, int) else dim)]) if rank else ()
    return call(dim=dims) if dims else F.view(call.input, tuple(call.input._data.shape))


@rule("permute")
def permute(call: Call) -> Any:
    """All dimensions."""
    rank = call.ranks["input"]
    if len(call.dims) != rank:
        return NotImplemented
    return call(dims=(0, *[shifted(d, rank) for d in call.dims]))


@rule("t")
def transpose_matrix(call: Call) -> Any:
    """The two dimensions of an example."""
    return F.transpose(call.input, 1, 2) if call.ranks["input"] == 2 else F.view(call.input, tuple(call.input._data.shape)) \
        if call.ranks["input"] < 2 else NotImplemented


@rule("roll")
def roll(call: Call) -> Any:
    """Named dimensions, or the flattened example."""
    rank = call.ranks["input"]
    if call.dims:
        return call(dims=tuple([shifted(d, rank) for d in ((call.dims,) if isinstance(call.dims, int)
                                                           else call.dims)])) if rank else NotImplemented
    x = call.input
    flat = F.reshape(x, (call.size, math.prod(x._data.shape[1:])))
    return F.reshape(call(input=flat, dims=(1,)), tuple(x._data.shape))


# -- sizes ------------------------------------------------------------------------------------------------------------------------


@rule("view reshape")
def reshape(call: Call) -> Any:
    """A new shape of each example."""
    key = "size" if call.rec.name == "view" else "shape"
    size = call.values[key]
    size = (size,) if isinstance(size, int) else tuple(size)
    if -1 in size and not call.size:
        return NotImplemented
    return call(**{key: (call.size, *size)})


@rule("expand")
def expand(call: Call) -> Any:
    """New dimensions come after that of the batch."""
    x, size = call.input, tuple(call.values["size"])
    lead = len(size) - call.ranks["input"]
    if lead < 0:
        return NotImplemented
    if any(n == -1 for n in size[:lead]):
        return NotImplemented
    for _ in range(lead):
        x = F.unsqueeze(x, 1)
    return call(input=x, size=(call.size, *size))


@rule("repeat")
def repeat(call: Call) -> Any:
    """New dimensions come after that of the batch."""
    x, lead = call.input, len(call.repeats) - call.ranks["input"]
    if lead < 0:
        return NotImplemented
    for _ in range(lead):
        x = F.unsqueeze(x, 1)
    return call(input=x, repeats=(1, *call.repeats))


@rule("zeros_for ones_for")
def constants_for(call: Call) -> Any:
    """A tensor of another shape."""
    return call(shape=(call.size, *call.shape))


@rule("column_major clone cast zero_gradient conj_physical real_part imag_part angle zero restride view_dtype isreal positive")
def as_is(call: Call) -> Any:
    """What treats each element on its own, whatever the dimensions."""
    if call.rec.name == "restride":
        return NotImplemented
    if call.rec.name == "clone":
        return call(memory_format=None)
    return call() if call.rec.name != "view_dtype" or call.ranks["input"] else NotImplemented


@rule("cast_like")
def cast_like(call: Call) -> Any:
    """Only the dtype of the second argument matters."""
    return call() if call.is_batched["input"] else NotImplemented


@rule("tril triu constant_pad_nd")
def trailing(call: Call) -> Any:
    """What concerns the last dimensions."""
    if call.rec.name != "constant_pad_nd" and call.ranks["input"] < 2:
        return NotImplemented
    return call() if call.rec.name != "constant_pad_nd" or len(call.pad) <= 2 * call.ranks["input"] else NotImplemented


@rule("masked_fill")
def masked_fill(call: Call) -> Any:
    """With a value of its own for each example, a choice between the two."""
    if not call.is_batched["value"]:
        return call(**aligned(call))
    return F.cast(F.where(*[{**call.values, **aligned(call)}[n] for n in ("mask", "value", "input")]), call.input._k.dtype)


@rule("copy fill")
def store(call: Call) -> Any:
    """Overwritten as a whole."""
    return call(**aligned(call, call.ranks["input"]), input=call.whole("input"))


@rule("as_strided_view")
def as_strided(call: Call) -> Any:
    """Strides of an example, and that of the batch before them."""
    x = call.input
    start = x.storage_offset()
    at = start if call.storage_offset is None else call.storage_offset
    size, stride = tuple(call.values["size"]), tuple(call.stride)
    reach = [sum([(n - 1) * s for n, s in zip(sizes, steps)]) for sizes, steps in ((size, stride), (x.shape[1:], x.stride()[1:]))]
    if math.prod(size) and (at < start or at + reach[0] > start + reach[1]):
        raise RuntimeError(f"result = tensor.as_strided({list(size)}, {list(stride)}, {at}) can access memory outside of `tensor`. "
                           f"`result` can access some memory in range [{at}, {at + reach[0]}], but `tensor` can only access some memory in "
                           f"range [{start}, {start + reach[1]}]. This is not supported inside of vmap, please try to rewrite the "
                           "`as_strided` call as a sequence of PyTorch view operations")
    return F.as_strided(x, (call.size, *size), (x.stride(0), *stride), at)


# -- joining and parting ------------------------------------------------------------------------------------------------------------


@rule("cat stack")
def join(call: Call) -> Any:
    """Every item with a batch dimension, one dimension further."""
    items = call.tensors
    marks = call.marks["tensors"]
    rank = max(t._data.ndim - m for t, m in zip(items, marks))
    wholes = [call.expanded(t, m) for t, m in zip(items, marks)]
    if call.rec.name == "cat":
        kept = [w for w in wholes if w._data.shape[1:] != (0,)] or wholes[:1]  # torch ignores empty vectors
        return call(tensors=kept, dim=shifted(call.dim, rank))
    return call(tensors=wholes, dim=shifted(call.dim, rank + 1))


@rule("split_equal split_with_sizes unbind")
def part(call: Call) -> Any:
    """One dimension further."""
    return call(dim=shifted(call.dim, call.ranks["input"])) if call.ranks["input"] else NotImplemented


# -- indexing -------------------------------------------------------------------------------------------------------------------------


@rule("basic_select basic_slice basic_unsqueeze basic_alias")
def basic_index(call: Call) -> Any:
    """The whole batch dimension before the index."""
    return call(index=(slice(None), *call.index))


@rule("basic_index_backward")
def basic_index_backward(call: Call) -> Any:
    """The whole batch dimension before the index."""
    return call(shape=(call.size, *call.shape), index=(slice(None), *call.index))


def _deeper(indices: Any) -> Any:
    """Index arrays one dimension further; None where NumPy would put the batch dimension elsewhere."""
    key = indices.key
    places = [i for i, k in enumerate(key) if not isinstance(k, slice)]
    if places and places[-1] - places[0] + 1 != len(places):
        return None  # apart from each other: what they pick comes first, before the batch
    return type(indices)((_ALL, *key), [t for t, _ in indices.sources])


@rule("index")
def index(call: Call) -> Any:
    """Index arrays that all examples share."""
    indices = _deeper(call.indices)
    return NotImplemented if indices is None else call(indices=indices)


@rule("index_backward")
def index_backward(call: Call) -> Any:
    """Index arrays that all examples share."""
    indices = _deeper(call.indices)
    return NotImplemented if indices is None else call(shape=(call.size, *call.shape), indices=indices)


@rule("put_at")
def put_at(call: Call) -> Any:
    """Index arrays that all examples share."""
    indices = _deeper(call.indices)
    if indices is None:
        return NotImplemented
    x, values = call.whole("input"), call.values["values"]
    if call.is_batched["values"]:
        picked = F.index(x.detach(), indices)._data.ndim - 1
        lead = picked - call.ranks["values"]
        if lead < 0:
            return NotImplemented
        for _ in range(lead):
            values = F.unsqueeze(values, 1)
    return call(input=x, indices=indices, values=values)


@rule("indices")
def batched_indices(call: Call) -> Any:
    """Index tensors of which each example has its own: the example's number becomes a further index."""
    name = next(n for n, v in call.values.items() if v.__class__.__name__ == "Indices")
    indices = call.values[name]
    sources = {id(t._data): t for t, _ in indices.sources}
    if any(isinstance(k, slice) for k in indices.key) or call.rec.name != "index":
        return NotImplemented
    owners = [sources.get(id(k)) for k in indices.key]
    if any(o is not None and is_example(o, call.level) and type(o._value) is type(o) for o in owners):
        return NotImplemented
    rank = max(k.ndim for k in indices.key)
    key, kept = [np.arange(call.size).reshape((call.size,) + (1,) * rank)], []
    for k, owner in zip(indices.key, owners):
        if owner is not None and is_example(owner, call.level):
            whole = front(owner)
            if whole._k.dtype.name != "int64":
                return NotImplemented
            data = whole._data
            kept.append(whole)
            k = data.reshape((data.shape[0],) + (1,) * (rank - data.ndim + 1) + data.shape[1:])
        elif owner is not None:
            kept.append(owner)
        key.append(k)
    return call(input=call.whole("input"), **{name: type(indices)(key, kept)})


@rule("gather")
def gather(call: Call) -> Any:
    """One dimension further, both with a batch dimension."""
    if not call.ranks["input"] or not call.ranks["index"]:
        return NotImplemented
    return call(input=call.whole("input"), index=call.whole("index"), dim=shifted(call.dim, call.ranks["input"]))


@rule("scatter_src scatter_add scatter_reduce scatter_value")
def scatter(call: Call) -> Any:
    """One dimension further, all with a batch dimension."""
    if not call.ranks["input"] or not call.ranks["index"]:
        return NotImplemented
    more = {"src": call.whole("src")} if "src" in call.ranks else {}
    return call(input=call.whole("input"), index=call.whole("index"), dim=shifted(call.dim, call.ranks["input"]), **more)


@rule("index_select")
def index_select(call: Call) -> Any:
    """An index that all examples share."""
    if call.is_batched["index"] or not call.ranks["input"]:
        return NotImplemented
    return call(dim=shifted(call.dim, call.ranks["input"]))


@rule("at_indices")
def at_indices(call: Call) -> Any:
    """What spreads a gradient over picked places."""
    rank = len(call.shape)
    if not rank:
        return NotImplemented
    return call(grad=call.whole("grad"), indices=call.whole("indices"), shape=(call.size, *call.shape), dim=shifted(call.dim, rank))


@rule("from_indices")
def from_indices(call: Call) -> Any:
    """What collects picked places."""
    if not call.ranks["input"]:
        return NotImplemented
    return call(input=call.whole("input"), indices=call.whole("indices"), dim=shifted(call.dim, call.ranks["input"]))


@rule("diagonal_backward")
def diagonal_backward(call: Call) -> Any:
    """Dimensions of the result."""
    rank = len(call.shape)
    return call(shape=(call.size, *call.shape), dim1=shifted(call.dim1, rank), dim2=shifted(call.dim2, rank))


@rule("unfold_backward")
def unfold_backward(call: Call) -> Any:
    """A dimension of the result."""
    return call(shape=(call.size, *call.shape), dim=shifted(call.dim, len(call.shape))) if call.shape else NotImplemented


@rule("embedding")
def embedding(call: Call) -> Any:
    """One table for all examples."""
    return NotImplemented if call.is_batched["weight"] else call()


# -- matrix products ----------------------------------------------------------------------------------------------------------------


def matmul(call: Call, a: Any, b: Any, a_batched: bool, b_batched: bool) -> Any:
    """The product of two tensors by the rules of matmul on examples."""
    vector_a, vector_b = a._data.ndim - a_batched == 1, b._data.ndim - b_batched == 1
    if vector_a:
        a = F.unsqueeze(a, -2)
    if vector_b:
        b = F.unsqueeze(b, -1)
    rank_a, rank_b = a._data.ndim - a_batched, b._data.ndim - b_batched
    for _ in range(rank_b - rank_a if a_batched else 0):
        a = F.unsqueeze(a, 1)
    for _ in range(rank_a - rank_b if b_batched else 0):
        b = F.unsqueeze(b, 1)
    result = F.matmul(a, b)
    if vector_a:
        result = F.squeeze(result, -2)
    if vector_b:
        result = F.squeeze(result, -1)
    return result


@rule("mm bmm mv dot matmul mm_nt mm_tn vdot")
def product(call: Call) -> Any:
    """Products of two tensors."""
    (name_a, a), (name_b, b) = call.values.items()
    ranks = call.ranks[name_a], call.ranks[name_b]
    wanted = {"mm": (2, 2), "mm_nt": (2, 2), "mm_tn": (2, 2), "bmm": (3, 3), "mv": (2, 1), "dot": (1, 1), "vdot": (1, 1)}.get(call.rec.name)
    same = a._k.dtype is b._k.dtype
    if not same or wanted is not None and wanted != ranks or 0 in ranks:
        return NotImplemented
    if call.rec.name == "bmm" and a._data.shape[-3] != b._data.shape[-3]:
        return NotImplemented
    if call.rec.name == "mm_nt":
        b = F.transpose(b, -1, -2)
    elif call.rec.name == "mm_tn":
        a = F.transpose(a, -1, -2)
    elif call.rec.name == "vdot":
        a = F.conj_physical(a)
    return matmul(call, a, b, call.is_batched[name_a], call.is_batched[name_b])


@rule("outer")
def outer(call: Call) -> Any:
    """A column times a row."""
    return F.mul(F.unsqueeze(call.input, -1), F.unsqueeze(call.vec2,
                                                          -2)) if call.ranks["input"] == call.ranks["vec2"] == 1 else NotImplemented


@rule("linear")
def linear(call: Call) -> Any:
    """A product with the transposed weight, and the bias."""
    weight, bias, rank = call.weight, call.bias, call.ranks["input"]
    if call.ranks["weight"] != 2 or not rank or len({t._k.dtype for t in (call.input, weight, bias) if t is not None}) > 1:
        return NotImplemented
    if not call.is_batched["weight"] and not call.is_batched["bias"]:
        return call()
    result = matmul(call, call.input, F.transpose(weight, -1, -2), call.is_batched["input"], call.is_batched["weight"])
    if bias is None:
        return result
    if call.is_batched["bias"]:
        rows = result._data.ndim - (call.is_batched["input"] or call.is_batched["weight"])
        for _ in range(rows - 1):
            bias = F.unsqueeze(bias, 1)
    return F.add(result, bias)


@rule("addmm addmv baddbmm")
def add_product(call: Call) -> Any:
    """A product added to a tensor, which does not matter where `beta` is 0."""
    names = list(call.values)[:3]
    if len({call.values[n]._k.dtype for n in names}) > 1:
        return NotImplemented
    _, a, b = names
    wanted = {"addmm": (2, 2), "addmv": (2, 1), "baddbmm": (3, 3)}[call.rec.name]
    if (call.ranks[a], call.ranks[b]) != wanted:
        return NotImplemented
    result = matmul(call, call.values[a], call.values[b], call.is_batched[a], call.is_batched[b])
    if call.alpha != 1:
        result = F.mul(result, call.alpha)
    if not call.beta:
        return call.expanded(result, call.is_batched[a] or call.is_batched[b])
    x = call.input
    if call.is_batched["input"]:
        rank = wanted[0] + wanted[1] - 2 if call.rec.name != "baddbmm" else 3
        for _ in range(rank - call.ranks["input"]):
            x = F.unsqueeze(x, 1)
    return F.add(F.mul(x, call.beta) if call.beta != 1 else x, result)


@rule("inverse det logdet slogdet linalg_cholesky linalg_qr linalg_svd linalg_eigh linalg_pinv linalg_matrix_rank")
def matrices(call: Call) -> Any:
    """What takes batches of matrices."""
    return call() if next(iter(call.ranks.values())) >= 2 else NotImplemented


@rule("solve_matrices")
def solve(call: Call) -> Any:
    """What takes two batches of matrices."""
    return call(A=call.whole("A"), B=call.whole("B")) if call.ranks["A"] == call.ranks["B"] >= 2 else NotImplemented


# -- networks -----------------------------------------------------------------------------------------------------------------------


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


@rule("group_norm")
def group_norm(call: Call) -> Any:
    """A bigger batch."""
    if not call.size or call.is_batched["weight"] or call.is_batched["bias"]:
        return NotImplemented
    return _parted(call, call(input=_merged(call.input)))


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


@rule("cosine_similarity")
def cosine_similarity(call: Call) -> Any:
    """One dimension of both after broadcasting."""
    rank = max(call.ranks.values())
    return call(**aligned(call, rank), dim=shifted(call.dim, rank)) if rank else NotImplemented


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
    rank, n = call.ranks["input"], len(call.normalized_shape) if not isinstance(call.normalized_shape, int) else 1
    result = call(input=call.whole("input"), weight=None, bias=None)
    for name, function in (("weight", F.mul), ("bias", F.add)):
        t = call.values[name]
        if t is not None:
            for _ in range(rank - n if call.is_batched[name] else 0):
                t = F.unsqueeze(t, 1)
            result = function(result, t)
    return result


@rule("cross_entropy nll_loss")
def class_losses(call: Call) -> Any:
    """Losses of class numbers: one per example of each example, reduced afterwards."""
    x, target, rank = call.input, call.target, call.ranks["input"]
    smoothing = call.values.get("label_smoothing", 0.0)
    if call.weight is not None or smoothing or target._k.dtype.is_floating_point or not call.size or call.size_average is not None or \
            call.values["reduce"] is not None:
        return NotImplemented
    if call.ranks["target"] != max(rank - 1, 0) or rank < 1:
        return NotImplemented
    x, target = call.whole("input"), call.whole("target")
    if rank > 1:
        each = _parted(call, call(input=_merged(x), target=_merged(target), reduction="none"))
    else:
        each = call(input=x, target=target, reduction="none")
    if call.reduction == "none":
        return each
    dims = tuple(range(1, each._data.ndim))
    total = F.sum(each, dims) if dims else each
    if call.reduction == "sum":
        return total
    counted = F.cast(F.ne(target, call.ignore_index), x._k.dtype)
    return F.div(total, F.sum(counted, dims) if dims else counted)


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
    """Every tensor with a batch dimension."""
    rank = call.ranks["query"]
    if rank < 3 or any(call.ranks[n] != rank for n in ("key", "value")):
        return NotImplemented
    if call.mask is not None or call.bias is not None:
        return NotImplemented
    return call(query=call.whole("query"), key=call.whole("key"), value=call.whole("value"))


