"""Forward mode and vmap of each record's samples: which results have a tangent, or what is refused and how."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dataclasses import replace

from autograd_tape.ops import RECORDS
from tests.campaign.cases import Array, Case, leaves, plain_samples, record_samples, tree
from tests.campaign.sides import Outcome, Side, Skip
from tests.recording import Table


def duals(value: Any) -> Iterator[Any]:
    """The arguments of a call with a tangent for all floating-point tensors, and then for each alone."""
    places = [i for i, a in enumerate(leaves(value)) if a.values.dtype.kind in "fc"]
    for chosen in ([places] if places else []) + ([[i] for i in places] if len(places) > 1 else []):
        count = iter(range(len(leaves(value))))
        yield tree(lambda a: replace(a, grad=next(count) in chosen), value, Array)


def cases(name: str, path: str) -> Iterator[Case]:
    """The calls of a record."""
    for sample in plain_samples(name):
        for value in duals(sample[0]):
            yield Case(path, value, sample[1], "forward mode", 3, f"records/{name}/0")
        for seed in (1, 2):
            yield Case(path, *sample, "vmap", seed, f"records/{name}/0")


def shown(case: Case, outcome: Outcome) -> str:
    """What is compared of an outcome: an error with its first line; of forward mode, T for a tangent and - for none; else dtypes and
    shapes."""
    if outcome.error:
        return f"{outcome.error}: {re.sub(r'torchcompat', 'torch', outcome.text.splitlines()[0] if outcome.text else '')}"
    if case.mode == "forward mode":
        tangents = outcome.tensors[len(outcome.tensors) // 2:]
        return "".join(["T" if t[0] == "tensor" else "-" for t in tangents])
    return " ".join([f"{t[1]}{list(t[2])}" if t[0] == "tensor" else str(t[1]) for t in outcome.tensors])


def outcomes(torch: Any, name: str, path: str) -> list[str]:
    """What `torch` makes of the calls of a record, in order."""
    side, found = Side(torch), []
    for case in cases(name, path):
        try:
            found.append(shown(case, side.run(case)))
        except Skip:
            found.append("")
    return found


def recordable(torch: Any) -> list[str]:
    """The records that have samples and a public name."""
    return [name for name in sorted(RECORDS) if RECORDS[name].field("samples") and record_samples(name)[0]]


def outcome(torch: Any, name: str) -> list[str]:
    """The public name, that both packages have, and what comes of the calls."""
    path = record_samples(name)[0] if torch.__name__ == "torch" else TABLE.recorded[name][0]
    return [path, *outcomes(torch, name, path)]


TABLE = Table("transforms", recordable, outcome)
