"""What a program logs for TensorBoard, as the summaries say it: programs of one line, of the writer `w`."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import os
import tempfile
from importlib import import_module
from typing import Any

import numpy as np

from tests.recording import Table

PROGRAMS = """
w.add_scalar("a", 1.5, 1)
w.add_scalar("a", t.tensor(2.), 2, new_style=True)
w.add_scalar("a", t.tensor([2.], dtype=t.bfloat16), 2, new_style=True, double_precision=True)
w.add_scalar("a", np.float64(3), np.int64(7), walltime=5.)
w.add_scalar("a", t.ones(2))
w.add_scalar("a", "x")
w.add_scalar("a", [1])
w.add_scalars("m/n", {"x": 1, "y": t.tensor(2)}, 4, walltime=1.)
w.add_histogram("h", g, 1)
w.add_histogram("h", g, 1, max_bins=20)
w.add_histogram("h", np.arange(5), 1, bins="auto")
w.add_histogram("h", t.zeros(0))
w.add_histogram("h", t.zeros(4))
w.add_histogram("h", t.tensor([True, False, True]))
w.add_histogram("h", t.full((2,), float("nan")))
w.add_histogram("h", g, bins=[0, .1, .3], max_bins=1)
w.add_histogram_raw("h", 0, 1, 2, 3., 4., [1, 2], [3, 4], 5)
w.add_histogram_raw("h", 0, 1, 2, 3., 4., [1, 2], [3], 5)
w.add_image("i", g[0], 1)
w.add_image("i", g[0, 0], dataformats="HW")
w.add_image("i", (g[0] * 255).to(t.uint8).permute(1, 2, 0), dataformats="HWC")
w.add_image("i", g[0, :1])
w.add_image("i", g[0].bfloat16().requires_grad_())
w.add_image("i", g[0], dataformats="HHC")
w.add_image("i", g)
w.add_images("i", g)
w.add_images("i", g[:, :1].numpy())
w.add_images("i", g[:, :2])
w.add_image_with_boxes("i", t.ones(3, 9, 9), t.tensor([[1, 2, 5, 8]]))
w.add_audio("s", g[0, 0, 0], sample_rate=8000)
w.add_audio("s", t.tensor([[1.5, -2., .3]]))
w.add_audio("s", g[0, 0])
w.add_text("t", "h\\u00e4llo **x**", 3)
w.add_text("t", 3)
w.add_embedding(g[0, 0], metadata=["a", "b", 3, 4], label_img=g[0].reshape(4, 3, 1, 5), tag="q/%x")
w.add_embedding(g[0, 0, :2], metadata=[["a", "b"]] * 2, metadata_header=["u", "v"], global_step=2)
w.add_embedding(g[0, 0, :2], metadata=[["a", "b"]] * 2, metadata_header=["u"])
w.add_embedding(g[0, 0], metadata=["a"])
w.add_embedding(g[0, 0, 0])
[w.add_embedding(g[0, 0], global_step=s) for s in (1, 1)]
w.add_pr_curve("p", t.tensor([1, 0, 1, 0, 1]), t.tensor([.1, .9, .8, .3, 1.]), 1, num_thresholds=5)
w.add_pr_curve("p", np.array([1, 0]), np.array([.1, .9]), num_thresholds=300, weights=2.)
w.add_pr_curve_raw("p", *[t.arange(4.) + i for i in range(6)], num_thresholds=4)
w.add_custom_scalars_multilinechart(["a", "b"])
w.add_custom_scalars_marginchart(["a", "b", "c"], "k", "t")
w.add_custom_scalars_marginchart(["a"])
w.add_custom_scalars({"A": {"b": ["Multiline", ["x"]]}, "B": {"c": ["Margin", ["1", "2", "3"]]}})
w.add_custom_scalars({"B": {"c": ["Margin", ["1", "2"]]}})
w.add_mesh("m", g[:, 0, :, :3], colors=g[:, 1, :, :3], faces=t.tensor([[[0, 1, 2]]]), config_dict={"z": 1, "a": 2})
w.add_mesh("m", t.ones(2, 3))
w.add_hparams({"lr": .1, "b": True, "no": None, "t": t.tensor([2.])}, {"acc": .5, "loss": t.tensor(.25)}, {"lr": [.1]}, "r", 2)
w.add_hparams({"s": "x"}, {}, {"s": ["x", "y"]}, run_name="r")
w.add_hparams({"lr": [1]}, {})
w.add_hparams([], {})
w.add_hparams({"a": 1}, {}, {"a": ["x"]})
[w.add_tensor("t", t.tensor([[1, 0], [2, 3]]).to(d)) for d in (t.float16, t.bfloat16, t.float32, t.float64)]
[w.add_tensor("t", t.tensor([1, 0]).to(d)) for d in (t.uint8, t.int64, t.bool, t.complex64, t.complex128)]
w.add_tensor("t", t.tensor([1], dtype=t.int8))
w.add_tensor("t", t.tensor([1]).to(t.uint16))
w.close(), w.close(), w.add_scalar("late", 1)
t.utils.tensorboard.summary.int_to_half(t.utils.tensorboard.summary.half_to_int(1.5))
(len(w.default_bins), w.default_bins[0], w.default_bins[-1])
"""


def _pixels(picture: bytes) -> list[Any]:
    from PIL import Image

    opened = Image.open(io.BytesIO(picture))
    return [opened.size, opened.mode, hashlib.sha1(np.asarray(opened).tobytes()).hexdigest()]


def told(event: Any) -> Any:
    """An event as JSON, with the pixels of pictures instead of their files."""
    from google.protobuf.json_format import MessageToDict
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    found = MessageToDict(event, preserving_proto_field_name=True)
    for value in found.get("summary", {}).get("value", ()):
        if "image" in value:
            value["image"]["encoded_image_string"] = _pixels(base64.b64decode(value["image"]["encoded_image_string"]))
        plugin = value.get("metadata", {}).get("plugin_data", {})
        if plugin.get("plugin_name") == "hparams":  # whose maps have no order
            content = MessageToDict(HParamsPluginData.FromString(base64.b64decode(plugin["content"])))
            plugin["content"] = dict(sorted(content.get("sessionStartInfo", {}).get("hparams", {}).items())) or content
    return {key: found[key] for key in ("step", "summary") if key in found}


def outcome(torch: Any, program: str) -> Any:
    """What is returned, raised and printed; then by folder what is in its files."""
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    import_module(f"{torch.__name__}.utils.tensorboard")
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
        writer = torch.utils.tensorboard.SummaryWriter(folder)
        given = torch.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5) / 200
        try:
            result: Any = eval(program, {"t": torch, "np": np, "w": writer, "g": given})
        except Exception as error:  # any exception is an outcome
            result = {"error": type(error).__name__, "text": str(error)}
        writer.close()
        files: dict[str, Any] = {}
        for root, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                path = os.path.join(root, name)
                place = os.path.relpath(root, folder) + ("" if "tfevents" in name else "/" + name)
                with open(path, "rb") as file:
                    content = file.read()
                files.setdefault(place, []).extend(
                    [told(event) for event in EventFileLoader(path).Load() if event.HasField("summary")] if "tfevents" in name else
                    [_pixels(content) if name.endswith(".png") else content.decode()])
    return [result, printed.getvalue(), files]


TABLE = Table("tensorboard", PROGRAMS.strip().splitlines(), outcome, tolerance=(1e-6, 1e-7), zipped=True)
