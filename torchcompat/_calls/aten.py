"""Operations as ATen has them: what `__torch_dispatch__` is shown of a record, and functions that exist in ATen only.

`Plan.form` says under which name and overload, and with which arguments, an operation is shown: what its record's `aten` says.
`Plan.decomposed` carries one out by others where somebody looks, as torch's own composites always are. `FUNCTIONS` are carried out by
`torch.ops.aten`.
"""

from __future__ import annotations

import functools
import re
import threading
from math import prod
from typing import TYPE_CHECKING, Any, cast
from collections.abc import Callable, Sequence

import numpy as np

from autograd_tape.annotations import Arguments, DeviceLike, Fn, Keywords
import torchcompat as torch

from autograd_tape.calls import spelling
from autograd_tape.codegen import execute
from autograd_tape.dtypes import uint8
from autograd_tape.functions.general import General
from autograd_tape.ops.networks.resampling import interpolated
from autograd_tape.tensor import TensorRef

from .above import above
from .._tensor import Tensor, frontend
from .._making.creation import lifted
from ..dispatch import DispatchKey, exclude_keys
from .keys import AUTOGRAD, DispatchKeySet
from ..autograd.engine import grad
from ..autograd.grad_mode import enable_grad

if TYPE_CHECKING:
    from autograd_tape.dtypes import DType
    from torchcompat._memory.layout import layout, memory_format

F = frontend

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}
_REDUCTION_NAMES = {number: name for name, number in _REDUCTIONS.items()}


class _Naming(threading.local):
    copies = False  # views are to be copies, under names of their own


naming = _Naming()
VIEWS = ("view", "view?")


# -- forms ------------------------------------------------------------------------------------------------------------------------------


class Plan:
    """How a dispatch mode is shown the operation of a door.

    Attributes:
        is_view: whether it is one.
        first: whether ATen returns more than the record's one output, for its own backward.
        decompose: what torch makes of other operations before anybody sees it.
    """

    def __init__(self, door: General) -> None:
        rec = door.rec
        self.door, self.is_view, self.decompose = door, rec.family in VIEWS, rec.field("decompose")
        self.first = str(rec.field("aten")).endswith("[0]")
        self._forms: dict[str, Callable[..., Any]] = {}

    def decomposed(self, values: Keywords) -> Any:
        """What the record's `decompose` makes of other operations; NotImplemented for what it does not."""
        return NotImplemented if self.decompose is None else self.decompose(F, **values)

    def form(self, values: Keywords, end: str = "") -> tuple[OpOverload, Arguments, Keywords]:
        """(the operation in ATen, positional arguments, keyword arguments), without defaults at the end. `end` is the underscore of the
        variant in place."""
        form = self._forms.get(end)
        if form is None:
            lines, cells = self.source(end)
            text = f"def form({', '.join(values)}):\n" + "".join([f"    {line}\n" for line in [*lines, "return _func, _given, _named"]])
            form = self._forms[end] = execute(text, "form", f"<{self.door.rec.name}{end}: in ATen>", cells)
        found: tuple[OpOverload, tuple[Any, ...], dict[str, Any]] = form(*values.values())
        return found

    def source(self, end: str = "") -> tuple[list[str], dict[str, Any]]:
        """(statements that set what `form` returns, `_func`, `_given` and `_named`, of the arguments, what they call by name)."""
        rec, said = self.door.rec, self.door.rec.field("aten")
        names = tuple([p.name for p in rec.params])
        every = "".join([f"{n}, " for n in names])
        operand = next((p.name for p in rec.params[:0:-1] if p.type == "Operand"), None)
        by_operand = "'default'" if operand is None else f"'Tensor' if isinstance({operand}, Tensor) else 'Scalar'"
        written = {p.name: f"_dims({p.name})" for p in rec.params if p.type.startswith("int[]") and not p.keyword_only}
        written["memory_format"] = "_layout_of(memory_format)"
        params = [p for p in self.door.params if p.name != "inplace"]  # which the name says
        lines, cells = spelling(params, lambda name: written.get(name, name))
        cells |= {"Tensor": Tensor, "_dims": _dims, "_layout_of": _layout_of, "_overloads": _overloads, "_overload_of": overload_of,
                  "_fallback": self.door.public(bool(end)), "_naming": naming}
        if callable(said):  # which tells it of the arguments
            lines = [f"_name, _overload, _spell = _read(_said({', '.join([f'{n}={n}' for n in names])}), {names})",
                     f"if _spell is not None: _given, _named = _spell({every})", "else:", *["    " + line for line in lines],
                     f"_name, _overload = _name or '{rec.name}', _overload or ('default' if _spell is not None else {by_operand})"]
            cells |= {"_read": _read, "_said": said}
        else:
            name, overload, spell = _read(said or "", names)
            if spell is not None:
                lines, by_operand = [f"_given, _named = _spell({every})"], "'default'"
                cells["_spell"] = spell
            lines.append(f"_name = '{name or rec.name}'; _overload = " + (repr(overload) if overload else by_operand))
        lines += ["if _naming.copies: _name += '_copy'"] * self.is_view + [f"_name += '{end}'"] * bool(end)
        return [*lines, "_func = _overloads.get((_name, _overload)) or _overload_of(_name, _overload, _fallback)"], cells


@functools.cache
def before_dispatch(door: Any) -> Callable[[Arguments], tuple[OpOverload, Arguments, Keywords] | None] | None:
    """What an operation that torch makes of others is in ATen before it does, as a function of its arguments; None for what nobody sees so.
    It is what the record's `composite` says, in the words of `aten`."""
    said = door.rec.field("composite")
    if said is None:
        return None
    names = tuple([p.name for p in door.rec.params])

    def form(args: Arguments) -> tuple[OpOverload, Arguments, Keywords] | None:
        text = said(*args) if callable(said) else said
        if text is None:
            return None
        if len(args) != len(names):  # one for all, the last of which are of a list
            given = door.spelled(args)[0]
            rest = given[len(names) - 1:]
            args = (*given[:len(names) - 1], rest[0] if len(rest) == 1 and isinstance(rest[0], (list, tuple)) else rest)
        name, overload, spell = _read(text, names)
        positional, named = door.spelled(args) if spell is None else spell(*args)
        shown = [list(a) if a.__class__ is tuple else a for a in positional]
        return overload_of(name, overload or "default"), tuple(shown), named

    return form


def _layout_of(memory_format: Any) -> Any:
    """A memory format, which records take by its name, too."""
    return getattr(torch, memory_format.removeprefix("torch.")) if isinstance(memory_format, str) else memory_format


_plans: dict[object, Plan] = {}


def plan_of(door: General) -> Plan:
    """How the operation of a door is shown."""
    found = _plans.get(door.rec)
    if found is None:
        found = _plans[door.rec] = Plan(door)
    return found


@functools.lru_cache(None)
def _read(text: str, names: tuple[str, ...]) -> tuple[str, str, Fn | None]:
    """(name, overload, what makes the arguments, or None) of a record's `aten`."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"cannot read {text!r}; write 'name.overload(arguments)'")
    spell = None if match[3] is None else eval(f"lambda {', '.join(names)}: _call({match[3]})", _WORDS)
    return match[1], match[2] or "", spell


_FORM = re.compile(r"(\w*)(?:\.(\w+))?(?:\((.*)\))?(?:\[0\])?")


def _dims(dim: Sequence[int] | int | None) -> list[int]:
    return [dim] if isinstance(dim, int) else [] if dim is None else list(dim)


def index_list(indices: Any) -> list[Any]:
    """The index tensors of an indexing operation, None where a dimension is taken whole."""
    sources = {id(t._data): t for t, _ in indices.sources}
    return [None if isinstance(k, slice) else sources.get(id(k)) if id(k) in sources else lifted(F.wrap(np.asarray(k)))
            for k in indices.key]


def _without_defaults(args: list[bool | list[int] | None], defaults: list[bool | list[int] | None]) -> list[Any]:
    """The arguments but for those at the end that equal the defaults, which are those of the last parameters."""
    while defaults and args[-1] == defaults[-1]:
        args, defaults = args[:-1], defaults[:-1]
    return args


_WORDS: Keywords = {
    "_call": lambda *args, **kwargs: (args, {k: v for k, v in kwargs.items() if v is not None}),
    "many": lambda n, value: list(value) if isinstance(value, (tuple, list)) else [value] * n,
    "dims": _dims, "number": _REDUCTIONS.__getitem__, "prod": prod, "but": _without_defaults, "index_list": index_list,
    "cast": lambda input, dtype: input if dtype is None else F.cast(input, dtype),
}
"""What a record's `aten` may say of arguments, besides their names."""


# -- composites -------------------------------------------------------------------------------------------------------------------------


F.functions["scalar_tensor"] = functools.partial(torch.scalar_tensor, layout=torch.strided)  # no record, but others are made of it


# -- functions of ATen alone ------------------------------------------------------------------------------------------------------------


def alias(input: Tensor) -> Tensor:
    """A view of the whole tensor."""
    return F.basic_alias(input, (Ellipsis,))


def _first_of(value: Any, like: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """An output, and empty tensors in the place of what ATen keeps for its own backward."""
    return (value, *[F.new_empty(like, (0,)) for _ in range(n)])


def _running(name: str, training: bool) -> Fn:
    """`native_batch_norm` under a name of its own, with the memory that cuDNN would keep for the way back: none."""
    def function(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor, momentum: float,
                 eps: float) -> tuple[Tensor, ...]:
        found = F.channel_norm_statistics(input, weight, bias, running_mean, running_var, training, momentum, eps, name)
        return (*found, F.empty((0,), dtype=uint8))

    return function


def _eps_of(rstd: Tensor, var: Tensor) -> Tensor:
    """What was added to a variance before its root was taken."""
    return (1 / (rstd * rstd) - var).detach()


def _native_layer_norm_backward(grad_out: Tensor, input: Tensor, normalized_shape: Sequence[int], mean: Tensor, rstd: Tensor,
                                weight: Tensor | None, bias: Tensor | None, output_mask: Sequence[bool]) -> tuple[Tensor | None, ...]:
    n = len(normalized_shape)
    eps = _eps_of(rstd, F.var(input, tuple(range(-n, 0)), correction=0, keepdim=True))
    return tuple(F.layer_norm_backward(grad_out, input, mean, rstd, weight, n, eps, tuple(output_mask)))


def _native_group_norm_backward(grad_out: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor | None, N: int, C: int,
                                HxW: int, group: int, output_mask: Sequence[bool]) -> tuple[Tensor | None, ...]:
    eps = F.unsqueeze(_eps_of(rstd, F.var(F.reshape(input, (N, group, -1)), 2, correction=0)), 2)
    rows = [F.reshape(t, (N, C, HxW)) for t in (grad_out, input)]
    found = F.group_norm_backward(*rows, mean, rstd, weight, group, eps, tuple(output_mask))
    return (None if found[0] is None else F.reshape(found[0], input.shape), *found[1:])


def _native_batch_norm_backward(grad_out: Tensor, input: Tensor, weight: Tensor | None, running_mean: Tensor | None,
                                running_var: Tensor | None, save_mean: Tensor | None, save_invstd: Tensor | None, train: bool, eps: float,
                                output_mask: Sequence[bool]) -> tuple[Tensor | None, ...]:
    mean, rstd = save_mean, save_invstd
    if not train:
        assert running_mean is not None and running_var is not None, "evaluation needs the running statistics"
        mean, rstd = running_mean, F.rsqrt(running_var + eps)
    return tuple(F.channel_norm_backward(grad_out, input, mean, rstd, weight, None, None, train, eps, tuple(output_mask)))


def _pool_backward(n: int) -> Fn:
    def backward(grad_output: Tensor, input: Tensor, kernel_size: Sequence[int], stride: Sequence[int], padding: Sequence[int],
                 dilation: Sequence[int], ceil_mode: bool, indices: Tensor) -> Tensor:
        return F.max_pool_backward(grad_output, input, indices, n)

    return backward


def _upsample(mode: str, n: int, corners: bool, antialias: bool) -> Fn:
    """ATen's interpolation along `n` dimensions: to a size, with or without the scales that led to it, or, as its overload `vec`, to a size
    or by scales. Where `corners`, it says whether these are aligned."""
    def resized(input: Tensor, output_size: Sequence[int] | None, *rest: object, **named: object) -> TensorRef:
        given = [*rest, *named.values()]
        align = bool(given.pop(0)) if corners else False
        several = given[0] if given and isinstance(given[0], (list, tuple)) else given
        scales = tuple([x if isinstance(x, (int, float)) else None for x in [*several, *[None] * n][:n]])
        size = tuple(output_size) if output_size is not None else tuple([int(m * s) for m, s in zip(input.shape[2:], scales) if s])
        return interpolated(F, input, size, scales, mode, align, antialias)

    return resized


def _native_batch_norm_legit_functional(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor,
                                        running_var: Tensor, training: bool, momentum: float, eps: float) -> tuple[Tensor, ...]:
    """`native_batch_norm` that leaves the running statistics alone, and gives new ones."""
    mean, var = F.clone(running_mean), F.clone(running_var)
    return (*torch.native_batch_norm(input, weight, bias, mean, var, training, momentum, eps), mean, var)


def _nll_loss_forward(input: Tensor, target: Tensor, weight: object, reduction: int, ignore_index: int) -> tuple[Tensor, Tensor]:
    kept = F.ne(target, ignore_index)
    counted = F.cast(kept, input.dtype) if weight is None else F.where(kept, F.take(weight, F.where(kept, target, 0)), 0.0)
    return F.nll_loss(input, target, weight, ignore_index=ignore_index, reduction=_REDUCTION_NAMES[reduction]), F.sum(counted)


def _several(x: Sequence[int] | int | tuple[int, ...], n: int) -> tuple[int, ...]:
    """One number for each of `n` dimensions."""
    return (x,) * n if isinstance(x, int) else tuple(x) * (n if len(x) == 1 else 1)


def _convolution(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[int], padding: Sequence[int],
                 dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int) -> Tensor:
    n = weight.dim() - 2
    stride, padding, dilation, output_padding = [_several(x, n) for x in (stride, padding, dilation, output_padding)]
    if not transposed:
        return F.convolution_nd(input, weight, bias, stride, padding, dilation, groups)
    return getattr(F, f"conv_transpose{n}d")(input, weight, bias, stride, padding, output_padding, groups, dilation)


def _convolution_backward(grad_output: Tensor, input: Tensor, weight: Tensor, bias_sizes: Sequence[int], stride: Sequence[int],
                          padding: Sequence[int], dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int,
                          output_mask: Sequence[bool]) -> Arguments:
    """The gradients of a convolution's input, weight and bias, None where `output_mask` wants none."""
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


def _to_copy(input: Tensor, *, dtype: DType | None = None, layout: layout | None = None, device: DeviceLike | None = None,
             pin_memory: object = None, non_blocking: bool = False, memory_format: memory_format | None = None) -> Tensor:
    return input.to(device or input.device, dtype or input.dtype, copy=True)


def _pool(n: int) -> Fn:
    def max_pool(input: Tensor, kernel_size: Sequence[int], stride: Any = (), padding: int | list[int] = 0, dilation: int = 1,
                 ceil_mode: bool = False) -> Any:
        return F.max_pool_nd(input, *[_several(x, n) for x in (kernel_size, stride or kernel_size, padding, dilation)], ceil_mode)

    return max_pool


def _loss(name: str, tensors: int, parameters: str) -> Fn:
    """A loss of so many tensors, whose reduction is ATen's number: among parameters that are in ATen's order."""
    def loss(*args: Any, **kwargs: Any) -> object:
        given = {**dict(zip(parameters.split(), args[tensors:])), **kwargs}
        return getattr(F, name)(*args[:tensors], **{**given, "reduction": _REDUCTION_NAMES[given.get("reduction", 1)]})

    return loss


_LOSSES = {
    "mse_loss": (2, "reduction"), "l1_loss": (2, "reduction"), "soft_margin_loss": (2, "reduction"), "kl_div": (2, "reduction"),
    "multilabel_margin_loss": (2, "reduction"), "nll_loss": (2, "weight reduction ignore_index"),
    "huber_loss": (2, "reduction delta"), "smooth_l1_loss": (2, "reduction beta"),
    "binary_cross_entropy": (2, "weight reduction"), "binary_cross_entropy_with_logits": (2, "weight pos_weight reduction"),
    "multi_margin_loss": (2, "p margin weight reduction"), "hinge_embedding_loss": (2, "margin reduction"),
    "poisson_nll_loss": (2, "log_input full eps reduction"), "cosine_embedding_loss": (3, "margin reduction"),
    "margin_ranking_loss": (3, "margin reduction"), "triplet_margin_loss": (3, "margin p eps swap reduction"),
    "ctc_loss": (4, "blank reduction zero_infinity"),
}
"""How many tensors ATen's losses take, and what comes behind them."""


def _mkldnn_rnn_layer(input: Tensor, weight0: Tensor, weight1: Tensor, weight2: Tensor | None, weight3: Tensor | None, hx_: Tensor,
                      cx_: Tensor, reverse: bool, batch_sizes: Sequence[int], mode: int, hidden_size: int, num_layers: int,
                      has_biases: bool, bidirectional: bool, batch_first: bool, train: bool) -> tuple[Tensor, Tensor, Tensor]:
    if mode != 2:
        raise NotImplementedError(f"a layer of oneDNN is one of an LSTM, mode 2, not {mode}")
    biases, sizes = (weight2, weight3) if has_biases else (None, None), tuple(batch_sizes) or None
    found: tuple[Tensor, Tensor, Tensor] = F.lstm_layer(input, hx_, cx_, weight0, weight1, *biases, None, sizes, reverse)
    return found


def _padded(mode: str, n: int) -> Fn:
    """ATen's padding with the tensor's own elements, along `n` dimensions."""
    def pad(input: Tensor, padding: Sequence[int]) -> Tensor:
        if len(padding) != 2 * n:
            raise RuntimeError(f"padding size is expected to be {2 * n}" + (f", but got: {len(padding)}" if n == 1 else ""))
        found: Tensor = F.pad(input, tuple(padding), mode)
        return found

    return pad


def _flash_attention(query: Tensor, key: Tensor, value: Tensor, dropout_p: float = 0.0, is_causal: bool = False, *,
                     attn_mask: Tensor | None = None, scale: float | None = None) -> tuple[Tensor, Tensor]:
    masks = (attn_mask, None) if attn_mask is None or not attn_mask.is_floating_point() else (None, attn_mask)
    return _first_of(F.attention(query, key, value, *masks, is_causal, scale), query, 1)


FUNCTIONS: dict[str, Fn] = {
    **dict.fromkeys(("nll_loss2d", "nll_loss_nd"), _loss("nll_loss", *_LOSSES["nll_loss"])),
    "log_sigmoid": lambda input: F.logsigmoid(input),
    "alias": alias, "lift_fresh": lifted, "_unsafe_view": lambda input, size: F.view(input, tuple(size)),
    "_local_scalar_dense": Tensor.item, "_pin_memory": Tensor.pin_memory, "detach": Tensor.detach, "_to_copy": _to_copy,
    "threshold_backward": lambda grad, input, threshold: F.where(F.gt(input, threshold), grad, 0.0),
    "_new_zeros_with_same_feature_meta": _new_zeros_with_same_feature_meta, "convolution": _convolution,
    "convolution_backward": _convolution_backward, "native_layer_norm_backward": _native_layer_norm_backward,
    "native_group_norm_backward": _native_group_norm_backward, "native_batch_norm_backward": _native_batch_norm_backward,
    "_batch_norm_with_update": _running("_batch_norm_with_update", True), "_batch_norm_no_update": _running("_batch_norm_no_update", False),
    "native_dropout_backward": lambda grad_output, mask, scale: F.mul(F.mul(grad_output, mask), float(scale)),
    "slice": lambda input, dim=0, start=None, end=None, step=1: F.slice(input, dim, start, end, step),
    "nll_loss_forward": _nll_loss_forward, "mkldnn_rnn_layer": _mkldnn_rnn_layer,
    "log_sigmoid_forward": lambda input: _first_of(F.logsigmoid(input), input, 1),
    "_ctc_loss": lambda log_probs, targets, input_lengths, target_lengths, blank=0, zero_infinity=False: _first_of(
        F.ctc(log_probs, targets, tuple(input_lengths), tuple(target_lengths), blank, zero_infinity), log_probs, 1),
    "multilabel_margin_loss_forward": lambda input, target, reduction: _first_of(
        F.multilabel_margin(input, target, _REDUCTION_NAMES[reduction]), input, 1),
    "_scaled_dot_product_flash_attention_for_cpu": _flash_attention,
    **{f"{name}_pad{n}d": _padded(mode, n) for name, mode in (("reflection", "reflect"), ("replication", "replicate")) for n in (1, 2, 3)},
    **{f"max_pool{n}d_with_indices": _pool(n) for n in (1, 2, 3)},
    **{f"max_pool{n}d_with_indices_backward": _pool_backward(n) for n in (2, 3)},
    **{f"upsample_nearest{n}d": _upsample("nearest", n, False, False) for n in (1, 2, 3)},
    **{f"_upsample_nearest_exact{n}d": _upsample("nearest-exact", n, False, False) for n in (1, 2, 3)},
    **{f"upsample_{mode}{n}d": _upsample(mode, n, True, False) for mode, n in (("linear", 1), ("bilinear", 2), ("bicubic", 2),
                                                                               ("trilinear", 3))},
    **{f"_upsample_{mode}2d_aa": _upsample(mode, 2, True, True) for mode in ("bilinear", "bicubic", "lanczos")},
    "_native_batch_norm_legit_functional": _native_batch_norm_legit_functional,
    "_native_batch_norm_legit_no_training": lambda input, weight, bias, running_mean, running_var, momentum, eps: torch.native_batch_norm(
        input, weight, bias, running_mean, running_var, False, momentum, eps),
    "cross_entropy_loss": _loss("cross_entropy", 2, "weight reduction ignore_index label_smoothing"),
    "sym_size": lambda input, dim: input.shape[dim],
    **{name: _loss(name, *places) for name, places in _LOSSES.items()},
    "index": lambda input, indices: F.getitem(input, tuple([slice(None) if i is None else i for i in indices])),
    "_sparse_addmm": lambda self, mat1, mat2, *, beta=1, alpha=1: torch.addmm(self, mat1, mat2, beta=beta, alpha=alpha),
    "empty": lambda size, **options: F.empty(tuple(size), **options), "sum": lambda input, dim=None, keepdim=False, **more: F.sum(
        input, None if dim in ([], ()) else dim, keepdim, **more),
}


def function(name: str) -> Callable[..., Any] | None:
    """What carries out an operation by its name in ATen; None where there is no such operation."""
    own = FUNCTIONS.get(name)
    if own is not None:
        return own
    if name in ("rand_like", "randn_like", "randint_like", "scalar_tensor"):
        return lambda *args, pin_memory=None, layout=None, **kwargs: getattr(torch, name)(*args, **kwargs)
    found = getattr(frontend, name, None) or getattr(Tensor, name, None) or vars(torch).get(name)
    space, _, own_name = name.partition("_")
    if found is None and space in ("linalg", "fft", "special"):
        found = getattr(getattr(torch, space), own_name, None)
    if found is None and name.endswith("_copy"):
        view = function(name[:-5])
        return None if view is None else lambda *args, **kwargs: _clones(view(*args, **kwargs))
    return found


def _clones(result: object) -> Any:
    """Copies of views."""
    return type(result)([F.clone(r) for r in result]) if isinstance(result, (tuple, list)) else F.clone(result)


# -- torch.ops.aten -----------------------------------------------------------------------------------------------------------------------


class OpOverload:
    """An operation by its full name, as a `__torch_dispatch__` is asked to carry it out; calling it carries it out on other tensors.

    Attributes:
        rules: what modes and classes make of it, by their type, in the place of their `__torch_dispatch__`.
        tags: what `torch.Tag` says of it.
    """

    __module__ = "torch._ops"
    _schema: Any
    tags: Sequence[object]

    def __init__(self, name: str, overload: str, function: Fn, namespace: str = "aten") -> None:
        self.name_, self.overload, self.function, self.namespace = name, overload, function, namespace
        self.__name__, self.__qualname__ = f"{name}.{overload}", f"{name}.{overload}"
        self.__module__ = f"torch._ops.{namespace}"
        self._namespace, self._opname, self._overloadname, self._name = namespace, name, overload, self.name()
        self.rules: dict[type, Fn] = {}

    def __getattr__(self, name: str) -> Any:
        if name not in _OF_RECORDS or self.namespace != "aten":
            raise AttributeError(f"'OpOverload' object has no attribute '{name}'")
        value = self.__dict__[name] = above.of_overload(name, self)
        return value

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if "self" in kwargs and "operator" not in self.__dict__:
            kwargs["input"] = kwargs.pop("self")
        try:
            if "out" in kwargs and self.namespace == "aten" and not self._schema.is_mutable:
                above.fit_schema(self._schema, args, kwargs)
            result = self.function(*args, **kwargs)
            if result.__class__ is tuple and self.namespace == "aten" and len(self._schema.returns) == 1:
                return list(result)  # where functions return tuples
            return result
        except TypeError:
            if self.namespace == "aten":
                above.fit_schema(self._schema, args, kwargs)
            raise

    def _can_decompose(self) -> bool:
        """Whether it is made of other operations, whatever carries these out."""
        return self.namespace == "aten" and bool(above.of_overload("composite", self))

    def decompose(self, *args: object, **kwargs: object) -> object:
        """The operation as others make it up; NotImplemented where none do."""
        return self(*args, **kwargs) if self._can_decompose() else NotImplemented

    @property
    def op(self) -> Fn:
        """What carries it out."""
        return self.function

    _op = op

    def redispatch(self, keyset: DispatchKeySet, /, *args: Tensor | int, **kwargs: object) -> Tensor:
        """The operation for the rest of a walk, as a kernel that is told it goes on: without Autograd in it nothing is recorded."""
        operator = getattr(self, "operator", None)  # of an operation that a program registered
        if operator is not None:
            return operator.redispatch(keyset, operator.bind(args, kwargs))
        if AUTOGRAD & keyset._keys:
            return self(*args, **kwargs)
        with exclude_keys(DispatchKey.Autograd):
            return self(*args, **kwargs)

    def __deepcopy__(self, memo: object) -> OpOverload:
        return self

    @property
    def overloadpacket(self) -> Any:
        """All overloads of the operation, `torch.ops.aten.mul`."""
        return getattr(namespace(self.namespace), self.name_)

    _overloadpacket = overloadpacket

    def name(self) -> str:
        """The full name, such as `aten::mul.Tensor`."""
        return f"{self.namespace}::{self.name_}" + ("" if self.overload == "default" else f".{self.overload}")

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self.name_}', overload='{self.overload}')>"

    def __str__(self) -> str:
        return f"{self.namespace}.{self.name_}.{self.overload}"

    def __hash__(self) -> int:
        return hash((self.name_, self.overload))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpOverload) and str(self) == str(other)


_OF_RECORDS = frozenset(["_schema", "tags"])
_overloads: dict[tuple[str, str], OpOverload] = {}


def overload_of(name: str, overload: str, fallback: Fn | None = None) -> OpOverload:
    """The operation `torch.ops.aten.name.overload`, the same object each time."""
    found = _overloads.get((name, overload))
    if found is None:
        found = _overloads[name, overload] = OpOverload(name, overload, function(name) or fallback)  # type: ignore[arg-type]
    return found


class OpOverloadPacket:
    """All overloads of one operation; calling it picks the one that the arguments fit.

    Attributes:
        own: its overloads, where programs defined them; None of ATen's, which are made when asked for.
    """

    __module__ = "torch._ops"
    own: dict[str, OpOverload] | None = None

    def __init__(self, name: str, function: Any, namespace: str = "aten") -> None:
        self.__name__, self._function, self.namespace, self.__module__ = name, function, namespace, f"torch._ops.{namespace}"
        self._qualified_op_name = f"{namespace}::{name}"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __deepcopy__(self, memo: object) -> OpOverloadPacket:
        return self

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("_"):
            raise AttributeError(overload)
        if self.own is not None:
            if overload not in self.own:
                raise AttributeError(f"The underlying op of '{self}' has no overload name '{overload}'")
            return self.own[overload]
        if (self.__name__, overload) not in _overloads and not above.has_overload(self.__name__, overload):
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{overload}'")
        found = overload_of(self.__name__, overload, self._function)
        setattr(self, overload, found)
        return found

    @property
    def op(self) -> Fn:
        """What carries it out, as a function of this namespace."""
        found: Any = functools.partial(self._function)
        found.__module__, found.__name__ = self.__module__, self.__name__
        return cast("Fn", found)

    _op = op

    def overloads(self) -> list[str]:
        """The names of those that are known."""
        return list(self.own) if self.own is not None else above.overloads_of(self.__name__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (OpOverloadPacket, str)) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class _OpNamespace:
    """`torch.ops.aten`, and those that programs define."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        carried = function(name) if self.name == "aten" and not name.startswith("__") else None
        if not callable(carried):
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        packet = OpOverloadPacket(name, carried)
        setattr(self, name, packet)
        return packet

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self.name}' from 'torch.ops'>"


@functools.lru_cache(None)
def namespace(name: str) -> _OpNamespace:
    """`torch.ops.name`, the same object each time."""
    return _OpNamespace(name)


aten = namespace("aten")


def operator(name: str) -> Fn | None:
    """ATen's operator of a name, None where there is none.

    >>> operator("gelu") is aten.gelu, operator("geluu")
    (True, None)
    """
    found: Fn | None = getattr(aten, name, None)
    return found
