"""One layer and direction of a recurrence: the inputs' part of all steps in one product, then step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from collections.abc import Callable

import torchcompat as torch

from .. import functional as F

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor

States = tuple[Any, ...]


def _tanh(gates: Tensor, states: States, weight: Tensor, bias: Tensor, projection: object) -> States:
    return (torch.tanh(gates + F.linear(states[0], weight, bias)),)


def _relu(gates: Tensor, states: States, weight: Tensor, bias: Tensor, projection: object) -> States:
    return (F.relu(gates + F.linear(states[0], weight, bias)),)


def _lstm(gates: Tensor, states: States, weight: Tensor, bias: Tensor | None, projection: Tensor | None) -> States:
    h, c = states
    i, f, g, o = (gates + F.linear(h, weight, bias)).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    h = torch.sigmoid(o) * torch.tanh(c)
    return (h if projection is None else F.linear(h, projection)), c


def _gru(gates: Tensor, states: States, weight: Tensor, bias: Tensor, projection: object) -> States:
    (h,) = states
    xr, xz, xn = gates.chunk(3, 1)
    hr, hz, hn = F.linear(h, weight, bias).chunk(3, 1)
    new = torch.tanh(xn + torch.sigmoid(xr + hr) * hn)
    z = torch.sigmoid(xz + hz)
    return ((h - new) * z + new,)


STEPS: dict[str, Callable[[Any, States, Any, Any, Any], States]] = {"RNN_TANH": _tanh, "RNN_RELU": _relu, "LSTM": _lstm, "GRU": _gru}


def run(mode: str, input: Tensor, states: States, weights: dict[str, Tensor], sizes: list[int] | None, reverse: bool) -> tuple[Tensor,
        tuple[Tensor, ...]]:
    """Runs over a sequence.

    Args:
        mode: a key of STEPS.
        input: [L, N, features]; or packed [sum of sizes, features].
        states: the first ones, [N, size] each.
        weights: "weight_ih", "weight_hh", and maybe "bias_ih", "bias_hh", "weight_hr".
        sizes: of the batch at each step, descending, where the input is packed.
        reverse: from the end to the start.

    Returns:
        The outputs, like the input, and the last states.
    """
    step = STEPS[mode]
    if sizes is None and not input.size(0):
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    rest = (weights["weight_hh"], weights.get("bias_hh"), weights.get("weight_hr"))
    gates = F.linear(input, weights["weight_ih"], weights.get("bias_ih"))
    steps = gates.unbind(0) if sizes is None else gates.split(sizes)
    outputs: list[Any] = [None] * len(steps)
    order = range(len(steps) - 1, -1, -1) if reverse else range(len(steps))
    if sizes is None:
        for t in order:
            states = step(steps[t], states, *rest)
            outputs[t] = states[0]
        return torch.stack(outputs), states
    # Sequences are sorted by length: at each step those that are still running are the first ones. Forward, the states of those
    # that end are put aside; backward, sequences join with their first states.
    first, ended = states, []
    states = tuple(s[:sizes[order[0]]] for s in states)
    for t in order:
        count, have = sizes[t], states[0].shape[0]
        if count < have:
            ended.append(tuple(s[count:] for s in states))
            states = tuple(s[:count] for s in states)
        elif count > have:
            states = tuple(torch.cat([s, f[have:count]]) for s, f in zip(states, first))
        states = step(steps[t], states, *rest)
        outputs[t] = states[0]
    if ended:
        states = tuple(torch.cat(parts) for parts in zip(states, *reversed(ended)))
    return torch.cat(outputs), states
