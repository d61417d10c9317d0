"""A `Trainer` over a tiny BERT (checkpoints, resuming, bfloat16, accumulated and checkpointed gradients, schedules, SGD, Adafactor), its
records, evaluation and predictions; and pipelines."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    DataCollatorWithPadding,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
    pipeline,
)

PACKAGES = ("transformers", "accelerate", "tokenizers")
CLOSE = {"": 1e-3, "half": 2e-2}

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] the cat sat on a mat dog ran to big red house and then it was all".split()
SENTENCES = ("the cat sat", "a dog ran to the house", "it was all red", "and then the mat", "big cat", "a red dog sat on the mat")


def config(**options: Any) -> BertConfig:
    return BertConfig(vocab_size=len(WORDS), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40,
                      max_position_embeddings=64, **options)


def tokenizer() -> Any:
    """Of two dozen words."""
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
                                   mask_token="[MASK]", model_max_length=32)


def trained(resumed: bool = False, **options: Any) -> list[Any]:
    """Two epochs: the records of losses and gradients, what it evaluates to, and what it predicts."""
    words = tokenizer()
    torch.manual_seed(0)
    model = BertForSequenceClassification(config(num_labels=2))
    data = [dict(words(sentence), labels=i % 2) for i, sentence in enumerate(SENTENCES * 3)]
    with tempfile.TemporaryDirectory() as folder:
        def made(model: Any) -> Any:
            arguments = TrainingArguments(folder, **{**dict(
                num_train_epochs=2, per_device_train_batch_size=4, logging_steps=2, report_to=[], disable_tqdm=True, use_cpu=True,
                save_strategy="epoch", seed=7, learning_rate=1e-3, log_level="error"), **options})
            return Trainer(model, arguments, train_dataset=data, eval_dataset=data[:6], processing_class=words,
                           data_collator=DataCollatorWithPadding(words))

        trainer = made(model)
        trainer.train()
        if resumed:  # of the first epoch's checkpoint, by a model with other weights
            trainer = made(BertForSequenceClassification(config(num_labels=2)))
            trainer.train(resume_from_checkpoint=f"{folder}/checkpoint-5")
        records = [[record[key] for key in ("loss", "grad_norm", "learning_rate") if key in record] for record in trainer.state.log_history]
        return [records, trainer.evaluate()["eval_loss"], trainer.predict(data[:4]).predictions]


def half() -> dict[str, Any]:
    """Under autocast."""
    return {"half": trained(bf16=True, gradient_accumulation_steps=2, gradient_checkpointing=True, lr_scheduler_type="cosine",
                            max_grad_norm=0.5)}


def filled() -> list[Any]:
    """The words for a mask, and the class of a sentence."""
    torch.manual_seed(0)
    masked, words = BertForMaskedLM(config()).eval(), tokenizer()
    sorting = BertForSequenceClassification(config(num_labels=3)).eval()
    fills = pipeline("fill-mask", model=masked, tokenizer=words)
    return [[[found["token_str"], found["score"]] for found in fills("the cat [MASK] on mat")],
            pipeline("text-classification", model=sorting, tokenizer=words, top_k=None)(["a red dog", "big cat"])]


def continued() -> list[Any]:
    """Text, greedily and at random."""
    torch.manual_seed(0)
    sizes = GPT2Config(vocab_size=len(WORDS), n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=2, eos_token_id=3)
    writes = pipeline("text-generation", model=GPT2LMHeadModel(sizes).eval(), tokenizer=tokenizer())
    return [writes("the cat", max_new_tokens=6, do_sample=chance) for chance in (False, True)]


CASES: dict[str, Callable[[], Any]] = {
    "Trainer": trained,
    "resumed": functools.partial(trained, True),
    "bfloat16": half,
    "SGD": functools.partial(trained, optim="sgd", weight_decay=0.1, dataloader_num_workers=1, save_strategy="no"),
    "Adafactor": functools.partial(trained, optim="adafactor", warmup_steps=3, save_strategy="no"),
    "pipelines": filled,
    "generation": continued,
}
