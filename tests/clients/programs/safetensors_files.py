"""Files of tensors of eighteen dtypes written, read whole, by slices and lazily; models with shared weights; bytes that are the same;
training gone on with; broken files and tensors that cannot be kept."""

import hashlib
import json
import struct
import tempfile
from pathlib import Path

import numpy as np
import safetensors
import torch
from safetensors import numpy as of_numpy
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model

PACKAGES = ("safetensors",)
DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8,
          torch.bool,
          torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn, torch.float8_e5m2, torch.complex64, torch.float8_e4m3fnuz,
          torch.float8_e5m2fnuz)


def tensors() -> dict:
    torch.manual_seed(0)
    return {str(dtype)[6:]: (torch.randn(3, 4) * 5).abs().to(dtype) for dtype in DTYPES} | {
        "empty": torch.empty(0, 3), "one": torch.tensor(3.5), "long": torch.arange(100).reshape(4, 25)}


def bits(tensor: torch.Tensor) -> str:
    whole = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    return hashlib.sha256(whole.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()).hexdigest()[:12]


def kept() -> list:
    raw = save(tensors(), {"about": "all dtypes"})
    found = load(raw)
    return [len(raw), hashlib.sha256(raw).hexdigest(), {name: [str(t.dtype), list(t.shape), t.stride(), bits(t)] for name,
                                                        t in sorted(found.items())},
            all(torch.equal(found[name].view(torch.uint8) if t.dim() and "float8" in name else found[name],
                            t.view(torch.uint8) if t.dim() and "float8" in name else t) for name, t in tensors().items())]


def sliced() -> list:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.safetensors")
        save_file(tensors(), path, {"k": "v"})
        with safe_open(path, framework="pt", device="cpu") as file:
            part = file.get_slice("long")
            found = [file.metadata(), sorted(file.keys()), part.get_shape(), part.get_dtype(), part[1:3, ::1], part[:, 5:8], part[2],
                     part[...],
                     file.get_slice("bfloat16")[:2], file.get_slice("bool")[1:, 2:], file.get_tensor("one"), len(file.offset_keys())]
        with safe_open(path, framework="numpy") as file:
            found.append(file.get_tensor("float32"))
        some = load_file(path)
        some["float32"].add_(1)  # of its own memory
        return [found, torch.equal(load_file(path)["float32"], tensors()["float32"]), bits(some["float64"])]


class Tied(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.norm, self.head = torch.nn.Embedding(7, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 7, bias=False)
        self.head.weight = self.table.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.table(x)))


def tied() -> list:
    torch.manual_seed(1)
    model, x, found = Tied(), torch.randint(0, 7, (6,)), []
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    with tempfile.TemporaryDirectory() as folder:
        for step in range(4):
            loss = torch.nn.functional.cross_entropy(model(x), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
            if step == 1:
                save_model(model, f"{folder}/m.safetensors", {"step": "1"})
                momenta = {str(i): state["momentum_buffer"] for i, state in enumerate(optimizer.state.values())}
                save_file(momenta, f"{folder}/o.safetensors")
        other = Tied()
        missing = load_model(other, f"{folder}/m.safetensors")
        names = sorted(load_file(f"{folder}/m.safetensors"))
        again, momenta, losses = torch.optim.SGD(other.parameters(), 0.1, momentum=0.9), load_file(f"{folder}/o.safetensors"), []
        for i, p in enumerate(other.parameters()):
            again.state[p]["momentum_buffer"] = momenta[str(i)]
        for _ in range(2):
            loss = torch.nn.functional.cross_entropy(other(x), x)
            again.zero_grad()
            loss.backward()
            again.step()
            losses.append(loss.item())
    return [found, losses, str(missing), names, other.head.weight is other.table.weight,
            all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), other.state_dict().values()))]


def of_arrays() -> list:
    raw = of_numpy.save({"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([1, 2], np.int16)})
    back = of_numpy.load(save({"a": torch.arange(3.0), "c": torch.ones(2, dtype=torch.float16)}))
    return [load(raw), back, sorted([name for name, _ in safetensors.deserialize(raw)])]


def refused() -> list:
    x, model = torch.ones(2, 3), Tied()
    good = save({"a": x})
    size = struct.unpack("<Q", good[:8])[0]
    header = json.loads(good[8:8 + size])
    header["a"]["data_offsets"] = [0, 4000]
    spoiled = json.dumps(header).encode()
    with tempfile.TemporaryDirectory() as folder:
        save_file({"table.weight": torch.ones(7, 5), "more": x}, f"{folder}/w.safetensors")
        found = []
        for call in (lambda: save({"a": x, "b": x}), lambda: save({"a": x.t()}), lambda: save({"a": x.to_sparse()}),
                     lambda: save({"a": [1]}),
                     lambda: save([x]), lambda: save({"a": x[0], "b": x[1]}), lambda: load(good[:-3]), lambda: load(b"nothing"),
                     lambda: load(struct.pack("<Q", len(spoiled)) + spoiled + good[8 + size:]), lambda: load_file(f"{folder}/none"),
                     lambda: load_model(model, f"{folder}/w.safetensors"),
                     lambda: load_model(torch.nn.Linear(2, 2), f"{folder}/w.safetensors"),
                     lambda: safe_open(f"{folder}/w.safetensors", "pt").get_tensor("other"), lambda: load(save({"a": x}), 3)):
            try:
                found.append(["nothing", sorted(call())])
            except Exception as error:
                found.append([type(error).__name__, str(error).replace(folder, "")[:200]])
    return found


CASES = {"kept": kept, "slices": sliced, "shared weights": tied, "of arrays": of_arrays, "refused": refused}
