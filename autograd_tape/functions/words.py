"""Other words for parameters: NumPy's `axis=` and `keepdims=`, which front ends that say so take beside `dim=` and `keepdim=`, and what
torch's signatures call a parameter besides (`torch.hsplit(x, sections=2)`), which records say in the field `words`.

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
OPERANDS = {"x": "input", "a": "input", "x1": "input", "x2": "other"}
"""NumPy's words for operands, which functions take that have words for other parameters anyway."""


class _Missing:
    """Stands for an argument that was not given."""

    def __repr__(self) -> str:
        return "<required>"


MISSING = _Missing()


def words_of(rec: Record, names: Sequence[str]) -> dict[str, str]:
    """From other words to the parameters, of these names, of an operation that they stand for: NumPy's, and the record's own `words`."""
    public = rec.namespace not in ("_internal", "nn.functional") or any(["." in a and not a.startswith("nn.") for a in rec.alias])
    found = {word: name for word, name in WORDS.items() if public and name in names}
    found |= {word: name for word, name in (rec.field("words") or {}).items() if name in names}
    if public and found and set(found) != {"axis"}:
        operands = {word: found.get(name, name) for word, name in OPERANDS.items() if word not in names}
        found |= {word: name for word, name in operands.items() if name in names}
    return found


def spelled_too(name: str, head: list[str], body: list[str], words: dict[str, str]) -> tuple[list[str], list[str], Keywords]:
    """(parameters, body, cells) of the function `name` that takes other words, too, from those of one that does not. The last statement
    of the body is where a call goes on that is not usual.

    >>> head, body, _ = spelled_too("softmax", ["input", "dim", "*", "out=None"], ["return general((input, dim, ), out)"], {"axis": "dim"})
    >>> print(", ".join(head), *body, sep="\\n")
    input, dim=_missing, *, out=None, axis=None
    if axis is not None: return _in_own_words(softmax, {'input': input, 'dim': dim, 'out': out}, {'axis': axis}, _defaults, _words)
    if dim is _missing: raise _told(softmax, {'dim': dim})
    return general((input, dim, ), out)
    """
    names = [found[1] for part in head if (found := re.fullmatch(r"(\w+)(=.*)?", part)) and not part[0].isdigit()]
    first = next(i for i, n in enumerate(names) if n in words.values())
    left_out = [n for n in names[first:] if n in head]
    head = [f"{part}=_missing" if part in left_out else part for part in head]
    given = ", ".join([f"{n!r}: {n}" for n in names])
    if set(words) != {"axis"}:
        head, test, told_by = [*head, "**_kw"], "_kw", "_kw"
    else:  # one keyword more costs half of what the dictionary does
        head = [*head, *([] if any([part.startswith("*") for part in head]) else ["*"]), "axis=None"]
        test, told_by = "axis is not None", "{'axis': axis}"
    lines = [f"if {test}: return _in_own_words({name}, {{{given}}}, {told_by}, _defaults, _words)", *body]
    if left_out:
        missing = " or ".join([f"{n} is _missing" for n in left_out])
        shown = {n: "input" if words.get("input") == n else n for n in left_out}  # which torch calls it
        lines.insert(-1, f"if {missing}: raise _told({name}, {{{', '.join([f'{shown[n]!r}: {n}' for n in left_out])}}})")
    return head, lines, {"_missing": MISSING, "_in_own_words": in_own_words, "_told": told, "_words": words}


def in_own_words(function: Fn, given: Keywords, words: Keywords, defaults: Keywords, table: dict[str, str]) -> Any:
    """Calls a function by its parameters' own names.

    Raises:
        TypeError: it takes no such keyword, or what it stands for is given, too.
    """
    for word, value in words.items():
        name = table.get(word, "")
        if name not in given or given[name] is not defaults.get(name, MISSING):
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument '{word}'")
        given[name] = value
    first = next(iter(given))
    if given[first] is MISSING:
        raise told(function, given)
    others = [name for name, value in given.items() if name != first and value is not MISSING]
    return function(given[first], **{name: given[name] for name in others if name not in defaults or given[name] is not defaults[name]})


def told(function: Fn, given: Keywords) -> TypeError:
    """The error where arguments are missing."""
    names = [f'"{name}"' for name, value in given.items() if value is MISSING]
    return TypeError(f"{function.__name__}() missing {len(names)} required positional arguments: {', '.join(names)}")
