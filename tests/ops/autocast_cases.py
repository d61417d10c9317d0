"""Operations under autocast: the dtypes of results and gradients of every operation's samples in float32, bfloat16 and both, and with other
settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.ops.public_calls import PUBLIC, table, argument_source, arrays, bound, outcome, public_name, result_or_refused

from autograd_tape.ops import Record

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


TABLE = table("autocast", all_calls, result_or_refused)
