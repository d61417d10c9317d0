"""Operations and modules on tensors without elements against torch: functions, methods, in place, with `out=`, backward."""

from __future__ import annotations

from empty_cases import TABLE, odd
from public_calls import INNER, refused


def test_differences_are_refusals_in_other_words_or_results_for_refusals() -> None:
    fewer = {call: found for call, found in TABLE.differ.items() if not refused(TABLE.recorded[call]) and not odd(call)}
    assert not fewer, fewer
    assert not [call for call, found in TABLE.differ.items() if found.startswith(INNER)]
    assert len(TABLE.differ) < 0.07 * len(TABLE.recorded)


def test_all_kinds_of_calls_are_there() -> None:
    for kind, least in (("backward(", 800), ("trained(nn.", 80), (", out=", 700), ("_(", 500)):
        assert sum(kind in call for call in TABLE.recorded) > least, kind
    done = sum(not refused(found) for found in TABLE.recorded.values())
    assert 0.5 * len(TABLE.recorded) < done < 0.95 * len(TABLE.recorded)
