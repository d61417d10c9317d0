"""Every parameter of torch's functions and methods given by name: the records' samples with their arguments named as each of torch's
signatures names them, and with each keyword that a sample leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.ops.public_calls import PUBLIC, agree, argument_source, arrays, bound, names, outcome, refused, resolve, table

import torchcompat as ours
from autograd_tape.ops import Record
from torchcompat._status.names import recorded

SAMPLES = 2  # per operation, that differ in how many arguments they have
VALUES = ("None", "0", "1", "False", "True", "'cpu'", "torch.strided", "torch.float32", "torch.contiguous_format",
          "torch.default_generator")
"""What a keyword may be that a sample leaves out: the first that torch takes."""


def signatures(name: str) -> list[tuple[list[str], list[str]]]:
    """(parameters by position, all that may be named) of each of torch's signatures."""
    module, _, own = name.rpartition(".")
    overloads = recorded()[""].get(name) if module == "Tensor" else recorded().get(module, {}).get(own)
    found = []
    for overload in overloads or ():
        words = [word.rstrip("=") for word in overload.split()]
        plain = words[:next((i for i, word in enumerate(words) if word.startswith("*")), len(words))]
        found.append((plain, [word for word in words if not word.startswith("*")]))
    return found


def places(torch: Any, rec: Record) -> list[str]:
    """Where torch has the operation, and torchcompat: as a function, and as a method."""
    there = [name for name in names(rec) if resolve(torch, name) is not None and resolve(ours, name) is not None and signatures(name)]
    functions = [name for name in there if not name.startswith("Tensor.")]
    return functions[:2] + [name for name in there if name.startswith("Tensor.")][:1]


def calls(torch: Any, rec: Record) -> Iterator[str]:
    """The calls of a record with named arguments that torch takes."""
    known: set[Any] = set()
    for args, kwargs in bound(rec):
        written = argument_source(args, kwargs, [a.shape for a in arrays([args, kwargs])])
        key = len(args), tuple(sorted(kwargs))
        if key in known or len(known) == SAMPLES or not args:
            continue
        known.add(key)
        given, options = written[:len(args)], written[len(args):]
        for place in places(torch, rec):
            method = place.startswith("Tensor.")
            call = f"({given[0]}).{place[7:]}" if method else f"torch.{place}"
            plain = outcome(torch, f"{call}({', '.join(written[method:])})")
            if refused(plain):
                continue
            seen: set[str] = set()
            for parameters, words in signatures(place):
                if len(parameters) < len(given):
                    continue
                named = [f"{p}={value}" for p, value in zip(parameters, given)][method:]
                whole = f"{call}({', '.join(named + options)})"
                if outcome(torch, whole) != plain:
                    continue
                yield whole
                for word in words:
                    if word in seen or word in parameters[:len(given)] or word in kwargs or word == "self":
                        continue
                    seen.add(word)
                    tried = (f"{call}({', '.join([*named, *options, f'{word}={value}'])})" for value in VALUES)
                    taken = next((one for one in tried if not refused(outcome(torch, one))), None)
                    if taken is not None:
                        yield taken


def all_calls(torch: Any) -> list[str]:
    """Those of every record."""
    return list(dict.fromkeys([call for rec in PUBLIC for call in calls(torch, rec)]))


TABLE = table("keywords", all_calls, same=agree)
