"""A `Trainer` as its guides use it: fit, validate, test and predict with checkpoints, early stopping, schedules, clipped and accumulated
gradients, resuming, precisions, two optimizers by hand, averaged, pruned and frozen weights, tables of layers; and a `Fabric` loop."""

import contextlib
import csv
import io
import logging
import tempfile
from pathlib import Path

import lightning as L
import torch
from lightning.pytorch import callbacks
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.tuner import Tuner
from lightning.pytorch.utilities.model_summary import ModelSummary
from torch.utils.data import DataLoader, TensorDataset, random_split
from torchmetrics.classification import MulticlassAccuracy

PACKAGES = ("lightning", "torchmetrics")
CLOSE = {"half": 2e-2, "": 1e-4}
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
QUIET = {"accelerator": "cpu", "enable_progress_bar": False, "enable_model_summary": False}


class Blobs(L.LightningDataModule):
    def __init__(self, batch: int = 16) -> None:
        super().__init__()
        self.batch_size = batch

    def setup(self, stage: str) -> None:
        x = torch.randn(120, 4, generator=torch.Generator().manual_seed(0))
        data = TensorDataset(x, (x[:, 0] > 0).long() + (x[:, 1] + x[:, 2] > 0).long())
        self.parts = random_split(data, [80, 20, 20], torch.Generator().manual_seed(1))

    def train_dataloader(self) -> DataLoader:
        return DataLoader(self.parts[0], batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self) -> DataLoader:
        return DataLoader(self.parts[1], batch_size=10)

    def test_dataloader(self) -> DataLoader:
        return DataLoader(self.parts[2], batch_size=10)

    predict_dataloader = test_dataloader


class Classifier(L.LightningModule):
    def __init__(self, lr: float = 0.02, width: int = 16) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.backbone = torch.nn.Sequential(
            torch.nn.Linear(4, width, bias=False), torch.nn.BatchNorm1d(width), torch.nn.GELU(), torch.nn.Dropout(0.1))
        self.head = torch.nn.Linear(width, 3)
        self.accuracy = MulticlassAccuracy(3)
        self.losses = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.backbone(x))

    def step(self, batch: list, stage: str) -> torch.Tensor:
        scores = self(batch[0])
        loss = torch.nn.functional.cross_entropy(scores, batch[1])
        self.log_dict({f"{stage}_loss": loss, f"{stage}_accuracy": self.accuracy(scores, batch[1])}, on_epoch=True)
        return loss

    def training_step(self, batch: list, index: int) -> torch.Tensor:
        loss = self.step(batch, "train")
        self.losses.append(loss.item())
        return loss

    def validation_step(self, batch: list, index: int) -> None:
        self.step(batch, "val")

    def test_step(self, batch: list, index: int) -> None:
        self.step(batch, "test")

    def predict_step(self, batch: list, index: int) -> torch.Tensor:
        return self(batch[0]).softmax(-1)

    def configure_optimizers(self) -> dict:
        optimizer = torch.optim.AdamW((p for p in self.parameters() if p.requires_grad), self.hparams.lr)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "monitor": "val_loss"}}


def fitted(epochs: int = 3, model: L.LightningModule | None = None, resume: str | None = None, **options: object) -> tuple:
    L.seed_everything(7, verbose=False)
    model = model or Classifier()
    trainer = L.Trainer(max_epochs=epochs, **{"logger": False, "enable_checkpointing": False, **QUIET, **options})
    with contextlib.redirect_stderr(io.StringIO()):
        trainer.fit(model, datamodule=Blobs(), ckpt_path=resume, weights_only=False)
    return trainer, model


def metrics(trainer: L.Trainer) -> dict:
    return {name: value.item() for name, value in sorted(trainer.callback_metrics.items())}


def weights(model: torch.nn.Module) -> list:
    return [p.detach() for p in model.parameters()]


def whole() -> list:
    with tempfile.TemporaryDirectory() as folder:
        best = callbacks.ModelCheckpoint(folder, "{epoch}-{step}", monitor="val_loss", save_top_k=2, save_last=True)
        trainer, model = fitted(6, logger=CSVLogger(folder), enable_checkpointing=True, gradient_clip_val=0.5, accumulate_grad_batches=2,
                                log_every_n_steps=1, default_root_dir=folder, num_sanity_val_steps=1, callbacks=[
                                    best, callbacks.EarlyStopping("val_loss", patience=2), callbacks.LearningRateMonitor("step")])
        rows = list(csv.DictReader((Path(trainer.logger.log_dir) / "metrics.csv").open()))
        told = [{k: float(v) for k, v in row.items() if v} for row in rows]
        checked = trainer.validate(model, datamodule=Blobs(), verbose=False), trainer.test(model, datamodule=Blobs(), verbose=False)
        again = Classifier.load_from_checkpoint(best.best_model_path)
        predicted = trainer.predict(again, datamodule=Blobs())
        return [model.losses, told, metrics(trainer), checked, sorted(path.name for path in Path(folder).glob("*.ckpt")),
                Path(best.best_model_path).name, best.best_model_score.item(), trainer.global_step, dict(again.hparams), predicted,
                weights(model)]


def resumed() -> list:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/half.ckpt"
        trainer, _ = fitted(2, default_root_dir=folder)
        trainer.save_checkpoint(path)
        kept = torch.load(path, weights_only=False)
        trainer, model = fitted(4, resume=path, default_root_dir=folder)
        return [sorted(kept), sorted(kept["state_dict"]), kept["optimizer_states"][0]["param_groups"], kept["lr_schedulers"], kept["loops"]
                ["fit_loop"]["epoch_progress"], trainer.current_epoch, trainer.global_step, model.losses, weights(model)]


def precise() -> dict:
    double, half = (fitted(2, precision=name)[1] for name in ("64-true", "bf16-mixed"))
    return {"double": [double.losses, weights(double)], "half": [half.losses, str(half.head.weight.dtype)]}


def clipped() -> list:
    norms = []

    class Watch(callbacks.Callback):
        def on_before_optimizer_step(self, trainer: L.Trainer, module: L.LightningModule, optimizer: torch.optim.Optimizer) -> None:
            norms.append({k: float(v) for k, v in L.pytorch.utilities.grad_norm(module, 2).items()})

    fitted(1, gradient_clip_val=0.01, gradient_clip_algorithm="value", callbacks=[Watch()], detect_anomaly=True)
    return [norms, metrics(fitted(2, limit_train_batches=0.5, limit_val_batches=1, val_check_interval=1)[0]),
            metrics(fitted(1, overfit_batches=1)[0]), metrics(fitted(1, fast_dev_run=2)[0])]


class Adversaries(L.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.maker, self.judge, self.losses = torch.nn.Linear(2, 4), torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.LeakyReLU(0.2),
                                                                                         torch.nn.Linear(8, 1)), []

    def training_step(self, batch: list, index: int) -> None:
        making, judging = self.optimizers()
        score, x = torch.nn.functional.binary_cross_entropy_with_logits, batch[0]
        for optimizer, loss in ((making, lambda z: score(self.judge(self.maker(z)), torch.ones(len(x), 1))),
                                (judging, lambda z: score(self.judge(x), torch.ones(len(x), 1))
                                 + score(self.judge(self.maker(z).detach()), torch.zeros(len(x), 1)))):
            self.toggle_optimizer(optimizer)
            found = loss(torch.randn(len(x), 2))
            optimizer.zero_grad()
            self.manual_backward(found)
            self.clip_gradients(optimizer, 1.0, "norm")
            optimizer.step()
            self.untoggle_optimizer(optimizer)
            self.losses.append(found.item())

    def on_train_epoch_end(self) -> None:
        for scheduler in self.lr_schedulers():
            scheduler.step()

    def configure_optimizers(self) -> tuple:
        optimizers = [torch.optim.Adam(part.parameters(), 0.05, (0.5, 0.9)) for part in (self.maker, self.judge)]
        return optimizers, [torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5) for optimizer in optimizers]


def by_hand() -> list:
    _, model = fitted(2, Adversaries())
    return [model.losses, weights(model)]


def averaged() -> dict:
    def slow(averaging: callbacks.Callback, epochs: int = 4) -> list:
        return weights(fitted(epochs, callbacks=[averaging])[1])

    return {"swa": slow(callbacks.StochasticWeightAveraging(0.05, swa_epoch_start=2, annealing_epochs=1)),
            "ema": slow(callbacks.EMAWeightAveraging(decay=0.9), 2)}


def pruned() -> list:
    found = []
    for way in ("l1_unstructured", "random_unstructured", "ln_structured"):
        structured = {"pruning_dim": 0, "pruning_norm": 2} if way == "ln_structured" else {}
        model = Classifier()
        with contextlib.redirect_stdout(io.StringIO()):
            fitted(2, model, callbacks=[callbacks.ModelPruning(way, [(model.backbone[0], "weight")], ["weight"], amount=0.5,
                                                               use_global_unstructured=not structured, **structured)])
        found.append([[name for name, _ in model.named_parameters()], (model.backbone[0].weight == 0).sum().item(), weights(model)])
    return found


class Unfreeze(callbacks.BaseFinetuning):
    def freeze_before_training(self, module: L.LightningModule) -> None:
        self.freeze(module.backbone)

    def finetune_function(self, module: L.LightningModule, epoch: int, optimizer: torch.optim.Optimizer) -> None:
        if epoch == 1:
            self.unfreeze_and_add_param_group(module.backbone, optimizer)


def frozen() -> list:
    trainer, model = fitted(2, callbacks=[Unfreeze(), callbacks.GradientAccumulationScheduler({1: 3})])
    return [[len(group["params"]) for group in trainer.optimizers[0].param_groups], model.losses, weights(model)]


def tuned() -> list:
    L.seed_everything(7, verbose=False)
    model = Classifier()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        trainer = L.Trainer(max_epochs=1, logger=False, default_root_dir=folder, **QUIET)
        found = Tuner(trainer).lr_find(model, datamodule=Blobs(), num_training=20, early_stop_threshold=None)
        return [found.results["lr"], found.results["loss"], found.suggestion(), sorted(Path(folder).glob("*.ckpt"))]


def summed() -> list:
    model = Classifier()
    model.example_input_array = torch.ones(2, 4)
    return [str(ModelSummary(model, max_depth=2)), repr(model).splitlines()]


def by_fabric() -> list:
    found = []
    fabric = L.Fabric(accelerator="cpu", devices=1, precision="32-true")
    fabric.seed_everything(3, verbose=False)
    network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    network, optimizer = fabric.setup(network, torch.optim.SGD(network.parameters(), 0.1, momentum=0.9))
    module = Blobs()
    module.setup("fit")
    for x, y in fabric.setup_dataloaders(module.train_dataloader()):
        loss = torch.nn.functional.cross_entropy(network(x), y)
        optimizer.zero_grad()
        fabric.backward(loss)
        fabric.clip_gradients(network, optimizer, max_norm=1.0)
        optimizer.step()
        found.append(loss.item())
    with tempfile.TemporaryDirectory() as folder:
        fabric.save(f"{folder}/state.ckpt", {"network": network, "optimizer": optimizer, "step": 5})
        state = {"network": network, "optimizer": optimizer, "step": 0}
        rest = fabric.load(f"{folder}/state.ckpt", state)
    return [found, state["step"], rest, type(network).__name__, weights(network)]


def refused() -> list:
    found = []
    for call in (lambda: L.Trainer(accelerator="cuda", logger=False), lambda: L.Trainer(accelerator="nothing"),
                 lambda: fitted(1, L.LightningModule()), lambda: fitted(1, precision="16-true", accelerator="cpu", devices=0),
                 lambda: fitted(1, callbacks=[callbacks.EarlyStopping("nothing")])):
        try:
            call()
        except Exception as error:
            found.append([type(error).__name__, str(error)[:160]])
    return found


CASES = {"fitted, tested, predicted": whole, "resumed": resumed, "precisions": precise, "clipped and limited": clipped,
         "two optimizers": by_hand, "averaged weights": averaged, "pruned": pruned, "finetuned": frozen, "learning rate found": tuned,
         "summary": summed, "fabric": by_fabric, "refused": refused}
