"""Batching rules: how an operation deals with a batch dimension in front. See `_batching`."""

from __future__ import annotations

import math
from typing import Any

from ._batching import Call, F, aligned, rule, shifted


# -- dimensions one further ---------------------------------------------------------------------------------------------------


@rule("sum mean nansum prod all any count_nonzero var_of std_of var_mean_of std_mean_of amax amin argmax argmin aminmax logsumexp "
      "linalg_vector_norm cumsum cumprod cummax cummin logcumsumexp sort_along topk kthvalue median_along nanmedian_along mode "
      "max_along min_along softmax log_softmax flip")
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
        if not rank and isinstance(dim, int):
            raise RuntimeError(f"Dimension is out of range (expected to be in range of [-1, 0], but got [{dim}]")  # as torch words it
        dims = tuple([shifted(d, rank) for d in ((dim,) if isinstance(dim, int) else dim)])
        dims = dims if rank else ()
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
    dims = (call.dims,) if isinstance(call.dims, int) else call.dims
    if dims:
        return call(dims=tuple([shifted(d, rank) for d in dims])) if rank else NotImplemented
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
        known = math.prod([n for n in size if n != -1])
        total = math.prod(call.input._data.shape[1:])
        if size.count(-1) > 1 or not known or total % known:
            return NotImplemented
        size = tuple([total // known if n == -1 else n for n in size])
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


@rule("column_major clone cast transfer zero_gradient conj_physical view_as_real view_as_complex real_part imag_part angle zero view_dtype "
      "isreal positive frexp")
def as_is(call: Call) -> Any:
    """What treats each element on its own, whatever the dimensions."""
    if call.rec.name == "view_as_complex" and not call.ranks["input"]:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if call.rec.name == "clone":
        wanted = getattr(call.memory_format, "name", "preserve_format")
        if wanted not in ("preserve_format", "contiguous_format"):
            raise RuntimeError("NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format torch.preserve_format or "
                               f"torch.contiguous_format (got {wanted.title().replace('_', '')})")
        return call()
    return call() if call.rec.name != "view_dtype" or call.ranks["input"] else NotImplemented


@rule("cast_like")
def cast_like(call: Call) -> Any:
    """Only the dtype of the second argument matters."""
    return call() if call.is_batched["input"] else call.expanded(F.cast(call.input, call.like._k.dtype), False)


@rule("tie_weights")
def tie_weights(call: Call) -> Any:
    """Along dimensions, all of an example where none are named."""
    rank = call.ranks["input"]
    x, result = (call.whole(n) if call.ranks[n] else F.unsqueeze(call.whole(n), 1) for n in ("input", "result"))
    dims = range(rank or 1) if call.dim is None else (call.dim,) if isinstance(call.dim, int) else call.dim
    found = call(input=x, result=result, dim=tuple([shifted(d, rank) for d in dims]))
    return found if rank else F.reshape(found, (call.size,))


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


@rule("copy fill drawn")
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
    if len(size) != len(stride):
        raise RuntimeError("Tensor.as_strided(size, stride, ...): size and stride must have the same length! Got size "
                           f"{list(size)} and stride {list(stride)}")
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


@rule("block_diag_list")
def block_diag(call: Call) -> Any:
    """Blocks of rows, with zeros on both sides, one below the other."""
    wholes = [call.expanded(t, m) for t, m in zip(call.tensors, call.marks["tensors"])]
    blocks = [F.reshape(w, (call.size, *(1,) * (3 - w._data.ndim), *w._data.shape[1:])) for w in wholes]
    columns, rows, at = sum([b._data.shape[2] for b in blocks]), [], 0
    for b in blocks:
        n = b._data.shape[2]
        rows.append(F.constant_pad_nd(b, (at, columns - at - n)))
        at += n
    return F.cat(rows, 1)


@rule("split_equal split_with_sizes unbind")
def part(call: Call) -> Any:
    """One dimension further."""
    return call(dim=shifted(call.dim, call.ranks["input"])) if call.ranks["input"] else NotImplemented


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
    if call.ranks["weight"] == 1 and rank and weight._k.dtype is call.input._k.dtype:
        result = matmul(call, call.input, weight, call.is_batched["input"], call.is_batched["weight"])
        is_batched = call.is_batched["input"] or call.is_batched["weight"]
        if bias is None:
            return result
        if call.ranks["bias"]:
            return NotImplemented
        if not call.is_batched["bias"]:
            return F.add(result, bias)
        return F.add(call.expanded(result, is_batched), F.reshape(bias, (call.size, *(1,) * (rank - 1))))
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


@rule("addmm addmv baddbmm addbmm addr")
def add_product(call: Call) -> Any:
    """A product added to a tensor, which does not matter where `beta` is 0."""
    x, name = call.input, call.rec.name
    _, a, b = list(call.values)[:3]
    wanted, rank = {"addmm": ((2, 2), 2), "addmv": ((2, 1), 1), "baddbmm": ((3, 3), 3), "addbmm": ((3, 3), 2), "addr": ((1, 1), 2)}[name]
    if (call.ranks[a], call.ranks[b]) != wanted or name != "addr" and len({call.values[n]._k.dtype for n in ("input", a, b)}) > 1:
        return NotImplemented
    is_batched = call.is_batched[a] or call.is_batched[b]
    if name == "addr":
        result = F.mul(F.unsqueeze(call.values[a], -1), F.unsqueeze(call.values[b], -2))
    else:
        result = matmul(call, call.values[a], call.values[b], call.is_batched[a], call.is_batched[b])
    if name == "addbmm":
        result = F.sum(result, -3)
    if call.alpha != 1:
        result = F.mul(result, call.alpha)
    if not call.beta:
        return call.expanded(result, is_batched)
    if call.is_batched["input"]:
        for _ in range(rank - call.ranks["input"]):
            x = F.unsqueeze(x, 1)
    return F.add(F.mul(x, call.beta) if call.beta != 1 else x, result)


@rule("inverse det slogdet linalg_cholesky linalg_qr linalg_svd linalg_eigh linalg_pinv linalg_matrix_rank linalg_lu_factor_ex linalg_lu "
      "linalg_eig matrix_exp cholesky_inverse")
def matrices(call: Call) -> Any:
    """What takes batches of matrices."""
    return call() if next(iter(call.ranks.values())) >= 2 else NotImplemented


@rule("logdet")
def logdet(call: Call) -> Any:
    """What takes batches of matrices."""
    return call() if call.ranks["input"] >= 2 else NotImplemented


@rule("lu_unpack lstsq_solution")
def factors(call: Call) -> Any:
    """Batches of matrices, and something for each of them."""
    first, second = list(call.values)[:2]
    if call.rec.name == "lstsq_solution" and call.ranks[first] != call.ranks[second]:
        return NotImplemented
    return call(**{name: call.expanded(call.values[name], call.is_batched[name]) for name in (first, second)})


@rule("solve_matrices euclidean_distance cholesky_solve")
def two_matrices(call: Call) -> Any:
    """What takes two batches of matrices, whose other dimensions broadcast."""
    first, second = list(call.values)[:2]
    rank = max(call.ranks[first], call.ranks[second])
    if min(call.ranks[first], call.ranks[second]) < 2:
        return NotImplemented
    changed = {}
    for name in (first, second):
        t = changed[name] = call.values[name]
        for _ in range(rank - call.ranks[name] if call.is_batched[name] else 0):
            t = changed[name] = F.unsqueeze(t, 1)
    return call(**changed)


@rule("cosine_similarity")
def cosine_similarity(call: Call) -> Any:
    """One dimension of both after broadcasting."""
    rank = max(call.ranks.values())
    if rank:
        return call(**aligned(call, rank), dim=shifted(call.dim, rank))
    shifted(call.dim, 0)
    return call(x1=F.unsqueeze(call.whole("x1"), 1), x2=F.unsqueeze(call.whole("x2"), 1), dim=1)
