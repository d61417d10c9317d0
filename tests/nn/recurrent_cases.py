"""Recurrent layers and cells: outputs, last states, gradients and gradients of these, strides and nodes; and what is refused."""

from __future__ import annotations

import itertools
from typing import Any

from tests.recording import Table, attempted

_KINDS = ["LSTM(3, 4)", "GRU(3, 4)", "RNN(3, 4)", "RNN(3, 4, nonlinearity='relu', bidirectional=True)",
          "LSTM(3, 4, 2, bidirectional=True, dropout=0.3)", "GRU(3, 4, 2, bidirectional=True, dropout=0.3)", "GRU(3, 4, bias=False)",
          "LSTM(3, 4, bias=False, batch_first=True)", "GRU(3, 4, bidirectional=True, batch_first=True)",
          "LSTM(3, 4, proj_size=2, num_layers=2, bidirectional=True)", "LSTM(3, 4, proj_size=2, bias=False)"]
_INPUTS = ["whole", "packed", "packed in any order", "without states", "one sequence"]
_CALLS = """
torch.lstm(x, (h, h), P, True, 1, 0., True, False, False)
torch.lstm(x, [h], P, True, 1, 0., True, False, False)
torch.lstm(x, [h, h], P[:3], True, 1, 0., True, False, False)
torch.lstm(x, [h, h], P[:2], False, 1, 0., True, False, False)
torch.lstm(x[0], [h, h], P, True, 1, 0., True, False, False)
torch.lstm(x[:0], [h, h], P, True, 1, 0., True, False, False)
torch.lstm(x[:, :0], [h[:, :0], h[:, :0]], P, True, 1, 0., True, False, False)
torch._VF.lstm(d, torch.tensor([2, 2, 1]), (h, h), P, True, 1, 0., True, False)
torch.gru(x, h, Q, True, 1, 0., True, False, False)
torch.gru(x, h, Q, True, 1, 0., True, False, True)
torch.gru(x[:0], h, Q, True, 1, 0., True, False, False)
torch.gru(x, h, Q[:3], True, 1, 0., True, False, False)
torch.gru(x, h, Q, True, 2, 0., True, False, False)
torch.gru(torch.ones(2, 2, 5), h, Q, True, 1, 0., True, False, False)
torch.gru(input=x, hx=h, params=Q, has_biases=True, num_layers=1, dropout=0., train=True, bidirectional=False, batch_first=False)
torch.gru(d, torch.tensor([2, 2, 1]), h, Q, True, 1, 0., True, False)
torch.gru(d, torch.tensor([2., 2, 1]), h, Q, True, 1, 0., True, False)
torch.rnn_tanh(x, h, [q[:4] for q in Q], True, 1, 0., True, False, False)
torch.rnn_relu(x, h, [q[:4] for q in Q], True, 1, 0., True, False, False)
torch.lstm_cell(x[0], (h[0], h[0]), *P)
torch.lstm_cell(x[0], (h[0], h[0]), *P[:2])
torch.lstm_cell(x[0], (h[0],), *P)
torch.lstm_cell(x[0, 0], (h[0, 0], h[0, 0]), *P)
torch.lstm_cell(torch.ones(2, 5), (h[0], h[0]), *P)
torch.lstm_cell(x[0], (torch.zeros(2, 5), h[0]), *P)
torch.lstm_cell(x[0], (h[0], torch.zeros(2, 5)), *P)
torch.lstm_cell(x[0], (torch.zeros(3, 4), torch.zeros(3, 4)), *P)
torch.lstm_cell(x[0], (h[0], h[0]), torch.zeros(17, 3), P[1])
torch.gru_cell(x[0], h[0], *Q)
torch.gru_cell(x[0], h[0], Q[0], Q[1])
torch.gru_cell(x[0], torch.zeros(2, 5), *Q)
torch.rnn_tanh_cell(x[0], h[0], *[q[:4] for q in Q])
torch.rnn_relu_cell(x[0], h[0], *[q[:4] for q in Q])
torch.vmap(lambda x: torch.gru_cell(x, h[0], *Q))(x)
torch.vmap(lambda x: torch.lstm_cell(x, (h[0], h[0]), *P))(x)
torch.vmap(lambda x: torch.gru(x, h, Q, True, 1, 0., True, False, False))(torch.stack([x, x]))
torch.func.jvp(lambda x: torch.lstm(x, (h, h), P, True, 1, 0., True, False, False)[0], (x,), (x,))
torch.func.jvp(lambda x: torch.gru(x, h, Q, True, 1, 0., True, False, False)[0], (x,), (x,))
torch.func.jacrev(torch.func.grad(lambda x: torch.gru(x, h, Q, True, 1, 0., True, False, False)[0].square().sum()))(x)
""".strip().splitlines()
CASES = [f"{kind} {given} {dtype}" for kind, given, dtype in itertools.product(_KINDS, _INPUTS, ("float32", "float64"))]


def _flat(states: Any) -> tuple[Any, ...]:
    return states if isinstance(states, tuple) else (states,)


def _shown(t: Any) -> list[Any]:
    """The shape, the strides, the dtype, and sums that tell the elements."""
    x = t.detach().double().flatten()
    return [list(t.shape), list(t.stride()), str(t.dtype)[6:], float(x.sum()), float((x * (x.new_tensor(range(len(x))) * 0.7).cos()).sum())]


def layer(torch: Any, case: str) -> dict[str, Any]:
    """What a layer computes, of inputs and states that want gradients."""
    text, _, rest = case.partition(") ")
    given, _, dtype = rest.rpartition(" ")
    torch.manual_seed(0)
    nn = torch.nn
    module = eval(f"nn.{text})", {"nn": nn}).to(getattr(torch, dtype))
    count = module.num_layers * (2 if module.bidirectional else 1)
    new = {"dtype": getattr(torch, dtype), "requires_grad": True}
    first = module.batch_first
    x = torch.randn(*((4, 3) if given == "one sequence" else (4, 4, 3)), **new)
    shape = (count,) if given == "one sequence" else (count, 4)
    states = [torch.randn(*shape, n, **new) for n in (module.proj_size or 4, 4)][:2 if module.mode == "LSTM" else 1]
    input = x
    if given.startswith("packed"):
        lengths = [4, 3, 3, 1] if given == "packed" else [1, 4, 2, 3]
        input = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=first, enforce_sorted=given == "packed")
    y, last = module(input) if given == "without states" else module(input, states[0] if len(states) == 1 else tuple(states))
    y = y.data if given.startswith("packed") else y
    leaves = [x, *([] if given == "without states" else states), *module.parameters()]
    weight = (torch.arange(y.numel(), dtype=y.dtype) * 0.3).sin().view(y.shape)
    loss = (y * weight).sum() + sum((s * s).sum() for s in _flat(last))
    grads = torch.autograd.grad(loss, leaves, create_graph=True)
    again = torch.autograd.grad(sum((g * g).sum() for g in grads), leaves, retain_graph=True)
    part = torch.autograd.grad(module.eval()(input)[1][-1].sum(), leaves[0])
    with torch.no_grad():
        silent = module(input)[1]
    return {"node": type(y.grad_fn).__name__, "y": _shown(y), "last": [_shown(s) for s in _flat(last)],
            "grads": [_shown(g.contiguous()) for g in grads], "again": [_shown(g.contiguous()) for g in again],
            "of the last": _shown(part[0].contiguous()), "silent": [_shown(s) for s in _flat(silent)]}


def call(torch: Any, case: str) -> Any:
    """Results of a function, or the error."""
    torch.manual_seed(0)
    names = {"torch": torch, "x": torch.randn(2, 2, 3), "h": torch.randn(1, 2, 4), "d": torch.randn(5, 3),
             "P": [torch.randn(16, 3), torch.randn(16, 4), torch.randn(16), torch.randn(16)],
             "Q": [torch.randn(12, 3), torch.randn(12, 4), torch.randn(12), torch.randn(12)]}

    def shown() -> list[Any]:
        return [_shown(t) for t in _flat(eval(case, names))]

    return attempted(shown)


def autocast(torch: Any, case: str) -> Any:
    """The dtypes under autocast."""
    torch.manual_seed(0)
    nn = torch.nn
    module = eval(f"nn.{case}", {"nn": nn})
    is_cell = case.partition("(")[0].endswith("Cell")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = module(torch.randn(*((2, 3) if is_cell else (2, 2, 3))))
    parts = _flat(found) if is_cell else (found[0], *_flat(found[1]))
    return [[str(t.dtype)[6:], round(float(t.double().sum()), 1) + 0.0] for t in parts]


TABLE = Table("recurrent", CASES, layer, tolerance=(2e-4, 2e-4), doubles=(1e-9, 1e-9), digits=9, zipped=True)
CALLED = Table("recurrent_calls", _CALLS, call, tolerance=(1e-4, 1e-4), digits=7)
AUTOCAST = Table("recurrent_autocast", [*_KINDS[:4], *_KINDS[7:10], "LSTMCell(3, 4)", "GRUCell(3, 4)", "RNNCell(3, 4)"], autocast,
                 tolerance=(0.0, 0.25))
