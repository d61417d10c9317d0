"""Small programs give, raise and warn what torch recorded for them."""

from __future__ import annotations

import sys

import pytest
import torchcompat as torch
from autograd_tape import warned

from .programs import TABLE, named


@pytest.mark.parametrize("case", TABLE.recorded)
def test_program_does_what_torch_does(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    named("torchcompat")
    warned.forget()  # what comes once in a process, and may have come before
    for alias in [m for m in sys.modules if m == "torchcompat" or m.startswith("torchcompat.")]:
        monkeypatch.setitem(sys.modules, "torch" + alias[len("torchcompat"):], sys.modules[alias])
    TABLE.assert_as_torch(torch, case)
