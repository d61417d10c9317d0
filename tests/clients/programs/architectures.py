"""Tiny models of 135 architectures, of text, images, speech, and text with images: two steps of training, then what each way of attending
gives, whether a saved model computes the same, and text written greedily, by beams, and at random.

Models of images and sound compute in float64: their last layer normalizes, so that the mean square of what they give is 1 but for `eps`,
and in float32 its gradient is mostly rounding, torch's as well as ours.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from typing import Any

import torch
import transformers
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSpeechSeq2Seq,
)

PACKAGES = ("transformers",)
CLOSE = 2e-3
IN_SUITE = ("llama", "t5", "vit")

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

SIZES: dict[str, Any] = dict(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40,
                             max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)
GROUPED = dict(SIZES, num_key_value_heads=2, head_dim=8)
GPT = dict(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=1, eos_token_id=2)
EXPERTS = dict(GROUPED, num_experts=4, num_experts_per_tok=2)
ROUTED = dict(EXPERTS, moe_intermediate_size=16, decoder_sparse_step=1)
LATENT = dict(SIZES, num_key_value_heads=4, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, n_group=1, topk_group=1,
              kv_lora_rank=16, q_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=16, first_k_dense_replace=1)
HYBRID = dict(EXPERTS, num_experts=2, num_experts_per_tok=1, attn_layer_period=2, attn_layer_offset=1, expert_layer_period=2,
              expert_layer_offset=1, mamba_d_state=8, use_mamba_kernels=False)
T5 = dict(vocab_size=99, d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4, decoder_start_token_id=0)
BART = dict(vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
            encoder_ffn_dim=37, decoder_ffn_dim=37, max_position_embeddings=64, pad_token_id=1, bos_token_id=0, eos_token_id=2,
            decoder_start_token_id=2, forced_eos_token_id=None)
IMAGES = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37, image_size=32, patch_size=8)
SWIN = dict(image_size=32, patch_size=4, embed_dim=16, depths=[1, 1], num_heads=[2, 4], window_size=4)
STAGES = dict(hidden_sizes=[16, 32], depths=[1, 1])


def named(names: str, sizes: dict[str, Any], **special: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Configurations by architecture: the sizes of all, and what some have besides (their names with `_` for `-`)."""
    return {name: {**sizes, **special.get(name.replace("-", "_"), {})} for name in names.split()}


MASKED = {
    **named("""bert roberta electra deberta deberta-v2 albert camembert xlm-roberta mpnet ernie megatron-bert roformer convbert
        nystromformer big_bird layoutlm squeezebert esm modernbert rembert mobilebert fnet data2vec-text xmod""", SIZES,
            albert=dict(embedding_size=16), electra=dict(embedding_size=16),
            rembert=dict(input_embedding_size=16, output_embedding_size=16),
            mobilebert=dict(embedding_size=32, true_hidden_size=32, intra_bottleneck_size=32),
            big_bird=dict(attention_type="original_full"),
            esm=dict(mask_token_id=4, token_dropout=False), squeezebert=dict(embedding_size=32),
            xmod=dict(languages=["en_XX"], default_language="en_XX")),
    "distilbert": dict(vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=37, max_position_embeddings=64),
    "funnel": dict(vocab_size=99, block_sizes=[1, 1], d_model=32, n_head=4, d_head=8, d_inner=37),
}
CAUSAL = {
    **named("""llama mistral gemma gemma2 gemma3_text qwen2 qwen3 phi phi3 stablelm starcoder2 olmo olmo2 cohere cohere2 glm granite
        nemotron smollm3 helium falcon_h1 exaone4 diffllama ministral seed_oss arcee bitnet apertus""", GROUPED),
    **named("gpt_neox biogpt persimmon", SIZES),
    **named("gpt2 gptj codegen gpt_bigcode ctrl openai-gpt", GPT, gptj=dict(rotary_dim=4), codegen=dict(rotary_dim=4), ctrl=dict(dff=37)),
    **named("olmoe qwen2_moe qwen3_moe mixtral gpt_oss", EXPERTS, qwen3_moe=ROUTED,
            qwen2_moe=dict(ROUTED, shared_expert_intermediate_size=16),
            mixtral=dict(num_local_experts=4), gpt_oss=dict(num_local_experts=4)),
    "deepseek_v3": LATENT,
    "jamba": HYBRID,
    "gpt_neo": dict(vocab_size=99, hidden_size=32, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]],
                    max_position_embeddings=64, bos_token_id=1, eos_token_id=2),
    "opt": dict(SIZES, ffn_dim=37, word_embed_proj_dim=32),
    "bloom": dict(vocab_size=99, hidden_size=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2),
    "falcon": dict(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, bos_token_id=1, eos_token_id=2),
    "mpt": dict(vocab_size=99, d_model=32, n_layers=2, n_heads=4, max_seq_len=64),
    "mamba": dict(vocab_size=99, hidden_size=32, num_hidden_layers=2, state_size=8),
    "mamba2": dict(vocab_size=99, hidden_size=32, num_hidden_layers=2, state_size=8, num_heads=8, head_dim=8, n_groups=1, chunk_size=8),
    "rwkv": dict(vocab_size=99, hidden_size=32, num_hidden_layers=2, attention_hidden_size=32, intermediate_size=37, context_length=64),
    "xglm": dict(vocab_size=99, d_model=32, num_layers=2, attention_heads=4, ffn_dim=37, max_position_embeddings=64),
    "xlnet": dict(vocab_size=99, d_model=32, n_layer=2, n_head=4, d_inner=37),
}
TRANSLATING = {
    **named("t5 mt5 umt5 longt5", T5, longt5=dict(local_radius=4)),
    **named("bart mbart pegasus marian blenderbot blenderbot-small m2m_100 led plbart nllb-moe bigbird_pegasus", BART,
            led=dict(attention_window=4, max_encoder_position_embeddings=64, max_decoder_position_embeddings=64),
            marian=dict(pad_token_id=98, decoder_start_token_id=98), bigbird_pegasus=dict(attention_type="original_full"),
            nllb_moe=dict(num_experts=4, encoder_sparse_step=2, decoder_sparse_step=2, expert_capacity=100)),
}
SEEING = {
    **named("vit deit beit dinov2 siglip_vision_model clip_vision_model vit_mae ijepa vit_msn dinov2_with_registers dinov3_vit", IMAGES),
    **named("swin swinv2", SWIN),
    **named("resnet convnext convnextv2 regnet bit", STAGES, resnet=dict(embedding_size=16), convnext=dict(num_stages=2),
            convnextv2=dict(num_stages=2), regnet=dict(embedding_size=16, groups_width=8), bit=dict(embedding_size=16, num_groups=4)),
    "segformer": dict(num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[16, 32], num_attention_heads=[1, 2],
                      patch_sizes=[7, 3], strides=[4, 2], mlp_ratios=[2, 2]),
    "mobilenet_v2": dict(image_size=32),
    "efficientnet": dict(image_size=32, width_coefficient=0.25, depth_coefficient=0.25, hidden_dim=320),
    "poolformer": dict(hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1]),
    "levit": dict(image_size=32, hidden_sizes=[16, 32, 48], num_attention_heads=[1, 2, 3], depths=[1, 1, 1], key_dim=[8, 8, 8]),
    "pvt": dict(image_size=32, hidden_sizes=[8, 16, 40, 64], depths=[1, 1, 1, 1]),
    "focalnet": dict(image_size=32, embed_dim=16, depths=[1, 1], hidden_sizes=[16, 32], focal_levels=[1, 1], focal_windows=[3, 3]),
    "hiera": dict(image_size=[32, 32], embed_dim=16, depths=[1, 1], num_heads=[1, 2], num_query_pool=1, masked_unit_size=[4, 4]),
}
WAVES = dict(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37, conv_dim=[16, 16],
             conv_stride=[4, 2], conv_kernel=[8, 4], num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2, mask_time_prob=0.0,
             num_feat_extract_layers=2, feat_extract_norm="layer", layerdrop=0.0)
HEARING = {
    **named("wav2vec2 hubert wavlm data2vec-audio unispeech unispeech-sat sew", WAVES, sew=dict(squeeze_factor=2)),
    "whisper": dict(BART, vocab_size=99, num_mel_bins=8, max_source_positions=20, max_target_positions=32, begin_suppress_tokens=None,
                    suppress_tokens=None),
    "audio-spectrogram-transformer": dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37, patch_size=4,
                                          max_length=32, num_mel_bins=16, frequency_stride=4, time_stride=4),
}
PAIR = dict(text_config=SIZES, vision_config=IMAGES, projection_dim=16)
LOOKING = dict(text_config=dict(GROUPED, model_type="llama"), vision_config=dict(IMAGES, model_type="clip_vision_model"), image_token_id=98,
               image_token_index=98)
SHOWN = {
    **named("clip siglip chinese_clip", PAIR),
    **named("llava vipllava", LOOKING, llava=dict(vision_feature_layer=-1), vipllava=dict(vision_feature_layers=[-1, -2])),
}
GENERATIONS: tuple[dict[str, Any], ...] = ({}, {"num_beams": 3}, {"do_sample": True, "top_k": 20, "temperature": 0.8})


def tokens() -> Any:
    """A random batch of token ids, none of them special."""
    return torch.randint(3, 99, (2, 8))


def trained(model: Any, **batch: Any) -> list[float]:
    """The loss and the size of the gradient at each of two steps."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.manual_seed(1)
    found = []
    for _ in range(2):
        given = model(**batch)
        loss = getattr(given, "loss", None)
        if loss is None:
            loss = (given.last_hidden_state if hasattr(given, "last_hidden_state") else given[0]).pow(2).mean()
        loss.backward()
        found += [float(loss), float(sum(p.grad.abs().sum() for p in model.parameters() if p.grad is not None))]
        optimizer.step()
        optimizer.zero_grad()
    return found


def built(cls: Any, name: str, sizes: dict[str, Any]) -> Any:
    """The model, with the same random weights each time; one without the head asked for where it has none."""
    torch.manual_seed(0)
    config = AutoConfig.for_model(name, **sizes)
    try:
        return cls.from_config(config)
    except ValueError:
        return AutoModel.from_config(config)


def kept(model: Any, **batch: Any) -> list[Any]:
    """What a model gives by each way of attending that it has, and whether it gives the same after it was saved and loaded."""
    model.eval()

    def given(model: Any) -> Any:
        with torch.no_grad():
            return model(**batch)[1 if "labels" in batch else 0]

    found = []
    for how in ("eager", "sdpa"):
        if how == "eager" or model._supports_sdpa:
            model.set_attn_implementation(how)
            found.append([how, given(model)])
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = type(model).from_pretrained(folder, dtype=model.dtype).eval()
    again.set_attn_implementation(found[-1][0])
    return [*found, float((given(again) - found[-1][1]).abs().max()) <= 1e-6 * float(found[-1][1].abs().max())]


def seen(name: str, sizes: dict[str, Any]) -> list[Any]:
    """Of a model of images."""
    model = built(AutoModel, name, sizes).double()
    torch.manual_seed(2)
    images = {"pixel_values": torch.randn(2, 3, 32, 32).double()}
    return [*trained(model, **images), *([] if name == "vit_mae" else kept(model, **images))]  # which hides patches at random


def read(cls: Any, name: str, sizes: dict[str, Any]) -> list[Any]:
    """Of a model of text."""
    model = built(cls, name, sizes)
    torch.manual_seed(2)
    text = tokens()
    if cls is AutoModelForSeq2SeqLM:
        found: list[Any] = trained(model, input_ids=text, labels=tokens())
    else:
        headed = "For" in type(model).__name__ or "LMHead" in type(model).__name__
        batch = dict(input_ids=text, attention_mask=torch.ones_like(text), **({"labels": text} if headed else {}))
        found = [*trained(model, **batch), *kept(model, **batch)]
    if cls is not AutoModelForMaskedLM:
        model.eval()
        torch.manual_seed(3)
        for how in GENERATIONS[::2] if name == "rwkv" else GENERATIONS:  # which writes by beams without a cache only
            found.append(model.generate(text, max_new_tokens=8, min_new_tokens=8, **how)[:, -8:].tolist())
    return found


def heard(name: str, sizes: dict[str, Any]) -> list[Any]:
    """Of a model of sound."""
    whisper = name == "whisper"
    model = built(AutoModelForSpeechSeq2Seq if whisper else AutoModel, name, sizes)
    torch.manual_seed(2)
    if whisper:
        batch = {"input_features": torch.randn(2, 8, 40), "labels": torch.randint(3, 99, (2, 6))}
    elif name == "audio-spectrogram-transformer":
        model, batch = model.double(), {"input_values": torch.randn(2, 32, 16).double()}
    else:
        model, batch = model.double(), {"input_values": torch.randn(2, 400).double()}
    found = [*trained(model, **batch), *kept(model, **batch)]
    if whisper:
        found.append(model.generate(batch["input_features"], max_new_tokens=6, min_new_tokens=6, do_sample=False).tolist())
    return found


def illustrated(name: str, sizes: dict[str, Any]) -> list[Any]:
    """Of a model of text and images."""
    paired = name in ("clip", "siglip", "chinese_clip", "altclip", "align")
    model = built(AutoModel if paired else AutoModelForImageTextToText, name, sizes)
    torch.manual_seed(2)
    text, images = tokens().clamp(max=97), torch.randn(2, 3, 32, 32)
    if paired:
        return [*trained(model, input_ids=text, pixel_values=images, return_loss=True), *kept(model, input_ids=text, pixel_values=images)]
    long = torch.cat([text[:, :1], torch.full((2, 16), 98), text[:, 1:]], 1)
    batch = {"input_ids": long, "pixel_values": images, "attention_mask": torch.ones_like(long), "labels": long}
    found = [*trained(model, **batch), *kept(model, **batch)]
    batch.pop("labels")
    return [*found, model.generate(**batch, max_new_tokens=6, min_new_tokens=6, do_sample=False)[:, -6:].tolist()]


CASES: dict[str, Callable[[], Any]] = {
    **{name: functools.partial(read, cls, name, sizes) for cls, table in (
        (AutoModelForMaskedLM, MASKED), (AutoModelForCausalLM, CAUSAL), (AutoModelForSeq2SeqLM, TRANSLATING))
       for name, sizes in table.items()},
    **{name: functools.partial(how, name, sizes) for how, table in ((seen, SEEING), (heard, HEARING), (illustrated, SHOWN))
       for name, sizes in table.items()},
}
