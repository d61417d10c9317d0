"""Small ``.pt`` files that torch wrote, and what is in them."""

from __future__ import annotations

import collections
import fractions
from functools import cache
from typing import Any

from tests.recording import FIXTURES, Recording, Table

FOLDER = FIXTURES / "serialization"
FILES = ("tensors", "training", "unsafe", "module")


def describe(torch: Any, value: Any) -> Any:
    """Types, values, dtypes, strides, offsets and flags of everything in `value`."""
    if isinstance(value, torch.Tensor):
        plain = value.detach()
        wide = plain.to(torch.complex128) if plain.is_complex() else plain.to(torch.float64)
        return {
            "class": type(value).__name__, "dtype": str(value.dtype), "shape": list(value.shape),
            "stride": list(value.stride()), "offset": value.storage_offset(), "requires_grad": value.requires_grad,
            "values": [str(x) for x in wide.reshape(-1).tolist()],
        }  # fmt: skip
    if isinstance(value, dict):
        extra = {k: describe(torch, v) for k, v in getattr(value, "__dict__", {}).items()}
        return {"class": type(value).__name__, "items": [[str(k), describe(torch, v)] for k, v in value.items()], "extra": extra}
    if isinstance(value, (list, tuple)):
        return {"class": type(value).__name__, "items": [describe(torch, v) for v in value]}
    if isinstance(value, set):
        return {"class": "set", "items": sorted(value)}
    if isinstance(value, (torch.dtype, torch.device)):
        return {"value": str(value)}
    return {"class": type(value).__name__, "value": str(value)}


@cache
def objects(torch: Any) -> dict[str, Any]:
    """What the files hold, by name."""
    torch.manual_seed(0)
    base = torch.arange(24.0).reshape(2, 3, 4)
    names = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64",
             "complex128", "uint16", "uint32", "uint64", "float8_e4m3fn")  # fmt: skip
    tensors = {name: (torch.arange(6) % 5).reshape(2, 3).to(getattr(torch, name)) for name in names}
    tensors |= {
        "complex values": torch.tensor([1 + 2j, -3.5j]),
        "special": torch.tensor([float("nan"), float("inf"), -0.0]),
        "scalar": torch.tensor(3),
        "empty": torch.empty(0),
        "empty 2-D": torch.empty(0, 3, dtype=torch.int32),
        "base": base,
        "transposed": base.transpose(0, 2),
        "slice": base[1:, ::2, 1:3],
        "expanded": base[0, 0].expand(3, 4),
        "channels last": torch.arange(24).reshape(1, 2, 3, 4).contiguous(memory_format=torch.channels_last),
        "leaf": torch.ones(3, requires_grad=True),
        "parameter": torch.nn.Parameter(torch.full((2,), 0.5)),
        "frozen": torch.nn.Parameter(torch.full((2,), 0.5), requires_grad=False),
    }
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model(torch.randn(5, 3)).sum().backward()
    optimizer.step()
    training = {
        "model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "loss": 0.25, "big": 2**70,
        "names": ["first", "second"], "pair": (1, (2.5, None)), "set": {1, 2, 3}, "complex": 1 + 2j, "bytes": b"\x00\xff",
        "flags": [True, False], "size": torch.Size([2, 3]), "dtype": torch.float16, "device": torch.device("cpu"),
        "device 1": torch.device("cuda:1"), "ordered": collections.OrderedDict(one=1, two=2),
        "counter": collections.Counter(["red", "blue", "red"]),
        "text": "ü\n", "rng": torch.Generator().manual_seed(5).get_state()[:40].clone(), "array": bytearray(b"ab"),
    }  # fmt: skip
    return {
        "tensors": tensors,
        "training": training,
        "unsafe": {"third": fractions.Fraction(1, 3), "x": torch.ones(2)},
        "module": torch.nn.Linear(2, 3),
    }


def write(torch: Any) -> None:
    """Writes the files."""
    for name, value in objects(torch).items():
        torch.save(value, FOLDER / f"{name}.pt")


def outcome(torch: Any, name: str) -> Any:
    """What is in a file; of a module its state."""
    value = objects(torch)[name]
    return describe(torch, value.state_dict() if name == "module" else value)


FILE_TABLE = Recording("files", "serialization/*.pt", write)
TABLE = Table("saved", FILES, outcome)
