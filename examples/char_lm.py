"""Trains a language model on the docstrings of Python's standard library, character by character, and lets it write some.

    python char_lm.py                                       with PyTorch
    python -m torchcompat char_lm.py                        with torchcompat, the same script
    python -m torchcompat char_lm.py --steps 2000 --resume  goes on where the last checkpoint in --out was written

A run that was interrupted and resumed ends with the very numbers of one that was not. To --out go the checkpoint, char_lm.pt, and a log
for `tensorboard --logdir OUT`.
"""

import argparse
import ast
import math
import sysconfig
from pathlib import Path

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm


def docstrings(wanted):
    """The docstrings of the library's modules, classes and functions, one after the other: all, or so many characters of them."""
    text = ""
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                text += (ast.get_docstring(node) or "") + "\n\n"
        if wanted is not None and len(text) >= wanted:
            break
    return text[:wanted]


class Corpus:
    """Text as numbers: the last part is held out."""

    def __init__(self, text, held_out=0.05):
        text = text.encode("ascii", "ignore").decode()
        self.characters = sorted(set(text))
        numbers = torch.tensor([self.characters.index(c) for c in text])
        last = round(len(text) * held_out)
        self.train, self.test = numbers[:-last], numbers[-last:]

    def encode(self, text):
        return torch.tensor([self.characters.index(c) for c in text])

    def decode(self, numbers):
        return "".join(self.characters[n] for n in numbers)


class CharLM(nn.Module):
    def __init__(self, characters, width, layers):
        super().__init__()
        self.embedding = nn.Embedding(characters, 64)
        self.lstm = nn.LSTM(64, width, layers, batch_first=True)
        self.head = nn.Linear(width, characters)

    def forward(self, x, state=None):
        y, state = self.lstm(self.embedding(x), state)
        return self.head(y), state


def batches(numbers, length, count):
    """Pieces of text from anywhere, and the same pieces one character later."""
    pieces = numbers.unfold(0, length + 1, 1)[torch.randint(len(numbers) - length, (count,))]
    return pieces[:, :-1], pieces[:, 1:]


def loss_of(model, x, y):
    return nn.functional.cross_entropy(model(x)[0].flatten(0, 1), y.flatten())


@torch.no_grad()
def evaluate(model, numbers, length):
    """The mean loss over the held-out text, in bits a character."""
    whole = (len(numbers) - 1) // length * length
    x, y = numbers[:whole].view(-1, length), numbers[1 : whole + 1].view(-1, length)
    return loss_of(model, x, y).item() / math.log(2)


@torch.no_grad()
def write(model, corpus, prompt, count, temperature, seed):
    """The prompt, and what the model writes after it."""
    generator = torch.Generator().manual_seed(seed)
    x, state, text = corpus.encode(prompt)[None], None, prompt
    for _ in range(count):
        logits, state = model(x, state)
        x = torch.multinomial((logits[:, -1] / temperature).softmax(dim=-1), 1, generator=generator)
        text += corpus.decode(x[0])
    return text


class Training:
    """All that a run changes; `state_dict` is all that it needs to go on."""

    def __init__(self, model, lr, decay):
        self.model, self.step, self.losses = model, 0, []
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, decay)

    def state_dict(self):
        return {
            "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "scheduler": self.scheduler.state_dict(),
            "step": self.step, "losses": self.losses, "random": torch.get_rng_state(),
        }

    def load_state_dict(self, state):
        for part in ("model", "optimizer", "scheduler"):
            getattr(self, part).load_state_dict(state[part])
        self.step, self.losses = state["step"], state["losses"]
        torch.set_rng_state(state["random"])

    def advance(self, x, y):
        loss = loss_of(self.model, x, y)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.scheduler.step()
        self.step += 1
        self.losses.append(loss.item() / math.log(2))


def run(training, corpus, args):
    checkpoint = args.out / "char_lm.pt"
    if args.resume:
        training.load_state_dict(torch.load(checkpoint))
    with (SummaryWriter(args.out, purge_step=training.step + 1) as log,
          tqdm(total=args.steps, initial=training.step, desc="training") as progress):
        while training.step < args.steps:
            training.advance(*batches(corpus.train, args.length, args.batch_size))
            progress.update()
            log.add_scalar("loss/training", training.losses[-1], training.step)
            if training.step % args.every == 0 or training.step == args.steps:
                mean, held_out = sum(training.losses) / len(training.losses), evaluate(training.model, corpus.test, args.length)
                progress.write(f"step {training.step:5}: {mean:.3f} bits a character, held-out text {held_out:.3f}")
                log.add_scalar("loss/held-out", held_out, training.step)
                log.add_text("sample", write(training.model, corpus, args.prompt, 200, args.temperature, args.seed), training.step)
                if training.step % args.every == 0:
                    training.losses.clear()
                torch.save(training.state_dict(), checkpoint)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=700, help="how many in all (default %(default)s)")
    parser.add_argument("--resume", action="store_true", help="go on with the checkpoint in --out")
    parser.add_argument("--every", type=int, default=100, help="steps between checkpoints (default %(default)s)")
    parser.add_argument("--batch-size", type=int, default=32, help="pieces of text a step (default %(default)s)")
    parser.add_argument("--length", type=int, default=64, help="characters of a piece (default %(default)s)")
    parser.add_argument("--width", type=int, default=192, help="of the hidden state (default %(default)s)")
    parser.add_argument("--layers", type=int, default=1, help="of the LSTM (default %(default)s)")
    parser.add_argument("--characters", type=int, help="use so much of the text (default: all)")
    parser.add_argument("--lr", type=float, default=4e-3, help="learning rate at the start (default %(default)s)")
    parser.add_argument("--decay", type=float, default=0.998, help="what it is multiplied by each step (default %(default)s)")
    parser.add_argument("--prompt", default="Return the ", help="how the sample begins (default '%(default)s')")
    parser.add_argument("--sample", type=int, default=500, help="characters it goes on for (default %(default)s)")
    parser.add_argument("--temperature", type=float, default=0.7, help="below 1 it writes what is likelier (default %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("char_lm"), help="folder of what is written (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of all random numbers (default %(default)s)")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    corpus = Corpus(docstrings(args.characters))
    training = Training(CharLM(len(corpus.characters), args.width, args.layers), args.lr, args.decay)
    args.out.mkdir(parents=True, exist_ok=True)
    run(training, corpus, args)
    print("", write(training.model, corpus, args.prompt, args.sample, args.temperature, args.seed), sep="\n")


if __name__ == "__main__":
    main()
