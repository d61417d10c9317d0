"""Calls every entry of torch's operator database in every dtype that has numbers, on both sides, and counts where one computes and the
other refuses, or refuses otherwise::

    python -m tests.campaign.dtypes [DTYPE ...] [--only ENTRY] [--samples 2] [--report dtypes.jsonl]     # with a python that has torch

An entry's samples in a dtype that torch has no kernel for are those of another, converted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.core.dtype_cases import NUMBERS

from . import sides
from .cases import tree, whole
from .sides import UNSPECIFIED, UP_TO_PHASE, Side

TOLERANCE = sides.TOLERANCE | {"complex32": 4e-3, "float8_e4m3fn": 0.13, "float8_e4m3fnuz": 0.13, "float8_e5m2": 0.26,
                               "float8_e5m2fnuz": 0.26}
SAME_TEXT, SAME_TYPE = "both refuse", "both refuse, in other words"


def samples(torch: Any, name: str, dtype: str, number: int) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """(args, kwargs) of the first samples, of torch's tensors."""
    info, wanted = whole()[name], getattr(torch, dtype)
    supported = info.supported_dtypes("cpu")
    base = next(d for d in (wanted, torch.float32, torch.int64, *sorted(supported, key=str)) if d in supported)
    torch.manual_seed(0), random.seed(0), np.random.seed(0)

    def convert(t: Any) -> Any:
        t = t.detach()
        if t.layout is not torch.strided:
            raise ValueError("not strided")
        return t if t.dtype is not base or base is wanted else (t.abs() if dtype.startswith("uint") else t).to(wanted)

    for i, s in enumerate(info.sample_inputs("cpu", base, requires_grad=False)):
        if i >= number:
            return
        yield tree(convert, [s.input, *s.args], torch.Tensor), tree(convert, dict(s.kwargs), torch.Tensor)


def ours(torch: Any, own: Any, value: Any) -> Any:
    """An argument of torch's as one of ours."""
    if isinstance(value, torch.Tensor):
        t = value.resolve_conj().resolve_neg().contiguous()
        flat = own.from_numpy(t.flatten().view(torch.uint8).numpy().copy())
        return flat.view(getattr(own, str(t.dtype)[6:])).reshape(tuple(t.shape)) if t.numel() else own.empty(
            tuple(t.shape), dtype=getattr(own, str(t.dtype)[6:]))
    if isinstance(value, slice):
        return slice(*[ours(torch, own, v) for v in (value.start, value.stop, value.step)])
    if type(value) in (list, tuple):
        return type(value)([ours(torch, own, v) for v in value])
    if isinstance(value, dict):
        return {k: ours(torch, own, v) for k, v in value.items()}
    if type(value).__name__ == "Size":
        return tuple(value)
    return Side(own).other(value)


def outcome(torch: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """What comes of a call: dtypes, shapes and numbers of tensors, or an error."""
    torch.manual_seed(0)
    try:
        return numbers(torch, function(*args, **kwargs))
    except Exception as error:  # noqa: BLE001  # any exception is an outcome
        return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def numbers(torch: Any, value: Any) -> Any:
    """Results as tuples of dtype, shape and array."""
    if isinstance(value, torch.Tensor):
        wide = value.detach().to(torch.complex128 if value.is_complex() else torch.float64)
        return str(value.dtype).rpartition(".")[2], tuple(value.shape), wide.resolve_conj().resolve_neg().numpy().copy()
    if isinstance(value, (list, tuple)):
        return [numbers(torch, v) for v in value]
    return ("", (), value) if isinstance(value, (int, float, complex, bool)) else type(value).__name__


def difference(name: str, expected: Any, found: Any) -> str:
    """How two outcomes differ; "" where they do not, SAME_TEXT where both are one error."""
    if isinstance(expected, str) and ": " in expected:
        if not isinstance(found, str):
            return "torch refuses"
        return SAME_TEXT if expected == found else SAME_TYPE if expected.split(":")[0] == found.split(":")[0] else "another error"
    if isinstance(found, str) and ": " in found:
        return "refused"
    if isinstance(expected, list) or isinstance(expected, str):
        if type(expected) is not type(found) or isinstance(expected, list) and len(expected) != len(found):
            return "another result"
        return next(filter(None, [difference(name, e, f) for e, f in zip(expected, found)]), "") if isinstance(expected, list) else ""
    if expected[:2] != found[:2]:
        return "another dtype or shape"
    if name.split(".")[0] in UNSPECIFIED or name in UP_TO_PHASE:
        return ""
    limit = TOLERANCE.get(expected[0], 1e-6)
    with np.errstate(all="ignore"):
        return "" if np.allclose(expected[2], found[2], rtol=limit, atol=limit, equal_nan=True) else "other numbers"


def run(names: list[str], dtypes: list[str], number: int, write: Any) -> None:
    """Runs entries, and writes a row for each call."""
    import torch

    import torchcompat

    torch.set_num_threads(1), torchcompat.set_num_threads(1)
    for path, module in list(sys.modules.items()):  # the generator is seeded before each call, and need not be as it was after it
        if path.startswith("torch.testing") and hasattr(module, "freeze_rng_state"):
            vars(module)["freeze_rng_state"] = contextlib.nullcontext
    theirs, own = Side(torch), Side(torchcompat)
    for name in names:
        try:
            function = own.of_database(name)
        except AttributeError:
            continue
        for dtype in dtypes:
            try:
                calls = list(samples(torch, name, dtype, number))
            except Exception:  # noqa: BLE001  # the database cannot make them, or torch not convert them
                continue
            for i, (args, kwargs) in enumerate(calls):
                mine = ours(torch, torchcompat, args), ours(torch, torchcompat, kwargs)
                expected = outcome(torch, theirs.of_database(name), args, kwargs)
                found = outcome(torchcompat, function, *mine)
                how = difference(name, expected, found)
                write({"entry": name, "dtype": dtype, "sample": i, "how": how,
                       **({} if how in ("", SAME_TEXT) else {"torch": f"{expected}"[:300], "here": f"{found}"[:300]})})


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dtypes", nargs="*", default=list(NUMBERS))
    parser.add_argument("--only", default="", help="entries whose names begin so")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--report", default="dtypes.jsonl")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [name for name in whole() if name.startswith(options.only)]
    with open(options.report, "w", buffering=1) as file:
        for at in range(0, len(names), 20):
            child = os.fork()  # a call that ends the process costs its group only
            if not child:
                run(names[at:at + 20], options.dtypes, options.samples, lambda row: file.write(json.dumps(row) + "\n"))
                os._exit(0)
            if os.waitpid(child, 0)[1]:
                print(f"a process ended in {names[at:at + 20]}", file=sys.stderr)
    counts: dict[str, Counter[str]] = {}
    with open(options.report) as file:
        for row in map(json.loads, file):
            counts.setdefault(row["dtype"], Counter())[row["how"] or "the same"] += 1
    for dtype, found in counts.items():
        print(f"{dtype}: {sum(found.values())} calls; " + ", ".join(f"{n} {how}" for how, n in found.most_common()))
    total = sum(counts.values(), Counter())
    print(f"in all {sum(total.values())} calls, {sum(total.values()) - total['the same'] - total[SAME_TEXT]} differ: {dict(total)}")


if __name__ == "__main__":
    main()
