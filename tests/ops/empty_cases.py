"""Operations on tensors without elements: the records' samples with sizes of zero, as functions, methods, in place, with `out=`, and
backward; and modules on empty batches."""

from __future__ import annotations

import ast
import pathlib
import re
from collections.abc import Iterator
from typing import Any

from tests.ops.public_calls import PUBLIC, table, agree, argument_source, arrays, bound, outcome, public_name

from autograd_tape.ops import Record

SAMPLES = 3  # per operation, of different shapes
ODD = {
    "pixel_unshuffle": "torch returns the input unchanged",
    "conv": "torch gives no channels where the weight has no elements",
    "trapezoid": "torch makes the integral of nothing a constant",
    "index_add": "torch adds to nothing at any index",
    "i(0, 0)": "torch takes integers without elements where it has no kernel for integers",
    "i(0": "the same",
    "c(0": "the same of complex numbers",
    "scaled_dot_product_attention": "torch does not look at the shape of a mask for no queries",
    "solve(": "strides",
}
"""Why we give something else where torch gives a result."""
NOT_IN_PLACE = {"igamma", "igammac"}  # as specs/deviations.md says
CRASHES = {"pdist"}  # torch itself, going backward


def emptied(shapes: list[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    """`shapes` with one size (wherever it occurs), the first dimension (of all, or of the first tensor), or all sizes zero."""
    for size in sorted({n for n in shapes[0] if n != 1}):
        yield [tuple([0 if n == size else n for n in shape]) for shape in shapes]
    yield [(0, *shape[1:]) if shape else shape for shape in shapes]
    yield [(0, *shapes[0][1:]) if shapes[0] else (), *shapes[1:]]
    yield [tuple([0 for _ in shape]) for shape in shapes]


def variants(rec: Record) -> Iterator[list[str]]:
    """The arguments of calls with tensors without elements."""
    known: list[Any] = []
    for args, kwargs in bound(rec):
        shapes = [a.shape for a in arrays([args, kwargs])]
        if not shapes or not shapes[0] or (shapes, str(kwargs)) in known:
            continue
        known.append((shapes, str(kwargs)))
        for changed in emptied(shapes):
            if any(0 in shape for shape in changed):
                yield (written := argument_source(args, kwargs, changed))
        # Which dtypes are refused must not depend on there being elements.
        for letter in "ic" if len(known) == 1 else "":
            yield [re.sub(r"\bf\(", f"{letter}(", argument) for argument in written]
        if len(known) == SAMPLES:
            return


def calls(torch: Any, rec: Record) -> Iterator[str]:
    """The calls of a record that are compared."""
    name = public_name(torch, rec)
    if name is None or name.startswith("_"):
        return
    done: set[str] = set()
    for arguments in variants(rec):
        first, rest = arguments[0], ", ".join(arguments[1:])
        given = ", ".join(arguments)
        if given in done:
            continue
        done.add(given)
        call = f"torch.{name}({given})"
        yield call
        succeeded = not outcome(torch, call).partition(":")[0].endswith(("Error", "Exception"))
        method = first[1:2] == "("
        if method and hasattr(torch.Tensor, rec.name):
            yield f"{first}.{rec.name}({rest})"
        if method and rec.name not in NOT_IN_PLACE and hasattr(torch.Tensor, rec.name + "_"):
            yield f"{first}.{rec.name}_({rest})"
        if succeeded and "f(" in given and rec.name not in CRASHES and (rec.has_vjp or rec.field("function")):
            yield f"backward(torch.{name}, {given})"
        if succeeded and len(rec.returns) == 1 and not rec.returns_list:
            yield f"torch.{name}({given}, out=torch.{name}({given}))"


def modules() -> Iterator[str]:
    """Every module on an empty batch, and in place where it works in place."""
    source = (pathlib.Path(__file__).parent.parent / "nn" / "module_cases.py").read_text()
    table = next(n for n in ast.parse(source).body if isinstance(n, ast.AnnAssign) and n.target.id == "CASES")  # type: ignore[union-attr]
    for expression, specs in ast.literal_eval(table.value):  # type: ignore[arg-type]
        specs = specs or ("f 2,3",) * ("inplace" in expression)
        if specs:
            inputs = [f"{'i' if s[0] == 'i' else 'f'}({', '.join(['0', *s.partition(' ')[2].split(',')[1:]])})" for s in specs]
            yield f"trained({expression}, {', '.join(inputs)})" if "inplace" not in expression else f"({expression})({inputs[0]})"


def odd(call: str) -> bool:
    """Whether there is a reason to give something else than torch."""
    return any(part in call for part in ODD)


def all_calls(torch: Any) -> list[str]:
    """Those of every record and of every module."""
    return [*[call for rec in PUBLIC for call in calls(torch, rec)], *modules()]


TABLE = table("empty", all_calls, same=agree)
