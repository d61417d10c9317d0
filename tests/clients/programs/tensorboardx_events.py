"""A run's scalars, histograms, pictures, texts, curves, embeddings, hyperparameters, meshes and graph written by tensorboardX while a
network trains, and read back by tensorboard."""

import json
import tempfile
from pathlib import Path

import numpy as np
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboardX import GlobalSummaryWriter, SummaryWriter, TorchVis, summary

PACKAGES = ("tensorboardX", "tensorboard")


class Network(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Conv2d(1, 4, 3), torch.nn.Linear(144, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)).flatten(1))


def network() -> Network:
    torch.manual_seed(0)
    return Network()


def read(folder: str) -> EventAccumulator:
    return EventAccumulator(folder, {"scalars": 0, "histograms": 0, "images": 0, "tensors": 0}).Reload()


def trained() -> list:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with tempfile.TemporaryDirectory() as folder:
        with SummaryWriter(folder, flush_secs=1) as writer:
            for step in range(5):
                x, y = torch.randn(8, 1, 8, 8), torch.randint(0, 3, (8,))
                loss = torch.nn.functional.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                writer.add_scalar("loss", loss, step)
                writer.add_scalars("parts", {"value": loss.item(), "norm": model.second.weight.grad.norm()}, step)
                for name, p in model.named_parameters():
                    writer.add_histogram(name, p, step, bins="auto" if step else "tensorflow")
                    writer.add_histogram(f"{name}.gradient", p.grad, step)
            writer.export_scalars_to_json(f"{folder}/all.json")
        told, kept = read(folder), json.loads(Path(folder, "all.json").read_text())
        histograms = {name: [[e.histogram_value.min, e.histogram_value.max, e.histogram_value.sum, e.histogram_value.sum_squares,
                              list(e.histogram_value.bucket)[:20]] for e in told.Histograms(name)] for name in told.Tags()["histograms"]}
        return [[[e.step, e.value] for e in told.Scalars("loss")], histograms, [[row[2] for row in rows] for rows in kept.values()],
                sorted(path.name for path in Path(folder).iterdir() if path.is_dir())]


def shown() -> list:
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        with SummaryWriter(folder) as writer:
            writer.add_image("one", torch.rand(3, 8, 8), 0)
            writer.add_image("rows last", torch.rand(6, 8, 3), 0, dataformats="HWC")
            writer.add_images("many", torch.rand(5, 1, 6, 6), 0)
            writer.add_image("bytes", (torch.rand(3, 5, 5) * 255).to(torch.uint8))
            writer.add_image_with_boxes("boxes", torch.rand(3, 16, 16), torch.tensor([[2.0, 2, 9, 9]]))
            writer.add_text("note", "*kept*", 3)
            writer.add_pr_curve("curve", torch.randint(0, 2, (50,)), torch.rand(50), 0)
            writer.add_hparams({"lr": 0.1, "kind": "sgd", "deep": True}, {"best": torch.tensor(0.5)}, name="run")
            writer.add_mesh("mesh", torch.rand(1, 4, 3), torch.randint(0, 255, (1, 4, 3)), torch.tensor([[[0, 1, 2], [1, 2, 3]]]))
            writer.add_custom_scalars({"group": {"losses": ["Multiline", ["a", "b"]]}})
            writer.add_embedding(torch.randn(5, 3), list("abcde"), torch.rand(5, 3, 4, 4), 2, "points")
        told = read(folder)
        pictures = {name: [[e.width, e.height, len(e.encoded_image_string)] for e in told.Images(name)] for name in told.Tags()["images"]}
        tensors = {name: [tuple(d.size for d in e.tensor_proto.tensor_shape.dim) for e in told.Tensors(name)]
                   for name in told.Tags()["tensors"]}
        table = next(Path(folder).rglob("tensors.tsv")).read_text().splitlines()
        return [pictures, tensors, [[float(x) for x in row.split()] for row in table], sorted(
            path.name for path in Path(folder).rglob("*") if path.is_file() and "events" not in path.name)]


def graphed() -> list:
    with tempfile.TemporaryDirectory() as folder:
        with SummaryWriter(folder) as writer:
            writer.add_graph(network(), torch.randn(2, 1, 8, 8))
        nodes = read(folder).Graph().node
        return [sorted({node.op for node in nodes}), len(nodes) > 5, sorted(node.name for node in nodes if node.op == "IO Node")]


def converted() -> list:
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    values = [summary.scalar("a", torch.tensor(2.5)), summary.histogram("b", x.detach().numpy(), "fd"),
              summary.image("c", x.detach().abs().numpy()[None] / 5, dataformats="CHW")]
    found = []
    for value in values:
        found.append([value.value[0].tag, value.ByteSize()])
    try:
        summary.image("d", torch.ones(2, 3, 4, 5, 6).numpy())
    except Exception as error:
        found.append([type(error).__name__, str(error)[:100]])
    return [found, summary.make_np(x) if hasattr(summary, "make_np") else np.zeros(1), TorchVis.__name__, GlobalSummaryWriter.__name__]


CASES = {"trained": trained, "shown": shown, "graph": graphed, "converted": converted}
