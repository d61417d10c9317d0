"""Warnings that come once in a process."""

from __future__ import annotations

import warnings

always = False
"""Whether they come each time (`torch.set_warn_always`)."""
_given: set[str] = set()


def warn_once(text: str, about: str = "", stacklevel: int = 2) -> None:
    """Warns with a text that was not given before, or, with `about`, of what was not warned about before.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     for name in ("add", "add", "mul"):
    ...         warn_once(f"this overload of {name} goes away", "overloads of the tour")
    >>> [str(w.message) for w in found]
    ['this overload of add goes away']
    """
    about = about or text
    if always or about not in _given:
        _given.add(about)
        warnings.warn(text, UserWarning, stacklevel=stacklevel + 1)


def made(group: str) -> None:
    """Warns of new tensors of a group of dtypes that torch warns of."""
    if group == "chalf":
        warn_once("ComplexHalf support is experimental and many operators don't support it yet.", stacklevel=5)


def forget() -> None:
    """Lets all of them come again."""
    _given.clear()
