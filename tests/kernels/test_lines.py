"""What a kernel's line says of sizes (`Spec`): arrays of more than 2^31 elements fit, and products that overflow do not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from autograd_tape.executors.kernels._entry import FITS, MISFIT
from autograd_tape.executors.kernels._kernel import Spec


def array(*shape: int) -> SimpleNamespace:
    """What a line looks at of an array; nothing as large is made."""
    return SimpleNamespace(shape=shape, size=int(np.prod(shape, dtype=object)))


def answer(text: str, **arguments: Any) -> int:
    """What the check answers, in integers that overflow as compiled ones do."""
    spec, namespace = Spec("line", text, tuple(arguments)), {"body": lambda *_: None}
    exec(spec.checked(), namespace)
    with np.errstate(over="ignore"):
        found: int = namespace["checked"](*(np.int64(a) if isinstance(a, int) else a for a in arguments.values()))
    return found


@pytest.mark.parametrize("size", [0, 1, 1 << 31, (1 << 31) + 1, 1 << 40])
def test_sizes_of_any_length_fit(size: int) -> None:
    assert answer("r0[n] w0[n] :n", x=array(size), y=array(size), start=0, stop=size) == FITS
    assert answer("r0[n] w0[n] :n", x=array(size), y=array(size), start=0, stop=size + 1) == MISFIT
    assert answer("r0[o*n] w0[o*n] i i (o>=0) (n>=0) :o", x=array(3 * size), y=array(3 * size), o=3, n=size, start=0, stop=3) == FITS
    assert answer("r0[size] i (m>0) (size%m==0) :size//m", x=array(3 * size), m=max(size, 1), start=0, stop=min(size, 3)) == FITS
    span = "r0[size] w0[n] i (s>=0) ((n==0)|((n-1)*s<size)) :n"
    assert answer(span, x=array(2 * size), y=array(size), s=2, start=0, stop=size) == FITS
    assert answer("r0[size] i (n>=0) (n//16*16+(n%16>0)*16<=size)", x=array(size + 16), n=size) == FITS
    assert answer(span, x=array(2 * size), y=array(size + 2), s=2, start=0, stop=size) == MISFIT


@pytest.mark.parametrize("text, arguments", [
    ("r0[o*n]", {"x": array(0), "o": 1 << 32, "n": 1 << 32}),
    ("r0[o*n*m] (o>=0)", {"x": array(0), "o": 1 << 22, "n": 1 << 21, "m": 1 << 21}),
    ("r0[size] ((n-1)*s<size)", {"x": array(8), "n": (1 << 32) + 1, "s": 1 << 32}),
    ("r0[size] ((n-1)*s+(m-1)*t<size)", {"x": array(8), "n": (1 << 31) + 1, "s": 1 << 31, "m": (1 << 31) + 1, "t": 1 << 31}),
    ("r0[size] (o*((n+k-1)//k)<=size)", {"x": array(8), "o": 1 << 32, "n": 1 << 34, "k": 4}),
    ("r0[size] (size%(n*m)==0)", {"x": array(8), "n": (1 << 32) + 1, "m": (1 << 32) - 1}),
    ("r0[size] (n+2*p>=size)", {"x": array(8), "n": -(1 << 62), "p": (1 << 62) + (1 << 61)}),
])
def test_products_that_overflow_do_not_fit(text: str, arguments: dict[str, Any]) -> None:
    words = text.split()
    line = " ".join([words[0], *["i"] * (len(arguments) - 1), *words[1:]])
    assert answer(line, **arguments) == MISFIT
