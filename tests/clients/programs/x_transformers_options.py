"""Transformers with 35 of their options trained for three steps and writing greedily and at random; encoders with decoders, over
images, numbers, and with memories."""

import random

import torch
from x_transformers import (AutoregressiveWrapper, ContinuousAutoregressiveWrapper, ContinuousTransformerWrapper, CrossAttender, Decoder,
                            Encoder,
                            NonAutoregressiveWrapper, TransformerWrapper, ViTransformerWrapper, XLAutoregressiveWrapper, XTransformer)

PACKAGES = ("x-transformers",)
OPTIONS: dict = {
    "plain": {}, "rotary": {"rotary_pos_emb": True, "ff_glu": True}, "alibi": {"alibi_pos_bias": True}, "T5": {"rel_pos_bias": True,
                                                                                                               "use_rmsnorm": True},
    "normed queries": {"attn_qk_norm": True, "ff_swish": True, "ff_glu": True}, "flash": {"attn_flash": True},
                 "one head of keys": {"attn_kv_heads": 1},
    "memories": {"attn_num_mem_kv": 2}, "talking heads": {"attn_pre_talking_heads": True, "attn_post_talking_heads": True},
                 "gated": {"attn_gate_values": True},
    "macaron": {"macaron": True}, "sandwich norm": {"sandwich_norm": True}, "scaled residual": {"scale_residual": True},
                 "squared": {"ff_relu_squared": True},
    "sparse": {"attn_sparse_topk": 3}, "shifted": {"shift_tokens": 1}, "dynamic bias": {"dynamic_pos_bias": True},
                 "xpos": {"rotary_xpos": True},
    "deep norm": {"scale_residual": True, "scale_residual_constant": 2.0}, "gated residual": {"gate_residual": True},
                 "scale norm": {"use_scalenorm": True},
    "simple norm": {"use_simple_rmsnorm": True}, "no bias": {"ff_no_bias": True}, "value norm": {"attn_head_scale": True},
                 "on attention": {"attn_on_attn": True},
    "post norm": {"pre_norm": False}, "softclamp": {"softclamp_output": True}, "softclamped": {"attn_softclamp_logits": True},
                 "sandwich": {"sandwich_coef": 1},
    "layer dropout": {"layer_dropout": 0.3}, "dropout": {"attn_dropout": 0.2, "ff_dropout": 0.2},
    "cope": {"attn_use_cope": True, "attn_cope_max_pos": 4},
    "values added": {"add_value_residual": True}, "selective": {"attn_selective": True},
    "mixed values": {"add_value_residual": True, "learned_value_residual_mix": True},
    "hyper": {"num_residual_streams": 2}}


def model(**options: object) -> TransformerWrapper:
    torch.manual_seed(0)
    random.seed(0)
    return TransformerWrapper(num_tokens=20, max_seq_len=16, attn_layers=Decoder(dim=16, depth=2, heads=2, attn_dim_head=8, **options))


def fitted(net: torch.nn.Module, *given: object, **named: object) -> list:
    optimizer, losses = torch.optim.Adam(net.parameters(), 1e-2), []
    for _ in range(3):
        loss = net(*given, **named)
        loss = loss if loss.ndim == 0 else loss.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def option(name: str) -> list:
    writer = AutoregressiveWrapper(model(**OPTIONS[name]))
    x = torch.randint(0, 20, (2, 12))
    losses = fitted(writer, x)
    torch.manual_seed(1)
    return [losses, writer.generate(x[:, :3], 4, temperature=0.0), writer.generate(x[:, :3], 4),
            writer.generate(x[:, :3], 3, filter_logits_fn="top_p", filter_kwargs={"thres": 0.8})]


def both() -> list:
    torch.manual_seed(0)
    net = XTransformer(dim=16, enc_num_tokens=10, enc_depth=1, enc_heads=2, enc_max_seq_len=8, dec_num_tokens=10, dec_depth=1, dec_heads=2,
                       dec_max_seq_len=8)
    asked, told = torch.randint(0, 10, (2, 8)), torch.randint(0, 10, (2, 8))
    losses = fitted(net, asked, told, mask=torch.arange(8)[None] < torch.tensor([[8], [5]]))
    return [losses, net.generate(asked, told[:, :1], 4, temperature=0.0)]


def pictures() -> list:
    torch.manual_seed(0)
    eye = ViTransformerWrapper(image_size=16, patch_size=8, num_classes=3, num_register_tokens=2, attn_layers=Encoder(dim=16, depth=1,
                                                                                                                      heads=2))
    images = torch.randn(2, 3, 16, 16)
    teller = TransformerWrapper(num_tokens=20, max_seq_len=16, attn_layers=Decoder(dim=16, depth=1, heads=2, cross_attend=True))
    seen = eye(images, return_embeddings=True)
    return [fitted(eye, images), teller(torch.randint(0, 20, (2, 6)), context=seen), CrossAttender(dim=16, depth=1)(torch.randn(1, 4, 16),
                                                                                                                    context=seen[:1])]


def numbers() -> list:
    torch.manual_seed(0)
    net = ContinuousTransformerWrapper(dim_in=4, dim_out=4, max_seq_len=8, attn_layers=Decoder(dim=16, depth=1, heads=2))
    x = torch.randn(2, 8, 4)
    writer = ContinuousAutoregressiveWrapper(net)
    masked = net(x, mask=torch.arange(8)[None] < torch.tensor([[8], [5]]))
    return [masked, fitted(writer, x), writer.generate(x[:, :2], 3)]


def recurrent() -> list:
    torch.manual_seed(0)
    net = TransformerWrapper(num_tokens=20, max_seq_len=8, max_mem_len=8, attn_layers=Decoder(dim=16, depth=2, heads=2, rel_pos_bias=True))
    x = torch.randint(0, 20, (2, 16))
    first, memories = net(x[:, :8], return_mems=True)
    second, memories = net(x[:, 8:], mems=memories, return_mems=True)
    return [second, memories[0], fitted(XLAutoregressiveWrapper(net), torch.randint(0, 20, (2, 17)))]


def steps() -> list:
    torch.manual_seed(0)
    net = NonAutoregressiveWrapper(TransformerWrapper(num_tokens=21, logits_dim=20, max_seq_len=8, attn_layers=Encoder(dim=16, depth=1,
                                                                                                                       heads=2)),
                                   mask_id=20, steps=3)
    return [net(torch.randint(0, 20, (2, 8))).loss, net.generate(2)]


def embedded() -> list:
    net = model()
    x = torch.randint(0, 20, (2, 6))
    logits, attention = net(x, return_attn=True)
    return [logits, attention[0], net(x, return_embeddings=True), net(x, mask=torch.arange(6)[None] < torch.tensor([[6], [3]])),
            AutoregressiveWrapper(net).beam_search(x[:, :2], 3, beams=2)]


CASES = {**{name: lambda name=name: option(name) for name in OPTIONS}, "encoder and decoder": both, "pictures": pictures,
         "numbers": numbers, "memory": recurrent,
         "masked": steps, "embedded": embedded}
