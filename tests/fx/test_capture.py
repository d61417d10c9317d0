"""Graphs of operations that were carried out, against torch's; and that they compute what the function does."""

from __future__ import annotations

import pytest

import torchcompat as torch
from torchcompat.fx.experimental.proxy_tensor import get_proxy_mode, make_fx

from .capture_cases import TABLE


@pytest.mark.parametrize("case", TABLE.recorded)
def test_what_is_carried_out_is_torchs(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


@pytest.mark.parametrize("case", [case for case in TABLE.recorded if "error" not in TABLE.recorded[case]])
def test_a_graph_computes_what_the_function_does(case: str) -> None:
    found = TABLE.found(torch, case)
    assert found["as f"] == TABLE.recorded[case]["as f"]


def test_a_mode_is_there_only_while_it_traces() -> None:
    modes = []
    make_fx(lambda x: modes.append(get_proxy_mode()) or x.sin())(torch.ones(2))
    assert get_proxy_mode() is None and len(modes) == 1 and modes[0] is not None


def test_sizes_are_never_symbols() -> None:
    with pytest.raises(NotImplementedError, match="never symbols"):
        make_fx(torch.sin, tracing_mode="symbolic")
