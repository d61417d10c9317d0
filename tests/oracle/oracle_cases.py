"""The stored form of the oracle's cases: JSON for structure, one packed array per dtype for values; no pickles.

A file ``fixtures/oracle/<family>.npz`` holds ``cases`` (UTF-8 JSON) and one flat array per dtype.  In the JSON a tensor is
``{"t": dtype, "at": offset into the dtype's array, "s": shape}``, with ``"st"`` its strides unless contiguous and ``"g": 1``
if it requires grad, ``"e"`` how far torch's float32 is from torch's float64 where that is far; values lie in logical
(row-major) order.  Everything else that is not a JSON scalar is a one-key object: ``tuple``, ``list``, ``dict``, ``dtype``,
``attr`` (a named object of the library), ``slice``, ``ellipsis``, ``complex``.
"""

from __future__ import annotations

import json
import math
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tests.recording import FIXTURES, Recording

DATA = FIXTURES / "oracle"
MAX_DIMENSIONS = 32  # of NumPy 1
NAMED_OBJECTS = ("strided", "contiguous_format", "preserve_format", "channels_last", "channels_last_3d")


class Unstorable(TypeError):
    """A value has no stored form; the case it belongs to is not recorded."""


def dtype_name(dtype: Any) -> str:
    """``float32`` for ``torch.float32``."""
    return str(dtype).rsplit(".", 1)[-1]


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides torch gives a fresh tensor: a dimension of size 0 counts as 1.

    >>> contiguous_strides((2, 0, 3))
    (3, 3, 1)
    """
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def strided_array(values: np.ndarray[Any, Any], strides: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """A new array with the values and, counted in elements, the strides given; strides of 0 overlap."""
    span = 1 + sum((size - 1) * stride for size, stride in zip(values.shape, strides, strict=True))
    storage = np.zeros(span if values.size else 0, values.dtype)
    bytewise = tuple(stride * values.itemsize for stride in strides)
    array: np.ndarray[Any, Any] = np.lib.stride_tricks.as_strided(storage, values.shape, bytewise)
    array[...] = values
    return array


def cotangent(shape: tuple[int, ...], dtype: str, number: int = 0) -> np.ndarray[Any, Any]:
    """The fixed cotangent of output ``number``: a low-discrepancy sequence in [-1, 1), the same on every machine."""
    index = np.arange(1, math.prod(shape) + 1, dtype=np.float64) + 1000.0 * number
    return (2.0 * ((index * 0.6180339887498949) % 1.0) - 1.0).astype(dtype).reshape(shape)


class Writer:
    """Encodes values of real torch and collects their numbers, to be written as one file."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.parts: dict[str, list[np.ndarray[Any, Any]]] = {}
        self.sizes: dict[str, int] = {}

    def tensor(self, tensor: Any) -> dict[str, Any]:
        if type(tensor) not in (self.torch.Tensor, self.torch.nn.Parameter) or tensor.layout is not self.torch.strided:
            raise Unstorable(f"{type(tensor).__name__} of layout {getattr(tensor, 'layout', None)}")
        name = dtype_name(tensor.dtype)
        if tensor.dim() > MAX_DIMENSIONS:
            raise Unstorable(f"more than {MAX_DIMENSIONS} dimensions")
        if tensor.is_conj() or tensor.is_neg() or name == "bfloat16":
            raise Unstorable(f"tensor of dtype {name}, conjugate or negated lazily")
        if tensor.is_meta:
            raise Unstorable("meta tensor")
        values = np.ascontiguousarray(tensor.detach().numpy(force=True)).reshape(
            -1
        )  # force: an all-zero gradient is lazy
        offset = self.sizes.get(name, 0)
        self.sizes[name] = offset + values.size
        self.parts.setdefault(name, []).append(values.copy())
        shape, strides = tuple(tensor.shape), tuple(tensor.stride())
        node: dict[str, Any] = {"t": name, "at": offset, "s": list(shape)}
        if strides != contiguous_strides(shape):
            node["st"] = list(strides)
        if tensor.requires_grad:
            node["g"] = 1
        return node

    def value(self, value: Any) -> Any:
        torch = self.torch
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, complex):
            return {"complex": [value.real, value.imag]}
        if isinstance(value, tuple):
            fields = [n for n in dir(value) if not n.startswith("_") and n not in dir(tuple)]
            node = {"tuple": [self.value(item) for item in value]}
            if isinstance(value, torch.Size) or not type(value).__module__.startswith("torch.return_types"):
                return node
            return node | {
                "fields": [n for i in range(len(value)) for n in fields if getattr(value, n, None) is value[i]]
            }
        if isinstance(value, list):
            return {"list": [self.value(item) for item in value]}
        if isinstance(value, dict):
            return {"dict": {key: self.value(item) for key, item in value.items()}}
        if isinstance(value, torch.dtype):
            return {"dtype": dtype_name(value)}
        if isinstance(value, torch.device) and value.type == "cpu":
            return "cpu"
        if isinstance(value, slice):
            return {"slice": [self.value(part) for part in (value.start, value.stop, value.step)]}
        if value is Ellipsis:
            return {"ellipsis": 1}
        for name in NAMED_OBJECTS:
            if value is getattr(torch, name):
                return {"attr": name}
        raise Unstorable(type(value).__name__)

    def write(self, path: Path, content: dict[str, Any]) -> None:
        text = json.dumps(content, separators=(",", ":"))  # unsorted: gradients follow the arguments' order
        arrays = {name: np.concatenate(parts) for name, parts in sorted(self.parts.items())}
        np.savez_compressed(path, cases=np.frombuffer(text.encode(), np.uint8), **arrays)


class Reader:
    """Decodes stored values as objects of the library under test."""

    def __init__(self, torch: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        self.torch = torch
        self.arrays = arrays

    def array(self, node: dict[str, Any]) -> np.ndarray[Any, Any]:
        """The values of a stored tensor, row-major."""
        start = node["at"]
        return self.arrays[node["t"]][start : start + math.prod(node["s"])].reshape(node["s"])

    def tensor(self, node: dict[str, Any]) -> Any:
        strides = tuple(node.get("st") or contiguous_strides(tuple(node["s"])))
        tensor = self.torch.from_numpy(strided_array(self.array(node), strides))
        return tensor.requires_grad_() if node.get("g") else tensor

    def value(self, node: Any) -> Any:
        """The object a node stands for; a tensor is made anew by every call."""
        if not isinstance(node, dict):
            return node
        if "t" in node:
            return self.tensor(node)
        if "tuple" in node:
            return tuple(self.value(item) for item in node["tuple"])
        kind, content = next(iter(node.items()))
        if kind == "list":
            return [self.value(item) for item in content]
        if kind == "dict":
            return {key: self.value(item) for key, item in content.items()}
        if kind in ("dtype", "attr"):
            return getattr(self.torch, content)
        if kind == "slice":
            return slice(*(self.value(part) for part in content))
        if kind == "ellipsis":
            return Ellipsis
        if kind == "complex":
            return complex(*content)
        raise ValueError(f"unknown node {kind!r}")


def load(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """The JSON content and the value arrays of a file."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return json.loads(arrays.pop("cases").tobytes().decode()), arrays


def tensors_in(node: Any) -> list[dict[str, Any]]:
    """The tensor nodes below a node, in order."""
    if isinstance(node, dict):
        return [node] if "t" in node else [leaf for part in node.values() for leaf in tensors_in(part)]
    return [leaf for part in node for leaf in tensors_in(part)] if isinstance(node, list) else []


def flatten(value: Any) -> list[Any]:
    """The leaves of nested tuples, lists and dicts, in the order of :func:`tensors_in`."""
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in flatten(part)]
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in flatten(part)]
    return [value]


TABLE = Recording("oracle", "oracle/*.npz", lambda torch: import_module("tests.oracle.recorder").record())
