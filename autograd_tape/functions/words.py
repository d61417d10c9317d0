"""NumPy's words for parameters: what front ends that say so take `axis=` and `keepdims=` for, beside `dim=` and `keepdim=`.

A function that has such a parameter gets `axis=None`, or `**_kw`, which is empty in nearly all calls, and stand-ins as defaults of the
parameters that a call by these words leaves out; whoever meets a stand-in says what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..annotations import Fn, Keywords
from ..record import Record

WORDS = {"axis": "dim", "keepdims": "keepdim"}


class _Missing:
    """Stands for an argument that was not given."""

    def __repr__(self) -> str:
        return "<required>"


MISSING = _Missing()


def takes_words(rec: Record, names: Sequence[str]) -> bool:
    """Whether an operation with parameters of these names takes NumPy's words for some."""
    public = rec.namespace not in ("_internal", "nn.functional") or any(["." in a and not a.startswith("nn.") for a in rec.alias])
    return public and not {"dim", "keepdim"}.isdisjoint(names)


def spelled_too(name: str, head: list[str], body: list[str]) -> tuple[list[str], list[str], Keywords]:
    """(parameters, body, cells) of the function `name` that takes NumPy's words, too, from those of one that does not. The last statement
    of the body is where a call goes on that is not usual.

    >>> head, body, _ = spelled_too("softmax", ["input", "dim", "*", "out=None"], ["return general((input, dim, ), out)"])
    >>> print(", ".join(head), *body, sep="\\n")
    input, dim=_missing, *, out=None, axis=None
    if axis is not None: return _in_own_words(softmax, {'input': input, 'dim': dim, 'out': out}, {'axis': axis}, _defaults)
    if dim is _missing: raise _told(softmax, {'dim': dim})
    return general((input, dim, ), out)
    """
    names = [found[1] for part in head if (found := re.fullmatch(r"(\w+)(=.*)?", part)) and not part[0].isdigit()]
    first = next(i for i, n in enumerate(names) if n in ("dim", "keepdim"))
    left_out = [n for n in names[first:] if n in head]
    head = [f"{part}=_missing" if part in left_out else part for part in head]
    given = ", ".join([f"{n!r}: {n}" for n in names])
    if "keepdim" in names:
        head, test, words = [*head, "**_kw"], "_kw", "_kw"
    else:  # one keyword more costs half of what the dictionary does
        head = [*head, *([] if any([part.startswith("*") for part in head]) else ["*"]), "axis=None"]
        test, words = "axis is not None", "{'axis': axis}"
    lines = [f"if {test}: return _in_own_words({name}, {{{given}}}, {words}, _defaults)", *body]
    if left_out:
        missing = " or ".join([f"{n} is _missing" for n in left_out])
        lines.insert(-1, f"if {missing}: raise _told({name}, {{{', '.join([f'{n!r}: {n}' for n in left_out])}}})")
    return head, lines, {"_missing": MISSING, "_in_own_words": in_own_words, "_told": told}


def in_own_words(function: Fn, given: Keywords, words: Keywords, defaults: Keywords) -> Any:
    """Calls a function by its parameters' own names.

    Raises:
        TypeError: it takes no such keyword, or what it stands for is given, too.
    """
    for word, value in words.items():
        name = WORDS.get(word, "")
        if name not in given or given[name] is not defaults.get(name, MISSING):
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument '{word}'")
        given[name] = value
    first, *others = [name for name, value in given.items() if value is not MISSING]
    return function(given[first], **{name: given[name] for name in others if name not in defaults or given[name] is not defaults[name]})


def told(function: Fn, given: Keywords) -> TypeError:
    """The error where arguments are missing."""
    names = [f'"{name}"' for name, value in given.items() if value is MISSING]
    return TypeError(f"{function.__name__}() missing {len(names)} required positional arguments: {', '.join(names)}")
