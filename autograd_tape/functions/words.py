"""Other words for parameters: NumPy's `axis=` and `keepdims=`, which front ends that say so take beside `dim=` and `keepdim=`, and what
torch's signatures call a parameter besides (`torch.hsplit(x, sections=2)`), which records say in the field `words`.

A function that has such a parameter gets one for each word, and stand-ins as defaults of the parameters that a call by these words leaves
out; whoever meets a stand-in says what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, Signature
from itertools import takewhile
from typing import Any

from ..annotations import Fn, Keywords
from ..record import Record

WORDS = {"axis": "dim", "keepdims": "keepdim"}
OPERANDS = {"x": "input", "a": "input", "x1": "input", "x2": "other"}
"""NumPy's words for operands."""


class _Missing:
    """Stands for an argument that was not given."""

    def __repr__(self) -> str:
        return "<required>"


MISSING = _Missing()


def words_of(rec: Record, names: Sequence[str]) -> dict[str, str]:
    """From other words to the parameters, of these names, of an operation that they stand for: NumPy's, which torch's functions take that
    are not written in Python, and the record's own `words`."""
    own = {word: name for word, name in (rec.field("words") or {}).items() if name in names}
    if rec.in_python or rec.namespace == "_internal" and not any(["." in a and not a.startswith("nn.") for a in rec.alias]):
        return own
    found = {word: own.get(name, name) for word, name in (WORDS | OPERANDS).items() if word not in names} | own
    return {word: name for word, name in found.items() if name in names}


_LOOSE = [f"_more{n}" for n in range(2, 9)]


def spelled_too(head: list[str], body: list[str], words: dict[str, str], loose: str = "") -> tuple[list[str], list[str], Keywords]:
    """(parameters, body, cells) of the function that takes other words, too, from those of one that does not. The last statement of the
    body is where a call goes on that is not usual. The function must be bound to `_this` where it is made. `loose` is the last parameter
    by position, where that takes its list as several arguments, too.

    Each word is a parameter that calls leave at `...`, before those for keywords alone: Python fills in what may be given by position at no
    cost, but looks up the others one by one, and makes a dictionary for `**`. An argument too many fills the first of them, which either
    stands for the first parameter, or is `_more`, for this alone.

    >>> head, body, _ = spelled_too(["input", "dim", "*", "out=None"], ["return general((input, dim, ), out)"], {"axis": "dim"})
    >>> print(", ".join(head), body[0].partition(":")[0], *body[1:], sep="\\n")
    input, dim=_missing, _more=..., axis=..., out=None, *_many
    if _more is not ... or axis is not ...
    if dim is _missing: raise _told(_this, {'dim': dim})
    return general((input, dim, ), out)
    """
    star = next((i for i, part in enumerate(head) if part[0] in "*_"), len(head))
    plain, behind = head[:star], [part for part in head[star:] if part != "*"]
    taken = [part for part in behind if part[0] in "*_"]  # what takes further arguments
    behind = behind[len(taken):]
    names = [part.partition("=")[0] for part in [*plain, *behind]]
    words = dict(sorted(words.items(), key=lambda item: names.index(item[1])))
    open_ended = not taken and next(iter(words.values())) != plain[0]
    if loose:  # by position, for the reason above
        open_ended, taken = True, [f"{n}=..." for n in ("_more", *_LOOSE)]
    elif open_ended:
        taken = ["_more=..."]
    tested = [*["_more"] * open_ended, *words]
    spelled = [*[part.partition("=")[0] for part in taken if part[0] != "*"], *words]
    first = next(i for i, n in enumerate(names) if n in words.values())
    left_out = [n for n in names[first:] if n in head]
    # Where there are too many even for these, they come last of all.
    many = [] if any([part[0] == "*" for part in taken]) else ["*_many"]
    head = [*plain, *taken, *[f"{word}=..." for word in words], *behind, *many]
    head = [f"{part}=_missing" if part in left_out else part for part in head]
    given = ", ".join([f"{n!r}: {n}" for n in names])
    lines = [f"if {' or '.join([f'{n} is not ...' for n in tested])}: return _in_own_words(_this, {{{given}}}, "
             f"{{{', '.join([f'{n!r}: {n}' for n in spelled])}}}, _defaults, _words)", *body]
    if left_out:
        missing = " or ".join([f"{n} is _missing" for n in left_out])
        shown = {n: "input" if words.get("input") == n else n for n in left_out}  # which torch calls it
        lines.insert(-1, f"if {missing}: raise _told(_this, {{{', '.join([f'{shown[n]!r}: {n}' for n in left_out])}}})")
    return head, lines, {"_missing": MISSING, "_in_own_words": in_own_words, "_told": told,
                         "_words": words | ({"_more": loose} if loose else {})}


def told_where_missing(head: list[str], body: list[str]) -> tuple[list[str], list[str], Keywords]:
    """The same for a function that takes no other words: where arguments are missing it says so itself, and not Python in its way.

    >>> told_where_missing(["input", "*", "out=None"], ["return general((input, ), out)"])[0]
    ['input=_missing', '*_many', 'out=None']
    """
    needed = [part for part in head if part.isidentifier() and part not in ("_more", "_further")]
    missing, shown = " or ".join([f"{n} is _missing" for n in needed]), ", ".join([f"{n!r}: {n}" for n in needed])
    lines = [f"if {missing}: raise _told(_this, {{{shown}}})"]
    most = head.index("*") if "*" in head else len(head)
    head = [f"{part}=_missing" if part in needed else part for part in head if part != "*"]
    # Python would count arguments too many from none on.
    first = f"if _many: raise _told_of_many(_this, {len(needed)}, {most}, _many)"
    return [*head[:most], "*_many", *head[most:]], [first, *body[:-1], *lines, body[-1]], {
        "_missing": MISSING, "_told": told, "_told_of_many": told_of_many}


def in_own_words(function: Fn, given: Keywords, words: Keywords, defaults: Keywords, table: dict[str, str]) -> Any:
    """Calls a function by its parameters' own names.

    Args:
        given: what its parameters are.
        words: what the other words are, `...` where they are not given; before them arguments too many, where there may be any.
        defaults: those of its parameters that have any.
        table: from words to parameters.

    Raises:
        TypeError: it takes no such keyword, or what it stands for is given, too; or there are too many arguments.
    """
    filled = list(takewhile(lambda value: value is not ..., words.values()))
    twice = any([value is not ... and word in table and given[table[word]] is not defaults.get(table[word], MISSING)
                 for word, value in words.items()])
    if twice and (refused := _refused(function)) is not None:
        raise refused
    target = table.get(next(iter(words)), "")
    if filled and next(iter(words)) == "_more" and target:
        return function(*[*given.values()][:[*given].index(target)], (given[target], *filled))
    if filled and given.get(target) is not defaults.get(target, MISSING):
        takes = function.__code__.co_varnames.index(next(iter(words)))
        raise told_of_many(function, takes, takes, filled)
    for word, value in words.items():
        if value is ...:
            continue
        name = table[word]
        if given[name] is not defaults.get(name, MISSING):
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument '{word}'")
        given[name] = value
    first = next(iter(given))
    if given[first] is MISSING:
        raise told(function, given)
    others = [name for name, value in given.items() if name != first and value is not MISSING]
    return function(given[first], **{name: given[name] for name in others if name not in defaults or given[name] is not defaults[name]})


def signature_of(head: Sequence[str], defaults: Keywords) -> Signature:
    """The signature of a function with these parameters, of which some have defaults, without other words.

    >>> print(signature_of(["input", "dim=0", "*", "out=None"], {"dim": 0, "out": None}))
    (input, dim=0, *, out=None)
    """
    found: list[Parameter] = []
    by_name = False
    for part in head:
        name = part.partition("=")[0].lstrip("*")
        by_name |= part[0] in "*_"
        if part[0] == "*" != part:
            found.append(Parameter(name, Parameter.VAR_POSITIONAL))
        elif name and part[0] != "_":
            kind = Parameter.KEYWORD_ONLY if by_name else Parameter.POSITIONAL_OR_KEYWORD
            found.append(Parameter(name, kind, default=defaults.get(name, Parameter.empty)))
    return Signature(found)


def _refused(function: Fn) -> Exception | None:
    """What the front end says of a call that runs, where it knows more than is to be seen here."""
    door: Any = getattr(function, "door", None)
    return None if door is None else door.frontend.refused(door, function.__name__ == door.rec.name + "_")


def told_of_many(function: Fn, least: int, most: int, more: Sequence[object]) -> Exception:
    """The error of a function that takes so many arguments by position, where there are `more`."""
    refused = _refused(function)
    if refused is not None:
        return refused
    takes = str(most) if least == most else f"from {least} to {most}"
    return TypeError(f"{function.__name__}() takes {takes} positional argument{'s' * (most != 1)} but {most + len(more)} were given")


def told(function: Fn, given: Keywords) -> Exception:
    """The error where arguments are missing; or for the first one before these that is of a wrong type, as torch looks at them in order.

    Operations with several signatures are refused as such, where the general path knows them."""
    refused = _refused(function)
    if refused is not None:
        return refused
    rec: Record = function.record  # type: ignore[attr-defined]  # of compiled functions
    own = function.__name__.endswith("_")  # the tensor of a method has no position
    if rec.field("overloads") is None:
        from .general import fits, refusal

        for place, p in enumerate(rec.params):
            value: object = given.get(p.name, given.get("input") if place == 0 else None)
            if value is MISSING:
                break
            if p.name in given and (place or not own) and not fits(p, value):
                return refusal(function.__name__, p, place + 1 - own, value).as_builtin()
    names = [f'"{name}"' for name, value in given.items() if value is MISSING]
    plural = "s" * (len(names) == 1)  # so torch has it
    return TypeError(f"{function.__name__}() missing {len(names)} required positional argument{plural}: {', '.join(names)}")
