"""NumPy's words for parameters (`x=`, `x1=`, `axis=`) in calls of torch's functions and methods, each by itself: the records' first
samples, with their arguments named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.ops.keyword_cases import places, signatures
from tests.ops.public_calls import PUBLIC, argument_source, arrays, bound, outcome, refused, result_or_refused, table

from autograd_tape.ops import Record

WORDS = {"input": ("x", "a", "x1"), "other": ("x2",), "dim": ("axis",), "keepdim": ("keepdims",)}


def calls(torch: Any, rec: Record) -> Iterator[str]:
    """The calls of a record whose like torch takes by its own names, one for each word."""
    for args, kwargs in bound(rec):
        written = argument_source(args, kwargs, [a.shape for a in arrays([args, kwargs])])
        given, options = written[:len(args)], written[len(args):]
        found: dict[str, str] = {}
        for place in places(torch, rec) if args else ():
            method = place.startswith("Tensor.")
            call = f"({given[0]}).{place[7:]}" if method else f"torch.{place}"
            for parameters, _ in signatures(place):
                named = dict(list(zip(parameters, given))[method:])
                if len(parameters) < len(given) or refused(outcome(torch, f"{call}({_list(named, options)})")):
                    continue
                pairs = [(own, word) for own in named for word in WORDS.get(own, ())]
                for own, word in pairs:
                    spelled = {word if name == own else name: value for name, value in named.items()}
                    found[f"{place} {word}"] = f"{call}({_list(spelled, options)})"
        if found:
            return (yield from found.values())


def _list(named: dict[str, str], options: list[str]) -> str:
    return ", ".join([*[f"{name}={value}" for name, value in named.items()], *options])


def all_calls(torch: Any) -> list[str]:
    """Those of every record."""
    return list(dict.fromkeys([call for rec in PUBLIC for call in calls(torch, rec)]))


TABLE = table("numpy_words", all_calls, kept=result_or_refused)
