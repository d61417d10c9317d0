"""Every operation that has a translation into ONNX, on the samples of its record: ONNX Runtime finds what the operation does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import torchcompat as torch
import torchcompat.onnx._rows  # which fill the table
from autograd_tape.ops import RECORDS
from autograd_tape.samples import arrays_of, bind, samples, tree_map
from tests.export.onnx_running import assert_same, exported
from torchcompat._tensor import frontend
from torchcompat.onnx._table import RANDOM, ROWS
from torchcompat.onnx.errors import OnnxExporterError

pytest.importorskip("onnxruntime", reason="onnxruntime is missing: pip install .[onnx]")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning")

UNSET = {"empty", "empty_like", "new_empty"}
"""What they return is left unset."""
NO_RUNTIME = {
    "conv_transpose2d": "ONNX Runtime refuses an output padding that is not less than the stride",
    "setitem": "returns nothing; see test_onnx_models",
    "transfer": "of complex numbers",
}
NAMES = sorted(name for name in ROWS if name in RECORDS and name not in RANDOM | UNSET and RECORDS[name].field("samples") is not None
               and arrays_of([(s.args, s.kwargs) for s in samples(RECORDS[name])]))


def _tensor(x: Any) -> torch.Tensor:
    array = np.array(x, np.float32) if np.asarray(x).dtype == np.float64 else np.array(x)
    return torch.as_tensor(array.reshape(-1)).reshape(array.shape)


@pytest.mark.parametrize("name", NAMES)
def test_a_translation_computes_what_the_operation_does(name: str, compared: Callable[[int], None], excused: Callable[[str], None]) -> None:
    rec, function = RECORDS[name], frontend.function(name)
    refused: list[str] = []
    count = 0
    for sample in samples(rec)[:3]:
        args, kwargs = tree_map(_tensor, bind(rec, sample))
        flat: list[torch.Tensor] = []
        tree_map(lambda t: flat.append(t) or t, (args, kwargs))

        def model(*tensors: torch.Tensor) -> Any:
            given = iter(tensors)
            args_now, kwargs_now = tree_map(lambda t: next(given), (args, kwargs))
            return function(*args_now, **kwargs_now)

        wanted = model(*[t.clone() for t in flat])
        if not flat or not any(isinstance(t, torch.Tensor) for t in torch.utils._pytree.tree_flatten(wanted)[0]):
            continue
        try:
            found = exported(model, flat)(*flat)
        except OnnxExporterError as error:
            refused.append(str(error))
            continue
        except Exception as error:
            if name not in NO_RUNTIME:
                raise
            refused.append(str(error))
            continue
        assert_same(found, wanted)
        count += 1
    compared(count)
    if not count:
        excused(NO_RUNTIME.get(name) or refused[0])
    assert count or name in NO_RUNTIME or refused and all("no translation" in text or "one_hot" in text for text in refused), refused
