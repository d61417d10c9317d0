"""Operations of which torch has several signatures, and its error where none of them fits the arguments.

A record states them in its field `overloads`; they only serve the error. Those that torch warns of, with numbers among the tensors, are in
its field `deprecated`, and are carried out: `torch.add(x, 2, y)`.
"""

from __future__ import annotations

from typing import Any
from collections.abc import Sequence

from ..annotations import Keywords
from ..errors import ArgumentError, type_name
from ..record import Param, Record
from ..tensor import TensorRef
from ..warned import warn_once

_OUT = "Tensor out = None"
TENSOR_OR_NUMBER = (f"Tensor input, Tensor other, *, {_OUT}", f"Tensor input, Number other, *, {_OUT}")
EITHER_NUMBER = (TENSOR_OR_NUMBER[0], f"Number self, Tensor other, *, {_OUT}", TENSOR_OR_NUMBER[1])
EITHER_NUMBER_WITHOUT_OUT = (TENSOR_OR_NUMBER[0], "Number self, Tensor other", TENSOR_OR_NUMBER[1])
POWER = tuple([s.replace("other", "exponent") for s in EITHER_NUMBER])
EXTREME = (f"Tensor input, *, {_OUT}", f"Tensor input, Tensor other, *, {_OUT}",
           "Tensor input, int dim, bool keepdim = False, *, tuple of Tensors out = None")
_PRODUCT = f"Number beta = 1, Number alpha = 1, {_OUT}"
PRODUCT = tuple([f"Tensor input, Tensor mat1, Tensor mat2, {more}*, {_PRODUCT}" for more in ("", "torch.dtype out_dtype, ")])
PRODUCTS = tuple([s.replace("mat", "batch") for s in PRODUCT])
SPLIT = ("Tensor input, int sections", "Tensor input, tuple of ints indices")

# "Number" is not here: the error marks any type that is not named so, and no type is.
_TAKES: Keywords = {"Tensor": TensorRef, "int": int, "float": (int, float), "bool": bool, "tuple of ints": (tuple, list)}


def _name(value: object) -> str:
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__} of {'(' if isinstance(value, tuple) else '['}" + ", ".join([type(v).__name__ for v in value]) + \
            (")" if isinstance(value, tuple) else "]")
    return type_name(value)


def no_match(name: str, overloads: Sequence[str], given: Sequence[object], shown: Sequence[str] = ()) -> ArgumentError:
    """What torch raises where no signature of `name` fits the positional arguments `given`, which it writes as `shown`.

    >>> print(no_match("pow", ("Tensor input, Number exponent",), (2, 3)).message)
    pow() received an invalid combination of arguments - got (int, int), but expected one of:
     * (Tensor input, Number exponent)
          didn't match because some of the arguments have invalid types: (!int!, !int!)
    <BLANKLINE>
    """
    got = ", ".join(shown or [type_name(v) for v in given])
    lines = [f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:"]
    for signature in overloads:
        lines.append(f" * ({signature})")
        # "*" counts, too, and what has a default never fits in torch's eyes here.
        kinds = ["" if " = " in part else part.rpartition(" ")[0] for part in signature.split(", ")]
        if len(kinds) == len(given):
            marked = [_name(v) if isinstance(v, _TAKES.get(kind, ())) else f"!{_name(v)}!" for kind, v in zip(kinds, given)]
            lines.append(f"      didn't match because some of the arguments have invalid types: ({', '.join(marked)})")
    return ArgumentError("\n".join(lines) + "\n", expected="arguments that fit one of the signatures",
                         found=", ".join([_name(v) for v in given]))


def check_overloads(rec: Record, args: Sequence[Any]) -> None:
    """Raises where the first argument is no tensor and no signature takes a number there."""
    overloads = rec.field("overloads")
    if overloads is None or isinstance(args[0], TensorRef):
        return
    if isinstance(args[1], TensorRef) and isinstance(args[0], (int, float, complex)) and any([s.startswith("Number") for s in overloads]):
        return
    raise no_match_of(rec, args)


def no_match_of(rec: Record, args: Sequence[Any]) -> ArgumentError:
    """`no_match` for arguments in the order of the schema, those left at their defaults left out."""
    given = list(args)
    params: Sequence[Param] = rec.params
    while given and params[len(given) - 1].name in rec.defaults and given[-1] is rec.defaults[params[len(given) - 1].name]:
        given.pop()
    name = f"special_{rec.name}" if rec.namespace == "special" else rec.name.removesuffix("_along")
    return no_match(name, rec.field("overloads"), given)


# -- deprecated signatures ------------------------------------------------------------------------------------------

def _signature(rec: Record, names: Sequence[str], method: bool) -> str:
    """What torch writes for parameters in an order of their own: those left out are none of them, the others' defaults are not shown."""
    params = {p.name: p for p in rec.params}
    ordered = [("Number " if params[n].type == "Scalar" else "Tensor ") + n for n in names if not method or n != rec.params[0].name]
    return ", ".join(ordered if method else [*ordered, "*", _OUT])


def _present(rec: Record, method: bool) -> tuple[str, ...]:
    """The signatures that torch advises to use."""
    if not method and rec.field("present"):
        return tuple(rec.field("present"))
    ordered = [f"Tensor {p.name}" for p in rec.params[method:] if not p.keyword_only]
    named = [f"Number {p.name} = {p.default}" for p in rec.params if p.keyword_only]
    return (", ".join([*ordered, "*", *named, *([] if method else [_OUT])]),)


def match_deprecated(rec: Record, name: str, given: Sequence[Any], named: Sequence[Any], out: Any,
                     method: bool) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """(the arguments in the order of the schema, the deprecated signature) of a call of `name` whose positional arguments are `given` and
    whose keyword-only ones are `named`; ArgumentError in torch's words where no signature takes them. A method has its tensor first."""
    params = {p.name: p for p in rec.params}
    first = rec.params[0].name
    keywords = {p.name: v for p, v in zip([p for p in rec.params if p.keyword_only], named) if v != rec.defaults[p.name]}
    for signature in rec.field("deprecated") if not keywords else ():
        names = tuple(signature.split())
        order = sorted(names, key=first.__ne__) if method else names
        values = dict(zip(order, given))
        if len(order) == len(given) and all([_fits(params[n].type, v) for n, v in values.items()]):
            numbers = {n: v.item() if isinstance(v, TensorRef) else v for n, v in values.items() if params[n].type == "Scalar"}
            return tuple([{**rec.defaults, **values, **numbers}[p.name] for p in rec.params]), names
    raise _too_many(name, _present(rec, method), given[method:], {**keywords, **({} if out is None else {"out": out})})


def _too_many(name: str, present: Sequence[str], given: Sequence[object], keywords: Keywords) -> ArgumentError:
    """torch's error for more positional arguments than any of its signatures takes: about the one that has as many in all, if there is
    only one, else about all of them."""
    n = len(given) + len(keywords)
    takes = [signature.partition(", *")[0].count(", ") + 1 for signature in present]
    fitting = [t for t, signature in zip(takes, present) if t <= n <= signature.replace(", *", "").count(", ") + 1]
    if len(fitting) == 1:
        text = f"{name}() takes {fitting[0]} positional argument{'s' * (fitting[0] != 1)} but {len(given)} were given"
        return ArgumentError(text, expected=present[0], found=f"{len(given)} positional arguments", remedy="follow the schema")
    shown = [_name(v) for v in given] + [f"{key}={_name(v)}" for key, v in keywords.items()]
    if len(present) > 1:
        return no_match(name, present, given, shown)
    kinds = [part.rpartition(" ")[0] for part in present[0].partition(", *")[0].split(", ")]
    marked = [s if isinstance(v, _TAKES.get(k, ())) else f"!{s}!" for k, s, v in zip([*kinds, *[""] * n], shown, given)]
    return ArgumentError(f"{name}() received an invalid combination of arguments - got ({', '.join(marked)}), but expected ({present[0]})",
                         expected=present[0], found=", ".join(shown), remedy="follow the schema")


def _fits(kind: str, value: object) -> bool:
    """Whether a deprecated signature takes `value`; as a number also a tensor of no dimension that requires no gradient."""
    if kind == "Scalar":
        return isinstance(value, (int, float, complex)) or isinstance(value, TensorRef) and not value.ndim and value._node is None
    return isinstance(value, TensorRef) or kind == "Operand" and isinstance(value, (int, float, complex))


def warn_deprecated(rec: Record, name: str, signature: Sequence[str], method: bool) -> None:
    """torch's warning, which comes once in a process, whatever the operation."""
    present = "".join([f"\n\t{name}({s})" for s in _present(rec, method)])
    warn_once(f"This overload of {name} is deprecated:\n\t{name}({_signature(rec, signature, method)})\n"
              f"Consider using one of the following signatures instead:{present}", "deprecated overloads")
