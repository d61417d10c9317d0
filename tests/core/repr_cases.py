"""Tensors to be printed."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from tests.recording import Table

DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64", "complex128")
SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (7,), (40,), (2, 3), (3, 1, 4), (2, 2, 2, 2), (0,), (0, 3), (2, 0))
OPTIONS: tuple[dict[str, Any], ...] = (
    {"precision": 2}, {"precision": 8}, {"sci_mode": True}, {"sci_mode": False}, {"threshold": 5}, {"edgeitems": 1, "threshold": 5},
    {"edgeitems": 0, "threshold": 5}, {"linewidth": 30}, {"linewidth": 200}, {"profile": "short"}, {"profile": "full"},
    {"profile": "short", "precision": 6}, {"threshold": 5, "linewidth": 20, "sci_mode": True},
)  # fmt: skip


def cases() -> list[dict[str, Any]]:
    """Each case: values (a float64 or complex128 array), dtype, and how the tensor is dressed."""
    found: list[dict[str, Any]] = []

    def add(values: Any, dtype: str = "float32", **dress: Any) -> None:
        found.append({"values": np.asarray(values), "dtype": dtype, **dress})

    random = np.random.RandomState(0)
    for dtype in DTYPES:
        for shape in SHAPES:
            values = random.standard_normal(shape) * 10
            add(values + 1j * random.standard_normal(shape) if dtype.startswith("complex") else values, dtype)
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        for scale in (1e-9, 1e-5, 1e-4, 1e-3, 1.0, 99.0, 1e4, 1e5, 1e8, 2e8, 1e15):
            add(random.standard_normal(6) * scale, dtype)
            add(np.round(random.standard_normal(6) * scale), dtype)
        for special in (
            [np.nan], [np.inf, -np.inf, 1.0], [np.nan, 1.5], [0.0, -0.0], [0.0, np.nan], [1.0, 1000.0, 1e-3], [1.0, 1001.0],
            [1e-4, 1.0], [9.9999e-5], [1e8], [1.0001e8], [0.5, 0.25], [1.0, 2.0, np.inf], [1e20, 1.0, np.nan], [65504.0, 1e-7],
            [3.4e38, 1e-38], [123456.789], [0.1], [-0.1, 0.2], [99999.5, 1.0], [0.00005, 0.5], [1e-45, 1.0], [16777216.0],
        ):  # fmt: skip
            add(special, dtype)
            add(special[0], dtype)
    for values in (
        [1 + 2j, -1 - 2j], [complex(0, -0.0), complex(-0.0, 0)], [complex(np.nan, 1), complex(1, np.inf)], [1e9 + 1j, 1 + 1e-9j],
        [0.5j], [complex(np.inf, -np.inf)], [1.5 - 0.25j] * 12, [[1j, 2.5], [3 - 1j, -4.25]], [complex(1, np.nan)],
    ):  # fmt: skip
        for dtype in ("complex64", "complex128"):
            add(values, dtype)
            add(np.asarray(values).ravel()[0], dtype)
    for shape in ((1000,), (1001,), (2000,), (10, 101), (101, 10), (7, 150), (3, 400), (4, 5, 60), (12, 11, 10), (2, 2, 2, 200),
                  (6, 7, 8, 9)):
        values = random.standard_normal(shape)
        for dtype in ("float32", "int64", "complex64"):
            add(np.round(values * 50) if dtype == "int64" else values + 1j * values[::-1] if dtype == "complex64" else values, dtype)
    edges = np.zeros(2000)
    edges[1000] = 1e10  # not shown, so it must not choose the notation
    add(edges)
    for values in (random.standard_normal((3, 4)), random.standard_normal(30) * 1e5, np.arange(9.0), np.arange(24.0).reshape(2, 3, 4) / 7,
                   3.25):
        for options in OPTIONS:
            add(values, options=options)
        add(np.asarray(values) + 0.5j, "complex64", options=OPTIONS[4])
        add(values, "int64", options=OPTIONS[5])
        add(values, "int64", options=OPTIONS[6])
    for shape in ((2,), (3, 3), (), (0,), (0, 2), (9,), (10,), (8,), (3, 9), (1100,)):
        values = random.standard_normal(shape)
        for dtype in ("float32", "float64", "complex64"):
            add(values, dtype, requires_grad=True)
            add(values, dtype, grad_fn=True)
            add(values, dtype, requires_grad=True, parameter=True)
        for dtype in ("float32", "float64", "int64", "bool"):
            add(values, dtype, meta=True)
            add(values, dtype, default="float64")
            add(values, dtype, subclass=True)
        add(values, requires_grad=True, meta=True)
        add(values, "float16", grad_fn=True)
        add(values, requires_grad=True, subclass=True)
        add(values, "complex128", default="float64", requires_grad=True)
        add(values, requires_grad=True, parameter=True, subclass=True)
    for length in range(1, 12):
        add(random.standard_normal(length), "float64", grad_fn=True)
        add(random.standard_normal(length), "bfloat16", requires_grad=True)
    return found


def brief(text: str) -> str:
    """The text itself, of a long one its beginning and its digest."""
    if len(text) <= 1500:
        return text
    return f"{text[:1000]} ... {len(text)} characters, sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def text_of(torch: Any, case: dict[str, Any]) -> str:
    """What a tensor prints as."""
    class MyTensor(torch.Tensor):
        pass

    class MyParameter(torch.nn.Parameter, MyTensor):
        pass

    values = case["values"]
    kind = getattr(torch, case["dtype"])
    if case["dtype"].startswith(("int", "uint", "bool")):
        values = values.astype(case["dtype"])
    tensor = torch.from_numpy(np.asarray(values)).to(kind)
    if case.get("meta"):
        tensor = tensor.to("meta")
    tensor.requires_grad_(case.get("requires_grad", False))
    if case.get("grad_fn"):
        tensor = tensor.requires_grad_() * 1
    if case.get("parameter") and case.get("subclass"):
        tensor = torch.Tensor._make_subclass(MyParameter, tensor.detach(), True)
        return torch._tensor_str._str(tensor)
    if case.get("parameter"):
        tensor = torch.nn.Parameter(tensor.detach())
    if case.get("subclass"):
        tensor = tensor.as_subclass(MyTensor) if not tensor.requires_grad else torch.Tensor._make_subclass(MyTensor, tensor.detach(), True)
    torch.set_default_dtype(getattr(torch, case.get("default", "float32")))
    try:
        with torch._tensor_str.printoptions(**case.get("options", {})):
            return repr(tensor)
    finally:
        torch.set_default_dtype(torch.float32)


CASES = {str(i): case for i, case in enumerate(cases())}
TABLE = Table("repr", CASES, lambda torch, name: brief(text_of(torch, CASES[name])))
