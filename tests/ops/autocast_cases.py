"""Operations under autocast: `python tests/ops/autocast_cases.py`, in an environment that has torch, records the dtypes of results and
gradients of every operation's samples in float32, bfloat16 and both, and with other settings."""

from __future__ import annotations

import gzip
import json
import pathlib
from collections.abc import Iterator
from typing import Any

from public_calls import PUBLIC, argument_source, arrays, bound, outcome, public_name

from autograd_tape.ops import Record

PATH = pathlib.Path(__file__).parent.parent / "fixtures" / "autocast.json.gz"
DIFFERS = pathlib.Path(__file__).parent / "autocast_differ.json"
RANDOM = {"bernoulli", "binomial", "multinomial", "normal", "poisson"}


def calls(torch: Any, rec: Record) -> Iterator[str]:
    """The first sample that torch takes, in the precisions."""
    name = public_name(torch, rec)
    if name is None or name.startswith("_") or rec.name in RANDOM:
        return
    for args, kwargs in bound(rec):
        given = ", ".join(argument_source(args, kwargs, [a.shape for a in arrays([args, kwargs])]))
        if "f(" not in given or outcome(torch, f"torch.{name}({given})").partition(":")[0].endswith("Error"):
            continue
        function = f"torch.{name}, "
        yield f"cast('bfloat16', {function}{given})"
        yield f"cast('bfloat16', {function}{given.replace('f(', 'h(')})"
        yield f"cast('float16', {function}{given})"
        if given.count("f(") > 1:
            yield f"cast('bfloat16', {function}{given.replace('f(', 'h(', 1)})"
        return


def all_calls(torch: Any) -> list[str]:
    """Those of every record."""
    return list(dict.fromkeys([call for rec in PUBLIC for call in calls(torch, rec)]))


def kind(found: str) -> str:
    """An error is "refused", whatever its kind and text."""
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
