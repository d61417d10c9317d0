"""Trains a variational autoencoder on handwritten digits (scikit-learn's 8x8 images): sixty-four pixels through two numbers.

    python vae_digits.py                                    with PyTorch
    python -m torchcompat vae_digits.py                     with torchcompat, the same script

A pixel has one of 17 brightnesses, so it is a binomial variable of 16 tries; the two numbers behind an image are normal ones. What is
maximized is the evidence lower bound of Kingma and Welling, "Auto-Encoding Variational Bayes" (2014). Writes the weights, vae.pt, and a
picture, vae.png, to --out: digits drawn from the model, where it puts those of the test set on the plane, and what it makes of each place
there.
"""

import argparse
from pathlib import Path

import matplotlib
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.distributions import Binomial, Independent, Normal, kl_divergence
from torch.utils.data import DataLoader, TensorDataset, random_split
from tqdm import tqdm

matplotlib.use("Agg")
import matplotlib.pyplot as plt

SIDE, LEVELS = 8, 16


class VAE(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        pixels = SIDE * SIDE
        self.encoder = nn.Sequential(nn.Linear(pixels, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 4))
        self.decoder = nn.Sequential(nn.Linear(2, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, pixels))
        self.register_buffer("zero", torch.zeros(2))

    def prior(self):
        return Independent(Normal(self.zero, 1.0), 1)

    def latent(self, images):
        """Where on the plane images may lie."""
        mean, spread = self.encoder(images / LEVELS - 0.5).chunk(2, dim=-1)
        return Independent(Normal(mean, nn.functional.softplus(spread) + 1e-4), 1)

    def images(self, places):
        """The images that may come of places on the plane."""
        return Independent(Binomial(LEVELS, logits=self.decoder(places)), 1)

    def forward(self, images):
        """The evidence lower bound of each image, as its two parts: how well it is told, less what telling takes."""
        latent = self.latent(images)
        return self.images(latent.rsample()).log_prob(images), kl_divergence(latent, self.prior())


def load_data(batch_size):
    digits = load_digits()
    data = TensorDataset(torch.tensor(digits.data, dtype=torch.float32), torch.tensor(digits.target))
    train, test = random_split(data, [0.8, 0.2])
    return DataLoader(train, batch_size, shuffle=True), next(iter(DataLoader(test, len(test))))


@torch.no_grad()
def evaluate(model, images):
    told, taken = model(images)
    return (told - taken).mean().item(), taken.mean().item()


def train(model, loader, epochs, lr):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=lr, total_steps=epochs * len(loader))
    bounds = []
    progress = tqdm(range(epochs), desc="training")
    for _ in progress:
        total = 0.0
        for images, _ in loader:
            told, taken = model(images)
            loss = (taken - told).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            total -= loss.item() * len(images)
        bounds.append(total / len(loader.dataset))
        progress.set_postfix(bound=f"{bounds[-1]:.2f}")
    return bounds


def tiled(images, rows, columns):
    """Images as one, with a faint line between them."""
    padded = nn.functional.pad(images.reshape(rows, columns, SIDE, SIDE), (0, 1, 0, 1), value=LEVELS / 8)
    return padded.transpose(1, 2).reshape(rows * (SIDE + 1), columns * (SIDE + 1))[:-1, :-1]


@torch.no_grad()
def draw(model, images, labels, path, rows=15, edge=2.8):
    figure, axes = plt.subplots(1, 3, figsize=(15, 5), layout="constrained")
    for axis, title in zip(axes, ["drawn from the model", "where test images lie on the plane", "what the model makes of each place"]):
        axis.set_title(title)
    shown = {"cmap": "gray_r", "vmin": 0, "vmax": LEVELS}

    drawn = model.images(model.prior().sample((rows * rows,))).mean
    axes[0].imshow(tiled(drawn, rows, rows), **shown)
    axes[0].set_axis_off()

    places = model.latent(images).mean
    for digit in range(10):
        x, y = places[labels == digit].T
        axes[1].scatter(x, y, s=14, color=plt.cm.tab10(digit), label=str(digit))
    axes[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, handletextpad=0.1)
    axes[1].set(xlim=(-edge, edge), ylim=(-edge, edge), aspect="equal")

    marks = torch.linspace(-1.0, 1.0, 2 * rows + 1)[1::2] * edge  # the middles of the squares
    y, x = torch.meshgrid(marks.flip(0), marks, indexing="ij")
    made = model.images(torch.stack([x, y], -1).flatten(0, 1)).mean
    axes[2].imshow(tiled(made, rows, rows), extent=(-edge, edge, -edge, edge), **shown)
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=60, help="how often all images are seen (default %(default)s)")
    parser.add_argument("--batch-size", type=int, default=64, help="images a step (default %(default)s)")
    parser.add_argument("--hidden", type=int, default=256, help="width of the hidden layers (default %(default)s)")
    parser.add_argument("--lr", type=float, default=3e-3, help="highest learning rate (default %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("."), help="folder of what is written (default: this one)")
    parser.add_argument("--seed", type=int, default=0, help="of all random numbers (default %(default)s)")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    loader, (images, labels) = load_data(args.batch_size)
    model = VAE(args.hidden)
    bounds = train(model, loader, args.epochs, args.lr)

    args.out.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), args.out / "vae.pt")
    bound, taken = evaluate(model, images)
    draw(model, images, labels, args.out / "vae.png")
    print(f"evidence lower bound, nats an image: training {bounds[-1]:.2f}, test {bound:.2f} (of which {taken:.2f} for the place)")


if __name__ == "__main__":
    main()
