"""Text written by tiny models: greedily, by beams, at random with each way of choosing, assisted by a smaller model or by the prompt, with
every kind of cache, streamed, stopped; and attention by blocks of a mask (flex attention)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import transformers
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    DynamicCache,
    Gemma3TextConfig,
    GPT2Config,
    LlamaConfig,
    MistralConfig,
    StaticCache,
    StoppingCriteria,
    StoppingCriteriaList,
    T5Config,
)

PACKAGES = ("transformers",)
CLOSE = 1e-3
IN_SUITE = ("by beams", "assisted", "static cache", "flex attention of llama")

transformers.logging.set_verbosity_error()

SIZES: dict[str, Any] = dict(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40, head_dim=8,
                             num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)
CONFIGS: dict[str, Any] = {
    "llama": LlamaConfig(**SIZES),
    "mistral": MistralConfig(**SIZES, sliding_window=6),
    "gemma3": Gemma3TextConfig(**SIZES, sliding_window=6, layer_types=["sliding_attention", "full_attention"], query_pre_attn_scalar=8),
    "gpt2": GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=1, eos_token_id=2, pad_token_id=0),
    "t5": T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4, decoder_start_token_id=0),
}


def built(name: str, seed: int = 0, **options: Any) -> Any:
    torch.manual_seed(seed)
    config = CONFIGS[name]
    return (AutoModelForSeq2SeqLM if name == "t5" else AutoModelForCausalLM).from_config(config, **options).eval()


def prompts() -> dict[str, Any]:
    """The second is shorter, and padded before it."""
    torch.manual_seed(2)
    text, mask = torch.randint(3, 99, (2, 7)), torch.ones(2, 7, dtype=torch.long)
    text[1, :2], mask[1, :2] = 0, 0
    return {"input_ids": text, "attention_mask": mask}


def written(name: str = "llama", alone: bool = False, **options: Any) -> Any:
    """The tokens, all at once or with scores."""
    model, given = built(name), prompts()
    if alone:
        given = {key: value[:1] for key, value in given.items()}
    torch.manual_seed(3)
    options = {"max_new_tokens": 12, "min_new_tokens": 4, "do_sample": False, **options}
    found = model.generate(**given, **options)
    return found.tolist() if isinstance(found, torch.Tensor) else [found.sequences.tolist(), list(found.scores)]


def helped(**options: Any) -> Any:
    """Another model proposes what this one confirms."""
    return [written("llama", True, assistant_model=built("llama", seed), **options) for seed in (1, 0)]


def cached(name: str, kind: str) -> Any:
    """With a cache that is handed over, and used again for what comes after."""
    model, given = built(name), prompts()
    cache = StaticCache(config=model.config, max_cache_len=40) if kind == "static" else DynamicCache(config=model.config)
    first = model.generate(**given, past_key_values=cache, max_new_tokens=6, min_new_tokens=6, do_sample=False)
    mask = torch.cat([given["attention_mask"], torch.ones(2, 6, dtype=torch.long)], 1)
    more = model.generate(first, attention_mask=mask, past_key_values=cache, max_new_tokens=5, min_new_tokens=5, do_sample=False)
    return [first.tolist(), more.tolist(), cache.get_seq_length(), type(cache).__name__]


def stopped() -> Any:
    class Even(StoppingCriteria):
        def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
            return input_ids[:, -1] % 2 == 0

    class Kept:
        def __init__(self) -> None:
            self.found: list[Any] = []

        def put(self, value: Any) -> None:
            self.found.append(value.tolist())

        def end(self) -> None:
            self.found.append("end")

    streamer = Kept()
    return [written(stopping_criteria=StoppingCriteriaList([Even()])), written(alone=True, streamer=streamer), streamer.found]


def flexed(name: str) -> Any:
    """Attention by blocks of a mask."""
    with torch.no_grad():
        return built(name, attn_implementation="flex_attention")(**prompts()).logits[:, 2:]


CASES: dict[str, Callable[[], Any]] = {
    "greedily": written,
    "by beams": functools.partial(written, num_beams=4, num_return_sequences=2, length_penalty=0.7),
    "by beams at random": functools.partial(written, num_beams=3, do_sample=True, temperature=1.3),
    "at random": functools.partial(written, do_sample=True, top_k=0),
    "by top k": functools.partial(written, do_sample=True, top_k=7, temperature=0.8),
    "by top p": functools.partial(written, do_sample=True, top_k=0, top_p=0.7),
    "by min p": functools.partial(written, do_sample=True, top_k=0, min_p=0.2),
    "typical": functools.partial(written, do_sample=True, top_k=0, typical_p=0.8),
    "by eta and epsilon": functools.partial(written, do_sample=True, top_k=0, epsilon_cutoff=3e-3, eta_cutoff=3e-3),
    "punished": functools.partial(written, repetition_penalty=1.8, no_repeat_ngram_size=2, bad_words_ids=[[5], [7, 8]]),
    "guided": functools.partial(written, guidance_scale=1.5),
    "with scores": functools.partial(written, output_scores=True, return_dict_in_generate=True),
    "forced": functools.partial(written, forced_eos_token_id=2, suppress_tokens=[10, 11, 12], begin_suppress_tokens=[40]),
    "assisted": helped,
    "assisted at random": functools.partial(helped, do_sample=True),
    "assisted by the prompt": functools.partial(written, "llama", True, prompt_lookup_num_tokens=3),
    "static cache": functools.partial(cached, "llama", "static"),
    "dynamic cache": functools.partial(cached, "llama", "dynamic"),
    "sliding cache": functools.partial(cached, "mistral", "dynamic"),
    "static sliding cache": functools.partial(cached, "mistral", "static"),
    "hybrid cache": functools.partial(cached, "gemma3", "dynamic"),
    "static hybrid cache": functools.partial(cached, "gemma3", "static"),
    "no cache": functools.partial(written, use_cache=False),
    "by name of the cache": functools.partial(written, cache_implementation="static", disable_compile=True),
    "an encoder's": functools.partial(written, "t5", num_beams=2),
    "of gpt2": functools.partial(written, "gpt2", do_sample=True),
    "stopped and streamed": stopped,
    "flex attention of llama": functools.partial(flexed, "llama"),
    "flex attention of mistral": functools.partial(flexed, "mistral"),
}
