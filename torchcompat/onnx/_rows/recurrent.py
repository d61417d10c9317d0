"""Recurrent networks. Of the gates, torch has an LSTM's in the order input, forget, cell, output and a GRU's in reset, update, new; ONNX
has input, output, forget, cell and update, reset, new. torch applies the reset gate after the product (`linear_before_reset`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._graph import Graph, Made, Val, refuse
from .._table import row

_GATES = {"lstm": ("LSTM", [0, 3, 1, 2]), "gru": ("GRU", [1, 0, 2]), "rnn_tanh": ("RNN", [0]), "rnn_relu": ("RNN", [0])}


def _ordered(g: Graph, weights: Sequence[Val], order: Sequence[int]) -> Val:
    """The weights of both directions with ONNX's order of gates."""
    rows = []
    for w in weights:
        if len(order) > 1:
            gates = g.op("Split", w, axis=0, outputs=len(order), num_outputs=len(order) if g.opset >= 18 else None)
            w = g.op("Concat", *[gates[i] for i in order], axis=0)
        rows.append(g.op("Unsqueeze", w, [0]))
    return g.op("Concat", *rows, axis=0) if len(rows) > 1 else rows[0]


@row("lstm", "gru", "rnn_tanh", "rnn_relu")
def recurrent(g: Graph, input: Val, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: Any, train: Any, bidirectional: Any,
              batch_first: Any) -> Made:
    name = g.step.name
    if not isinstance(params, (tuple, list)):
        raise refuse(f"{g.step.known_as} of a PackedSequence has no translation; give it padded sequences")
    op, order = _GATES[name]
    states = list(hx) if name == "lstm" else [hx]
    per = 4 if has_biases else 2
    directions = 2 if bidirectional else 1
    if len(params) != per * num_layers * directions:
        raise refuse(f"{g.step.known_as} with projections (proj_size) has no translation")
    if dropout and train and num_layers > 1:
        raise refuse(f"{g.step.known_as} with dropout in training has no translation")
    alone = input.rank == 2
    x = g.op("Unsqueeze", input, [1]) if alone else g.op("Transpose", input, perm=[1, 0, 2]) if batch_first else input
    if alone:
        states = [g.op("Unsqueeze", s, [1]) for s in states]
    ends: list[list[Val]] = [[] for _ in states]
    hidden = params[1].shape[1]
    how = _how(op, name, directions)
    for number in range(num_layers):
        of = [params[per * (number * directions + d):][:per] for d in range(directions)]
        bias = None
        if has_biases:
            both = [_ordered(g, [w[k] for w in of], order) for k in (2, 3)]
            bias = g.op("Concat", *both, axis=1)
        first = number * directions
        begin = [g.op("Slice", s, [first], [first + directions], [0]) if num_layers > 1 else s for s in states]
        found = g.op(op, x, _ordered(g, [w[0] for w in of], order), _ordered(g, [w[1] for w in of], order), bias, None, *begin,
                     hidden_size=hidden, direction="bidirectional" if bidirectional else "forward", outputs=1 + len(states), **how)
        for end, value in zip(ends, found[1:]):
            end.append(value)
        x = g.op("Reshape", g.op("Transpose", found[0], perm=[0, 2, 1, 3]), [0, 0, -1])
    last = [g.op("Concat", *end, axis=0) if num_layers > 1 else end[0] for end in ends]
    if alone:
        return [g.op("Squeeze", x, [1]), *[g.op("Squeeze", v, [1]) for v in last]]
    return [g.op("Transpose", x, perm=[1, 0, 2]) if batch_first else x, *last]


@row("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell")
def cell(g: Graph, input: Val, hx: Any, w_ih: Val, w_hh: Val, b_ih: Val | None = None, b_hh: Val | None = None) -> Made:
    name = g.step.name[:-5]
    op, order = _GATES[name]
    states = list(hx) if name == "lstm" else [hx]
    rows = [g.op("Unsqueeze", v, [0] if input.rank == 2 else [0, 1]) for v in (input, *states)]
    bias = None if b_ih is None or b_hh is None else g.op("Concat", _ordered(g, [b_ih], order), _ordered(g, [b_hh], order), axis=1)
    how = _how(op, name, 1)
    found = g.op(op, rows[0], _ordered(g, [w_ih], order), _ordered(g, [w_hh], order), bias, None, *rows[1:], hidden_size=w_hh.sizes[1],
                 outputs=1 + len(states), **how)
    ends = [g.op("Squeeze", v, [0] if input.rank == 2 else [0, 1]) for v in found[1:]]
    return ends if name == "lstm" else ends[0]


@row("lstm_layer", "rnn_layer")
def layer(g: Graph, input: Val, h: Val, w_ih: Val, w_hh: Val, b_ih: Val | None, b_hh: Val | None, c: Val | None = None, mode: str = "LSTM",
          sizes: object = None, w_hr: Val | None = None, reverse: bool = False) -> Made:
    if sizes is not None or w_hr is not None:
        raise refuse("a recurrent layer of packed sequences, or with projections, has no translation")
    op, order = _GATES[mode.lower()]
    states = [g.op("Unsqueeze", s, [0]) for s in (h, c) if s is not None]
    bias = None if b_ih is None or b_hh is None else g.op("Concat", _ordered(g, [b_ih], order), _ordered(g, [b_hh], order), axis=1)
    found = g.op(op, input, _ordered(g, [w_ih], order), _ordered(g, [w_hh], order), bias, None, *states, hidden_size=h.sizes[-1],
                 direction="reverse" if reverse else "forward", outputs=1 + len(states), **_how(op, mode.lower(), 1))
    return [g.op("Squeeze", found[0], [1]), *[g.op("Squeeze", v, [0]) for v in found[1:]]]


def _how(op: str, name: str, directions: int) -> dict[str, Any]:
    """What ONNX has to be told besides."""
    return {"linear_before_reset": 1} if op == "GRU" else {"activations": [name[4:].capitalize()] * directions} if op == "RNN" else {}
