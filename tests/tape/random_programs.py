"""Random expression graphs: lists of steps, each an operation on what was computed before."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from autograd_tape import F, TensorRef

UNARY = {"neg": lambda a: -a, "exp": lambda a: F.exp(a * 0.3), "tanh": F.tanh, "sigmoid": F.sigmoid, "sum0": lambda a: F.sum(a, 0, True),
         "transpose": lambda a: F.transpose(a, 0, 1), "square": lambda a: a * a}
BINARY = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / (b * b + 1.0),
          "matmul": lambda a, b: F.matmul(a, F.transpose(b, 0, 1)) if a.shape[1] == b.shape[1] else a * 1.5}


@st.composite
def programs(draw: st.DrawFn) -> list[tuple]:
    steps = []
    for i in range(draw(st.integers(1, 8))):
        if draw(st.booleans()):
            steps.append((draw(st.sampled_from(sorted(UNARY))), draw(st.integers(0, i + 2))))
        else:
            steps.append((draw(st.sampled_from(sorted(BINARY))), draw(st.integers(0, i + 2)), draw(st.integers(0, i + 2))))
    return steps


def run(program: list[tuple], *leaves: TensorRef) -> TensorRef:
    """Carries out a program; two operands that do not broadcast leave the first as it is."""
    values = list(leaves)
    for name, *operands in program:
        args = [values[i] for i in operands]
        if len(args) == 2:
            try:
                np.broadcast_shapes(args[0].shape, args[1].shape)
            except ValueError:
                args[1] = args[0]
        values.append((UNARY if name in UNARY else BINARY)[name](*args))
    total = F.sum(F.tanh(values[-1]))
    return total + F.sum(F.tanh(values[len(values) // 2]))
