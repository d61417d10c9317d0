"""Operations as ATen has them: what `__torch_dispatch__` is shown of a record, and functions that exist in ATen only.

`form` says under which name and overload, and with which arguments, an operation is shown. `COMPOSITES` are carried out by other
operations where somebody looks, as torch's own composites always are. `FUNCTIONS` are carried out by `torch.ops.aten`.
"""

from __future__ import annotations

import threading
from math import prod
from typing import Any
from collections.abc import Callable

import numpy as np

import torchcompat as torch

from .._tensor import Tensor, frontend

F = frontend
Form = tuple[str, str, list[Any], dict[str, Any]]

NUMBERS_AS_TENSORS = frozenset("add sub mul div".split())
DIMENSION_INT = frozenset("select transpose unbind".split())
EXTREMES = {"max_all": "max", "min_all": "min", "median_all": "median", "nanmedian_all": "nanmedian"}
ALONG = {"max_along": "max", "min_along": "min", "median_along": "median", "nanmedian_along": "nanmedian"}
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


class _Naming(threading.local):
    copies = False  # views are to be copies, under names of their own


naming = _Naming()
VIEWS = ("view", "view?")


# -- forms ------------------------------------------------------------------------------------------------------------------------------


def form(rec: Any, values: dict[str, Any]) -> Form:
    """(name, overload, positional arguments, keyword arguments) of an operation in ATen, with trailing defaults left out."""
    name, overload, args, kwargs = _form(rec, values)
    return f"{name}_copy" if naming.copies and rec.family in VIEWS else name, overload, args, kwargs


def _form(rec: Any, values: dict[str, Any]) -> Form:
    own = _FORMS.get(rec.name)
    if own is not None:
        return own(values)
    positional = [p for p in rec.params if not p.keyword_only]
    args = [values[p.name] for p in positional]
    while args and positional[len(args) - 1].default is not None and _same(args[-1], rec.defaults.get(positional[len(args) - 1].name)):
        args.pop()
    kwargs = {p.name: values[p.name] for p in rec.params if p.keyword_only and not _same(values[p.name], rec.defaults.get(p.name))}
    return rec.name, _overload(rec, values), args, kwargs


def _same(a: Any, b: Any) -> bool:
    return a is b or a.__class__ is b.__class__ and not isinstance(a, Tensor) and not (isinstance(a, (list, tuple)) and any(
        [isinstance(x, Tensor) for x in a])) and bool(a == b)


def _overload(rec: Any, values: dict[str, Any]) -> str:
    name = rec.name
    operand = next((p for p in reversed(rec.params[1:]) if p.type == "Operand"), None)
    if name in NUMBERS_AS_TENSORS:
        return "Tensor"
    if name == "pow":
        kinds = ["Tensor" if isinstance(values[p.name], Tensor) else "Scalar" for p in rec.params[:2]]
        return "Scalar" if kinds[0] == "Scalar" else "_".join(kinds)
    if name == "floor_divide":
        return "default"
    if name in DIMENSION_INT:
        return "int"
    if name == "slice":
        return "Tensor"
    if name == "squeeze":
        return "default" if values["dim"] is None else "dim" if isinstance(values["dim"], int) else "dims"
    return "default" if operand is None else "Tensor" if isinstance(values[operand.name], Tensor) else "Scalar"


def _dims(dim: Any) -> list[int]:
    return [dim] if isinstance(dim, int) else [] if dim is None else list(dim)


def _reduction(name: str, overload: str) -> Callable[[dict[str, Any]], Form]:
    def own(v: dict[str, Any]) -> Form:
        kwargs = {} if v.get("dtype") is None else {"dtype": v["dtype"]}
        dim = v["dim"]
        if dim is None and not v["keepdim"]:
            return name, "default", [v["input"]], kwargs
        args = [v["input"], dim if overload in ("dim_int",) or name in ("any", "all") and isinstance(dim, int) else _dims(dim)]
        at = "dim" if name in ("any", "all") and isinstance(dim, int) else overload
        return name, at, [*args, True] if v["keepdim"] else args, kwargs

    return own


def _spread(name: str) -> Callable[[dict[str, Any]], Form]:
    def own(v: dict[str, Any]) -> Form:
        kwargs: dict[str, Any] = {} if v["dim"] is None and v["correction"] == 1 else {"correction": v["correction"]}
        if v["keepdim"]:
            kwargs["keepdim"] = True
        return name, "correction", [v["input"]] if v["dim"] is None else [v["input"], _dims(v["dim"])], kwargs

    return own


def _along(name: str) -> Callable[[dict[str, Any]], Form]:
    return lambda v: (name, "dim", [v["input"], v["dim"], *([True] if v["keepdim"] else [])], {})


def index_list(indices: Any) -> list[Any]:
    """The index tensors of an indexing operation, None where a dimension is taken whole."""
    sources = {id(t._data): t for t, _ in indices.sources}
    return [None if isinstance(k, slice) else sources.get(id(k)) if id(k) in sources else F.wrap(np.asarray(k)) for k in indices.key]


def _index(v: dict[str, Any]) -> Form:
    return "index", "Tensor", [v["input"], index_list(v["indices"])], {}


def _index_put(v: dict[str, Any]) -> Form:
    args = [v["input"], index_list(v["indices"]), v["values"]]
    return "index_put", "default", [*args, True] if v.get("accumulate") else args, {}


def _convolution_form(v: dict[str, Any]) -> Form:
    n = v["weight"].dim() - 2
    return "convolution", "default", [v["input"], v["weight"], v["bias"], *[list(v[k]) for k in ("stride", "padding", "dilation")], False,
                                      [0] * n, v["groups"]], {}


def _without_defaults(args: list[Any], defaults: list[Any]) -> list[Any]:
    """The arguments but for those at the end that equal the defaults, which are those of the last parameters."""
    while defaults and args[-1] == defaults[-1]:
        args, defaults = args[:-1], defaults[:-1]
    return args


def _max_pool(v: dict[str, Any]) -> Form:
    sizes, n = [list(v[k]) for k in ("kernel_size", "stride", "padding", "dilation")], len(v["kernel_size"])
    args = [v["input"], *_without_defaults([*sizes, v["ceil_mode"]], [sizes[0], [0] * n, [1] * n, False])]
    return f"max_pool{n}d_with_indices", "default", args, {}


def _avg_pool(v: dict[str, Any]) -> Form:
    sizes, n = [list(v[k]) for k in ("kernel_size", "stride", "padding")], len(v["kernel_size"])
    rest = [v["ceil_mode"], v["count_include_pad"], v["divisor_override"]]
    args = [v["input"], *_without_defaults([*sizes, *rest], [sizes[0], [0] * n, False, True, None])]
    return f"avg_pool{n}d", "default", args, {}


_FORMS: dict[str, Callable[[dict[str, Any]], Form]] = {
    "sum": _reduction("sum", "dim_IntList"), "mean": _reduction("mean", "dim"), "any": _reduction("any", "dims"),
    "all": _reduction("all", "dims"), "prod": _reduction("prod", "dim_int"), "var_of": _spread("var"), "std_of": _spread("std"),
    **{n: (lambda v, n=n: (EXTREMES[n], "default", [v["input"]], {})) for n in EXTREMES},  # type: ignore[misc]
    **{n: _along(a) for n, a in ALONG.items()},
    "sort_along": lambda v: ("sort", "stable" if v["stable"] else "default", [v["input"], *([v["dim"], v["descending"]] if v["descending"]
                             else [v["dim"]] if v["dim"] != -1 else [])] if not v["stable"] else [v["input"]],
                             {"stable": True, "dim": v["dim"], "descending": v["descending"]} if v["stable"] else {}),
    "split_equal": lambda v: ("split", "Tensor", [v["input"], v["split_size"], *([v["dim"]] if v["dim"] else [])], {}),
    "softmax": lambda v: ("_softmax", "default", [v["input"] if v["dtype"] is None else F.cast(v["input"], v["dtype"]), v["dim"], False],
                          {}),
    "log_softmax": lambda v: ("_log_softmax", "default", [v["input"] if v["dtype"] is None else F.cast(v["input"], v["dtype"]), v["dim"],
                                                          False], {}),
    "cast": lambda v: ("_to_copy", "default", [v["input"]], {"dtype": v["dtype"]}),
    "transfer": lambda v: ("_to_copy", "default", [v["input"]], {"dtype": v["dtype"], "device": v["device"]}),
    "index": _index, "put_at": _index_put, "convolution_nd": _convolution_form, "max_pool_nd": _max_pool, "avg_pool_nd": _avg_pool,
    "mse": lambda v: ("mse_loss", "default", [v["input"], v["target"], *([] if v["reduction"] == "mean" else
                                                                         [_REDUCTIONS[v["reduction"]]])], {}),
    "bce": lambda v: ("binary_cross_entropy", "default", [v["input"], v["target"], None, 0], {}),
    "bce_with_logits": lambda v: ("binary_cross_entropy_with_logits", "default", [v["input"], v["target"], None, None, 0], {}),
    "logsumexp": lambda v: ("logsumexp", "default", [v["input"], _dims(v["dim"]), *([True] if v["keepdim"] else [])], {}),
    "elu": lambda v: ("elu", "default", [v[k] for k in ("input", "alpha")], {}),
    "constant_pad_nd": lambda v: ("constant_pad_nd", "default", [v["input"], list(v["pad"]), float(v["value"])], {}),
    "as_strided_view": lambda v: ("as_strided", "default", [v["input"], list(v["size"]), list(v["stride"]), *(
        [] if v["storage_offset"] is None else [v["storage_offset"]])], {}),
    "basic_alias": lambda v: ("alias", "default", [v["input"]], {}),
    "where": lambda v: ("where", "self", [v["condition"], v["input"], v["other"]], {}),
    "layer_norm": lambda v: ("native_layer_norm", "default", [v["input"], _dims(v["normalized_shape"]), v["weight"], v["bias"], v["eps"]],
                             {}),
    "group_norm": lambda v: ("native_group_norm", "default", [
        v["input"], v["weight"], v["bias"], v["input"].shape[0], v["input"].shape[1], prod(v["input"].shape[2:]), v["num_groups"],
        v["eps"]], {}),
    "channel_norm": lambda v: ("native_batch_norm", "default", [
        v[k] for k in ("input", "weight", "bias", "running_mean", "running_var", "training", "momentum", "eps")], {}),
    "nll_loss": lambda v: ("nll_loss_forward", "default", [v["input"], v["target"], v["weight"], _REDUCTIONS[v["reduction"]],
                                                           v["ignore_index"]], {}),
    "attention": lambda v: ("_scaled_dot_product_flash_attention_for_cpu", "default", [
        v["query"], v["key"], v["value"], *([0.0, True] if v["causal"] else [])], {k: x for k, x in (
            ("attn_mask", v["mask"] if v["bias"] is None else v["bias"]), ("scale", v["scale"])) if x is not None}),
    "logsigmoid": lambda v: ("log_sigmoid_forward", "default", [v["input"]], {}),
}
FIRST = frozenset("layer_norm group_norm channel_norm nll_loss attention logsigmoid".split())
"""Records of one output that ATen returns several of; the others are for its backward."""


# -- composites -------------------------------------------------------------------------------------------------------------------------


def _as_view(input: Tensor, shape: Any) -> bool:
    """Whether a tensor can take a shape without a copy."""
    view = input._data.view()
    try:
        view.shape = tuple(shape)
    except AttributeError:
        return False
    return True


def _reshape(input: Tensor, shape: Any) -> Tensor:
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if sizes.count(-1) == 1:
        known = prod([n for n in sizes if n != -1])
        sizes = tuple([input.numel() // known if n == -1 and known else n for n in sizes])
    if -1 in sizes or prod(sizes) != input.numel():
        return F.view(input, sizes)  # which says what is wrong
    return F.view(input if _as_view(input, sizes) else F.clone(input, memory_format=_contiguous()), sizes)


def _contiguous() -> Any:
    from ..layout import contiguous_format

    return contiguous_format


def _linear(input: Tensor, weight: Tensor, bias: Any) -> Tensor:
    if weight.dim() != 2 or input.dim() < 2:
        result = _matmul(input, weight if weight.dim() < 2 else F.t(weight))
        return result if bias is None else F.add(result, bias)
    if bias is None:
        return _matmul(input, F.t(weight))
    if input.dim() == 2:
        return F.addmm(bias, input, F.t(weight))
    shape = tuple(input.shape)
    flat = _reshape(input, (prod(shape[:-1]), shape[-1]))
    return F.view(F.addmm(bias, flat, F.t(weight)), (*shape[:-1], weight.shape[0]))


def _matmul(input: Tensor, other: Tensor) -> Any:
    ranks = input.dim(), other.dim()
    if ranks == (1, 1):
        return F.dot(input, other)
    if ranks == (2, 1):
        return F.mv(input, other)
    if ranks == (1, 2):
        return F.squeeze(F.mm(F.unsqueeze(input, 0), other), 0)
    if ranks == (2, 2):
        return F.mm(input, other)
    if ranks[0] > 2 and ranks[1] < 3:
        shape = tuple(input.shape)
        flat = _reshape(input, (prod(shape[:-1]), shape[-1]))
        return F.mv(flat, other).view(shape[:-1]) if ranks[1] == 1 else F.view(F.mm(flat, other), (*shape[:-1], other.shape[1]))
    if ranks[0] == 0 or ranks[1] == 0:
        return NotImplemented
    a = F.unsqueeze(input, 0) if ranks[0] == 1 else input
    b = F.unsqueeze(other, 1) if ranks[1] == 1 else other
    lead = np.broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
    flat_a = _reshape(F.expand(a, (*lead, *a.shape[-2:])), (prod(lead), *a.shape[-2:]))
    flat_b = _reshape(F.expand(b, (*lead, *b.shape[-2:])), (prod(lead), *b.shape[-2:]))
    result = F.view(F.bmm(flat_a, flat_b), (*lead, a.shape[-2], b.shape[-1]))
    return F.squeeze(result, -2) if ranks[0] == 1 else F.squeeze(result, -1) if ranks[1] == 1 else result


def _basic(input: Tensor, index: Any) -> Tensor:
    """An index of numbers, slices, None and dots, one step after the other."""
    key = index if isinstance(index, tuple) else (index,)
    taken = sum([k is not None and k is not Ellipsis for k in key])
    result, dim = input, 0
    for k in key:
        if k is None:
            result, dim = F.unsqueeze(result, dim), dim + 1
        elif k is Ellipsis:
            dim += input.dim() - taken
        elif isinstance(k, slice):
            start, stop, step = k.indices(result.shape[dim])
            if (start, step) != (0, 1) or stop < result.shape[dim]:
                result = F.slice(result, dim, start, 2 ** 63 - 1 if k.stop is None else stop, step)
            dim += 1
        else:
            result = F.select(result, dim, int(k))
    return alias(result) if result is input else result


def _where(condition: Tensor, input: Any, other: Any) -> Any:
    if isinstance(input, Tensor) and isinstance(other, Tensor):
        return NotImplemented
    model = input if isinstance(input, Tensor) else other
    if not isinstance(model, Tensor):
        return NotImplemented
    dtype = torch.result_type(input, other)
    a, b = [x if isinstance(x, Tensor) else torch.scalar_tensor(x, dtype=dtype, layout=torch.strided, device=condition.device)
            for x in (input, other)]
    return F.where(condition, a, b)


def _cross_entropy(input: Tensor, target: Tensor, weight: Any, size_average: Any, ignore_index: int, reduce: Any, reduction: str,
                   label_smoothing: float) -> Any:
    if label_smoothing or target.is_floating_point() or size_average is not None or reduce is not None:
        return NotImplemented
    return F.nll_loss(F.log_softmax(input, 0 if input.dim() == 1 else 1), target, weight, ignore_index=ignore_index, reduction=reduction)


def _dropout(input: Tensor, p: float) -> Tensor:
    return F.mul(input, torch.empty_like(input).bernoulli_(1 - p).div_(1 - p))


def _isfinite(input: Tensor) -> Tensor:
    if not input.is_floating_point():
        return NotImplemented
    bounded = F.ne(F.abs(input), float("inf"))
    return F.mul(F.eq(input, input), bounded)


def _adaptive_avg_pool(input: Tensor, size: Any) -> Any:
    n = len(size)
    return F.mean(input, tuple(range(-1, -n - 1, -1)), True) if all([s == 1 for s in size]) else NotImplemented


COMPOSITES: dict[str, Callable[..., Any]] = {
    "linear": _linear, "matmul": _matmul, "reshape": _reshape, "where": _where, "cross_entropy": _cross_entropy,
    "square": lambda input: F.pow(input, 2), "outer": lambda input, vec2: F.mul(F.view(input, (input.shape[0], 1)), vec2),
    "random_dropout": _dropout, "isfinite": _isfinite, "adaptive_avg_pool_nd": _adaptive_avg_pool,
    "mm_nt": lambda input, mat2: F.mm(input, F.t(mat2)), "mm_tn": lambda input, mat2: F.mm(F.t(input), mat2),
    **dict.fromkeys(("basic_select", "basic_slice", "basic_unsqueeze"), _basic),
}
"""What torch makes of other operations before anybody sees it; called with the record's arguments, NotImplemented to pass."""


# -- functions of ATen alone ------------------------------------------------------------------------------------------------------------


def alias(input: Tensor) -> Tensor:
    """A view of the whole tensor."""
    return F.basic_alias(input, (Ellipsis,))


def _first_of(value: Any, like: Tensor, n: int) -> tuple[Any, ...]:
    """An output, and empty tensors in the place of what ATen keeps for its own backward."""
    return (value, *[F.new_empty(like, (0,)) for _ in range(n)])


def _native_layer_norm(input: Tensor, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, ...]:
    dims = tuple(range(input.dim() - len(normalized_shape), input.dim()))
    mean = F.mean(input, dims, True)
    return F.layer_norm(input, tuple(normalized_shape), weight, bias, eps), mean, F.rsqrt(F.var(input, dims, correction=0, keepdim=True)
                                                                                         + eps)


def _native_group_norm(input: Tensor, weight: Any, bias: Any, n: int, c: int, spatial: int, groups: int, eps: float) -> tuple[Any, ...]:
    parts = F.reshape(input, (n, groups, c // groups * spatial))
    return F.group_norm(input, groups, weight, bias, eps), F.mean(parts, 2), F.rsqrt(F.var(parts, 2, correction=0) + eps)


def _native_batch_norm(input: Tensor, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float,
                       eps: float) -> tuple[Any, ...]:
    dims = tuple([d for d in range(input.dim()) if d != 1])
    saved = (F.mean(input, dims), F.rsqrt(F.var(input, dims, correction=0) + eps)) if training else _first_of(None, input, 2)[1:]
    return F.channel_norm(input, weight, bias, running_mean, running_var, training, momentum, eps), *saved


def _nll_loss_forward(input: Tensor, target: Tensor, weight: Any, reduction: int, ignore_index: int) -> tuple[Any, ...]:
    named = {v: k for k, v in _REDUCTIONS.items()}[reduction]
    kept = F.ne(target, ignore_index)
    counted = F.cast(kept, input.dtype) if weight is None else F.where(kept, F.take(weight, F.where(kept, target, 0)), 0.0)
    return F.nll_loss(input, target, weight, ignore_index=ignore_index, reduction=named), F.sum(counted)


def _convolution(input: Tensor, weight: Tensor, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any,
                 groups: int) -> Tensor:
    n = weight.dim() - 2

    def several(x: Any) -> tuple[int, ...]:
        return (x,) * n if isinstance(x, int) else tuple(x) * (n if len(x) == 1 else 1)

    if not transposed:
        return F.convolution_nd(input, weight, bias, several(stride), several(padding), several(dilation), groups)
    from ..nn import functional

    return getattr(functional, f"conv_transpose{n}d")(input, weight, bias, several(stride), several(padding), several(output_padding),
                                                      groups, several(dilation))


def _convolution_backward(grad_output: Tensor, input: Tensor, weight: Tensor, bias_sizes: Any, stride: Any, padding: Any, dilation: Any,
                          transposed: bool, output_padding: Any, groups: int, output_mask: Any) -> tuple[Any, ...]:
    """The gradients of a convolution's input, weight and bias, None where `output_mask` wants none."""
    from ..autograd import grad
    from ..autograd.grad_mode import enable_grad

    recording = any([t.requires_grad for t in (grad_output, input, weight)])
    with enable_grad():
        x, w = [t if t.requires_grad else alias(t) for t in (input, weight)]
        for t in (x, w):
            t.requires_grad = True
        result = _convolution(x, w, None, stride, padding, dilation, transposed, output_padding, groups)
    asked = [t for t, wanted in zip((x, w), output_mask) if wanted]
    found = iter(grad(result, asked, grad_output, create_graph=recording) if asked else ())
    bias = F.sum(grad_output, (0, *range(2, grad_output.dim()))) if output_mask[2] else None
    return (*[next(found) if wanted else None for wanted in output_mask[:2]], bias)


def _new_zeros_with_same_feature_meta(self: Tensor, other: Tensor, *, self_num_batch_dims: int = 0) -> Tensor:
    """Zeros laid out as `other` in memory of its size, for each element of the first dimensions of `self`."""
    lead = tuple(self.shape[:self_num_batch_dims])
    size = other.untyped_storage().nbytes() // other.element_size()
    strides: list[int] = []
    step = size
    for n in reversed(lead):
        strides.insert(0, step)
        step *= n
    whole = F.new_zeros(other, (step,))
    return F.as_strided(whole, (*lead, *other.shape), (*strides, *other.stride()), other.storage_offset())


def _to_copy(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
             non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    return input.to(device or input.device, dtype or input.dtype, copy=True)


def _pool(n: int) -> Callable[..., Any]:
    def max_pool(input: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False) -> Any:
        def several(x: Any) -> tuple[int, ...]:
            return (x,) * n if isinstance(x, int) else tuple(x) * (n if len(x) == 1 else 1)

        return F.max_pool_nd(input, several(kernel_size), several(stride or kernel_size), several(padding), several(dilation), ceil_mode)

    return max_pool


def _named_reduction(name: str, place: int) -> Callable[..., Any]:
    """A loss with its reduction as ATen's number, the argument number `place`."""
    def loss(*args: Any, **kwargs: Any) -> Any:
        from ..nn import functional

        number = args[place] if len(args) > place else kwargs.pop("reduction", 1)
        return getattr(functional, name)(*args[:2], reduction={v: k for k, v in _REDUCTIONS.items()}[number],
                                         **({"weight": args[2]} if place > 2 and len(args) > 2 else {}))

    return loss


def _as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    whole = F.clone(input)
    F.as_strided(whole, tuple(size), tuple(stride), storage_offset).copy_(src)
    return whole


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "as_strided_scatter": _as_strided_scatter,
    "alias": alias, "lift_fresh": lambda input: input, "_unsafe_view": lambda input, size: F.view(input, tuple(size)),
    "_local_scalar_dense": lambda input: input.item(), "detach": Tensor.detach, "_to_copy": _to_copy,
    "_softmax": lambda input, dim, half_to_float: F.softmax(input, dim),
    "_log_softmax": lambda input, dim, half_to_float: F.log_softmax(input, dim),
    "_softmax_backward_data": lambda grad, output, dim, input_dtype: F.softmax_backward(grad, output, dim),
    "threshold_backward": lambda grad, input, threshold: F.where(F.gt(input, threshold), grad, 0.0),
    "_new_zeros_with_same_feature_meta": _new_zeros_with_same_feature_meta, "convolution": _convolution,
    "convolution_backward": _convolution_backward, "native_layer_norm": _native_layer_norm, "native_group_norm": _native_group_norm,
    "native_batch_norm": _native_batch_norm, "nll_loss_forward": _nll_loss_forward,
    "log_sigmoid_forward": lambda input: _first_of(F.logsigmoid(input), input, 1),
    "_scaled_dot_product_flash_attention_for_cpu": lambda query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None:
        _first_of(F.attention(query, key, value, *((attn_mask, None) if attn_mask is None or not attn_mask.is_floating_point() else
                                                   (None, attn_mask)), is_causal, scale), query, 1),
    **{f"max_pool{n}d_with_indices": _pool(n) for n in (1, 2, 3)},
    "mse_loss": _named_reduction("mse_loss", 2), "binary_cross_entropy": _named_reduction("binary_cross_entropy", 3),
    "binary_cross_entropy_with_logits": lambda input, target, weight=None, pos_weight=None, reduction=1: _named_reduction(
        "binary_cross_entropy_with_logits", 3)(input, target, weight, reduction),
    "index": lambda input, indices: F.getitem(input, tuple([slice(None) if i is None else i for i in indices])),
    "empty": lambda size, **options: F.empty(tuple(size), **options), "sum": lambda input, dim=None, keepdim=False, **more: F.sum(
        input, dim or None, keepdim, **more),
}


def function(name: str) -> Callable[..., Any] | None:
    """What carries out an operation by its name in ATen; None where there is no such operation."""
    own = FUNCTIONS.get(name)
    if own is not None:
        return own
    if name in ("rand_like", "randn_like", "randint_like", "scalar_tensor"):
        return lambda *args, pin_memory=None, layout=None, **kwargs: getattr(torch, name)(*args, **kwargs)
    found = getattr(frontend, name, None) or getattr(Tensor, name, None) or vars(torch).get(name)
    if found is None and name.endswith("_copy"):
        view = function(name[:-5])
        return None if view is None else lambda *args, **kwargs: _clones(view(*args, **kwargs))
    return found


def _clones(result: Any) -> Any:
    """Copies of views."""
    return type(result)([F.clone(r) for r in result]) if isinstance(result, (tuple, list)) else F.clone(result)


# -- torch.ops.aten -----------------------------------------------------------------------------------------------------------------------


class OpOverload:
    """The operation that a `__torch_dispatch__` is asked to carry out; calling it carries it out on other tensors."""

    __module__ = "torch._ops"

    def __init__(self, name: str, overload: str, function: Callable[..., Any]) -> None:
        self.name_, self.overload, self.function = name, overload, function
        self.__name__, self.__qualname__ = f"{name}.{overload}", f"{name}.{overload}"
        self.__module__ = "torch._ops.aten"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    @property
    def overloadpacket(self) -> Any:
        """All overloads of the operation, `torch.ops.aten.mul`."""
        return getattr(aten, self.name_)

    def name(self) -> str:
        """The full name, such as `aten::mul.Tensor`."""
        return f"aten::{self.name_}" + ("" if self.overload == "default" else f".{self.overload}")

    def __repr__(self) -> str:
        return f"<OpOverload(op='aten.{self.name_}', overload='{self.overload}')>"

    def __str__(self) -> str:
        return f"aten.{self.name_}.{self.overload}"

    def __hash__(self) -> int:
        return hash((self.name_, self.overload))

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, OpOverload) and (self.name_, self.overload) == (other.name_, other.overload)


_overloads: dict[tuple[str, str], OpOverload] = {}


def overload_of(name: str, overload: str, fallback: Callable[..., Any] | None = None) -> OpOverload:
    """The operation `torch.ops.aten.name.overload`, the same object each time."""
    found = _overloads.get((name, overload))
    if found is None:
        found = _overloads[name, overload] = OpOverload(name, overload, function(name) or fallback)  # type: ignore[arg-type]
    return found


class OpOverloadPacket:
    """All overloads of one operation; calling it picks the one that the arguments fit."""

    __module__ = "torch._ops"

    def __init__(self, name: str, function: Any) -> None:
        self.__name__, self._function = name, function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("_"):
            raise AttributeError(overload)
        found = overload_of(self.__name__, overload, self._function)
        setattr(self, overload, found)
        return found

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, (OpOverloadPacket, str)) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class _Aten:
    """`torch.ops.aten`."""

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        carried = function(name)
        if not callable(carried):
            raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")
        packet = OpOverloadPacket(name, carried)
        setattr(self, name, packet)
        return packet


aten = _Aten()
