"""Small programs give, raise and warn what torch recorded for them (see tests/oracle/oracle_autograd.py)."""

from __future__ import annotations

import json
import sys

import pytest
from oracle_autograd import TARGET, named, outcome, programs

RECORDED = json.loads(TARGET.read_text())
PROGRAMS = programs()


def test_every_program_was_recorded() -> None:
    assert sorted(RECORDED) == sorted(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_does_what_torch_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = named("torchcompat")
    for alias in [m for m in sys.modules if m == "torchcompat" or m.startswith("torchcompat.")]:
        monkeypatch.setitem(sys.modules, "torch" + alias[len("torchcompat"):], sys.modules[alias])
    assert json.loads(json.dumps(outcome(module, PROGRAMS[name]))) == RECORDED[name]
