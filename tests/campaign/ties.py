"""Results of operations that order equal elements as they like, so that two right ones compare equal."""

from __future__ import annotations

from typing import Any

import numpy as np

from .cases import Case

VALUES_FIRST = ("sort", "topk", "kthvalue", "mode", "median", "nanmedian", "msort")
"""Operations whose first result are the elements chosen, and whose second, if there is one, is where they are."""


def up_to_ties(case: Case, rows: list[Any]) -> list[Any]:
    """What `Side.seen` shows of such an operation: for an index the element there, and gradients and tangents in an order among those of
    equal elements. Indices of which one occurs twice stay as they are, and so does all of a stable sort."""
    name = case.path.partition(".")[0]
    if not case.name.startswith("whole.") or name not in (*VALUES_FIRST, "argsort") or case.kwargs.get("stable"):
        return rows
    x = case.args[0].values
    at = 2 if name in ("topk", "kthvalue") else 1
    dim = case.kwargs.get("dim", case.args[at] if len(case.args) > at else None)
    if type(dim) is not int:
        x, dim = (x.reshape(-1), 0) if name in ("median", "nanmedian") else (x, 0 if name == "msort" else -1)
    if not x.ndim or not x.size:
        return rows
    count = 0 if case.mode == "double backward" else 1 if name in ("msort", "argsort") else 2
    key = np.asarray(rows[0][5]) if case.mode == "forward mode" and rows[0][5] is not None else x
    found = []
    for i, row in enumerate(rows):
        array = row[5] if row[0] == "tensor" else None
        if array is not None and i < count and array.dtype == np.int64 and not (i == 0 and name in VALUES_FIRST):
            index = array if array.ndim == x.ndim else np.expand_dims(array, dim)
            if index.ndim == x.ndim and not (np.diff(np.sort(index, dim), axis=dim) == 0).any():
                row = (*row[:5], np.take_along_axis(x, index, dim).astype(np.float64))
        elif array is not None and i >= count and array.shape == key.shape and array.ndim:
            order = np.lexsort((array, key), dim)
            row = (*row[:5], np.take_along_axis(array, order, dim))
        found.append(row)
    return found
