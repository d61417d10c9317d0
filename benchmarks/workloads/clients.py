"""Programs of transformers, where that is installed on both sides: ``--groups clients --python PATH --torch-python PATH``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from benchmarks.workloads.registry import add, fill_parameters, integers
from benchmarks.workloads.steps import inference

Call = Callable[[], Any]
Build = Callable[[Any], Any]
"""transformers -> model"""


def _transformers(torch: Any) -> Any:
    """The package, which imports the torch that is measured."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    if hasattr(torch, "install"):
        torch.install()
    import transformers

    transformers.logging.set_verbosity_error()
    return transformers


def _llama(t: Any) -> Any:
    return t.LlamaForCausalLM(t.LlamaConfig(vocab_size=1000, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                                            num_key_value_heads=2, intermediate_size=128))


def _gpt2(t: Any) -> Any:
    return t.GPT2LMHeadModel(t.GPT2Config(vocab_size=1000, n_embd=64, n_layer=2, n_head=4, n_positions=128))


def _bert(**options: Any) -> Build:
    return lambda t: t.BertForMaskedLM(t.BertConfig(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **options))


def _generate(name: str, build: Build) -> None:
    """64 tokens, each the likeliest."""

    def setup(torch: Any) -> Call:
        model, prompt = fill_parameters(torch, build(_transformers(torch))).eval(), integers(torch, 1000, 1, 8)
        return lambda: model.generate(prompt, max_new_tokens=64, min_new_tokens=64, do_sample=False)

    add("clients", "generate", name, setup)


def _step(name: str, build: Build, batch: int, length: int, train: bool = True) -> None:
    def setup(torch: Any) -> Call:
        model = fill_parameters(torch, build(_transformers(torch)))
        tokens = integers(torch, model.config.vocab_size, batch, length)
        if not train:
            return inference(torch, lambda tokens: model(input_ids=tokens).logits, tokens)
        optimizer = torch.optim.AdamW(model.train().parameters(), lr=1e-4)

        def run() -> Any:
            loss = model(input_ids=tokens, labels=tokens).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.detach()

        return run

    add("clients", "training step" if train else "inference", name, setup)


_SMALL = {"vocab_size": 8000, "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}
_generate("Llama 2x64, 64 tokens", _llama)
_generate("GPT-2 2x64, 64 tokens", _gpt2)
_step("BERT 4x256, 8x64 tokens", _bert(**_SMALL), 8, 64)
_step("BERT-base, 2 layers, 2x128 tokens", _bert(num_hidden_layers=2), 2, 128)
_step("BERT 4x256, 1x16 tokens", _bert(**_SMALL), 1, 16, train=False)
