"""Trains a small BERT from scratch, as a masked language model of the docstrings of Python's standard library, with transformers.

    python bert_mlm.py                                       with PyTorch
    python -m torchcompat bert_mlm.py                        with torchcompat, the same script
    python -m torchcompat bert_mlm.py --steps 2000 --resume  goes on where the last checkpoint in --out was written

Both give the same curve, and a run that was interrupted and resumed ends with the very numbers of one that was not. To --out go the model
and its tokenizer as transformers keeps them, the checkpoint bert_mlm.pt, and a picture of the losses, bert_mlm.png.
Needs `pip install transformers tqdm matplotlib`.
"""

import argparse
import ast
import sysconfig
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from tqdm import tqdm
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast, get_inverse_sqrt_schedule, pipeline

SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}


def docstrings(wanted):
    """The docstrings of the library's modules, classes and functions, one after the other: all, or so many."""
    texts = []
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                texts.append(ast.get_docstring(node) or "")
        if wanted is not None and len(texts) >= wanted:
            break
    return [text for text in texts if text][:wanted]


def tokenizer_of(texts, vocabulary):
    """Pieces of words, learned from the texts (by pairs of bytes, which find the same pieces each time; not all trainers do)."""
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=list(SPECIAL.values()), show_progress=False))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **SPECIAL)


def masked(pieces, tokenizer):
    """What the model reads, and what it is to say of it: of 15 in 100 tokens most are hidden, some are another, some stay."""
    chosen = torch.rand(pieces.shape) < 0.15
    how = torch.rand(pieces.shape)
    read = pieces.where(~(chosen & (how < 0.8)), torch.tensor(tokenizer.mask_token_id))
    read = read.where(~(chosen & (how >= 0.9)), torch.randint(len(SPECIAL), len(tokenizer), pieces.shape))
    return read, pieces.where(chosen, torch.tensor(-100))


class Training:
    """All that a run changes; `state_dict` is all that it needs to go on."""

    def __init__(self, model, lr):
        self.model, self.losses = model, []
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)
        self.scheduler = get_inverse_sqrt_schedule(self.optimizer, 20)

    def state_dict(self):
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "scheduler": self.scheduler.state_dict(),
                "losses": self.losses, "random": torch.get_rng_state()}

    def load_state_dict(self, state):
        for part in ("model", "optimizer", "scheduler"):
            getattr(self, part).load_state_dict(state[part])
        self.losses = state["losses"]
        torch.set_rng_state(state["random"])

    def advance(self, read, labels):
        loss = self.model(input_ids=read, labels=labels).loss
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.scheduler.step()
        self.losses.append(loss.item())


def picture(losses, path):
    """The losses, and their mean over twenty steps."""
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.plot(range(1, len(losses) + 1), losses, color="0.75", linewidth=0.8, label="each step")
    means = torch.tensor(losses).unfold(0, min(20, len(losses)), 1).mean(1)
    axes.plot(range(len(losses) - len(means) + 1, len(losses) + 1), means.tolist(), label="mean of the last 20")
    axes.set(xlabel="step", ylabel="loss of the masked tokens, nats")
    axes.legend()
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name, value, told in (
        ("steps", 400, "steps in all"), ("every", 100, "steps from one checkpoint to the next"), ("batch", 16, "pieces of text a step"),
        ("length", 64, "tokens a piece"), ("hidden", 128, "width of the model"), ("layers", 2, "layers"), ("heads", 4, "heads"),
        ("vocabulary", 2000, "pieces of words"), ("seed", 0, "of all that is random"),
    ):
        parser.add_argument(f"--{name}", type=int, default=value, help=f"{told} ({value})")
    parser.add_argument("--docstrings", type=int, help="how many to read (all)")
    parser.add_argument("--lr", type=float, default=1e-3, help="rate of learning (0.001)")
    parser.add_argument("--resume", action="store_true", help="go on where the last checkpoint was written")
    parser.add_argument("--out", type=Path, default=Path("bert_mlm"), help="where to write (bert_mlm)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    texts = docstrings(options.docstrings)
    tokenizer = tokenizer_of(texts, options.vocabulary)
    tokens = torch.tensor([token for text in texts for token in tokenizer.encode(text, verbose=False)])
    pieces = tokens[: len(tokens) // options.length * options.length].view(-1, options.length)

    torch.manual_seed(options.seed)
    model = BertForMaskedLM(BertConfig(
        vocab_size=len(tokenizer), hidden_size=options.hidden, num_hidden_layers=options.layers, num_attention_heads=options.heads,
        intermediate_size=4 * options.hidden, max_position_embeddings=options.length, pad_token_id=tokenizer.pad_token_id))
    training, checkpoint = Training(model.train(), options.lr), options.out / "bert_mlm.pt"
    if options.resume:
        training.load_state_dict(torch.load(checkpoint))
    print(f"{len(tokens)} tokens of {len(texts)} docstrings, {model.num_parameters()} weights")

    with tqdm(total=options.steps, initial=len(training.losses), desc="training", unit="step") as bar:
        while len(training.losses) < options.steps:
            training.advance(*masked(pieces[torch.randint(len(pieces), (options.batch,))], tokenizer))
            bar.set_postfix(loss=f"{training.losses[-1]:.3f}", refresh=False)
            bar.update()
            if len(training.losses) % options.every == 0 or len(training.losses) == options.steps:
                torch.save(training.state_dict(), checkpoint)

    model.eval().save_pretrained(options.out)
    tokenizer.save_pretrained(options.out)
    picture(training.losses, options.out / "bert_mlm.png")
    sentence = "return a [MASK] of all the values"
    words = pipeline("fill-mask", model=model, tokenizer=tokenizer, top_k=3)(sentence)
    print(f"{sentence}: {', '.join(word['token_str'].strip() for word in words)}")
    tenth = max(1, options.steps // 10)
    print(f"loss: {sum(training.losses[:tenth]) / tenth:.4f} in the first tenth of the steps, "
          f"{sum(training.losses[-tenth:]) / tenth:.4f} in the last")


if __name__ == "__main__":
    main()
