"""Trains a small convolutional network on handwritten digits (scikit-learn's 8x8 images).

    python train_digits.py                                  with PyTorch
    python -m torchcompat train_digits.py                   with torchcompat, the same script

Writes a checkpoint, digits.pt, and a picture, digits.png, to --out: how loss and accuracy went, which digits are taken for which, and the
test images that are got wrong, or nearly so. torchcompat compiles loops when they are first used, and keeps them for later runs.
"""

import argparse
from pathlib import Path

import matplotlib
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split
from tqdm import tqdm

matplotlib.use("Agg")
import matplotlib.pyplot as plt


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(32 * 4 * 4, 10))

    def forward(self, x):
        return self.classifier(self.features(x))


def load_data(batch_size):
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    train, test = random_split(TensorDataset(images, torch.tensor(digits.target)), [0.8, 0.2])
    return DataLoader(train, batch_size, shuffle=True), next(iter(DataLoader(test, len(test))))


@torch.no_grad()
def predict(model, images):
    """The probability of each digit for each image."""
    model.eval()
    return F.softmax(model(images), dim=1)


def accuracy(probabilities, labels):
    return (probabilities.argmax(dim=1) == labels).float().mean().item()


def train(model, loader, images, labels, epochs, lr):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(loader))
    history = {"loss": [], "accuracy": []}
    progress = tqdm(range(epochs), desc="training")
    for _ in progress:
        model.train()
        total = 0.0
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            total += loss.item() * len(y)
        history["loss"].append(total / len(loader.dataset))
        history["accuracy"].append(accuracy(predict(model, images), labels))
        progress.set_postfix(loss=f"{history['loss'][-1]:.4f}", accuracy=f"{history['accuracy'][-1]:.4f}")
    return history


def draw(history, images, labels, probabilities, path):
    figure = plt.figure(figsize=(12, 6.4), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=[3, 2])
    left, middle, right = top.subplots(1, 3)
    epochs = range(1, len(history["loss"]) + 1)
    left.semilogy(epochs, history["loss"])
    left.set(xlabel="epoch", ylabel="training loss")
    middle.plot(epochs, history["accuracy"], color="tab:green")
    middle.set(xlabel="epoch", ylabel="test accuracy", title=f"{accuracy(probabilities, labels):.2%} right in the end")

    found = probabilities.argmax(dim=1)
    counts = torch.bincount(10 * labels + found, minlength=100).reshape(10, 10)
    right.imshow(counts, cmap="Blues", norm="symlog")  # what is rare is what matters here
    for i, j in counts.nonzero().tolist():
        right.text(j, i, str(counts[i, j].item()), ha="center", va="center", fontsize=8, color="white" if i == j else "tab:red")
    right.set(xlabel="taken for", ylabel="digit", xticks=range(10), yticks=range(10))

    doubts = probabilities.gather(1, labels[:, None]).squeeze(1).argsort()[:20]
    bottom.suptitle("Least sure of the digit that it is; red: taken for another")
    for axis, i in zip(bottom.subplots(2, 10).flat, doubts):
        wrong = (found[i] != labels[i]).item()
        axis.imshow(images[i, 0], cmap="gray_r")
        axis.set_axis_off()
        axis.set_title(f"{labels[i]}, taken for {found[i]}" if wrong else f"{labels[i]}, by {probabilities[i, labels[i]]:.0%}",
                       fontsize=9, color="tab:red" if wrong else "black")
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=12, help="how often all images are seen (default %(default)s)")
    parser.add_argument("--batch-size", type=int, default=64, help="images a step (default %(default)s)")
    parser.add_argument("--lr", type=float, default=3e-3, help="learning rate at the start (default %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("."), help="folder of what is written (default: this one)")
    parser.add_argument("--seed", type=int, default=0, help="of all random numbers (default %(default)s)")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    loader, (images, labels) = load_data(args.batch_size)
    model = Net()
    history = train(model, loader, images, labels, args.epochs, args.lr)

    args.out.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), args.out / "digits.pt")
    probabilities = predict(model, images)
    draw(history, images, labels, probabilities, args.out / "digits.png")
    if hasattr(torch, "compiled_kernels"):  # PyTorch comes compiled
        print("compiled: {0.count} kernels in {0.seconds:.1f} s".format(torch.compiled_kernels()))
    print(f"test accuracy: {accuracy(probabilities, labels):.4f}")


if __name__ == "__main__":
    main()
