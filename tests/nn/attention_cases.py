"""torch.nn.attention: kernels that are allowed, causal biases, masks as blocks, attention with scores of one's own; indices inside vmap."""

from __future__ import annotations

import importlib
import re
import warnings
from typing import Any

from tests.recording import Table, attempted

_QKV = ["q, q, q", "q[0], q[0], q[0]", "q, q, q[..., :2]", "q, q, q, dropout_p=1.0", "q, q, q, is_causal=True", "q.half(), q.half(), "
    "q.half()",
        "q, q, q, attn_mask=torch.ones(3, 3, requires_grad=True)", "q.long(), q.long(), q.long()", "q, q[:1], q[:1]", "q, q.double(), q",
        "q, q, q, dropout_p=2.0", "q.mT, q.mT, q.mT", "q.to('meta'), q.to('meta'), q.to('meta')"]
_KERNELS = ["MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "OVERRIDEABLE", "ERROR"]
_MASKS = {"causal": "lambda b, h, i, j: i >= j", "window": "lambda b, h, i, j: (i - j).abs() <= 2", "docs": "lambda b, h, i, j: ids[b, "
    "i] == ids[b, j]",
          "heads": "lambda b, h, i, j: (i >= j) & (j >= h)", "none": "lambda b, h, i, j: i < 0 * j", "noop": "noop_mask",
          "both": "and_masks(noop_mask, lambda b, h, i, j: i >= j)", "either": "or_masks(lambda b, h, i, j: i > 5, lambda b, h, i, j: i "
              "== j)",
          "prefix": "lambda b, h, i, j: j < lengths[b]"}
_MODS = ["lambda s, b, h, i, j: s", "lambda s, b, h, i, j: s + bias[i, j]", "lambda s, b, h, i, j: s * slopes[h] + (j - i)",
         "lambda s, b, h, i, j: torch.tanh(s / 2) * 2", "lambda s, b, h, i, j: torch.where(i >= j, s, -torch.inf)",
         "lambda s, b, h, i, j: s + slopes[h] * bias[i][j]", "lambda s, b, h, i, j: s.double()", "lambda s, b, h, i, j: 1.0",
         "lambda s, b, h: s", "_identity"]
_BAD = ["q[:, :1], k, v", "q[:, :1], k, v, enable_gqa=True", "q[0], k[0], v[0]", "q[:1], k, v", "q, k[..., :2], v", "q, k, v, "
    "return_lse=True, return_aux=AuxRequest()",
        "q, k, v, kernel_options={'BACKEND': 'X'}", "q, k, v, kernel_options={'BACKEND': 'AUTO', 'FORCE_USE_FLEX_ATTENTION': True}",
        "q, k, v, kernel_options={'OUTPUT_MAX': 1}", "q, k, v, return_aux=AuxRequest(max_scores=True)", "q.to('meta'), k.to('meta'), "
            "v.to('meta')",
        "q, k, v, block_mask=create_block_mask(noop_mask, 1, 1, 5, 7)", "q, k, v, block_mask=create_block_mask(noop_mask, 1, 1, 9, 9)",
        "q.requires_grad_(), k, v", "q, k, v, block_mask=create_block_mask(noop_mask, 1, 1, 6, 8)[0]",
        "q, k, v, kernel_options={'BACKEND': 'FLASH'}, return_aux=AuxRequest(max_scores=True)"]
_MASK = {"-": "None", "causal": "nn.Transformer.generate_square_subsequent_mask(5)", "bool": "torch.ones(5, 5).triu(1).bool()",
         "floats": "torch.arange(25.).view(5, 5).sin()"}
_PAD = {"-": "None", "behind": "behind", "whole": "whole", "between": "between", "floats": "torch.where(behind, -torch.inf, 0.)"}
_LAYERS = ["batch_first=True", "batch_first=True, activation='gelu'", "batch_first=True, norm_first=True", "batch_first=True, bias=False",
           "batch_first=True, activation=torch.tanh", "batch_first=True, activation=nn.GELU()", "batch_first=False"]
_NATIVE = ["s, s, s, 4, 2, W, b, P, p", "s, s, s, 4, 2, W, b, P, p, None, False", "s, s, s, 4, 2, W, b, P, p, None, True, False",
           "s, s, s, 4, 2, W, b, P, p, behind, True, True, 1", "s, s, s, 4, 2, W, b, P, p, behind.float(), True, True, 1",
           "s, s, s, 4, 2, W, b, P, p, whole, True, True, 1", "s, s, s, 4, 2, W, b, P, p, behind, True, True, 5", "s, s, s, 4, 2, W, b, "
               "P, p, behind",
           "s, s, s, 4, 2, W, b, P, p, torch.ones(5, 5).triu(1).bool(), True, True, 0", "s, s + 1, s + 1, 4, 2, W, b, P, p",
           "s, s + 1, s - 1, 4, 2, W, b, P, p", "s[0], s, s, 4, 2, W, b, P, p", "s, s[0], s, 4, 2, W, b, P, p", "s, s, s, 4, 3, W, b, P, p",
           "s, s[:1], s, 4, 2, W, b, P, p", "s, s, s, 6, 2, W, b, P, p", "s, s, s, 4, 2, W[:4], b, P, p", "s, s, s, 4, 2, W[:, :2], b, "
               "P, p",
           "s, s, s, 4, 2, W, b[:4], P, p", "s, s, s, 4, 2, W, b[None], P, p", "s, s, s, 4, 2, W[0], b, P, p", "*[s[:0]] * 3, 4, 2, W, "
               "b, P, p",
           "*[s.double()] * 3, 4, 2, W, b, P, p", "s, s, s, 4, 2, W, b, P, p, behind[:1], True, True, 1"]
_BUILT = "m = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 7, {}), 2{}).eval()"
CASES = [
    *[f"with torch.no_grad(): result = torch._native_multi_head_attention({call})" for call in _NATIVE],
    *[f"with torch.no_grad(): result = torch._transform_bias_rescale_qkv({call})" for call in (
        "torch.randn(2, 3, 12), b, 2", "torch.randn(3, 12), b, 2", "torch.randn(2, 3, 12), b, 5", "torch.randn(2, 3, 7), b[:7], 1",
        "torch.ones(2, 3, 12).long(), b.long(), 2")],
    *[f"a = nn.MultiheadAttention(4, 2, batch_first=True{options}).eval()\n"
      f"with torch.no_grad(): result = a(s, s, s, attn_mask={mask}, key_padding_mask={pad}, need_weights={needs})"
      for options in ("", ", bias=False") for mask in _MASK.values() for pad in _PAD.values()
      for needs in (True, False)],
    *[f"a = nn.MultiheadAttention(4, 2, batch_first=True).eval()\nwith torch.no_grad(): result = a({call})" for call in (
        "s, s, s, is_causal=True", "s.double(), s.double(), s.double()", "s, s, s, attn_mask=torch.ones(2, 5).bool()", "s[0], s[0], s[0]",
        "s, s, s, attn_mask=torch.eye(5).bool().expand(6, 5, 5), average_attn_weights=False")],
    *[f"{_BUILT.format(options, '')}\nwith torch.no_grad(): result = m.use_nested_tensor, m(s, {mask}, {pad})"
      for options in _LAYERS for mask in _MASK.values() for pad in _PAD.values() if pad == "None" or "False" not in options[:18]],
    *[f"{_BUILT.format('batch_first=True', rest)}\nwith torch.set_grad_enabled({grad}): result = m(s, src_key_padding_mask={pad})"
      for rest in (", enable_nested_tensor=False", ", mask_check=False", ", norm=nn.LayerNorm(4)") for grad in (False, True)
      for pad in ("behind", "whole")],
    *[f"{_BUILT.format('batch_first=True', '')}\nwith torch.no_grad(): result = m({call})" for call in (
        "s, src_key_padding_mask=behind[:2]", "s, src_key_padding_mask=behind[0]", "s[0], src_key_padding_mask=behind[0]")],
    f"{_BUILT.format('batch_first=True', '')}\nm.layers[0].norm1.register_forward_hook(lambda *a: None)\n"
    "with torch.no_grad(): result = m(s, torch.arange(25.).view(5, 5).sin())",
    *[f"m = {layer}.eval()\nwith torch.no_grad(): g = {made}.graph\n"
      "result = [any([name in str(n.target) for n in g.nodes]) for name in ('_attention', 'softmax', 'encoder_layer', 'multi_head')]"
      for layer in ("nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)", "nn.TransformerEncoder(nn.TransformerEncoderLayer("
                    "4, 2, 8, batch_first=True), 1)")
      for made in ("torch.export.export(m, (s,), strict=False)", "torch.fx.experimental.proxy_tensor.make_fx(m)(s)")],
    "torch.backends.mha.set_fastpath_enabled(False)\n" + _BUILT.format('batch_first=True', '') +
    "\nwith torch.no_grad(): result = m(s, src_key_padding_mask=behind)\ntorch.backends.mha.set_fastpath_enabled(True)",
    *[f"with sdpa_kernel(SDPBackend.{kernel}): result = F.scaled_dot_product_attention({call})" for kernel in _KERNELS for call in _QKV],
    *[f"with sdpa_kernel({kernels}): result = F.scaled_dot_product_attention(q, q, q)" for kernels in (
        "[]", "None", "0", "[SDPBackend.MATH, SDPBackend.FLASH_ATTENTION, SDPBackend.MATH], set_priority=True")],
    "with sdpa_kernel(SDPBackend.CUDNN_ATTENTION, set_priority=True): result = torch._C._get_sdp_priority_order(), "
    "attention._cur_sdpa_kernel_backends(True)",
    "with sdpa_kernel([SDPBackend.MATH]): pass\nresult = attention._cur_sdpa_kernel_backends(), torch._C._get_sdp_priority_order()",
    "with sdpa_kernel(SDPBackend.MATH): x = q.requires_grad_(); y = F.scaled_dot_product_attention(x, x, x).sum()\n"
    "g, = torch.autograd.grad(y, x, create_graph=True); result, = torch.autograd.grad(g.square().sum(), x)",
    "result = SDPBackend.MATH, str(SDPBackend.FLASH_ATTENTION), int(SDPBackend.ERROR), SDPBackend.MATH == 0, SDPBackend.MATH.name, "
    "list(SDPBackend.__members__)",
    "result = attention.list_flash_attention_impls(), attention.current_flash_attention_impl()",
    "attention.activate_flash_attention_impl('FA3')", "attention.activate_flash_attention_impl('none')",
    "p = SDPAParams(q, q, q, None, 0.0, False, False)\nresult = p.query, p.dropout, p.is_causal, can_use_flash_attention(p, True), "
    "can_use_efficient_attention(p)",
    "SDPAParams(1, 2)", "can_use_flash_attention('x')",
    *[f"result = F.scaled_dot_product_attention({q}, k, v, {make}{rest})"
      for q in ("q", "q[..., 1:, :]") for make in ("causal_upper_left(6, 8)", "causal_lower_right(6, 8)", "causal_lower_right(5, 8)")
      for rest in ("", ", scale=0.3")],
    "F.scaled_dot_product_attention(q, k, v, causal_upper_left(6, 8), is_causal=True)",
    "F.scaled_dot_product_attention(q, k.double(), v, causal_lower_right(6, 8))",
    "b = causal_lower_right(2, 4); result = repr(b), b.shape, b.variant, b.seq_len_q, b.seq_len_kv, b._materialize()",
    "causal_upper_left(3)", "CausalBias(1, 3, 4)", "result = causal_lower_right(4, 3)", "result = list(CausalVariant)",
    *[f"result = every(create_block_mask({mask}, {size}))" for mask in _MASKS.values() for size in (
        "2, 2, 9, 11, BLOCK_SIZE=4", "2, None, 12, 8, BLOCK_SIZE=(4, 2), separate_full_blocks=False",
        "2, 2, 8, 8, BLOCK_SIZE=4, compute_dq_write_order=True", "2, 2, 8, 8, BLOCK_SIZE=2, compute_dq_write_order=True, "
            "dq_kv_order=False")],
    "result = str(create_block_mask(noop_mask, 3, 2, 5000, 700)), str(create_block_mask(lambda b, h, i, j: i >= j, None, None, 3000, "
    "2900))",
    "result = create_block_mask(lambda b, h, i, j: i >= j, None, None, 300, 400).to_string(-1), create_block_mask(noop_mask, 1, 1, 900, "
    "900).to_string((2, 3))",
    *[f"result = every(create_block_mask(lambda b, h, i, j: i >= j + b, 2, 3, 9, 11, BLOCK_SIZE=4){change})" for change in (
        "[0]", "[0, 1]", "[0:1, 1:]", "[:, :, 1]", "[:, :, torch.tensor([1, 0])]", "[-1]", "[5]", "._adjust(5, 6)", ".to('cpu')",
        "._adjust(12, 12)",
        "[0, 0, 0, 0]")],
    "m = create_block_mask(noop_mask, 1, 1, 9, 11)[0]; m.mask_mod(q, q, q, q)",
    "m = BlockMask.from_kv_blocks(torch.ones(1, 1, 2).int(), torch.zeros(1, 1, 2, 2).int()); result = every(m), m.shape, m.numel()",
    "m = BlockMask.from_kv_blocks(torch.ones(2).int(), torch.zeros(2, 2).int(), compute_q_blocks=False, BLOCK_SIZE=(4, 8)); result = "
    "every(m)",
    "BlockMask.from_kv_blocks(torch.ones(1).int(), torch.zeros(1).int())", "BlockMask.from_kv_blocks(q, q, q)",
    "result = len(create_block_mask(noop_mask, 1, 1, 4, 4).as_tuple()), len(create_block_mask(noop_mask, 1, 1, 4, 4).as_tuple(False))",
    "m = create_block_mask(noop_mask, 1, 1, 4, 4); result = every(BlockMask._unflatten(*m._flatten()))",
    *[f"create_block_mask({wrong}, None, None, 5, 7)" for wrong in (
        "lambda b, h, i: i", "lambda b, h, i, j: (i >= j).float()", "lambda b, h, i, j: True", "lambda s, b, h, i, j: s", "lambda b, h, "
            "i, j: i if i > j else j")],
    "or_masks(1)", "and_masks(noop_mask, None)",
    *[f"result = create_mask({mod}, 2, 2, 6, 8)" for mod in (*_MASKS.values(), *_MODS[:5])],
    *[f"result = flex_attention(q, k, v, {mod})" for mod in _MODS],
    *[f"result = flex_attention(q, k, v, {mod}, block_mask=create_block_mask({mask}, 2, 2, 6, 8), return_aux=AuxRequest(lse=True))"
      for mod in _MODS[:3] for mask in _MASKS.values()],
    "result = flex_attention(q, k[:, :1], v[:, :1], enable_gqa=True, scale=0.5, return_lse=True)",
    "result = flex_attention(q.transpose(1, 2).contiguous().transpose(1, 2), k, v)", "result = flex_attention(q.mT.contiguous().mT, k, v)",
    "result = flex_attention(q.half(), k, v)", "result = flex_attention(q.double(), k.double(), v.double(), return_lse=True)",
    "result = flex_attention(q.bfloat16(), k.bfloat16(), v.bfloat16())", "result = flex_attention(q, k[:, :, :0], v[:, :, :0])",
    "result = flex_attention(q, k[:1], v[:1], block_mask=create_block_mask(noop_mask, 2, 1, 6, 8))", "result = flex_attention(q, k, v, "
        "return_aux=AuxRequest())",
    *[f"{name}.requires_grad_(); y = flex_attention(q, k, v, {mod}); y.sum().backward(); result = y.detach(), {name}.grad"
      for name, mod in (("bias", _MODS[1]), ("slopes", _MODS[2]), ("slopes", _MODS[5]))],
    *[f"flex_attention({bad})" for bad in _BAD],
    "varlen_attn(x, x[:, :1], x[:, :1], cu, cu, 4, 4)", "varlen_attn(x, torch.zeros(7, 3, 8), x, cu, cu, 4, 4, enable_gqa=True)",
    "varlen_attn(x, x, x, cu, cu, 4, 4, window_size=(1,))", "result = varlen_attn(*[x.to('meta')] * 3, cu, cu, 4, 4).shape",
    *[f"result = torch.vmap({function}, {dims})(*{given})" for function, dims, given in (
        ("lambda i: bias[i]", "0", "(at,)"), ("lambda y, i: y[i]", "0", "(many, at)"), ("lambda y, i: y[:, i]", "0", "(many, at)"),
        ("lambda y, i: y[i, i]", "0", "(many, at)"), ("lambda y, i: y[..., i]", "0", "(many, at)"), ("lambda y, i: y[None, i]", "0",
        "(many, at)"),
        ("lambda y, i: y[i, 1:3]", "0", "(many, at)"), ("lambda y, i: y[i, torch.tensor([0, 1])]", "0", "(many, at)"),
        ("lambda y, i: y[i:]", "0", "(many, at)"), ("lambda y, i: y[1, i]", "0", "(many, at)"), ("lambda i: bias[i.int()]", "0", "(at,)"),
        ("lambda y, i: y[i[None]]", "0", "(many, at)"), ("lambda y, i: y[True, i]", "0", "(many, at)"), ("lambda y, i: y[i, None]", "0",
        "(many, at)"),
        ("lambda y, i: y[i, ..., 0]", "0", "(many, at)"), ("lambda i: [1, 2, 3][i]", "0", "(at,)"),
        ("lambda i: torch.vmap(lambda j: bias[i // 2, j + 1])(at)", "0", "(at,)"), ("lambda i: torch.vmap(lambda j: bias[i][j])(at)", "0",
        "(at,)"),
        ("lambda y, i: y.clone().index_put_((i,), torch.tensor(0.))", "0", "(many, at)"), ("lambda i: bias[i + 7]", "0", "(at,)"),
        ("lambda y, i: y[0:2, i, [0, 1]]", "0", "(many, at)"), ("lambda i: torch.func.grad(lambda b: b[i, 0] ** 2)(bias)", "0", "(at,)"))],
    "def put(y, i):\n    y = y.clone(); y[i, 1] = torch.tensor(2.); return y\nresult = torch.vmap(put)(many, at)",
]


def _shown(x: Any, torch: Any) -> Any:
    if isinstance(x, torch.Tensor) and type(x) is torch.Tensor and x.device.type == "cpu":
        values = x.detach().double().tolist() if x.dtype.itemsize > 2 or not x.is_floating_point() else list(x.shape)
        return {"dtype": str(x.dtype), "stride": list(x.stride()), "grad": x.requires_grad, "values": values}
    return [_shown(y, torch) for y in x] if isinstance(x, (tuple, list)) else str(x)


def outcome(torch: Any, case: str) -> Any:
    """What a program leaves in `result`, and what it warns of; of an error its type and text."""
    modules = [importlib.import_module(f"{torch.__name__}.nn.attention{name}") for name in ("", ".bias", ".flex_attention", ".varlen")]
    torch.manual_seed(0)
    names: dict[str, Any] = {"result": None}
    for module in (torch.backends.cuda, *modules[::-1]):
        names.update({name: getattr(module, name) for name in dir(module) if not name.startswith("__")})
    names.update(torch=torch, F=torch.nn.functional, attention=modules[0], q=torch.randn(2, 2, 6, 4)[:, :, :6], k=torch.randn(2, 2, 8, 4),
                 v=torch.randn(2, 2, 8, 3), bias=torch.randn(6, 8), slopes=torch.randn(2), ids=torch.arange(24).view(2, 12) // 5,
                 lengths=torch.tensor([3, 7]), x=torch.randn(7, 2, 8), cu=torch.tensor([0, 3, 7], dtype=torch.int32),
                 s=torch.randn(3, 5, 4), W=torch.randn(12, 4), b=torch.randn(12), P=torch.randn(4, 4), p=torch.randn(4), nn=torch.nn,
                 behind=torch.arange(5) >= torch.tensor([[2], [5], [4]]), whole=torch.arange(5) >= torch.tensor([[0], [5], [3]]),
                 between=torch.arange(5) == torch.tensor([[1], [0], [9]]), at=torch.tensor([2, 0, 1]), many=torch.randn(3, 4, 5),
                 every=lambda m: (repr(m), *m.as_tuple()[:-1], m.to_dense(), m.sparsity()))
    if "create_block_mask" not in case and "causal" not in case:
        names["q"] = names["q"][:, :, :3] if "sdpa" in case else names["q"]

    def run() -> Any:
        torch.manual_seed(1)
        exec(case, names)
        return _shown(names["result"], torch)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = attempted(run)
    if isinstance(found, dict) and "text" in found:
        found["text"] = re.sub(" at 0x[0-9a-f]+", "", found["text"])
    kept = [str(w.message) for w in told if w.category is not RuntimeWarning]  # of NumPy, which a filter of the package keeps back
    return [found, [text.split(" (Triggered")[0] for text in kept if "torch.compile" not in text and "nested tensors" not in text]]


TABLE = Table("nn_attention", CASES, outcome, tolerance=(2e-5, 2e-6), zipped=True, digits=6)
