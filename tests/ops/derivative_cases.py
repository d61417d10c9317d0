"""Derivatives that torch refuses: by each argument alone, of every record's samples, the gradient, the gradient of the gradient, and the
tangent."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tests.ops.mode_cases import flat
from tests.ops.op_cases import bind, is_array, samples, tree_map
from tests.ops.public_calls import PUBLIC, public_name, resolve
from tests.recording import Table

from autograd_tape.dtypes import DType
from autograd_tape.ops import RECORDS

SAMPLES = 3  # per operation, that differ in more than sizes and values
WORDS = ("is not implemented", "not differentiable", "forward AD", "forward grad", "does not support", "has not been implemented",
         "not implemented for", "Double backward", "unsupported")
"""What refusals of derivatives say; other errors are those of the arguments."""


def chosen(name: str) -> list[tuple[list[Any], dict[str, Any]]]:
    """The arguments of a record's samples that differ in more than sizes."""
    known, found = [], []
    for sample in samples(RECORDS[name]):
        args, kwargs = bind(RECORDS[name], sample)
        key = repr([type(a).__name__ if is_array(a) else a for a in args]), sorted(kwargs)
        if key not in known and len(known) < SAMPLES:
            known.append(key)
            found.append((list(args), dict(kwargs)))
    return found


def derivative(torch: Any, mode: str, name: str, args: list[Any], kwargs: dict[str, Any], at: int) -> None:
    """Takes a derivative by the floating-point array `at` alone."""
    fw = torch.autograd.forward_ad
    leaves: list[Any] = []
    count = iter(range(1000))

    def value(x: Any) -> Any:
        if isinstance(x, DType):
            return getattr(torch, x.name)
        if not is_array(x):
            return type(x)([value(y) for y in x]) if type(x) in (list, tuple) else x
        a = np.array(x)
        t = torch.from_numpy(a.astype(np.float32) if a.dtype.kind == "f" else a)
        if t.is_floating_point() and next(count) == at:
            t = fw.make_dual(t, torch.ones_like(t)) if mode == "dual" else t.requires_grad_()
            leaves.append(t)
        return t

    torch.manual_seed(0)
    function = resolve(torch, public_name(torch, RECORDS[name]) or "")
    if mode == "dual":
        with fw.dual_level():
            function(*value(args), **{k: value(v) for k, v in kwargs.items()})
        return
    result = function(*value(args), **{k: value(v) for k, v in kwargs.items()})
    for _ in range(1 + (mode == "twice")):
        outputs = [t for t in flat(result) if isinstance(t, torch.Tensor) and t.requires_grad]
        if not outputs:
            return
        result = torch.autograd.grad(outputs, leaves, [torch.ones_like(t) for t in outputs], create_graph=mode == "twice",
                                     allow_unused=True)


def refusals(torch: Any, name: str) -> dict[str, str]:
    """The derivatives that are refused, by mode, number of the sample and of the argument, and in which words."""
    found = {}
    for nr, (args, kwargs) in enumerate(chosen(name)):
        arrays: list[Any] = []
        tree_map(lambda x: arrays.append(np.asarray(x)), (args, kwargs))
        for at in range(sum(a.dtype.kind == "f" for a in arrays)):
            for mode in ("backward", "twice", "dual"):
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        derivative(torch, mode, name, args, kwargs, at)
                except Exception as error:  # noqa: BLE001  # any exception is an outcome
                    text = str(error).partition("\n")[0]
                    if any(word in text for word in WORDS):
                        found[f"{mode} {nr} {at}"] = f"{type(error).__name__}: {text[:120]}"
    return found


def cases(torch: Any) -> list[str]:
    """The operations that torch has and that take tensors."""
    return [rec.name for rec in PUBLIC if (public_name(torch, rec) or "_")[0] != "_" and rec.field("samples")
            and any(p.is_tensor for p in rec.params)]


TABLE = Table("derivatives", cases, refusals)


def superset() -> dict[str, set[str]]:
    """Of what torch refuses, what is carried out here: the operations by mode."""
    found: dict[str, set[str]] = {"backward": set(), "twice": set(), "dual": set()}
    for name, ours in TABLE.differ.items():
        for key in {*TABLE.recorded[name]} - {*ours}:
            found[key.split()[0]].add(name)
    return found
