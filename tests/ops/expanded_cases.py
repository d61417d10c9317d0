"""Writing into memory that several elements share: what every method that changes its tensor, `out=` of every operation and what else
writes do to an expanded tensor, and to one of another size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.ops.out_cases import calls
from tests.ops.public_calls import PUBLIC, table, agree, argument_source, arrays, bound

from autograd_tape.ops import ALIASES, RECORDS

KINDS = ("all", "rows", "columns", "fewer", "more", "empty")
"""Which dimensions of the target are expanded: all, the first, the last; or none, but the target has fewer rows, or
none, or is two of it."""

OTHERS = ("normal_()", "uniform_()", "exponential_()", "cauchy_()", "log_normal_()", "geometric_(0.5)", "random_()", "random_(3)",
          "random_(1, 3)", "bernoulli_()", "bernoulli_(0.5)", "bernoulli_(f(2, 3))", "detach_()", "requires_grad_()",
          "set_(f(2))", "share_memory_()", "apply_(lambda x: x + 1)", "map_(f(2, 3), lambda x, y: x + y)",
          "__setitem__(0, 2)", "__setitem__(0, f(3))", "__setitem__(..., f(2, 3))", "__setitem__((0, 1), 2)", "__setitem__(i(2), 2.0)",
          "__setitem__(i(2), f(3))", "__setitem__((slice(None), i(2)), f(2))", "__setitem__(b(2), 2)", "__setitem__(b(2, 3), f(3))",
          "__setitem__(b(2, 3), f(1))", "copy_(f(2, 3))", "copy_(f(3))", "copy_(2)", "copy_(f(1))", "fill_(2)", "fill_(f())", "zero_()",
          "copy_(d(2, 3))", "copy_(i(2, 3))", "squeeze(0).add_(1)", "index_fill_(0, i(1), 2)", "index_fill_(1, i(1), f())",
          "masked_fill_(b(2, 3), 2)", "masked_fill_(b(3), f())", "fill_diagonal_(2)", "fill_diagonal_(2, wrap=True)",
          "put_(i(2), f(2), accumulate=True)", "index_put_((i(2),), f(3), accumulate=True)", "index_put_((i(2), i(2)), f(2))",
          "index_put_((b(2),), f(3))", "scatter_(0, i(1, 3), 2.0)", "scatter_(0, i(1, 3), f(1, 3), reduce='add')")
"""Methods of a tensor of two rows and three columns."""
FUNCTIONS = ("F.relu(t, inplace=True)", "F.dropout(t, inplace=True)", "F.dropout(t, 0.0, inplace=True)", "F.threshold(t, 0.5, 1, True)",
             "F.hardtanh(t, inplace=True)", "F.silu(t, inplace=True)", "F.elu(t, inplace=True)", "F.leaky_relu(t, inplace=True)",
             "F.rrelu(t, inplace=True)", "F.mish(t, inplace=True)", "F.hardswish(t, inplace=True)", "F.celu(t, inplace=True)",
             "F.selu(t, inplace=True)", "F.relu6(t, inplace=True)", "F.hardsigmoid(t, inplace=True)", "F.alpha_dropout(t, inplace=True)",
             "nn.init.normal_(t)", "nn.init.constant_(t, 2)", "nn.init.orthogonal_(t)", "nn.init.eye_(t)", "nn.init.trunc_normal_(t)",
             "F.embedding(i(2), t, max_norm=0.1)", "F.batch_norm(f(2, 3), t[0], torch.ones(1).expand(3), training=True)")
PARTS = ((), (1,), (2,), (1, 3), (2, 3), (2, 1))
"""Shapes of targets and of what is written at positions of their first dimension."""
LONG = re.compile(r"(received an invalid combination|argument #1 'indices'|tensor for 'values').*")




def over(torch: Any, kind: str, x: Any) -> Any:
    """A tensor like `x` some of whose elements are one number; or one of another size."""
    if kind == "more":
        return torch.stack([x, x])
    if not x.dim() or kind == "as it is":
        return x
    if kind == "empty":
        return x[:0].clone()
    one = x[:1] if kind in ("rows", "fewer") else x[..., :1] if kind == "columns" else x[(slice(1),) * x.dim()]
    return one.clone() if kind == "fewer" else one.clone().expand(x.shape)


def numbers(torch: Any, x: Any) -> str:
    """What is compared of a tensor: shape and values."""
    wide = x.detach().to(torch.complex128 if x.is_complex() else torch.float64)
    return f"{list(x.shape)} {' '.join([format(v, '.3g') for v in wide.reshape(-1).tolist()])}"


def write(torch: Any, kind: str, x: Any, method: Any) -> str:
    """What a method leaves in its tensor; "nothing" where that is what was there."""
    torch.manual_seed(0)
    target = over(torch, kind, x)
    before = numbers(torch, target)
    found = method(target)
    after = numbers(torch, target)
    return f"{'' if found is None or found is target else 'another: '}{'nothing' if after == before else after}"


def write_out(torch: Any, kind: str, function: Any, *args: Any, **kwargs: Any) -> str:
    """What a function leaves in its `out`."""
    torch.manual_seed(0)
    result = function(*args, **kwargs)
    many = not isinstance(result, torch.Tensor)
    outs = [over(torch, kind, torch.zeros_like(x)) for x in (result if many else [result])]
    function(*args, **kwargs, out=tuple(outs) if many else outs[0])
    return "; ".join([numbers(torch, x) for x in outs])


def samples(torch: Any) -> Iterator[tuple[str, str, str]]:
    """(target, method, arguments) as source of the samples of every record that changes its first tensor."""
    for name in dir(torch.Tensor):
        known = next((RECORDS[ALIASES.get(n, n)] for n in (name, name[:-1]) if ALIASES.get(n, n) in RECORDS), None)
        if (not name.endswith("_") or name.endswith("__") or known is None or known.field("samples") is None
                or name == known.name + "_" and not known.inplace):
            continue
        seen: list[Any] = []
        for args, kwargs in bound(known):
            at = 1 if known.name == "polygamma" else 0
            if len(args) <= at or isinstance(args[at], (list, tuple)) or not arrays([args[at]]) or (key := [type(a) for a in args]) in seen:
                continue
            seen.append(key)
            written = argument_source(args, kwargs, [a.shape for a in arrays([args, kwargs])])
            yield written.pop(at), name, ", ".join(written)


def all_calls(torch: Any) -> list[str]:
    """All calls that are compared."""
    found = [f"write({kind!r}, {letter}{target[1:]}, lambda t: t.{name}({arguments}))" for target, name, arguments in samples(torch)
             for kind in KINDS for letter in dict.fromkeys([target[0], *"icb"] if kind in ("all", "empty") else [target[0]])]
    found += [f"write({kind!r}, f(2, 3), lambda t: t.{call})" for call in OTHERS for kind in KINDS]
    found += [f"write({kind!r}, f(2, 3), lambda t: {call})" for call in FUNCTIONS for kind in KINDS]
    found += [f"write('as it is', f{target}, lambda t: t.{name}(0, i({n}), f{part}{more}))" for target in PARTS for part in PARTS
              for n in (1, 2) for name, more in (("index_add_", ""), ("index_copy_", ""), ("index_reduce_", ", 'prod'"))]
    plain = [call.removeprefix("into('empty', ") for rec in PUBLIC for call in calls(torch, rec) if call.startswith("into('empty'")]
    return [*found, *[f"write_out({kind!r}, {call}" for call in plain for kind in ("all", "columns")]]


TABLE = table("expanded", all_calls, same=agree, kept=lambda found: LONG.sub("", found), apart=16)
