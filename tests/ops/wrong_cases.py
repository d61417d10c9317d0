"""Arguments of wrong types: `python tests/ops/wrong_cases.py`, in an environment that has torch, records what it makes of a tuple, a list,
a float, a bool, a string, a tensor, a complex number and None for each parameter of each operation. `--differ` writes down what we do
instead."""

from __future__ import annotations

import gzip
import json
import pathlib
from collections.abc import Iterator
from typing import Any

from public_calls import PUBLIC, NoSource, arrays, bound, outcome, public_name, source

from autograd_tape.ops import Record

PATH = pathlib.Path(__file__).parent.parent / "fixtures" / "wrong.json.gz"
DIFFERS = pathlib.Path(__file__).parent / "wrong_differ.json"
VALUES = ("(0, 1)", "[0]", "1.5", "True", "'a'", "f(2)", "1j", "None")


def calls(torch: Any, rec: Record) -> Iterator[str]:
    """Calls of a record with one argument of another type each."""
    name = public_name(torch, rec)
    if name is None or name.startswith("_"):
        return
    for args, kwargs in bound(rec):
        if not arrays([args, kwargs]):
            continue
        try:
            written = [source(a) for a in args]
            named = {k: source(v) for k, v in kwargs.items()}
        except NoSource:
            continue
        for i, p in enumerate(rec.params):
            for value in VALUES:
                changed, also = list(written), dict(named)
                if i < len(changed):
                    changed[i] = value
                elif p.name != "inplace":
                    also[p.name] = value
                yield f"torch.{name}({', '.join([*changed, *[f'{k}={v}' for k, v in also.items()]])})"
        return


def all_calls(torch: Any) -> list[str]:
    """Those of every record."""
    return list(dict.fromkeys([call for rec in PUBLIC for call in calls(torch, rec)]))


def kind(found: str) -> str:
    """"refused" for an error, of whatever kind and text; a result as it is."""
    return "refused" if found.partition(":")[0].endswith("Error") else found


if __name__ == "__main__":
    import sys

    if "--differ" in sys.argv:
        import torchcompat

        recorded = json.loads(gzip.decompress(PATH.read_bytes()))
        found = {call: kind(outcome(torchcompat, call)) for call in recorded}
        DIFFERS.write_text(json.dumps({c: found[c] for c in recorded if recorded[c] != found[c]}, indent=0) + "\n")
    else:
        import torch

        recorded = {call: kind(outcome(torch, call)) for call in all_calls(torch)}
        PATH.write_bytes(gzip.compress((json.dumps(recorded, indent=0) + "\n").encode(), 9, mtime=0))
        print(len(recorded), "calls")
