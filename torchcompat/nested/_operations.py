"""What carries out operations on nested tensors: most do the same to each part, and raise torch's errors where torch does not do it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autograd_tape.annotations import Fn, Number
from autograd_tape.dims import wrap_dim
from autograd_tape.dtypes import DType

from .._memory.layout import memory_format
from .._tensor import Tensor, frontend
from ..sparse._door import unrecorded
from ..sparse._nodes import recorded
from ._buffers import Nested
from ._door import changed, each, in_order, is_nested, nested, of_list, operation, parts, refused, unbound

F = frontend
Operand = Tensor | Number

# -- elementwise ------------------------------------------------------------------------------------------------------------


def _node(name: str) -> str:
    return f"{name.title().replace('_', '')}Backward0"


def _unary(name: str, in_place: bool) -> None:
    function = getattr(F, name)

    def carried_out(x: Tensor, *rest: object) -> Tensor:
        if rest and rest[-1] is True:  # the argument `inplace`
            return changed(x, carried_out(x))
        return each(_node(name), lambda t: function(t, *rest), x, elementwise=True)

    operation(name)(carried_out)
    if in_place:
        operation(name + "_")(lambda x, *rest: changed(x, carried_out(x)))


for _name in ("cos", "sin", "sqrt", "isinf", "isnan", "isneginf", "isposinf", "abs", "neg", "relu", "sgn", "logical_not", "silu"):
    _unary(_name, _name in ("abs", "neg", "relu", "sgn", "logical_not", "silu"))


@operation("gelu")
def _gelu(x: Tensor, approximate: str = "none") -> Tensor:
    return each("GeluBackward0", lambda t: F.gelu(t, approximate=approximate), x, elementwise=True)


@operation("gelu_")
def _gelu_(x: Tensor, approximate: str = "none") -> Tensor:
    return changed(x, _gelu(x, approximate))


@operation("tanh")
def _tanh(x: Tensor) -> Tensor:
    with unrecorded():
        made = each("TanhBackward0", F.tanh, x, elementwise=True)

    def formula(g: Tensor) -> Tensor:
        raise refused("tanh_backward")

    return recorded(made, "TanhBackward0", (x, formula))


@operation("tanh_")
def _tanh_(x: Tensor) -> Tensor:
    return changed(x, _tanh(x))


def _binary(name: str, node: str, x: Operand, other: Operand, *rest: object) -> Tensor:
    """An operation of two nested tensors of the same sizes, or of one and a number."""
    if is_nested(x) and is_nested(other) and x._data.sizes != other._data.sizes:
        raise RuntimeError(f"{name} does not support broadcasting when given a NestedTensor")
    for a, b, which in ((x, other, "a nested self and non-nested other"), (other, x, "a non-nested self and nested other")):
        if is_nested(a) and isinstance(b, Tensor) and not is_nested(b) and b._data.ndim:
            raise RuntimeError(f"Expected both self and other to be nested, but got {which}")
    function = getattr(F, name.rstrip("_"))
    if not isinstance(other, Tensor):
        return each(node, lambda t: function(t, other, *rest), x, elementwise=True)
    if not isinstance(x, Tensor):
        return each(node, lambda t: function(x, t, *rest), other, elementwise=True)
    return each(node, lambda a, b: function(a, b, *rest), x, other, elementwise=True)


def _scaled(name: str) -> Fn:
    def carried_out(x: Operand, other: Operand, alpha: Number = 1) -> Tensor:
        if not isinstance(x, Tensor) and name == "sub":
            raise refused("rsub.Scalar")
        if alpha == 1:
            return _binary(name, _node(name), x, other)
        return _binary(name, _node(name), x, _binary("mul", "MulBackward0", other, alpha) if is_nested(other) else other * alpha)

    return carried_out


operation("add")(_scaled("add"))
operation("sub")(_scaled("sub"))


@operation("mul")
def _mul(x: Operand, other: Operand) -> Tensor:
    return _binary("mul", "MulBackward0", x, other)


@operation("div")
def _div(x: Operand, other: Operand, rounding_mode: str | None = None) -> Tensor:
    if not isinstance(x, Tensor):
        raise refused("reciprocal")
    if rounding_mode is not None:
        raise refused("div.Tensor_mode")
    return _binary("div", "DivBackward0", x, other)


def _in_place(name: str) -> Fn:
    def carried_out(x: Tensor, other: Operand, alpha: Number = 1) -> Tensor:
        if is_nested(other) and not x._data.ndim:
            raise RuntimeError(f"output with shape [] doesn't match the broadcast shape [{other.numel()}]")
        other = other if alpha == 1 else _mul(other, alpha)
        return changed(x, _binary(name + "_" * is_nested(other), _node(name), x, other))

    return carried_out


operation("add_")(_in_place("add"))
operation("mul_")(_in_place("mul"))


@operation("eq")
def _eq(x: Tensor, other: Operand) -> Tensor:
    if is_nested(other):
        raise RuntimeError("eq does not support nested tensor as other value.")
    return _binary("eq", "", x, other)


def _compared(name: str) -> Fn:
    def carried_out(x: Tensor, other: Operand) -> Tensor:
        if isinstance(other, Tensor):
            raise refused(f"{name}.Tensor")
        return _binary(name, "", x, other)

    return carried_out


operation("ge")(_compared("ge"))
operation("gt")(_compared("gt"))


@operation("where")
def _where(condition: object, x: object, other: object) -> Tensor:
    for name, value in (("condition", condition), ("self", x), ("other", other)):
        if is_nested(value) and name != "condition":
            raise RuntimeError(f"{name} must not be nested")
    raise RuntimeError("condition must not be nested")


@operation("masked_fill")
def _masked_fill(x: Tensor, mask: Tensor, value: Operand) -> Tensor:
    if not (is_nested(x) and is_nested(mask)):
        raise RuntimeError(f"Expected both self and other to be nested, but got a {_said(x)} self and {_said(mask)} other")
    if x._data.sizes != mask._data.sizes:
        raise RuntimeError("masked_fill does not support broadcasting when given a NestedTensor")
    return each("MaskedFillBackward0", lambda t, m: F.masked_fill(t, m, value), x, mask, elementwise=True)


# -- stores -----------------------------------------------------------------------------------------------------------------


@operation("fill_")
def _fill_(x: Tensor, value: Operand) -> Tensor:
    if not is_nested(x) or is_nested(value):
        raise RuntimeError("get_nested_tensor_impl requires a NestedTensor.")
    return changed(x, each("FillBackward0", lambda t: F.full_like(t, value.item() if isinstance(value, Tensor) else value), x))


@operation("zero_")
def _zero_(x: Tensor) -> Tensor:
    return changed(x, each("ZeroBackward0", F.zeros_like, x))


@operation("copy_")
def _copy_(x: Tensor, other: Operand, non_blocking: bool = False) -> Tensor:
    if not is_nested(x) or not is_nested(other):
        raise RuntimeError("get_nested_tensor_impl requires a NestedTensor.")
    if x._data.sizes != other._data.sizes:
        raise RuntimeError("copy_ only supports tensors that are the same size for Nested implementations")
    return changed(x, _cast(other, x._k.dtype))


# -- copies -----------------------------------------------------------------------------------------------------------------


@operation("clone")
def _clone(x: Tensor, memory_format: memory_format | None = None) -> Tensor:
    name = "preserve_format" if memory_format is None else memory_format.name
    if name not in ("preserve_format", "contiguous_format"):
        raise RuntimeError("Nested tensor clone supports Preserve and Contiguous memory formats, called clone with memory format: "
                           f"{name.title().replace('_', '')}")
    if name == "preserve_format":
        return recorded(nested(x._data.copy()), "CloneBackward0", (x, lambda g: g))
    return each("CloneBackward0", F.clone, x)


@operation("contiguous")
def _contiguous(x: Tensor, memory_format: memory_format | None = None) -> Tensor:
    return in_order(x)


@operation("cast")
def _cast(x: Tensor, dtype: DType) -> Tensor:
    return each("ToCopyBackward0", lambda t: F.cast(t, dtype), x, elementwise=True)


def _like(name: str) -> Fn:
    def carried_out(x: Tensor, dtype: DType | None = None, *rest: object) -> Tensor:
        with unrecorded():
            made = each("", lambda t: getattr(F, name)(t, dtype=dtype), x)
        return made.requires_grad_() if len(rest) > 3 and rest[3] else made

    return carried_out


for _name in ("ones_like", "zeros_like", "empty_like"):
    operation(_name)(_like(_name))

# -- parts ------------------------------------------------------------------------------------------------------------------


def _dim(x: Tensor, dim: int) -> int:
    return wrap_dim(dim, x._data.ndim)


@operation("unbind")
def _unbind(x: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    if dim:
        raise RuntimeError(f"NestedTensor can only be unbound along dimension 0 got dimension {dim} instead.")
    return tuple(unbound(x))


@operation("select")
def _select(x: Tensor, dim: int, index: int) -> Tensor:
    if _dim(x, dim):
        return each("SelectBackwardAutogradNestedTensor0", lambda t: F.select(t, _dim(x, dim) - 1, index), x, view=True)
    count = len(x._data.sizes)
    if not count:
        raise IndexError("You can only select when the NT is not empty.")
    if not -count <= index < count:
        raise IndexError(f"index {index} is out of bounds for dimension 0 with size {count}")
    found = unbound(x)[index]
    if found._node is not None and hasattr(found._node, "saved"):
        found = recorded(found.detach(), "SelectBackwardAutogradNestedTensor0", (x, found._node.saved[0][0]))
    return found


@operation("getitem")
def _getitem(x: Tensor, index: object) -> Tensor:
    keys = index if isinstance(index, tuple) else (index,)
    if not keys or keys[0] is Ellipsis and len(keys) == 1:
        return each("AliasBackward0", lambda t: t.view(t.shape), x, view=True)
    if keys[0] is None:
        raise _no_unsqueeze()
    if not isinstance(keys[0], (int, np.integer)) or isinstance(keys[0], bool):
        raise refused("slice.Tensor" if isinstance(keys[0], slice) else "index.Tensor")
    part = _select(x, 0, int(keys[0]))
    return part[keys[1:]] if len(keys) > 1 else part


def _split(x: Tensor, sizes: Sequence[int], dim: int) -> tuple[Tensor, ...]:
    begins = np.cumsum([0, *sizes])
    return tuple([each("SplitWithSizesBackwardAutogradNestedTensor0", lambda t, a=int(a), n=int(n): F.narrow(t, dim - 1, a, n), x,
        view=True)
                  for a, n in zip(begins, sizes)])


@operation("chunk")
def _chunk(x: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    dim = _dim(x, dim)
    if dim != x._data.ndim - 1:
        raise RuntimeError("Chunk for nested tensors is currently only supported for the last dimension.")
    length = x.size(dim)
    if length % chunks:
        raise RuntimeError("Chunk for nested tensors is only supported for nested tensors with trailing dimension divisible by "
                           "chunks, got: "
                           f"{length} % {chunks} != 0")
    return _split(x, [length // chunks] * chunks, dim)


@operation("split", "split_with_sizes")
def _split_with_sizes(x: Tensor, sizes: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    dim = _dim(x, dim)
    if isinstance(sizes, int):
        raise refused("split.Tensor")
    if dim != x._data.ndim - 1:
        raise RuntimeError("split_with_sizes for nested tensors is currently only supported for the last dimension.")
    if sum(sizes) != x.size(dim):
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {x.size(dim)} (input tensor's size at dimension "
                           "-1), but "
                           f"got split_sizes={list(sizes)}")
    return _split(x, sizes, dim)


@operation("cat")
def _cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    if not all([is_nested(t) for t in tensors]):
        raise RuntimeError("Expected each tensor in given list to be nested.")
    if _dim(tensors[0], dim):
        raise refused("cat")
    return of_list([part for t in tensors for part in unbound(t)], "CatBackward0")


@operation("narrow")
def _narrow(x: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    if _dim(x, dim):
        raise RuntimeError(f"narrow(): only dim=0 supported for nested tensors, but got: {dim}")
    count = len(x._data.sizes)
    begin = int(start) + count * (int(start) < 0)
    if not 0 <= begin <= count or begin + length > count or length < 0:
        raise RuntimeError(f"start ({begin}) + length ({length}) exceeds dimension size ({count}).")
    return of_list(unbound(x)[begin:begin + length], "NarrowBackward0")


# -- shapes -----------------------------------------------------------------------------------------------------------------


@operation("transpose")
def _transpose(x: Tensor, dim0: int, dim1: int) -> Tensor:
    a, b = _dim(x, dim0), _dim(x, dim1)
    if not a or not b:
        raise RuntimeError("Nested tensor dimension 0 cannot be transposed")
    return each("TransposeBackward0", lambda t: F.transpose(t, a - 1, b - 1), x, view=True)


def _no_unsqueeze() -> RuntimeError:
    return RuntimeError("unsqueeze(): For nested tensors, unsqueezing dimension 0 is not supported at the moment if you need this feature, "
                        "please open an issue on github describing your use case.")


@operation("unsqueeze")
def _unsqueeze(x: Tensor, dim: int) -> Tensor:
    at = wrap_dim(dim, x._data.ndim + 1)
    if not at:
        raise _no_unsqueeze()
    return each("UnsqueezeBackward0", lambda t: F.unsqueeze(t, at - 1), x, view=True)


@operation("squeeze")
def _squeeze(x: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    if dim is None:
        raise RuntimeError("squeeze(): For nested tensors, squeeze without the dim argument is not supported at the moment, however "
                           "you can "
                           "use squeeze(Tensor self, int dim) instead if you need this feature, please open an issue on github describing "
                           "your use case.")
    at = [_dim(x, d) - 1 for d in (dim if isinstance(dim, (tuple, list)) else (dim,))]
    if -1 in at:
        raise RuntimeError("squeeze(): For nested tensors, squeezing dimension 0 is not supported at the moment if you need this feature, "
                           "please open an issue on github describing your use case.")
    return each("SqueezeBackwardAutogradNestedTensor0", lambda t: F.squeeze(t, at), x, view=True)


def _shapes(name: str, x: Tensor, size: Sequence[int]) -> list[tuple[int, ...]]:
    """The sizes that parts are to get; -1 stands for one that follows, or, where their number stays, for what was there."""
    sizes, size = x._data.sizes, tuple(size)
    if not size:
        raise RuntimeError("shape '[]' is invalid for a nested tensor")
    if not sizes:
        raise RuntimeError("empty nested tensor cannot be reshaped")
    if size[0] != len(sizes):
        raise RuntimeError(f"{name}: For now nested {name} cannot change or infer the implicit batch dimension")
    found = []
    for own in sizes:
        new, count = list(size[1:]), int(np.prod(own))
        if new.count(-1) > 1 and len(new) == len(own):
            new = [o if n == -1 else n for o, n in zip(own, new)]
        if new.count(-1) > 1:
            raise RuntimeError("only one dimension can be inferred")
        known = int(np.prod([n for n in new if n != -1]))
        if -1 in new:
            at = new.index(-1)
            new[at] = own[at] if not known and at < len(own) else count // known if known else 0
        if int(np.prod(new)) != count:
            raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {count}")
        found.append(tuple(new))
    return found


def _viewed(x: Tensor, shapes: Sequence[tuple[int, ...]]) -> Tensor:
    before = x._data.sizes
    buffer = x._data
    seen = [F.view(part, shape) for part, shape in zip(parts(x), shapes)]
    item = buffer.flat.itemsize
    made = nested(Nested(buffer.flat, tuple(shapes), tuple([tuple([s // item for s in t._data.strides]) for t in seen]), buffer.offsets))
    return recorded(made, "ViewBackwardAutogradNestedTensor0", (x, lambda g: _viewed(in_order(g), before)))


@operation("view")
def _view(x: Tensor, size: Sequence[int]) -> Tensor:
    shapes = _shapes("view", x, size)
    for part, own in zip(parts(x), x._data.sizes):
        if not part.is_contiguous():
            raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {int(np.prod(own))}")
    return _viewed(x, shapes)


@operation("reshape")
def _reshape(x: Tensor, size: Sequence[int]) -> Tensor:
    return _viewed(in_order(x), _shapes("reshape", x, size))


# -- reductions, products, layers ---------------------------------------------------------------------------------------------


@operation("sum")
def _sum(x: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, dtype: DType | None = None) -> Tensor:
    if dim is None:
        raise refused("sum")
    dims = dim if isinstance(dim, (tuple, list)) else (dim,)
    if len(dims) != 1:
        raise RuntimeError("NestedTensor only allows reduction of a single dimension for now.")
    if _dim(x, dims[0]) != x._data.ndim - 1:
        raise RuntimeError(f"NestedTensor can only be reduced across the last dimension for now got dimension {dims[0]} instead.")
    if not keepdim:
        raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    return each("SumBackwardAutogradNestedTensor1", lambda t: F.sum(t, -1, keepdim=True, dtype=dtype), x)


def _said(x: object) -> str:
    return "nested" if is_nested(x) else "non-nested"


@operation("matmul")
def _matmul(x: Tensor, other: Tensor) -> Tensor:
    if not (is_nested(x) and is_nested(other)):
        raise RuntimeError(f"Expected both to be nested, but got a {_said(x)} self and {_said(other)} other")
    if x._data.ndim < 3 or other._data.ndim < 3:
        which, rank = ("1st", x._data.ndim) if x._data.ndim < 3 else ("2nd", other._data.ndim)
        raise RuntimeError(f"matmul: For nested tensors, only inputs with >= 3 dims are currently supported. {which} input has rank: "
                           f"{rank}")
    if x._data.ndim != other._data.ndim:
        raise RuntimeError("matmul: both inputs must have the same rank")
    if len(x._data.sizes) != len(other._data.sizes):
        raise RuntimeError(f"matmul: Expected size for the 1st dimension of 2nd input tensor to be: {len(x._data.sizes)} but got: "
                           f"{len(other._data.sizes)}.")
    if any([a[:-2] != b[:-2] for a, b in zip(x._data.sizes, other._data.sizes)]):
        shapes = ["".join(["".join([f" {n}" for n in size[:-2]]) + "\n" for size in t._data.sizes])
                  + f"[ torch.LongTensor{{{len(t._data.sizes)},{t._data.ndim - 3}}} ]" for t in (x, other)]
        raise RuntimeError("matmul: For nested tensors, batch dimensions must have the same sizes, no broadcasting is currently performed. "
                           f"Got batch shapes for self {shapes[0]} and batch shapes for mat2 {shapes[1]}")
    for a, b in zip(x._data.sizes, other._data.sizes):
        if a[-1] != b[-2]:
            columns = _column(x, -1), _column(other, -2)
            raise RuntimeError(f"matmul: Nested tensors cannot be matrix multiplied, last dimension of self has sizes{columns[0]}second "
                               f"last dimension of mat2 has sizes{columns[1]}")
    return each("MatmulBackward0", F.matmul, x, other)


def _column(x: Tensor, dim: int) -> str:
    """Sizes of parts along a dimension as torch's messages have them."""
    return "".join([f" {size[dim]}\n" for size in x._data.sizes]) + f"[ torch.LongTensor{{{len(x._data.sizes)}}} ]"


@operation("bmm")
def _bmm(x: Tensor, other: Tensor) -> Tensor:
    x, other = [t if is_nested(t) else of_list(F.unbind(t, 0)) for t in (x, other)]
    for name, t in (("batch1", x), ("batch2", other)):
        if t._data.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    if len(x._data.sizes) != len(other._data.sizes):
        raise RuntimeError(f"Expected size for the 1st dimension of batch2 tensor to be: {len(x._data.sizes)} but got: "
                           f"{len(other._data.sizes)}.")
    for i, (a, b) in enumerate(zip(x._data.sizes, other._data.sizes)):
        if a[1] != b[0]:
            raise RuntimeError(f"{i}-th nested matrices in batch cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})")
    return each("BmmBackward0", F.matmul, x, other)


@operation("linear")
def _linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if is_nested(x) and is_nested(weight):
        raise RuntimeError("Linear does not support nested weight when input is a nested tensor.")
    if not is_nested(x) or is_nested(bias):
        raise RuntimeError("get_nested_tensor_impl requires a NestedTensor.")
    if not x._data.in_order:
        raise RuntimeError("for now linear only supports contiguous nested tensor")
    if x._data.ndim != 3 or weight._data.ndim != 2:
        raise RuntimeError(f"Linear requires nested_tensor.dim == 3 and dense_matrix.dim == 2. Nested tensor dim: {x._data.ndim}. Dense "
                           f"tensor dim: {weight._data.ndim}")
    lengths = {size[-1] for size in x._data.sizes}
    if len(lengths) > 1:
        raise RuntimeError("Expected all tensors in nested tensor to have the same trailing dimension, instead last dimension equals: "
                           f"{_column(x, -1)}")
    if lengths - {weight._data.shape[1]}:
        raise RuntimeError("Shape mismatch for NestedTensor Linear: Expected input's (a nested tensor) 'last_dim' to equal "
                           "'weight.size(1), but "
                           f"got: last_dim = {lengths.pop()}, and weight.size(1) = {weight._data.shape[1]}")
    return each("LinearBackward0", F.linear, x, weight, bias)


@operation("softmax")
def _softmax(x: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    if not x._data.sizes:
        return _clone(x)
    at = _dim(x, dim)
    if not at:
        raise RuntimeError("Cannot apply softmax across nested dimension 0")
    return each("SoftmaxBackward0", lambda t: F.softmax(t, at - 1, dtype=dtype), x)


@operation("nn_functional_dropout")
def _dropout_of_layers(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    made = _dropout(x, p, training)
    return changed(x, made) if inplace else made


@operation("dropout")
def _dropout(x: Tensor, p: float, train: bool = True) -> Tensor:
    if not train or not x._data.sizes:
        return x
    with unrecorded():  # numbers are drawn for elements as they lie in memory
        kept = F.dropout(F.ones_like(frontend.wrap(x._data.flat)), p, True)
        scale = nested(x._data.over(kept._data))
        made = nested(x._data.over(x._data.flat * kept._data))
    return recorded(made, "NativeDropoutBackward0", (x, lambda g: _mul(g, scale)))


@operation("layer_norm")
def _layer_norm(x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float, *_: object) -> Tensor:
    if weight is None or bias is None:
        raise ValueError("NestedTensor layer_norm requires weight and bias")
    if not x._data.in_order:
        raise RuntimeError("Expected nested_tensor_impl_is_contiguous(nt_input) to be true, but got false.  (Could this error message be "
                           "improved?  If so, please report an enhancement request to PyTorch.)")
    for i, n in enumerate(reversed(normalized_shape)):
        if x.size(-1 - i) != n:
            raise RuntimeError(f"The shape at dimension {len(normalized_shape) - 1 - i}of normalized_shape doesn't match the input")
    return each("NativeLayerNormBackward0", lambda t, w, b: F.layer_norm(t, tuple(normalized_shape), w, b, eps), x, weight, bias)


@operation("embedding")
def _embedding(weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    if indices._data.ndim >= 3:
        raise RuntimeError("Expected indices.dim() < 3 to be true, but got false.  (Could this error message be improved?  If so, please "
                           "report an enhancement request to PyTorch.)")
    return each("EmbeddingBackward0", lambda w, i: F.embedding(w, i, padding_idx, scale_grad_by_freq, sparse), weight, in_order(indices))


@operation("scaled_dot_product_attention")
def _attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False,
               scale: float | None = None, enable_gqa: bool = False) -> Tensor:
    def of_part(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, None, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)

    if attn_mask is not None:
        raise RuntimeError("Scaled_dot_product_attention: Nested tensors for query / key / value are not supported when an explicit "
                           "attn_mask "
                           "is set")
    return each("ScaledDotProductAttentionBackward0", of_part, query, key, value)


def _unknown(name: str) -> None:
    def refuse(*_: object) -> Tensor:
        raise refused(name)

    operation(name)(refuse)


for _name in ("equal", "allclose", "full_like"):  # made of others that torch would refuse by another name
    _unknown(_name)
