"""Sobol sequences: engines of few and of all dimensions, what is drawn from them, and what they refuse."""

from __future__ import annotations

import copy
import hashlib
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.recording import Table, attempted

DIMENSIONS = (1, 2, 10, 100, 1111, 21201)


def digest(tensor: Any) -> list[Any]:
    """dtype, shape and bytes, of many as a digest."""
    values = np.ascontiguousarray(tensor.numpy())
    return [str(tensor.dtype), list(tensor.shape), values.tolist() if values.size < 20 else hashlib.sha256(values.tobytes()).hexdigest()]


def _walk(torch: Any, dimension: int, scramble: bool) -> Any:
    engine = torch.quasirandom.SobolEngine(dimension, scramble, seed=7)
    tensors = [engine.sobolstate, engine.shift, engine._first_point, engine.draw(40), engine.draw(3, dtype=torch.float64),
               engine.fast_forward(1000).quasi, engine.draw(5), engine.reset().draw_base2(4), engine.draw(), engine.draw(0)]
    return [*map(digest, tensors), engine.num_generated, repr(engine)]


def _without_seed(torch: Any) -> Any:
    torch.manual_seed(4)
    return [digest(torch.quasirandom.SobolEngine(3, True).draw(2)), digest(torch.rand(2))]


def _far(torch: Any) -> Any:
    engine = torch.quasirandom.SobolEngine(3)
    engine.draw(12345)
    return [digest(engine.fast_forward(987654).quasi), digest(engine.draw(2)), digest(engine.fast_forward(0).quasi)]


def _before(torch: Any) -> Any:
    return [digest(torch.quasirandom.SobolEngine(2).fast_forward(n).draw(4)) for n in (0, -1, -2, -3, -7)]


def _out(torch: Any) -> Any:
    found = []
    for out in (torch.empty(0), torch.empty(3, dtype=torch.int64), torch.empty(2, 3, dtype=torch.float64)):
        result = torch.quasirandom.SobolEngine(3).draw(2, out=out)
        found.append([result is out, digest(out)])
    return found


def _kept(torch: Any) -> Any:
    engine = torch.quasirandom.SobolEngine(3, True, 5)
    engine.draw(3)
    return [digest(e.draw(2)) for e in (pickle.loads(pickle.dumps(engine)), copy.deepcopy(engine), engine)]


def _below(first: int, n: int) -> Callable[[Any], Any]:
    def case(torch: Any) -> Any:
        directions, quasi = torch.quasirandom.SobolEngine(3).sobolstate, torch.zeros(3, dtype=torch.int64)
        drawn = torch._sobol_engine_draw(quasi, n, directions, 3, first, torch.float64)
        forwarded = torch._sobol_engine_ff_(quasi, n, directions, 3, first)
        return [*map(digest, drawn), digest(forwarded), forwarded is quasi, quasi._version]

    return case


def _scrambled(factor: int, dtype: str) -> Callable[[Any], Any]:
    def case(torch: Any) -> Any:
        matrices = (torch.ones(2, 30, 30, dtype=torch.int64).tril() * factor).to(getattr(torch, dtype))
        state = torch.quasirandom.SobolEngine(2).sobolstate
        scrambled = digest(torch._sobol_engine_scramble_(state, matrices, 2))
        return [scrambled, digest(torch.ops.aten._sobol_engine_scramble_(state, matrices, 1))]

    return case


def _parts(torch: Any) -> Any:
    state = torch.zeros(3, 30, dtype=torch.int64)
    return [digest(torch._sobol_engine_initialize_state_(state, n)) for n in (0, 2)]


def _asked(question: str) -> Callable[[Any], Any]:
    def case(torch: Any) -> Any:
        engine, zeros = torch.quasirandom.SobolEngine, torch.zeros(3, 30, dtype=torch.int64)
        tril = zeros[:1].expand(3, 30, 30)
        found = eval(question, {"torch": torch, "engine": engine, "zeros": zeros, "quasi": zeros[0, :3], "tril": tril})
        return digest(found) if isinstance(found, torch.Tensor) else repr(found)

    return case


ASKED = (
    "engine(0)", "engine(21202)", "engine(-1)", "engine('a')", "engine([2])", "engine(2.5)", "engine(3, True, 'a')", "engine(3, True, 2.5)",
    "engine(3, True, 2 ** 70)", "engine(3, True, -1).shift", "engine(3, False, 'a')", "engine(3, 1)", "engine.MAXDIM, engine.MAXBIT",
    "engine(2).draw(-1)", "engine(2).draw(1.5)", "engine(2).draw('a')", "engine(2).draw(1, out=[1])", "engine(2).draw(1, dtype=torch.half)",
    *[f"engine(2).draw(2, dtype=torch.{dtype})" for dtype in ("float16", "bfloat16", "int64", "bool", "complex64")],
    "engine(2).fast_forward(3).draw_base2(2)", "engine(2).fast_forward(2).draw_base2(1)", "engine(2).draw_base2(-1)",
    "engine(2).reset()", "torch._sobol_engine_draw(quasi, 3, zeros.int(), 3, 0, None)",
    "torch._sobol_engine_draw(quasi.int(), 3, zeros, 3, 0, None)", "torch._sobol_engine_draw(quasi.float(), 3, zeros, 3, 0, None)",
    "torch._sobol_engine_draw(quasi, 1.5, zeros, 3, 0, None)", "torch._sobol_engine_ff_(quasi.int(), 3, zeros, 3, 0)",
    "torch._sobol_engine_ff_(quasi, 3, zeros.int(), 3, 0)", "torch._sobol_engine_scramble_(zeros.int(), tril, 3)",
    "torch._sobol_engine_initialize_state_(zeros.int(), 3)", "torch._sobol_engine_initialize_state_('a', 3)",
)

CASES: dict[str, Callable[[Any], Any]] = {
    **{f"{n}{' scrambled' * scramble}": lambda torch, n=n, scramble=scramble: _walk(torch, n, scramble)
       for n in DIMENSIONS for scramble in (False, True)},
    "without seed": _without_seed, "far": _far, "before": _before, "out": _out, "kept": _kept, "parts": _parts,
    **{f"{n} after {first}": _below(first, n) for first in (-7, -4, -1, 0, 5) for n in (0, 1, 2, 3, 10, 33)},
    **{f"scrambled by {factor} of {dtype}": _scrambled(factor, dtype) for factor in (0, 1, 3) for dtype in ("int64", "int32")},
    **{question: _asked(question) for question in ASKED},
}


TABLE = Table("sobol", CASES, lambda torch, name: attempted(lambda: CASES[name](torch)))
