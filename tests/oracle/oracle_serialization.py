"""Write small ``.pt`` files with torch for `test_serialization`: ``python tests/oracle/oracle_serialization.py``.

``describe`` turns a loaded object into plain JSON; it runs under torch here and under torchcompat in the tests.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "fixtures" / "serialization"
FILES = ("tensors", "training", "unsafe", "module")


def describe(value: Any, torch: Any) -> Any:
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
        extra = {k: describe(v, torch) for k, v in getattr(value, "__dict__", {}).items()}
        return {"class": type(value).__name__, "items": [[str(k), describe(v, torch)] for k, v in value.items()], "extra": extra}
    if isinstance(value, (list, tuple)):
        return {"class": type(value).__name__, "items": [describe(v, torch) for v in value]}
    if isinstance(value, set):
        return {"class": "set", "items": sorted(value)}
    if isinstance(value, (torch.dtype, torch.device)):
        return {"value": str(value)}
    return {"class": type(value).__name__, "value": str(value)}


def objects() -> dict[str, Any]:
    import collections
    import fractions

    import torch

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


def main() -> None:
    import torch

    FOLDER.mkdir(parents=True, exist_ok=True)
    described = {}
    for name, value in objects().items():
        torch.save(value, FOLDER / f"{name}.pt")
        described[name] = describe(value.state_dict() if name == "module" else value, torch)
    (FOLDER / "expected.json").write_text(json.dumps(described))


if __name__ == "__main__":
    main()
