"""The Transformer (Vaswani et al., 2017) and its parts."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torchcompat as torch
from autograd_tape import warned
from autograd_tape.annotations import DeviceLike, Keywords

from .. import functional as F
from ..init import xavier_uniform_
from .activation import GELU, MultiheadAttention, ReLU, _only_infers
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm
from torchcompat._tensor import Tensor
from autograd_tape.dtypes import DType

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer"]


def _generate_square_subsequent_mask(sz: int, device: DeviceLike | None = None, dtype: DType | None = None) -> Tensor:
    """[sz, sz] with -inf above the diagonal and 0 elsewhere."""
    return torch.triu(torch.full((sz, sz), float("-inf"), dtype=dtype, device=device), diagonal=1)


def _get_seq_len(src: Tensor, batch_first: bool) -> int:
    return src.size(1 if batch_first and src.dim() == 3 else 0)


def _detect_is_causal_mask(mask: Tensor | None, is_causal: bool | None = None, size: int | None = None) -> bool:
    """`is_causal`, or where that is None, whether `mask` is the causal mask."""
    if is_causal is None and mask is not None:
        causal = _generate_square_subsequent_mask(mask.size(-2) if size is None else size, device=mask.device, dtype=mask.dtype)
        return mask.size() == causal.size() and bool((mask == causal).all())
    return is_causal is True


def _get_clones(module: Module, n: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(n)])


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    if activation in ("relu", "gelu"):
        return getattr(F, activation)
    raise RuntimeError(f"activation should be relu/gelu, not {activation}")


class Transformer(Module):
    """An encoder and a decoder.

    Args:
        d_model: size of the features.
        nhead: attention heads.
        num_encoder_layers, num_decoder_layers: numbers of layers.
        dim_feedforward: size of the hidden layer of each feed-forward block.
        dropout: its probability, everywhere.
        activation: "relu", "gelu", or a function.
        custom_encoder, custom_decoder: used in place of the standard ones.
        layer_norm_eps: eps of all layer norms.
        batch_first: tensors are [batch, sequence, feature] rather than [sequence, batch, feature].
        norm_first: normalize before attention and feed-forward blocks rather than after.
        bias: whether linear layers and layer norms have one.
    """

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
                 dim_feedforward: int = 2048, dropout: float = 0.1, activation: str | Callable[[Tensor], Tensor] = F.relu,
                 custom_encoder: Module | None = None, custom_decoder: Module | None = None, layer_norm_eps: float = 1e-5,
                 batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: DeviceLike | None = None,
                 dtype: DType | None = None) -> None:
        super().__init__()
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype)
        if custom_encoder is None:
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)
            custom_encoder = TransformerEncoder(TransformerEncoderLayer(*options), num_encoder_layers, norm)
        self.encoder = custom_encoder
        if custom_decoder is None:
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)
            custom_decoder = TransformerDecoder(TransformerDecoderLayer(*options), num_decoder_layers, norm)
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
                memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None,
                memory_key_padding_mask: Tensor | None = None, src_is_causal: bool | None = None, tgt_is_causal: bool | None = None,
                memory_is_causal: bool = False) -> Tensor:
        """The decoder's output for `tgt`, which attends to the encoder's for `src`; masks as in MultiheadAttention."""
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
                            memory_is_causal=memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: DeviceLike | None = None, dtype: DType | None = None) -> Tensor:
        """[sz, sz] with -inf above the diagonal and 0 elsewhere."""
        return _generate_square_subsequent_mask(sz, device, dtype)

    def _reset_parameters(self) -> None:
        for param in self.parameters():
            if param.dim() > 1:
                xavier_uniform_(param)


def _why_not_nested(layer: Module) -> str:
    """Why torch does not leave padding out of what such layers compute, after the layer's name; empty where it does."""
    if not isinstance(layer, TransformerEncoderLayer):
        return " was not TransformerEncoderLayer"
    attn = layer.self_attn
    reasons = ((layer.norm_first, ".norm_first was True"),
               (not attn.batch_first, ".self_attn.batch_first was not True(use batch_first for better inference performance)"),
               (not attn._qkv_same_embed_dim, ".self_attn._qkv_same_embed_dim was not True"),
               (attn.in_proj_bias is None, ".self_attn was passed bias=False"),
               (not layer.activation_relu_or_gelu, ".activation_relu_or_gelu was not True"),
               (layer.norm1.eps != layer.norm2.eps, ".norm1.eps was not equal to encoder_layer.norm2.eps"),
               (attn.num_heads % 2 == 1, ".self_attn.num_heads is odd"))
    return next((text for holds, text in reasons if holds), "")


def _is_behind(src: Tensor, padding: Tensor) -> bool:
    """Whether each sequence [N, S, E] has its padding [N, S] behind it.

    Raises:
        RuntimeError: their shapes do not go together.
    """
    if padding.dim() != 2:
        raise RuntimeError("Padding mask should be 2D")
    if tuple(padding.shape) != tuple(src.shape[:2]):
        raise RuntimeError("Mask size should match input size")
    return bool((padding[:, 1:] >= padding[:, :-1]).all())


class TransformerEncoder(Module):
    """Encoder layers one after the other.

    Args:
        encoder_layer: copied `num_layers` times.
        norm: applied at the end.
        enable_nested_tensor: padding behind the sequences comes out as zeros at inference, as torch then leaves it out of the computation.
        mask_check: whether to look if padding lies behind them.
    """

    __constants__ = ["norm"]

    def __init__(self, encoder_layer: "TransformerEncoderLayer", num_layers: int, norm: Module | None = None,
                 enable_nested_tensor: bool = True, mask_check: bool = True) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        why_not = _why_not_nested(encoder_layer) if enable_nested_tensor else ""
        if why_not:
            warned.warn(f"enable_nested_tensor is True, but self.use_nested_tensor is False because encoder_layer{why_not}")
        self.enable_nested_tensor, self.use_nested_tensor = enable_nested_tensor, enable_nested_tensor and not why_not
        self.mask_check = mask_check

    def _leaves_padding_out(self, src: Tensor, mask: Tensor | None, padding: Tensor | None) -> bool:
        """Whether torch computes what is no padding alone, and gives zeros for the rest."""
        if padding is None or mask is not None or not getattr(self, "use_nested_tensor", False):
            return False
        first = self.layers[0]
        return (torch.backends.mha.get_fastpath_enabled() and not first.training and src.dim() == 3
                and not (getattr(self, "mask_check", True) and not _is_behind(src, padding != 0))
                and not torch.is_autocast_enabled() and _only_infers((src, *first._parameters_at_once())))

    def forward(self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool | None = None) -> Tensor:
        """`src` through all layers; masks as in MultiheadAttention."""
        padding = F._canonical_mask(mask=src_key_padding_mask, mask_name="src_key_padding_mask", other_type=F._none_or_dtype(mask),
                                    other_name="mask", target_type=src.dtype)
        mask = F._canonical_mask(mask=mask, mask_name="mask", other_type=None, other_name="", target_type=src.dtype, check_other=False)
        left_out = None
        if padding is not None and self._leaves_padding_out(src, mask, padding):
            left_out = padding != 0
            if left_out.all() and left_out.numel():
                raise RuntimeError("to_padded_tensor: at least one constituent tensor should have non-zero numel")
            if not getattr(self, "mask_check", True):  # as if it lay behind
                left_out = torch.arange(padding.size(1), device=padding.device) >= left_out.logical_not().sum(1, keepdim=True)
                padding = torch.zeros_like(padding).masked_fill(left_out, float("-inf"))
        causal = _detect_is_causal_mask(mask, is_causal, _get_seq_len(src, self.layers[0].self_attn.batch_first))
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        if left_out is not None:
            src = src.masked_fill(left_out[..., None], 0)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Decoder layers one after the other.

    Args:
        decoder_layer: copied `num_layers` times.
        norm: applied at the end.
    """

    __constants__ = ["norm"]

    def __init__(self, decoder_layer: "TransformerDecoderLayer", num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor:
        """`tgt` through all layers, each attending to `memory`; masks as in MultiheadAttention."""
        causal = _detect_is_causal_mask(tgt_mask, tgt_is_causal, _get_seq_len(tgt, self.layers[0].self_attn.batch_first))
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                        memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=causal, memory_is_causal=memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class TransformerEncoderLayer(Module):
    """Self-attention and a feed-forward block, each with dropout, a shortcut and layer norm; arguments: see Transformer."""

    __constants__ = ["norm_first"]

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: str | Callable[[Tensor], Tensor] = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__()
        placed: Keywords = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, **placed)
        self.linear1 = Linear(d_model, dim_feedforward, **placed)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **placed)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **placed)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **placed)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation
        self.activation_relu_or_gelu = (1 if self.activation is F.relu or isinstance(self.activation, ReLU) else
                                        2 if self.activation is F.gelu or isinstance(self.activation, GELU) else 0)

    def __setstate__(self, state: Keywords) -> None:
        super().__setstate__(state)
        if not hasattr(self, "activation"):
            self.activation = F.relu

    def forward(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool = False) -> Tensor:
        """`src` [S, N, E] ([N, S, E] where batch_first), of the same shape after; masks as in MultiheadAttention."""
        padding = F._canonical_mask(mask=src_key_padding_mask, mask_name="src_key_padding_mask", other_type=F._none_or_dtype(src_mask),
                                    other_name="src_mask", target_type=src.dtype)
        mask = F._canonical_mask(mask=src_mask, mask_name="src_mask", other_type=None, other_name="", target_type=src.dtype,
                                 check_other=False)
        if not self.training and src.dim() == 3 and self._takes_fast_path(src):
            attn, norm1, norm2, linear1, linear2 = self.self_attn, self.norm1, self.norm2, self.linear1, self.linear2
            return torch._transformer_encoder_layer_fwd(
                src, attn.embed_dim, attn.num_heads, attn.in_proj_weight, attn.in_proj_bias, attn.out_proj.weight, attn.out_proj.bias,
                self.activation_relu_or_gelu == 2, self.norm_first, norm1.eps, norm1.weight, norm1.bias, norm2.weight, norm2.bias,
                linear1.weight, linear1.bias, linear2.weight, linear2.bias, *attn.merge_masks(mask, padding, src))
        if self.norm_first:
            x = src + self._sa_block(self.norm1(src), mask, padding, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(src + self._sa_block(src, mask, padding, is_causal))
        return self.norm2(x + self._ff_block(x))

    def _parameters_at_once(self) -> tuple[Tensor | None, ...]:
        return (self.self_attn.in_proj_weight, self.self_attn.in_proj_bias, self.self_attn.out_proj.weight, self.self_attn.out_proj.bias,
                self.norm1.weight, self.norm1.bias, self.norm2.weight, self.norm2.bias, self.linear1.weight, self.linear1.bias,
                self.linear2.weight, self.linear2.bias)

    def _takes_fast_path(self, src: Tensor) -> bool:
        """Whether torch computes a batch, in evaluation, at once."""
        attn = self.self_attn
        return (torch.backends.mha.get_fastpath_enabled() and attn.batch_first and attn.in_proj_bias is not None
                and attn._qkv_same_embed_dim and bool(self.activation_relu_or_gelu) and self.norm1.eps == self.norm2.eps
                and attn.num_heads % 2 == 0 and not torch.is_autocast_enabled()
                and not any([m._forward_hooks or m._forward_pre_hooks for m in self.modules()])
                and _only_infers((src, *self._parameters_at_once())))

    def _sa_block(self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False) -> Tensor:
        x = self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False, is_causal=is_causal)[0]
        return self.dropout1(x)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(Module):
    """Self-attention, attention to the encoder's output, and a feed-forward block, each with dropout, a shortcut and layer norm;
    arguments: see Transformer."""

    __constants__ = ["norm_first"]

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: str | Callable[[Tensor], Tensor] = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__()
        placed: Keywords = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, **placed)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, **placed)
        self.linear1 = Linear(d_model, dim_feedforward, **placed)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **placed)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **placed)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **placed)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, **placed)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool = False,
                memory_is_causal: bool = False) -> Tensor:
        """`tgt` [T, N, E] ([N, T, E] where batch_first), of the same shape after; masks as in MultiheadAttention."""
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            x = tgt + self._sa_block(self.norm1(tgt), *own)
            x = x + self._mha_block(self.norm2(x), memory, *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(tgt + self._sa_block(tgt, *own))
        x = self.norm2(x + self._mha_block(x, memory, *other))
        return self.norm3(x + self._ff_block(x))

    def _sa_block(self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False) -> Tensor:
        x = self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False)[0]
        return self.dropout1(x)

    def _mha_block(self, x: Tensor, mem: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None,
                   is_causal: bool = False) -> Tensor:
        x = self.multihead_attn(x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal,
                                need_weights=False)[0]
        return self.dropout2(x)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))
