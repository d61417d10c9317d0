"""Which entries there are, in their order; needs our side, for the records."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.enumeration.calls import LAYOUTS, MODES, SIZES, Spec, Void, arrays, encoded, leaves

DTYPES = ("float32", "float64", "bfloat16", "int64", "bool")
PLACES = ("{}", "nn.functional.{}", "linalg.{}", "special.{}", "Tensor.{}", "Tensor.__{}__")
MODULES = ("linalg", "fft", "nn_functional", "special")
WEIGHTS = {"float32": 2.0, "bool": 0.5, "rows": 2.0}
"""How much earlier what comes, of dtypes and layouts; 1 for the others."""


P = np.array([[0.1, 0.4, 0.5], [0.3, 0.6, 0.1]])
BEYOND: dict[str, dict[str, list[tuple[Any, ...]]]] = {
    "random.whole": {"rand": [(10,), (2, 3)], "randn": [(10,), (2, 3)], "randint": [(10, (2, 3))], "randperm": [(6,)]},
    "random.given": {"bernoulli": [(P,)], "multinomial": [(P, 2), (P, 6, True)], "normal": [(P, P)], "poisson": [(P,)],
                     "Tensor.normal_": [(P,)], "Tensor.uniform_": [(P,)], "Tensor.exponential_": [(P,)], "Tensor.random_": [(P, 9)]},
    "data.conversion": {"Tensor.to": [(P, {"dtype": d}) for d in DTYPES], "Tensor.float": [(P > 0.3,), (np.array([3, 1, 2]),)]},
}
"""By family, calls of torch's functions that are no record's: their samples' arguments."""


class Entry(NamedTuple):
    """One call: which sample of which record, and how."""

    record: str
    sample: int
    dtype: str
    size: str
    layout: str
    mode: str

    @property
    def name(self) -> str:
        return f"{self.record}/{self.sample}/{self.dtype}/{self.size}/{self.layout}/{self.mode}"

    @staticmethod
    def of(name: str) -> Entry:
        """The entry of a name.

        >>> Entry.of("exp/0/float32/10^3/rows/forward").sample
        0
        """
        record, sample, *rest = name.split("/")
        return Entry(record, int(sample), *rest)


def chance(text: str) -> float:
    """A number between 0 and 1 that looks random and is the same for the same text."""
    return (zlib.crc32(text.encode()) + 0.5) / 2**32


def ordered(entries: Sequence[Entry], each: int) -> list[Entry]:
    """The first `each` entries of every record in rounds, each of which has one of every record, in random but fixed order."""
    by_record: dict[str, list[Entry]] = {}
    for e in entries:
        by_record.setdefault(e.record, []).append(e)

    def late(e: Entry) -> float:
        return -math.log(chance(e.name)) / (WEIGHTS.get(e.dtype, 1) * WEIGHTS.get(e.layout, 1))

    kept = [(rank, chance("at " + e.name), e) for members in by_record.values() for rank, e in enumerate(sorted(members, key=late)[:each])]
    return [e for _, _, e in sorted(kept)]


def combinations(record: str, specs: Sequence[Spec], family: str = "generic", gradients: bool = True) -> Iterator[Entry]:
    """All entries of a record, of its samples as data; what makes no difference is left out."""
    for number, spec in enumerate(specs):
        every = arrays(spec)
        shapes = [x["shape"] for x in every]
        floating = [x for x in every if x["array"].startswith(("float", "complex"))]
        if any(x["array"].startswith("complex") for x in floating):
            dtypes: Sequence[str] = ("float32", "float64")
        elif floating:
            dtypes = DTYPES
        else:
            dtypes = ("float32",) if not every else ("bool",) if all(x["array"] == "bool" for x in every) else ("int64",)
        sizes = tuple(SIZES) if any(max(s, default=0) > 1 for s in shapes) or not every and leaves(spec) else ("tiny",)
        if shapes and len(shapes[0]) < 2:
            sizes = tuple([s for s in sizes if s != "batch 1"])
        fits = {"rows": True, "columns": bool(shapes) and len(shapes[0]) > 1, "channels_last": any(len(s) == 4 for s in shapes),
                "broadcast": family in ("binary", "compare") and len(shapes) == 2 and len(shapes[0]) > 1 and shapes[0] == shapes[1]}
        for dtype in dtypes:
            for mode in MODES if gradients and floating and dtype not in ("int64", "bool") and not record.endswith("_") else MODES[:1]:
                for layout in [layout for layout in LAYOUTS if fits[layout]]:
                    yield from [Entry(record, number, dtype, size, layout, mode) for size in sizes]


def paths(record: str, namespace: str, torch: Any) -> list[str]:
    """Where a record's function may be in torch's namespace, of what our side has there; first where the record says that it is."""
    names = [f"{namespace}.{record}"] if namespace and namespace != "_internal" else [place.format(record) for place in PLACES]
    names += [m.replace("_", ".") + record[len(m):].replace("_", ".", 1) for m in MODULES if record.startswith(m + "_")]
    found = []
    for name in names:
        at = torch
        for part in name.split("."):
            at = getattr(at, part, None)
        found += [name] if callable(at) else []
    return found


class Catalogue:
    """The records' samples as data, and what has none."""

    def __init__(self) -> None:
        import torchcompat
        from autograd_tape.ops import RECORDS
        from autograd_tape.samples import bind, samples

        self.specs: dict[str, list[Spec]] = {}
        self.paths: dict[str, list[str]] = {}
        self.family: dict[str, str] = {}
        self.kind: dict[str, tuple[str, bool]] = {}
        self.left_out: dict[str, str] = {}
        for name, rec in RECORDS.items():
            where = paths(name, rec.namespace, torchcompat)
            if not where or rec.field("samples") is None:
                self.left_out[name] = "no samples" if where else "no function of torch's"
                continue
            try:
                with np.errstate(all="ignore"):
                    bound = [bind(rec, s) for s in samples(rec)]
                self.specs[name] = [{"args": encoded(args), "kwargs": encoded(kwargs)} for args, kwargs in bound]
            except Void as reason:
                self.left_out[name] = str(reason)
                continue
            self.paths[name], self.family[name] = where, rec.module.removeprefix("autograd_tape.ops.")
            self.kind[name] = rec.family, rec.has_gradient or not rec.params or rec.field("function") is not None
            if rec.inplace and callable(getattr(torchcompat.Tensor, name + "_", None)) and name + "_" not in RECORDS:
                variant = name + "_"  # its samples' first tensors are changed again and again, as on torch's side
                self.specs[variant], self.paths[variant], self.kind[variant] = self.specs[name], [f"Tensor.{variant}"], self.kind[name]
                self.family[variant] = "in_place." + self.family[name].partition(".")[0]
        for family, functions in BEYOND.items():
            for path, arguments in functions.items():
                name = path.rpartition(".")[2]
                assert name not in self.specs, f"{name} has a record"
                self.specs[name] = [{"args": {"tuple": [x if isinstance(x, dict) else encoded(x) for x in a]}, "kwargs": {"dict": {}}}
                                    for a in arguments]
                self.paths[name], self.family[name], self.kind[name] = [path], family, ("generic", family == "data.conversion")

    def entries(self, records: Iterable[str] = ()) -> list[Entry]:
        """All entries, or those of some records."""
        return [e for name in records or self.specs for e in combinations(name, self.specs[name], *self.kind[name])]

    def request(self, entry: Entry) -> dict[str, Any]:
        """What a side is asked about an entry."""
        return {"paths": self.paths[entry.record], "spec": self.specs[entry.record][entry.sample],
                "dtype": entry.dtype, "layout": entry.layout, "mode": entry.mode}
