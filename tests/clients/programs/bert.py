"""BERT: loss, gradients and weights after a step by AdamW of three of its heads, each way of attending, gradient checkpointing, bfloat16,
files of safetensors and of torch.save."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from typing import Any

import torch
import transformers
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification, BertModel

PACKAGES = ("transformers", "safetensors")
CLOSE = {"loss": 1e-5, "logits": 1e-5, "gradients": 5e-4, "weights": 5e-5, "half": 2e-2, "losses": 1e-4}
IN_SUITE = ("BertForMaskedLM by eager", "BertForSequenceClassification by sdpa", "checkpointed without reentrance", "half",
            "files of safetensors", "files of torch.save")

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()


def built(cls: Any = BertForMaskedLM, **options: Any) -> Any:
    """The model, with the same random weights each time."""
    torch.manual_seed(0)
    return cls(BertConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40,
                          max_position_embeddings=64, **options))


def batch(cls: Any = BertForMaskedLM) -> dict[str, Any]:
    """Sentences of random words, one of them padded."""
    torch.manual_seed(2)
    text, mask = torch.randint(5, 99, (2, 8)), torch.ones(2, 8, dtype=torch.long)
    mask[0, 5:] = 0
    labels = {BertModel: {}, BertForMaskedLM: {"labels": text}, BertForSequenceClassification: {"labels": torch.tensor([1, 0])}}[cls]
    return {"input_ids": text, "attention_mask": mask, **labels}


def stepped(model: Any, amount: int = 1) -> dict[str, Any]:
    """Steps of AdamW with dropout: the first loss, its gradients and the weights after it, and further losses."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    torch.manual_seed(5)
    losses = []
    for step in range(amount):
        optimizer.zero_grad()
        given = model(**batch(type(model)))
        loss = given.loss if "loss" in given else given.last_hidden_state.pow(2).mean() + given.pooler_output.sum()
        loss.backward()
        if step == 0:
            gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
        optimizer.step()
        if step == 0:
            # A bias of keys has no gradient but rounding, which AdamW makes steps of.
            weights = {name: p.detach().clone() for name, p in model.named_parameters() if not name.endswith("key.bias")}
        losses.append(float(loss))
    return {"loss": losses[0], "gradients": gradients, "weights": weights, "losses": losses[1:]}


def headed(cls: Any, how: str) -> dict[str, Any]:
    model = built(cls, attn_implementation=how)
    with torch.no_grad():
        given = model.eval()(**batch(cls))
    return {"logits": given[0 if cls is BertModel else 1], **stepped(model.train(), 3)}


def checkpointed(reentrant: bool) -> dict[str, Any]:
    """Layers are carried out again in the backward pass."""
    model = built().train()
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    return stepped(model)


def half() -> dict[str, Any]:
    """In bfloat16: under autocast, backwards too, and with all weights so."""
    model = built().eval()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        given = model(**batch())
    given.loss.backward()
    gradients = {name: p.grad for name, p in model.named_parameters()}
    return {"half": [given.loss.detach(), given.logits, gradients, model.to(torch.bfloat16)(**batch()).logits]}


def filed(safe: bool) -> list[Any]:
    """Written and read again: the missing and unexpected names, and whether it computes the same."""
    model = built().eval()
    with tempfile.TemporaryDirectory() as folder:
        if safe:
            model.save_pretrained(folder, max_shard_size="20KB")
        else:
            model.config.save_pretrained(folder)
            torch.save(model.state_dict(), folder + "/pytorch_model.bin")
        again, told = BertForMaskedLM.from_pretrained(folder, output_loading_info=True)
    with torch.no_grad():
        given, same = model(**batch()).logits, again.eval()(**batch()).logits
    return [sorted(told["missing_keys"]), sorted(told["unexpected_keys"]), torch.equal(given, same), {"logits": given}]


CASES: dict[str, Callable[[], Any]] = {
    **{f"{cls.__name__} by {how}": functools.partial(headed, cls, how)
       for cls in (BertModel, BertForMaskedLM, BertForSequenceClassification) for how in ("eager", "sdpa")},
    "checkpointed with reentrance": functools.partial(checkpointed, True),
    "checkpointed without reentrance": functools.partial(checkpointed, False),
    "half": half,
    "files of safetensors": functools.partial(filed, True),
    "files of torch.save": functools.partial(filed, False),
}
