"""Samples of every operation in every dtype, forward and differentiated: what is carried out and what is refused."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes  # noqa: F401  # NumPy's name for bfloat16
import numpy as np
from tests.ops.op_cases import bind, is_array, samples, tree_map
from tests.ops.public_calls import PUBLIC, table, public_name, resolve

from autograd_tape.dtypes import DType
from autograd_tape.ops import RECORDS

FLOATS = ("float32", "bfloat16", "complex64")
DTYPES = (*FLOATS, "float64", "float16", "int64", "int16", "uint8", "bool", "uint16", "float8_e4m3fn", "float8_e8m0fnu", "complex32")
MODES = ("backward", "twice", "dual")


@cache
def sample(name: str, dtype: str) -> tuple[Any, Any]:
    """(args, kwargs) of a record's first sample with tensors; its floating-point arrays in another dtype."""
    rec = RECORDS[name]
    for found in samples(rec):
        args, kwargs = bind(rec, found)
        arrays: list[np.ndarray] = []
        tree_map(lambda x: arrays.append(np.asarray(x)), (args, kwargs))
        if arrays:
            break
    rare = DType.by_name[dtype].group  # arrays are of floating-point numbers, from which torch converts
    wanted = {"": DType.by_name[dtype].np, "chalf": np.dtype("c8")}.get(rare, np.dtype("f4"))

    def other(x: Any) -> Any:
        a = np.asarray(x)
        if a.dtype.kind not in "fc":
            return a
        with np.errstate(all="ignore"):
            a = a.real if wanted.kind != "c" and a.dtype.kind == "c" else a
            a = np.abs(np.round(3 * a)) if rare == "uint" else a
            return np.asarray(a if wanted.kind in "fcV" else np.round(3 * a)).astype(wanted)

    return tree_map(other, (list(args), dict(kwargs)))


def flat(x: Any) -> list[Any]:
    """What is in nested lists."""
    return [z for y in x for z in flat(y)] if isinstance(x, (list, tuple)) else [x]


def called(torch: Any, mode: str, name: str, dtype: str) -> Any:
    """What comes of a record's sample: results; their gradients; the gradients of these; or the tangents of the results."""
    leaves: list[Any] = []
    fw = torch.autograd.forward_ad

    def tensor(x: Any) -> Any:
        a = np.array(x)
        t = torch.from_numpy(a.view(np.int16)).view(torch.bfloat16) if a.dtype.name == "bfloat16" else torch.from_numpy(a)
        if DType.by_name[dtype].group and a.dtype.kind in "fc":
            t = t.to(getattr(torch, dtype))
        if mode != "forward" and (t.is_floating_point() or t.is_complex()):
            t = fw.make_dual(t, torch.ones_like(t)) if mode == "dual" else t.requires_grad_()
            leaves.append(t)
        return t

    def value(x: Any) -> Any:
        if isinstance(x, (list, tuple)):
            return type(x)([value(y) for y in x])
        return getattr(torch, x.name) if isinstance(x, DType) else tensor(x) if is_array(x) else x

    def gradients(outputs: list[Any], create_graph: bool) -> list[Any]:
        wanted = [t for t in outputs if isinstance(t, torch.Tensor) and t.requires_grad]
        if not wanted:
            return []
        found = torch.autograd.grad(wanted, leaves, [torch.ones_like(t) for t in wanted], create_graph=create_graph, allow_unused=True)
        return [g if g is None or create_graph else g.detach().clone(memory_format=torch.contiguous_format) for g in found]

    torch.manual_seed(0)
    args, kwargs = sample(name, dtype)
    function = resolve(torch, public_name(torch, RECORDS[name]) or "")
    if mode == "dual":
        with fw.dual_level():
            result = function(*[value(x) for x in args], **{k: value(v) for k, v in kwargs.items()})
            return [fw.unpack_dual(t).tangent is not None for t in flat(result) if isinstance(t, torch.Tensor)]
    result = function(*[value(x) for x in args], **{k: value(v) for k, v in kwargs.items()})
    if mode == "forward":
        return result
    if mode == "backward":
        return [result, gradients(flat(result), False)]
    gradients([g for g in gradients(flat(result), True) if g is not None], False)
    return "differentiated twice"


def calls(torch: Any) -> list[str]:
    """All, of operations that take tensors."""
    found = []
    for rec in PUBLIC:
        name = public_name(torch, rec)
        if name is None or name.startswith("_") or not rec.field("samples") or not any(p.is_tensor for p in rec.params):
            continue
        for mode in ("forward", *MODES):
            for dtype in DTYPES if mode == "forward" else FLOATS:
                found.append(f"called({mode!r}, {rec.name!r}, {dtype!r})")
    return found


TABLE = table("modes", calls)
