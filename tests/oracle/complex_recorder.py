"""Records what torch does with complex tensors, and how it rounds half precision; the samples come from the records."""

from __future__ import annotations

import warnings
import zlib
from typing import Any

import numpy as np
import torch
from tests.oracle.complex_cases import NAMESPACES, RECORDED, attribute, gradients, half_inputs, half_operations, tensors_of
from tests.oracle.oracle_cases import Unstorable, Writer, dtype_name

from tests.ops.op_cases import NAMES, RECORDS, bind, is_array, samples, tree_map

from autograd_tape.record import DIFFERENTIABLE

RANDOM = {"dropout", "native_dropout", "new_empty_strided", "empty_like", "new_empty", "bernoulli"}


def public_name(rec: Any) -> str | None:
    """Where torch has the operation."""
    for namespace in ([rec.namespace] if rec.namespace else []) + list(NAMESPACES):
        for name in (rec.name, *rec.alias):
            full = f"{namespace}.{name}" if namespace else name
            try:
                attribute(torch, full)
            except AttributeError:
                continue
            return full
    return None


def complexified(rec: Any, sample: Any, seed: int, dtype: str) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a sample with imaginary parts."""
    rng = np.random.default_rng(seed)
    args, kwargs = bind(rec, sample)

    def widen(x: Any) -> Any:
        a = np.asarray(x)
        if not is_array(x) or a.dtype != np.float64:
            return x
        return (a + 0.6j * rng.uniform(-1, 1, a.shape) * np.abs(a).max(initial=0.1)).astype(dtype)

    positional = [p for p in rec.params if not p.keyword_only] if rec.field("function") is None else []
    takes = [p.type in DIFFERENTIABLE for p in positional] + [True] * len(args)
    return [tree_map(widen, a) if ok else a for a, ok in zip(args, takes)], {k: tree_map(widen, v) for k, v in kwargs.items()}


def to_tensor(x: Any) -> Any:
    if not is_array(x):
        return x
    t = torch.from_numpy(np.array(x))
    return t.requires_grad_() if t.is_complex() or t.is_floating_point() else t


def outcome(call: Any, args: Any, kwargs: Any, writer: Writer) -> dict[str, Any]:
    """What a call gives: outputs and gradients, or the error with and without gradients."""
    leaves = [t for t in tensors_of(torch, [args, kwargs]) if t.requires_grad]
    found: dict[str, Any] = {}
    try:
        result = call(*args, **kwargs)
        grads = gradients(torch, result, leaves)
        found["grad"] = [None if g is None else writer.value(resolved(g)) for g in grads]
    except Exception as error:  # noqa: BLE001  # errors are what is recorded
        found["grad_error"] = [type(error).__name__, str(error)]
        for leaf in leaves:
            leaf.requires_grad_(False)
        try:
            result = call(*args, **kwargs)
        except Exception:  # noqa: BLE001  # refused with and without gradients
            return {"error": found["grad_error"]}
    return found | {"out": [writer.value(resolved(t)) for t in tensors_of(torch, result)]}


def resolved(t: Any) -> Any:
    return t.detach().resolve_conj().resolve_neg()


def record() -> None:
    warnings.simplefilter("ignore")
    writer = Writer(torch)
    cases: list[dict[str, Any]] = []
    for name in NAMES:
        rec = RECORDS[name]
        public = None if rec.namespace == "_internal" and not rec.alias or name in RANDOM else public_name(rec)
        if public is None:
            continue
        for number, sample in enumerate(samples(rec)[:3]):
            dtype = "complex64" if number == 1 else "complex128"
            arguments, keywords = complexified(rec, sample, zlib.crc32(name.encode()) + number, dtype)
            args, kwargs = tree_map(to_tensor, arguments), tree_map(to_tensor, keywords)
            if not any(t.is_complex() for t in tensors_of(torch, [args, kwargs])):
                continue
            try:
                stored = {"in": [writer.value(a) for a in args], "kw": {k: writer.value(v) for k, v in kwargs.items()}}
                cases.append({"op": name, "call": public} | stored | outcome(attribute(torch, public), args, kwargs, writer))
            except Unstorable:
                continue
            if cases[-1].get("error", [""])[0] == "TypeError":  # the sample's spelling is not torch's
                cases.pop()
    half: list[dict[str, Any]] = []
    for dtype in ("bfloat16", "float16"):
        for name, call in half_operations(torch).items():
            result = call(*half_inputs(torch, dtype)).detach()
            out = writer.value(result.to(torch.float32))
            half.append({"op": name, "dtype": dtype, "result": dtype_name(result.dtype), "out": out})
    writer.write(RECORDED, {"torch": torch.__version__, "cases": cases, "half": half})
    differentiated, refused = (sum(word in c for c in cases) for word in ("grad", "error"))
    print(f"{len(cases)} complex cases, {differentiated} with gradients, {refused} refused; {len(half)} in half precision")
