"""Functions of operations in pickles, where modules hold them: they come back as themselves."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest

import torchcompat as torch
from autograd_tape.ops import RECORDS

nn = torch.nn
PLACES = [(rec.namespace, rec.name) for rec in RECORDS.values() if rec.namespace not in ("_internal", "Tensor")]
PLACES += [tuple(alias.rsplit(".", 1)) for rec in RECORDS.values() if rec.namespace == "_internal" for alias in rec.alias if "." in alias]


def test_every_function_comes_back_itself() -> None:
    for place, name in PLACES:
        home: Any = torch
        for part in filter(None, place.split(".")):
            home = getattr(home, part)
        function = getattr(home, name)
        assert pickle.loads(pickle.dumps(function)) is function, f"{place}.{name}"
    assert len(PLACES) > 450


@pytest.mark.parametrize("make", [
    lambda: nn.TransformerEncoderLayer(4, 2, 8, 0.0), lambda: nn.TransformerDecoderLayer(4, 2, 8, 0.0, activation="gelu"),
    lambda: nn.Transformer(4, 2, 1, 1, 8, 0.0), lambda: nn.TripletMarginWithDistanceLoss(distance_function=nn.functional.pairwise_distance),
])
def test_modules_that_hold_functions_are_copied_and_kept(make: Any) -> None:
    module = make()
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    for other in (pickle.loads(pickle.dumps(module)), copy.deepcopy(module), torch.load(file, weights_only=False)):
        assert repr(other) == repr(module) and list(other.state_dict()) == list(module.state_dict())
        assert getattr(other, "activation", None) is getattr(module, "activation", None)
