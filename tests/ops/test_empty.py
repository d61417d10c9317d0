"""Operations and modules on tensors without elements against torch: functions, methods, in place, with `out=`, backward."""

from __future__ import annotations

import gzip
import json

import empty_cases
import pytest
from public_calls import agree, outcome

import torchcompat as torch

RECORDED: dict[str, str] = json.loads(gzip.decompress(empty_cases.PATH.read_bytes()))
DIFFERS: dict[str, str] = json.loads(empty_cases.DIFFERS.read_text())
"""What we give instead, where that is another refusal, or a result where torch, having no kernel for empty tensors, refuses."""
INNER = ("AttributeError", "NameError", "UnboundLocalError", "KeyError", "RecursionError", "SyntaxError", "ZeroDivisionError",
         "AssertionError", "UFuncTypeError", "MemoryError", "SystemError")
GROUPS = 60


@pytest.mark.parametrize("group", range(GROUPS))
def test_as_torch(group: int) -> None:
    wrong = []
    for call, recorded in list(RECORDED.items())[group::GROUPS]:
        found = outcome(torch, call)
        if not (found == DIFFERS[call] if call in DIFFERS else agree(recorded, found)):
            wrong.append(f"{call}\n    {found}\n    {DIFFERS.get(call, recorded)}")
    assert not wrong, "\n".join(wrong)


def test_differences_are_refusals_in_other_words_or_results_for_refusals() -> None:
    fewer = {call: found for call, found in DIFFERS.items() if not empty_cases.refused(RECORDED[call]) and not empty_cases.odd(call)}
    assert not fewer, fewer
    assert not [call for call, found in DIFFERS.items() if found.startswith(INNER)]
    assert len(DIFFERS) < 0.07 * len(RECORDED)


def test_all_kinds_of_calls_are_there() -> None:
    for kind, least in (("backward(", 800), ("trained(nn.", 80), (", out=", 700), ("_(", 500)):
        assert sum(kind in call for call in RECORDED) > least, kind
    done = sum(not empty_cases.refused(found) for found in RECORDED.values())
    assert 0.5 * len(RECORDED) < done < 0.95 * len(RECORDED)
