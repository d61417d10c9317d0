"""What is quiet without a tape is quiet on one: no call takes the general path because a tape records it, of no record, in no precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torchcompat as torch
from tests.ops.op_cases import bind, is_array, samples, tree_map
from .record_samples import RANDOM, UNINITIALISED

from autograd_tape import Tape
from autograd_tape.errors import AutogradError
from autograd_tape.functions.general import General
from autograd_tape.ops import RECORDS
from autograd_tape.tree import leaves

pytestmark = pytest.mark.filterwarnings("ignore")

NAMES = sorted(name for name, rec in RECORDS.items() if rec.field("samples") is not None and name not in UNINITIALISED
               and rec.module.rpartition(".")[2] not in RANDOM)
DTYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
front = torch.ones(1)._front_end


@pytest.fixture(autouse=True)
def silent() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def calls(name: str, dtype: Any) -> Iterator[Callable[[], Any]]:
    """The first sample of an operation as a call, and as one in place."""
    rec = RECORDS[name]
    args, kwargs = bind(rec, samples(rec)[0])

    def tensors(grad: bool) -> Any:
        refused = rec.field("refuses_grad") is not None or not grad
        return tree_map(lambda a: torch.tensor(np.asarray(a).astype(dtype) if np.asarray(a).dtype.kind == "f" else np.asarray(a),
                                               requires_grad=not refused and np.asarray(a).dtype.kind == "f") if is_array(a) else a,
                        (args, kwargs))

    for suffix, grad in (("", True), ("", False)) + (("_", False),) * rec.inplace:
        given, named = tensors(grad)
        function = front.function(name + suffix)
        yield lambda function=function, given=given, named=named: function(*given, **named)


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_call_is_general_because_a_tape_records_it(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    run = General.run

    def counted(self: General, *args: Any, **kwargs: Any) -> Any:
        ran.append(self.rec.name)
        return run(self, *args, **kwargs)

    monkeypatch.setattr(General, "run", counted)
    wrong, met = {}, 0
    for name in NAMES:
        for call in calls(name, DTYPES[dtype]):
            try:
                call()
                ran.clear()
                call()  # what was compiled at first is there now
            except (AutogradError, RuntimeError, ValueError, TypeError, IndexError, NotImplementedError) as error:  # not in this precision
                with Tape(), pytest.raises(type(error)):
                    call()
                continue
            quiet = sorted(ran)
            with Tape():
                ran.clear()
                result = call()
            met += bool(leaves(result)) and not quiet
            if len(ran) > len(quiet) + bool(quiet):  # the general path calls itself once more to have itself held
                wrong[name] = quiet, sorted(ran)
    assert not wrong and met > (300 if dtype == "float32" else 100), wrong
