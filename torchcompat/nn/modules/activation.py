"""Activation functions as modules. Each calls the function of `nn.functional` of the same meaning."""

from __future__ import annotations

import sys
from typing import Any

from autograd_tape import warned
from autograd_tape.annotations import DeviceLike, Keywords
import torchcompat as torch

from .. import functional as F
from .. import init
from ..init import constant_, xavier_normal_, xavier_uniform_
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module
from torchcompat._tensor import Tensor
from autograd_tape.dtypes import DType

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish",
    "MultiheadAttention", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softmax", "Softmax2d", "Softmin", "Softplus",
    "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]


class _Inplace(Module):
    """An activation that can overwrite its input.

    Args:
        inplace: overwrite it.
    """

    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def _shown(self, *names: str) -> str:
        parts = [f"{name}={getattr(self, name)}" for name in names]
        return ", ".join(parts + ["inplace=True"] if self.inplace else parts)

    def extra_repr(self) -> str:
        return self._shown()


class Threshold(_Inplace):
    """input where it is greater than `threshold`, else `value`."""

    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold, self.value = threshold, value

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return self._shown("threshold", "value")


class ReLU(_Inplace):
    """max(input, 0)."""

    __constants__ = ["inplace"]

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, inplace=True) if self.inplace else F.relu(input)


class RReLU(_Inplace):
    """input where it is positive, else input times a slope: random between `lower` and `upper` in training, their mean otherwise."""

    __constants__ = ["lower", "upper", "inplace"]

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.lower, self.upper = lower, upper

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return self._shown("lower", "upper")


class Hardtanh(_Inplace):
    """input clamped to [min_val, max_val]."""

    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, min_value: float | None = None,
                 max_value: float | None = None) -> None:
        super().__init__(inplace)
        for old, new, value in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
            if value is not None:
                warned.warn(f"keyword argument `{old}` is deprecated and renamed to `{new}`", FutureWarning)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return self._shown("min_val", "max_val")


class ReLU6(Hardtanh):
    """min(max(input, 0), 6)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return self._shown()


class Sigmoid(Module):
    """1 / (1 + exp(-input))."""

    def forward(self, input: Tensor) -> Tensor:
        return torch.sigmoid(input)


class Hardsigmoid(_Inplace):
    """min(max(input + 3, 0), 6) / 6."""

    __constants__ = ["inplace"]

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Tanh(Module):
    """tanh(input)."""

    def forward(self, input: Tensor) -> Tensor:
        return torch.tanh(input)


class SiLU(_Inplace):
    """input * sigmoid(input)."""

    __constants__ = ["inplace"]

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, inplace=True) if self.inplace else F.silu(input)


class Mish(_Inplace):
    """input * tanh(softplus(input))."""

    __constants__ = ["inplace"]

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, inplace=True) if self.inplace else F.mish(input)


class Hardswish(_Inplace):
    """input * min(max(input + 3, 0), 6) / 6."""

    __constants__ = ["inplace"]

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class ELU(_Inplace):
    """input where it is positive, else alpha * (exp(input) - 1)."""

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return self._shown("alpha")


class CELU(ELU):
    """max(0, input) + min(0, alpha * (exp(input / alpha) - 1))."""

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class SELU(_Inplace):
    """The ELU whose outputs keep mean 0 and variance 1 (Klambauer et al., 2017)."""

    __constants__ = ["inplace"]

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class GLU(Module):
    """a * sigmoid(b), a and b being the halves of the input along `dim`."""

    __constants__ = ["dim"]

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class GELU(Module):
    """input * P(X <= input) for a standard normal X; `approximate="tanh"` for the formula with tanh."""

    __constants__ = ["approximate"]

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Hardshrink(Module):
    """input where |input| > lambd, else 0."""

    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class LeakyReLU(_Inplace):
    """input where it is positive, else negative_slope * input."""

    __constants__ = ["inplace", "negative_slope"]

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return self._shown("negative_slope")


class LogSigmoid(Module):
    """log(sigmoid(input))."""

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softplus(Module):
    """log(1 + exp(beta * input)) / beta; input itself where beta * input > threshold."""

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Softshrink(Module):
    """input moved towards 0 by lambd."""

    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class PReLU(Module):
    """input where it is positive, else weight * input, with a learned weight (one, or one per channel).

    Args:
        num_parameters: 1, or the number of channels (dimension 1).
        init: the weight's first value.
    """

    __constants__ = ["num_parameters"]

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(torch.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the weight to its first value."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Softsign(Module):
    """input / (1 + |input|)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """input - tanh(input)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class _AlongDim(Module):
    """A function along `dim`."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmin(_AlongDim):
    """softmax(-input)."""

    __constants__ = ["dim"]

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax(_AlongDim):
    """exp(input) / sum(exp(input)) along `dim`."""

    __constants__ = ["dim"]

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """log(softmax(input))."""

    __constants__ = ["dim"]

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Softmax over the channels of images [*, C, H, W]."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


def _canonical_masks(query: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """Both masks as floats to add."""
    return (F._canonical_mask(mask=key_padding_mask, mask_name="key_padding_mask", other_type=F._none_or_dtype(attn_mask),
                              other_name="attn_mask", target_type=query.dtype),
            F._canonical_mask(mask=attn_mask, mask_name="attn_mask", other_type=None, other_name="", target_type=query.dtype,
                              check_other=False))


def _only_infers(tensors: tuple[Any, ...]) -> bool:
    """Whether a call of these tensors, all plain ones of the CPU, records nothing: torch then computes whole layers at once."""
    if torch.is_grad_enabled() and any([t is not None and t.requires_grad for t in tensors]) or torch.overrides.has_torch_function(tensors):
        return False
    return all([t is None or t.device.type == "cpu" for t in tensors]) and not _becomes_graph()


def _becomes_graph() -> bool:
    """Whether a graph is made of what is called: it is to hold operations that whoever reads it knows, not whole layers."""
    state, proxies = [sys.modules.get(f"torchcompat.{name}") for name in ("_dynamo.external_utils", "fx.experimental.proxy_tensor")]
    # Where these were not loaded, nobody makes one.
    return state is not None and state.is_exporting() or proxies is not None and proxies.get_innermost_proxy_mode() is not None


class MultiheadAttention(Module):
    """softmax(Q K^T / sqrt(head_dim)) V in several heads side by side, with projections of inputs and output (Vaswani et al., 2017).

    Args:
        embed_dim: size of queries and of the output, a multiple of `num_heads`.
        num_heads: number of heads.
        dropout: probability of dropping an attention weight in training.
        bias: whether the projections have one.
        add_bias_kv: append a learned key and value.
        add_zero_attn: append a key and value of zeros.
        kdim, vdim: sizes of keys and values; embed_dim where None.
        batch_first: tensors are [batch, sequence, feature] rather than [sequence, batch, feature].
    """

    __constants__ = ["batch_first"]

    bias_k: Any
    bias_v: Any

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
                 add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
                 device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead")
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def new(*shape: int) -> Parameter:
            return Parameter(torch.empty(shape, device=device, dtype=dtype))

        if self._qkv_same_embed_dim:
            self.in_proj_weight = new(3 * embed_dim, embed_dim)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = new(embed_dim, embed_dim)
            self.k_proj_weight = new(embed_dim, self.kdim)
            self.v_proj_weight = new(embed_dim, self.vdim)
            self.register_parameter("in_proj_weight", None)
        if bias:
            self.in_proj_bias = new(3 * embed_dim)
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        if add_bias_kv:
            self.bias_k, self.bias_v = new(1, 1, embed_dim), new(1, 1, embed_dim)
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            weight = getattr(self, name)
            if weight is not None:
                xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            constant_(self.in_proj_bias, 0.0)
            constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                xavier_normal_(bias)

    def __setstate__(self, state: Keywords) -> None:
        state.setdefault("_qkv_same_embed_dim", True)
        super().__setstate__(state)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None, need_weights: bool = True,
                attn_mask: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False) -> tuple[Tensor,
                Tensor | None]:
        """Attends from `query` to `key` and `value`.

        Args:
            query: [L, N, E], or [N, L, E] where batch_first, or [L, E].
            key, value: the same with length S, sizes kdim and vdim.
            key_padding_mask: [N, S]; True (or -inf) where a key is to be ignored.
            need_weights: return the attention weights as well.
            attn_mask: [L, S] or [N * num_heads, L, S]; True where attention is not allowed, or floats to add.
            average_attn_weights: average the weights returned over the heads.
            is_causal: says that `attn_mask` is the causal mask.

        Returns:
            The output of query's shape, and the weights [N, L, S] ([N, num_heads, L, S] where not averaged) or None.
        """
        swap = self.batch_first and query.dim() == 3
        if swap and not self.training and query is key and key is value and self._takes_fast_path(query, key_padding_mask, attn_mask):
            kept, mask = _canonical_masks(query, key_padding_mask, attn_mask)
            return torch._native_multi_head_attention(
                query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.out_proj.weight,
                self.out_proj.bias, *self._mask_to_use(mask, kept, query, need_weights, average_attn_weights))
        if swap:
            # One transposed view for what is one tensor: self-attention then projects it in one product.
            turned = {id(x): x.transpose(1, 0) for x in (query, key, value)}
            query, key, value = turned[id(query)], turned[id(key)], turned[id(value)]
        separate = None if self._qkv_same_embed_dim else (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        q_weight, k_weight, v_weight = separate or (None, None, None)
        output, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v,
            self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, training=self.training,
            key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=separate is not None,
            q_proj_weight=q_weight, k_proj_weight=k_weight, v_proj_weight=v_weight, average_attn_weights=average_attn_weights,
            is_causal=is_causal)
        return (output.transpose(1, 0) if swap else output), weights

    def _takes_fast_path(self, query: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None) -> bool:
        """Whether torch computes a call of one batch, in evaluation, at once."""
        if any([mask is not None and torch.is_floating_point(mask) for mask in (key_padding_mask, attn_mask)]):
            return False
        weight, bias = self.in_proj_weight, self.in_proj_bias
        return (torch.backends.mha.get_fastpath_enabled() and weight is not None and bias is not None
                and query.dtype == weight.dtype == bias.dtype and self.num_heads % 2 == 0 and self.bias_k is None and self.bias_v is None
                and not self.add_zero_attn and self._qkv_same_embed_dim and not torch.is_autocast_enabled()
                and _only_infers((query, weight, bias, self.out_proj.weight, self.out_proj.bias)))

    def _mask_to_use(self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor, need_weights: bool,
                     average: bool) -> tuple[Tensor | None, bool, bool, int | None]:
        mask, kind = self.merge_masks(attn_mask, key_padding_mask, query)
        return mask, need_weights, average, kind

    def merge_masks(self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor) -> tuple[Tensor | None, int | None]:
        """(one mask of both, its kind as `_native_multi_head_attention` takes it): 1 of [N, S], 2 of [N, num_heads, L, S]; None of none."""
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            merged = merged + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return merged, 2
