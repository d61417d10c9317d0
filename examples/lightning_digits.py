"""Trains a small convolutional network on handwritten digits (scikit-learn's 8x8 images) with Lightning.

    python lightning_digits.py                                        with PyTorch
    python -m torchcompat lightning_digits.py                         with torchcompat, the same script
    python -m torchcompat lightning_digits.py --epochs 40 --resume    goes on where the last checkpoint in --out was written

Both give the same numbers, to rounding, which training makes more of step by step: with --double they agree to ten digits. To --out go
Lightning's checkpoints, the last and the best by the loss of the validation set, its log of metrics, and a picture, digits.png: the
losses, which digits are taken for which, and the test set's images that are mistaken.
Needs `pip install lightning scikit-learn matplotlib tqdm`.
"""

import argparse
import logging
import sys
import warnings
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

try:
    import lightning as L
    import matplotlib
    from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint
    from lightning.pytorch.loggers import CSVLogger
    from sklearn.datasets import load_digits
    from torchmetrics.classification import MulticlassAccuracy, MulticlassConfusionMatrix
    from tqdm import tqdm
except ModuleNotFoundError as error:
    sys.exit(f"{error.name} is missing: pip install lightning scikit-learn matplotlib tqdm")

matplotlib.use("Agg")
import matplotlib.pyplot as plt


class Digits(L.LightningDataModule):
    """The images, from 0 to 1, in three parts."""

    def __init__(self, batch_size):
        super().__init__()
        self.batch_size = batch_size

    def setup(self, stage):
        digits = load_digits()
        images = torch.tensor(digits.images, dtype=torch.get_default_dtype())[:, None] / 16
        data = TensorDataset(images, torch.tensor(digits.target))
        self.train, self.val, self.test = random_split(data, [0.7, 0.1, 0.2], torch.Generator().manual_seed(0))

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val, batch_size=len(self.val))

    def test_dataloader(self):
        return DataLoader(self.test, batch_size=len(self.test))


class Block(nn.Module):
    """Two convolutions beside a way around them."""

    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(
            nn.GroupNorm(4, width), nn.GELU(), nn.Conv2d(width, width, 3, padding=1),
            nn.GroupNorm(4, width), nn.GELU(), nn.Conv2d(width, width, 3, padding=1))

    def forward(self, x):
        return x + self.body(x)


class Classifier(L.LightningModule):
    def __init__(self, width, lr, steps):
        super().__init__()
        self.save_hyperparameters()
        self.network = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), Block(width), nn.MaxPool2d(2), Block(width), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
            nn.Dropout(0.2), nn.Linear(4 * width, 10))
        self.accuracy, self.confusion = MulticlassAccuracy(10, average="micro"), MulticlassConfusionMatrix(10)

    def forward(self, images):
        return self.network(images)

    def training_step(self, batch, index):
        images, labels = batch
        loss = nn.functional.cross_entropy(self(images), labels, label_smoothing=0.05)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, index):
        self.score(batch, "val")

    def test_step(self, batch, index):
        self.confusion(self.score(batch, "test"), batch[1])

    def score(self, batch, part):
        images, labels = batch
        scores = self(images)
        self.log_dict({f"{part}_loss": nn.functional.cross_entropy(scores, labels), f"{part}_accuracy": self.accuracy(scores, labels)})
        return scores

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=0.05)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=self.hparams.lr, total_steps=self.hparams.steps)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


class Progress(Callback):
    """A bar of the epochs, and the losses to draw, which checkpoints keep."""

    def __init__(self):
        self.losses = []

    def state_dict(self):
        return {"losses": self.losses}

    def load_state_dict(self, state):
        self.losses = state["losses"]

    def on_train_start(self, trainer, module):
        self.bar = tqdm(total=trainer.max_epochs, initial=trainer.current_epoch, desc="training", unit="epoch")

    def on_train_epoch_end(self, trainer, module):
        found = {name: trainer.callback_metrics[name].item() for name in ("train_loss", "val_loss", "val_accuracy")}
        self.losses.append((found["train_loss"], found["val_loss"]))
        self.bar.set_postfix(loss=f"{found['train_loss']:.3f}", validation=f"{found['val_accuracy']:.3f}", refresh=False)
        self.bar.update()

    def on_train_end(self, trainer, module):
        self.bar.close()


@torch.no_grad()
def draw(model, losses, images, labels, path, columns=3):
    figure, axes = plt.subplot_mosaic([["losses", "confusion", "mistaken"]], figsize=(15, 4.6), layout="constrained")
    for name, values in zip(("training", "validation"), zip(*losses)):
        axes["losses"].plot(range(1, len(values) + 1), values, label=name)
    axes["losses"].set(xlabel="epoch", ylabel="cross-entropy, nats", yscale="log", title="losses")
    axes["losses"].legend()

    counts = model.confusion.compute()
    axes["confusion"].imshow(counts, cmap="Blues", vmax=int(counts.max()))
    for digit, row in enumerate(counts.tolist()):
        for taken, count in enumerate(row):
            if count:
                axes["confusion"].text(taken, digit, count, ha="center", va="center", fontsize=8,
                                       color="white" if digit == taken else "black")
    axes["confusion"].set(xlabel="taken for", ylabel="digit", xticks=range(10), yticks=range(10), title="test set")

    taken = model.eval()(images).argmax(1)
    wrong = (taken != labels).nonzero().flatten()[: columns * columns]
    axes["mistaken"].set_axis_off()
    axes["mistaken"].set_title("mistaken" if len(wrong) else "none is mistaken")
    for place, index in enumerate(wrong):
        row, column = divmod(place, columns)
        cell = axes["mistaken"].inset_axes((column / columns, 1 - (row + 1) / columns, 0.8 / columns, 0.8 / columns))
        cell.imshow(images[index, 0], cmap="gray_r")
        cell.set_title(f"{labels[index]} as {taken[index]}", fontsize=9, pad=2)
        cell.set_axis_off()
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=20, help="how often all images are seen (%(default)s)")
    parser.add_argument("--batch-size", type=int, default=64, help="images a step (%(default)s)")
    parser.add_argument("--width", type=int, default=32, help="channels of the network (%(default)s)")
    parser.add_argument("--lr", type=float, default=3e-3, help="highest rate of learning (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of all that is random (%(default)s)")
    parser.add_argument("--double", action="store_true", help="compute in double precision")
    parser.add_argument("--resume", action="store_true", help="go on where the last checkpoint was written")
    parser.add_argument("--out", type=Path, default=Path("lightning_digits"), help="where to write (%(default)s)")
    options = parser.parse_args()
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", ".*(num_workers|log_every_n_steps|exists and is not empty).*")

    torch.set_default_dtype(torch.float64 if options.double else torch.float32)
    L.seed_everything(options.seed, verbose=False)
    digits = Digits(options.batch_size)
    digits.setup("fit")
    model = Classifier(options.width, options.lr, options.epochs * len(digits.train_dataloader()))
    progress, best = Progress(), ModelCheckpoint(options.out, "best", monitor="val_loss", save_last=True, enable_version_counter=False)
    trainer = L.Trainer(
        accelerator="cpu", max_epochs=options.epochs, gradient_clip_val=1.0,
        callbacks=[progress, best, EarlyStopping("val_loss", patience=10)],
        logger=CSVLogger(options.out, name=None, version="log"), enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(model, datamodule=digits, ckpt_path=options.out / "last.ckpt" if options.resume else None)

    losses = progress.losses  # which loading the best weights sets back
    (found,) = trainer.test(model, datamodule=digits, ckpt_path="best", verbose=False)
    draw(model, losses, *next(iter(digits.test_dataloader())), options.out / "digits.png")
    print(f"{sum(p.numel() for p in model.parameters())} weights, {trainer.global_step} steps")
    print(f"loss: {losses[0][0]:.4f} in the first epoch, {losses[-1][0]:.4f} in the last")
    print(f"test accuracy: {found['test_accuracy']:.4f}, by the weights with the least validation loss, {best.best_model_score:.4f}")


if __name__ == "__main__":
    main()
