"""Methods of this package's own modules whose Python is not of TorchScript's language, written so that they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _recurrent(module: Any) -> str:
    """`forward` of an RNN, GRU or LSTM, of tensors."""
    several = module.mode == "LSTM"
    names = [name for layer in module._all_weights for name in layer]
    layers = len(module._all_weights)
    first, second = ("h, c = hx", "h, c") if several else ("h = hx", "h")
    sizes = [module.proj_size or module.hidden_size, module.hidden_size][:1 + several]
    batch = 0 if module.batch_first else 1
    zeros = [f"torch.zeros([{layers}, x.size({batch}), {n}], dtype=input.dtype, device=input.device)" for n in sizes]
    kind = "Tuple[Tensor, Tensor]" if several else "Tensor"
    return f"""
        def forward(self, input: Tensor, hx: Optional[{kind}] = None):
            batched = input.dim() == 3
            x = input if batched else input.unsqueeze({0 if module.batch_first else 1})
            if hx is None:
                {second} = {", ".join(zeros)}
            else:
                {first}
                if not batched:
                    {second} = {", ".join([f"{s}.unsqueeze(1)" for s in second.split(", ")])}
            weights = [{", ".join([f"self.{name}" for name in names])}]
            y, {second} = torch.{module.mode.lower()}(x, {"[h, c]" if several else "h"}, weights, {module.bias}, {module.num_layers},
                {float(module.dropout)}, self.training, {module.bidirectional}, {module.batch_first})
            if not batched:
                y, {second} = y.squeeze({0 if module.batch_first else 1}), {", ".join([f"{s}.squeeze(1)" for s in second.split(", ")])}
            return y, {"(h, c)" if several else "h"}
    """


def _cell(name: str, several: bool) -> Callable[[Any], str]:
    """`forward` of one step of a recurrence."""
    def source(module: Any) -> str:
        called = name if name != "rnn" else f"rnn_{module.nonlinearity}"
        kind = "Tuple[Tensor, Tensor]" if several else "Tensor"
        zeros = f"torch.zeros([x.size(0), {module.hidden_size}], dtype=input.dtype, device=input.device)"
        state, names = ("(zeros, zeros)", "h, c") if several else ("zeros", "h")
        return f"""
            def forward(self, input: Tensor, hx: Optional[{kind}] = None):
                batched = input.dim() == 2
                x = input if batched else input.unsqueeze(0)
                if hx is None:
                    zeros = {zeros}
                    {names} = {state}
                else:
                    {names} = hx
                    if not batched:
                        {names} = {", ".join([f"{s}.unsqueeze(0)" for s in names.split(", ")])}
                {names} = torch.{called}_cell(x, {"[h, c]" if several else "h"}, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
                if not batched:
                    {names} = {", ".join([f"{s}.squeeze(0)" for s in names.split(", ")])}
                return {"(h, c)" if several else "h"}
        """

    return source


_ATTENTION = """
    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Optional[Tensor]=None, need_weights: bool=True,
                attn_mask: Optional[Tensor]=None, average_attn_weights: bool=True, is_causal: bool=False):
        turned = self.batch_first and query.dim() == 3
        q, k, v = query, key, value
        if turned:
            q, k, v = q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1)
        y, weights = torch.nn.functional.multi_head_attention_forward(
            q, k, v, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn,
            self.dropout, self.out_proj.weight, self.out_proj.bias, training=self.training, key_padding_mask=key_padding_mask,
            need_weights=need_weights, attn_mask=attn_mask, use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight, k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal)
        if turned:
            y = y.transpose(0, 1)
        return y, weights
"""


def _convolution(module: Any) -> str:
    """`forward` of a convolution."""
    n = module.weight.dim() - 2
    if not module.transposed:
        return """
            def forward(self, input: Tensor):
                return self._conv_forward(input, self.weight, self.bias)
        """
    options = f"{module.stride}, {module.padding}, {module.output_padding}, {module.groups}, {module.dilation}"
    return f"""
        def forward(self, input: Tensor):
            return torch.conv_transpose{n}d(input, self.weight, self.bias, {options})
    """


def _inner_convolution(module: Any) -> str:
    """`_conv_forward`: a convolution with a weight and a bias, whose input may be padded in other ways than by zeros."""
    n = module.weight.dim() - 2
    padding, before = module.padding, "input"
    if module.padding_mode != "zeros":
        padding = (0,) * n
        before = f"torch.nn.functional.pad(input, {list(module._reversed_padding_repeated_twice)}, {module.padding_mode!r})"
    return f"""
        def _conv_forward(self, input: Tensor, weight: Tensor, bias: Optional[Tensor]):
            return torch.conv{n}d({before}, weight, bias, {module.stride}, {padding!r}, {module.dilation}, {module.groups})
    """


def _batch_norm(module: Any) -> str:
    """`forward` of a batch norm, whose statistics are tracked, or not."""
    tracked, factor = module.track_running_stats and module.running_mean is not None, module.momentum
    momentum = "0.0" if factor is None else str(factor)
    if tracked and factor is None:
        momentum = "1.0 / float(self.num_batches_tracked) if self.training else 0.0"
    kept = "self.running_mean, self.running_var" if tracked else "None, None"
    training = "self.training" if module.running_mean is not None else "True"
    text = """
        def forward(self, input: Tensor):
    """
    if tracked and module.num_batches_tracked is not None:
        text += """
            if self.training:
                self.num_batches_tracked.add_(1)
        """
    return text + f"""
            return torch.nn.functional.batch_norm(input, {kept}, self.weight, self.bias, {training}, {momentum}, {module.eps})
    """


LIBRARY: dict[str, str | Callable[[Any], str]] = {
    "_assert": """
        def _assert(condition: bool, message: str):
            assert condition, message
    """,
    "Linear.forward": """
        def forward(self, input: Tensor):
            return torch.nn.functional.linear(input, self.weight, self.bias)
    """,
    "_BatchNorm.forward": _batch_norm,
    "Sequential.forward": """
        def forward(self, input: Tensor):
            for module in self:
                input = module(input)
            return input
    """,
    "_Conv.forward": _convolution, "_ConvTransposeNd.forward": _convolution, "_Conv._conv_forward": _inner_convolution,
    "MultiheadAttention.forward": _ATTENTION, "RNN.forward": _recurrent, "GRU.forward": _recurrent, "LSTM.forward": _recurrent,
    "RNNCell.forward": _cell("rnn", False), "GRUCell.forward": _cell("gru", False), "LSTMCell.forward": _cell("lstm", True),
}
"""By the names of methods: their source, or what makes it of a module."""
