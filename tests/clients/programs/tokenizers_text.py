"""Tokenizers learned from texts (by pairs, word pieces, unigrams, words), what they make of sentences, and as transformers keeps them:
tensors of padded batches, masks of words, offsets, templates of chats, collators; a model of words trained on them."""

import tempfile

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

PACKAGES = ("tokenizers", "transformers")
IN_SUITE = ("learned: pairs", "learned: words")
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TEXTS = ["The quick brown fox jumps over the lazy dog.", "A tensor is an array with a shape, and a dtype!", "Déjà vu: naïve café owners",
         "gradients flow backwards through the graph", "the dog sleeps while the fox jumps again", "12 + 30 = 42, or so they say"] * 3


def learned(kind: str) -> Tokenizer:
    model, trainer = {
        "pairs": (models.BPE(unk_token="[UNK]"), trainers.BpeTrainer(vocab_size=120, special_tokens=SPECIAL, show_progress=False)),
        "bytes": (models.BPE(), trainers.BpeTrainer(vocab_size=300, special_tokens=SPECIAL, show_progress=False,
                                                    initial_alphabet=pre_tokenizers.ByteLevel.alphabet())),
        "words": (models.WordLevel(unk_token="[UNK]"), trainers.WordLevelTrainer(vocab_size=60, special_tokens=SPECIAL,
            show_progress=False)),
    }[kind]
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()])
    if kind == "bytes":
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(TEXTS, trainer)
    ids = {word: tokenizer.token_to_id(word) for word in SPECIAL}
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[(word, ids[word]) for word in ("[CLS]", "[SEP]")])
    return tokenizer


def fast(kind: str) -> object:
    """As transformers keeps it."""
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=learned(kind), pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
                                   sep_token="[SEP]", mask_token="[MASK]", model_max_length=24)


def made(kind: str) -> list:
    tokenizer = learned(kind)
    one, two = tokenizer.encode(TEXTS[0]), tokenizer.encode(TEXTS[1], TEXTS[2])
    tokenizer.enable_padding(pad_id=0, pad_token="[PAD]")
    tokenizer.enable_truncation(12)
    batch = torch.tensor([encoding.ids for encoding in tokenizer.encode_batch(TEXTS[:6])])
    masks = torch.tensor([encoding.attention_mask for encoding in tokenizer.encode_batch(TEXTS[:6])])
    again = Tokenizer.from_str(tokenizer.to_str())
    return [one.tokens, one.offsets, two.type_ids, batch, masks, again.encode(TEXTS[3]).ids, tokenizer.decode_batch(batch.tolist()),
            tokenizer.decode(batch[0].tolist(), skip_special_tokens=True), tokenizer.get_vocab_size()]


def batches() -> list:
    tokenizer = fast("pairs")
    padded = tokenizer(TEXTS[:4], padding=True, return_tensors="pt")
    pairs = tokenizer(TEXTS[:2], TEXTS[2:4], padding="max_length", truncation="longest_first", max_length=20, return_tensors="pt",
                      return_offsets_mapping=True, return_special_tokens_mask=True)
    long = tokenizer(TEXTS[1] * 2, truncation=True, max_length=16, stride=4, return_overflowing_tokens=True, padding=True,
                     return_tensors="pt")
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        again = type(tokenizer).from_pretrained(folder)(TEXTS[:4], padding=True, return_tensors="pt")
    moved = padded.to("cpu").to(torch.device("cpu"))
    return [dict(padded), dict(pairs), dict(long), torch.equal(again["input_ids"], padded["input_ids"]), type(moved).__name__,
            tokenizer.batch_decode(padded["input_ids"], skip_special_tokens=True), tokenizer.decode(padded["input_ids"][0]),
            padded.word_ids(0), tokenizer.pad({"input_ids": [[5, 6, 7], [8]]}, return_tensors="pt")["attention_mask"]]


def collated() -> list:
    from transformers import (
        DataCollatorForLanguageModeling,
        DataCollatorForSeq2Seq,
        DataCollatorForTokenClassification,
        DataCollatorWithPadding,
    )

    tokenizer = fast("pairs")
    rows = [tokenizer(text) for text in TEXTS[:4]]
    torch.manual_seed(0)
    masked = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.3)(rows)
    plain = DataCollatorForLanguageModeling(tokenizer, mlm=False, pad_to_multiple_of=8)(rows)
    marked = DataCollatorForTokenClassification(tokenizer)([{**row, "labels": [1] * len(row["input_ids"])} for row in rows])
    pairs = DataCollatorForSeq2Seq(tokenizer)([{**row, "labels": row["input_ids"][:5 + i]} for i, row in enumerate(rows)])
    return [dict(part) for part in (masked, plain, marked, pairs, DataCollatorWithPadding(tokenizer, "max_length", 20)(rows))]


def chat() -> list:
    tokenizer = fast("bytes")
    tokenizer.chat_template = ("{% for m in messages %}[CLS]{{ m['role'] }}: {{ m['content'] }}[SEP]{% endfor %}"
                               "{% if add_generation_prompt %}[CLS]assistant:{% endif %}")
    talk = [{"role": "user", "content": "Is the fox quick?"}, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "And?"}]
    ids = tokenizer.apply_chat_template(talk, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    added = tokenizer.add_tokens(["foxes", "tensors"])
    table = torch.nn.Embedding(10, 2)
    return [tokenizer.apply_chat_template(talk, tokenize=False), dict(ids), added, len(tokenizer), tokenizer.encode("foxes and tensors"),
            table(tokenizer("a fox", return_tensors="pt", add_special_tokens=False)["input_ids"] % 10).shape]


def trained() -> list:
    tokenizer = fast("words")
    given = tokenizer(TEXTS, padding=True, return_tensors="pt")
    torch.manual_seed(0)
    table, body, head = torch.nn.Embedding(len(tokenizer), 16, padding_idx=0), torch.nn.GRU(16, 16, batch_first=True), torch.nn.Linear(16,
        len(tokenizer))
    network = torch.nn.ModuleList([table, body, head])
    optimizer, found = torch.optim.Adam(network.parameters(), 1e-2), []
    for _ in range(8):
        packed = torch.nn.utils.rnn.pack_padded_sequence(table(given["input_ids"]), given["attention_mask"].sum(1), True, False)
        states, _ = torch.nn.utils.rnn.pad_packed_sequence(body(packed)[0], True)
        scores = head(states[:, :-1]).flatten(0, 1)
        loss = torch.nn.functional.cross_entropy(scores, given["input_ids"][:, 1:].flatten(), ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return [found, tokenizer.batch_decode(scores.argmax(-1).view(len(TEXTS), -1)[:3])]


CASES = {**{f"learned: {kind}": lambda kind=kind: made(kind) for kind in ("pairs", "bytes", "words")},
         "batches": batches, "collators": collated, "chat": chat, "trained": trained}
