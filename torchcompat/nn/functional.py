"""torch.nn.functional: the operations that torch keeps here, compiled from their records at first use, and the few functions that
are no operation of their own.

An operation is here if its record says `namespace="nn.functional"` or has an alias "nn.functional.<name>".
"""

from __future__ import annotations

import warnings
from typing import Any

from autograd_tape.ops import ALIASES, RECORDS
from torchcompat import _VF
from torchcompat._tensor import frontend as _frontend

_ATTENTION = frozenset(["_canonical_mask", "_none_or_dtype", "multi_head_attention_forward"])


def _operation(name: str) -> str | None:
    """What the front end calls the operation that is `name` here; None where there is none."""
    dotted = f"nn.functional.{name}"
    if dotted in ALIASES:
        return dotted
    record = RECORDS.get(name)
    return name if record is not None and record.namespace == "nn.functional" else None


def __getattr__(name: str) -> Any:
    found = _operation(name)
    if name in _ATTENTION:
        from . import _attention

        value = getattr(_attention, name)
    elif found is not None:
        value = _frontend.function(found)
    elif name.endswith("_") and not name.startswith("_") and _operation(name[:-1]) is not None:
        value = getattr(_frontend, name)
    else:
        raise AttributeError(f"module 'torch.nn.functional' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    operations = {alias.rpartition(".")[2] for alias in ALIASES if alias.startswith("nn.functional.")}
    operations |= {name for name, record in RECORDS.items() if record.namespace == "nn.functional"}
    return sorted(operations | _ATTENTION | set(globals()))


def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """A sample of the Gumbel-softmax distribution (Jang et al., 2017; Maddison et al., 2017).

    Args:
        logits: unnormalized log-probabilities.
        tau: temperature.
        hard: one-hot samples, whose gradient is that of the soft ones.
        eps: accepted; has no effect.
        dim: along which the softmax is taken.
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = -_frontend.empty_like(logits, memory_format="torch.contiguous_format").exponential_().log()
    soft = _frontend.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    return _frontend.zeros_like(logits).scatter_(dim, index, 1.0) - soft.detach() + soft


def rrelu(input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False) -> Any:
    """input where it is positive, else input times a slope (Xu et al., 2015).

    Args:
        input: any shape.
        lower, upper: bounds of the slope, which is drawn anew for each element in training, and their mean otherwise.
        training: see above.
        inplace: overwrite the input.
    """
    return (_VF.rrelu_ if inplace else _VF.rrelu)(input, lower, upper, training)


rrelu_ = _VF.rrelu_


def _renamed(name: str, mode: str | None) -> Any:
    def function(input: Any, size: Any = None, scale_factor: Any = None, mode: str = mode or "nearest", align_corners: Any = None) -> Any:
        warnings.warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
        return __getattr__("interpolate")(input, size, scale_factor, mode, True if name == "upsample_bilinear" else align_corners)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "An old name of `interpolate`."
    return function


upsample, upsample_nearest, upsample_bilinear = (_renamed("upsample", None), _renamed("upsample_nearest", "nearest"),
                                                 _renamed("upsample_bilinear", "bilinear"))
