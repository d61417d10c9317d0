"""Operations of which torch has several signatures, and its error where none of them fits the arguments.

A record states them in its field `overloads`; they only serve the error.
"""

from __future__ import annotations

from typing import Any
from collections.abc import Sequence

from ..errors import ArgumentError
from ..tensor import TensorRef
from ._record import Param, Record

_OUT = "Tensor out = None"
TENSOR_OR_NUMBER = (f"Tensor input, Tensor other, *, {_OUT}", f"Tensor input, Number other, *, {_OUT}")
EITHER_NUMBER = (TENSOR_OR_NUMBER[0], f"Number self, Tensor other, *, {_OUT}", TENSOR_OR_NUMBER[1])
EITHER_NUMBER_WITHOUT_OUT = (TENSOR_OR_NUMBER[0], "Number self, Tensor other", TENSOR_OR_NUMBER[1])
POWER = tuple([s.replace("other", "exponent") for s in EITHER_NUMBER])
EXTREME = (f"Tensor input, *, {_OUT}", f"Tensor input, Tensor other, *, {_OUT}",
           "Tensor input, int dim, bool keepdim = False, *, tuple of Tensors out = None")
SPLIT = ("Tensor input, int sections", "Tensor input, tuple of ints indices")

# "Number" is not here: the error marks any type that is not named so, and no type is.
_TAKES: dict[str, Any] = {"Tensor": TensorRef, "int": int, "float": (int, float), "bool": bool, "tuple of ints": (tuple, list)}


def _name(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__} of {'(' if isinstance(value, tuple) else '['}" + ", ".join([type(v).__name__ for v in value]) + \
            (")" if isinstance(value, tuple) else "]")
    return f"numpy.{type(value).__name__}" if type(value).__module__ == "numpy" else type(value).__name__


def no_match(name: str, overloads: Sequence[str], given: Sequence[Any]) -> ArgumentError:
    """What torch raises where no signature of `name` fits the positional arguments `given`.

    >>> print(no_match("pow", ("Tensor input, Number exponent",), (2, 3)).message)
    pow() received an invalid combination of arguments - got (int, int), but expected one of:
     * (Tensor input, Number exponent)
          didn't match because some of the arguments have invalid types: (!int!, !int!)
    <BLANKLINE>
    """
    lines = [f"{name}() received an invalid combination of arguments - got ({', '.join([_name(v) for v in given])}), but expected one of:"]
    for signature in overloads:
        lines.append(f" * ({signature})")
        kinds = [part.partition(" =")[0].rpartition(" ")[0] for part in signature.split(", ")]  # "*" counts, too
        if len(kinds) == len(given):
            marked = [_name(v) if isinstance(v, _TAKES.get(kind, ())) else f"!{_name(v)}!" for kind, v in zip(kinds, given)]
            lines.append(f"      didn't match because some of the arguments have invalid types: ({', '.join(marked)})")
    return ArgumentError("\n".join(lines) + "\n", expected="arguments that fit one of torch's signatures",
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
