"""Settings of the process and flags of backends, against what torch 2.13 itself does with them."""

from __future__ import annotations

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.ops import RECORDS
from tests.core.settings_cases import TABLE, initial
from torchcompat.torch_version import TorchVersion


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


def test_deterministic_mode_costs_nothing_once_it_is_off() -> None:
    initial(torch)
    from autograd_tape.calls import LISTENING

    before = list(LISTENING)
    torch.use_deterministic_algorithms(True)
    torch.use_deterministic_algorithms(True)
    assert len(LISTENING) == len(before) + 1
    torch.use_deterministic_algorithms(False)
    assert before == LISTENING


@pytest.mark.parametrize("name", [name for name, rec in RECORDS.items() if rec.field("unset") and rec.namespace == ""])
def test_what_is_left_unset_is_filled(name: str) -> None:
    rec = RECORDS[name]
    sample = next(iter(rec.field("samples")(np.random.default_rng(0))))
    args = sample.args if hasattr(sample, "args") else sample
    args = [torch.tensor(a) if isinstance(a, np.ndarray) else a for a in args]
    torch.use_deterministic_algorithms(True)
    try:
        made = torch._frontend.function(name)(*args)
    finally:
        torch.use_deterministic_algorithms(False)
    assert (made.isnan() if made.is_floating_point() else made == torch.iinfo(made.dtype).max).all()


def test_versions_compare() -> None:
    order = ["1.13.1", "2.0a1", "2.0rc2", "2.0", "2.0.post1", "2.0.1", "2.10", "2.13.0", "2.13.0+cpu"]
    for i, a in enumerate(order):
        for j, b in enumerate(order):
            assert [TorchVersion(a) < b, TorchVersion(a) == b, TorchVersion(a) > b] == [i < j, i == j, i > j], (a, b)
    assert TorchVersion("2.0") == (2, 0) and TorchVersion("2.0") == "2.0.0" and hash(TorchVersion("2.0")) == hash("2.0")
    assert torch.__version__ != "two"


def test_how_a_convolution_would_be_carried_out() -> None:
    kinds = []
    for sizes, transposed, dilated in (((2, 6, 7), False, False), ((2, 6, 7, 8, 9), False, False), ((2, 6, 7, 8), False, True),
                                       ((2, 6, 7), True, False), ((2, 6, 7, 8, 9), True, False), ((0, 6, 7), False, False)):
        n = len(sizes) - 2
        x, w = torch.ones(sizes), torch.ones(6, 6, *[3] * n)
        arguments = (x, w, None, (1,) * n, (0,) * n, (2 if dilated else 1,) * n, transposed, (0,) * n, 1)
        with torch.backends.mkldnn.flags(enabled=False):
            kinds.append(torch._C._select_conv_backend(*arguments).name)
        assert torch.ops.aten.convolution(*arguments).shape[1] == 6
    assert kinds == ["Slow2d", "Slow3d", "SlowDilated2d", "SlowTranspose2d", "SlowTranspose3d", "Empty"]
