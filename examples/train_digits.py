"""Trains a small convolutional network on handwritten digits (scikit-learn's 8x8 images).

    python train_digits.py                                  with PyTorch
    python -m torchcompat train_digits.py                   with torchcompat, the same script

Writes a checkpoint, digits.pt, and a plot of loss and accuracy, digits.png, to --out.
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
    return DataLoader(train, batch_size, shuffle=True), DataLoader(test, 512)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct = sum((model(x).argmax(dim=1) == y).sum().item() for x, y in loader)
    return correct / len(loader.dataset)


def train(model, loader, test_loader, epochs):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
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
        history["accuracy"].append(evaluate(model, test_loader))
        progress.set_postfix(loss=f"{history['loss'][-1]:.4f}", accuracy=f"{history['accuracy'][-1]:.4f}")
    return history


def plot(history, path):
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    epochs = range(1, len(history["loss"]) + 1)
    left.semilogy(epochs, history["loss"])
    left.set(xlabel="epoch", ylabel="training loss")
    right.plot(epochs, history["accuracy"])
    right.set(xlabel="epoch", ylabel="test accuracy")
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--out", type=Path, default=Path("."))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    loader, test_loader = load_data(batch_size=64)
    model = Net()
    history = train(model, loader, test_loader, args.epochs)

    args.out.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), args.out / "digits.pt")
    plot(history, args.out / "digits.png")
    print(f"test accuracy: {evaluate(model, test_loader):.4f}")


if __name__ == "__main__":
    main()
