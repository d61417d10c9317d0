"""A function, recorded to be looked at."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..annotations import Fn
from ..backward import backward
from ..dtypes import FLOATING, dtype_of
from ..tape import Tape
from ..tensor import TensorRef
from ..tree import leaves

if TYPE_CHECKING:
    from torchcompat.nn.modules.module import Module


def record(function: Fn, inputs: Sequence[np.ndarray], *, measure: bool = False) -> Tape:
    """The tape of one call of a function of tensors.

    Args:
        function: takes tensors; torch's if it is a module of torchcompat, or of a file that uses torchcompat.
        inputs: arrays, one for each of them. Those of a floating-point dtype require grad.
        measure: time the operations, also on a pass back from all results, whose cotangents are ones.

    >>> from autograd_tape import F
    >>> record(lambda x, y: F.sum(x * y), [np.ones(2), np.ones(2)])
    Tape of 2 entries
        ...: mul(float64[2], float64[2]) -> float64[2]
        ...: sum(float64[2]) -> float64[]
    """
    make = sys.modules["torchcompat"].tensor if of_torch(function) else TensorRef.of
    tensors = [make(x, requires_grad=dtype_of(x).category >= FLOATING) for x in inputs]
    with Tape(measure=measure) as tape:
        results = function(*tensors)
    if measure:
        outputs = [x for x in leaves(results) if isinstance(x, TensorRef) and x.requires_grad]
        if outputs:
            backward(outputs, tape, grad_outputs=[np.ones(tuple(x.shape), x._k.np) for x in outputs])
    return tape


def of_torch(function: Module | Fn) -> bool:
    """Whether a function speaks to torch's tensors: what its file imported says so."""
    if hasattr(function, "named_parameters"):
        return True
    known = getattr(inspect.unwrap(function), "__globals__", {}).values()
    names = [str(getattr(x, "__module__", None) or getattr(x, "__name__", "")) for x in known]
    return any([name.partition(".")[0] == "torchcompat" for name in names])
