"""What models are saved as and loaded from by torch.distributed.checkpoint, in one process."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from tests.recording import Table, attempted

GIVEN = ("whole", "{}", "{'0.weight': t.zeros(2, 2)}", "{**whole, 'x': t.ones(1)}", "{**whole, '0.weight': t.zeros(3, 2)}",
         "{model[0]: model[0].state_dict()}")
OPTIONS = ("", "strict=False", "full_state_dict=True", "full_state_dict=True, strict=False", "full_state_dict=True, cpu_offload=True",
           "broadcast_from_rank0=True", "full_state_dict=True, broadcast_from_rank0=True", "ignore_frozen_params=True")
CASES = [
    *[f"m.set_model_state_dict(model, {given}, options=o({options}))" for given in GIVEN for options in OPTIONS],
    *[f"m.get_model_state_dict(model, options=o({options}))" for options in OPTIONS],
    "m.get_model_state_dict(model, submodules={model[0]})",
    "m.get_model_state_dict(model, submodules={model[0]}, options=o(keep_submodule_prefixes=False))",
    "m.set_model_state_dict(model.to('meta'), whole, options=o(full_state_dict=True))",
    "m.set_model_state_dict(t.nn.Sequential(model[0], t.nn.BatchNorm1d(2, device='meta')), whole, options=o(full_state_dict=True))",
    "m.set_model_state_dict(model, {'0.weight': t.full((2, 2), 7.)}, options=o(full_state_dict=True)), model[0].weight.tolist()",
    "m.get_model_state_dict(model)['0.weight'].data_ptr() == model[0].weight.data_ptr()",
    "o()",
]


def seen(torch: Any, value: Any) -> Any:
    """A value as JSON has it: of states the names, in any order, and what they are."""
    if isinstance(value, dict):
        return [type(value).__name__, {name: [str(v.dtype)[6:], list(v.shape), v.requires_grad] for name, v in sorted(value.items())}]
    return [seen(torch, v) for v in value] if type(value) in (list, tuple) else value if isinstance(value, (int, float)) else repr(value)


def outcome(torch: Any, case: str) -> Any:
    """What a call gives or refuses, and what it warns of."""
    m = import_module(f"{torch.__name__}.distributed.checkpoint.state_dict")
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    model[0].weight.requires_grad_(False)
    names = {"t": torch, "m": m, "o": m.StateDictOptions, "model": model, "whole": dict(model.state_dict())}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = attempted(lambda: seen(torch, eval(case, names)))
    return {"found": found, "warned": [[w.category.__name__, str(w.message)] for w in told]}


TABLE = Table("states", CASES, outcome)
