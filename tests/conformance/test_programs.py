"""Random programs do what torch did with them: recorded ones always, new ones where torch is at hand (see `live`)."""

from __future__ import annotations

import json
import random
import warnings
from typing import Any

import pytest
import torchcompat
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conformance.generate import generate
from tests.conformance.programs import Program, Run, divergences, minimized, run, text_of
from tests.conformance.recorded import TABLE

GROUPS = 40
"""The recorded programs are replayed in so many tests, so that workers can share them."""


def trace_of(program: Program) -> Any:
    """What torchcompat makes of a program, as it would be read back."""
    return json.loads(json.dumps(run(torchcompat, program)))


programs = st.randoms(use_true_random=False).map(generate)


def test_enough_is_recorded() -> None:
    calls = {step["call"] for case in TABLE.recorded.values() for step in case["program"]["steps"]}
    assert len(TABLE.recorded) >= 200
    assert len(calls) >= 80
    events = [event[0] for case in TABLE.recorded.values() for entry in case["trace"] for event in entry.get("events", ())]
    assert {"look", "double", "transpose", "post_accumulate", "node", "prehook"} <= set(events)
    errors = {entry["error"][1] for case in TABLE.recorded.values() for entry in case["trace"] if "error" in entry}
    assert len(errors) >= 40


@pytest.mark.parametrize("group", range(GROUPS))
def test_recorded_programs(group: int) -> None:
    for case in [TABLE.recorded[seed] for seed in TABLE.part(group, GROUPS)]:
        found = divergences(case["trace"], trace_of(case["program"]))
        assert not found, text_of(case["program"]) + "\n" + "\n".join(found)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs)
def test_programs_raise_what_users_are_told(program: Program) -> None:
    """No program fails but with an error meant for its author, and none leaves its mark on the next."""
    first = trace_of(program)
    for entry in first:
        kind, text = entry.get("error", ("RuntimeError", ""))
        assert kind in ("RuntimeError", "IndexError", "ValueError", "TypeError", "AttributeError"), entry
        if kind == "AttributeError":
            assert "'NoneType' object has no attribute" in text, entry  # grad_fn of a leaf, grad of none
    assert trace_of(program) == first


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs)
def test_dropping_hooks_that_only_look_changes_nothing(program: Program) -> None:
    """The gradients are the same whether or not somebody looks at them."""
    fewer = [s for s in program["steps"] if s["call"] != "node_hook" and (s["call"] != "hook" or s["args"][1] != "look")]
    grads = []
    for steps in (program["steps"], fewer):
        run_ = Run(torchcompat, {**program, "steps": steps})
        run_.run()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            grads.append({leaf["name"]: None if (g := run_.variables[leaf["name"]].grad) is None else str(g.tolist())
                          for leaf in program["leaves"]})
    assert grads[0] == grads[1]


def test_comparison_finds_what_differs() -> None:
    case = next(c for c in TABLE.recorded.values() if any("events" in entry for entry in c["trace"]))
    for key in ("values", "stride", "version"):
        changed = json.loads(json.dumps(case["trace"]))
        state = next(iter(changed[0]["state"].values()))
        state[key] = [7.5 for _ in state[key]] if key == "values" else [n + 1 for n in state[key]] if key == "stride" else 9
        if state[key] != next(iter(case["trace"][0]["state"].values()))[key] and (key != "stride" or any(n > 1 for n in state["shape"])):
            assert divergences(case["trace"], changed)
    without = [{k: v for k, v in entry.items() if k != "events"} for entry in case["trace"]]
    assert divergences(case["trace"], without)


def test_minimizing_keeps_what_matters() -> None:
    program = generate(random.Random(3))
    call = program["steps"][-1]["call"]
    small = minimized(program, lambda p: any(s["call"] == call for s in p["steps"]))
    assert [s["call"] for s in small["steps"]] == [call]
    assert len(small["leaves"]) == 1 and small["leaves"][0]["layout"] == "plain"
