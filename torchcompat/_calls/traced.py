"""What traces of torch's show of calls that ATen carries out by one operation for many."""

from __future__ import annotations

import re

from autograd_tape.calls import Call

_CONVOLUTION = re.compile(r"conv(_transpose)?(\d)d")


def convolution_of(call: Call) -> list[object] | None:
    """The arguments of `aten::_convolution` for a call of a convolution; None for other calls, and for those that are made of more."""
    form = _CONVOLUTION.fullmatch(call.name)
    given = dict(zip([p.name for p in call.door.params], call.args))
    if form is None or given["input"].dim() != int(form[2]) + 2 or isinstance(given["padding"], str):
        return None
    n = int(form[2])
    lists = [[value] * n if isinstance(value, int) else list(value) * (n // len(value))
             for name in ("stride", "padding", "dilation", "output_padding") for value in [given.get(name, 0)]]
    # What the last four tell other devices: benchmark, deterministic, cudnn_enabled, allow_tf32.
    return [given["input"], given["weight"], given["bias"], *lists[:3], form[1] is not None, lists[3], given["groups"],
            False, False, True, True]
