"""Futures: what their values, callbacks and exceptions come to."""

from __future__ import annotations

import contextlib
import io
import re
from typing import Any

from tests.recording import Table

PROGRAMS = {
    "a value": "f.set_result(3); said += [f.done(), f.value(), f.wait()]",
    "no value yet": "said += [f.done()]",
    "two values": "f.set_result(3); f.set_result(4)",
    "an exception after a value": "f.set_result(3); f.set_exception(ValueError('a'))",
    "an exception": "f.set_exception(ValueError('a')); said += [f.done()]; f.wait()",
    "an exception taken": "f.set_exception(KeyError('a')); f.value()",
    "a value after an exception": "f.set_exception(ValueError('a')); f.set_result(1)",
    "no exception": "f.set_exception('a')",
    "an exception's class": "f.set_exception(ValueError)",
    "a chain": "g = f.then(lambda x: x.value() + 1); h = g.then(lambda x: x.wait() * 2); f.set_result(1); said += [g.wait(), h.wait()]",
    "a chain that fails": "g = f.then(lambda x: 1 / 0); f.set_result(1); said += [g.done()]; g.wait()",
    "a chain behind a failure": "g = f.then(lambda x: x.wait()); f.set_exception(ValueError('a')); g.wait()",
    "a callback without a parameter": "g = f.then(lambda: 1); f.set_result(1); g.wait()",
    "then at once": "f.set_result(2); said += [f.then(lambda x: x.value()).value()]",
    "then nothing": "f.then(None)",
    "then what": "f.then()",
    "callbacks in order": "[f.add_done_callback(lambda x, i=i: said.append((i, x is f, x.value()))) for i in range(3)]; f.set_result(5)",
    "a callback at once": "f.set_result(5); f.add_done_callback(lambda x: said.append(x.value()))",
    "a callback that fails": "f.add_done_callback(lambda x: 1 / 0); f.set_result(5); said += [f.wait()]",
    "a callback that is none": "f.add_done_callback(3)",
    "a callback that exits": "g = f.then(lambda x: exit(3)); f.set_result(1); g.wait()",
    "all":
        "c = collect_all([f, o]); o.set_result(1); said += [c.done()]; f.set_result(0); said += [c.done(), [x.wait() for x in c.wait()]]",
    "all with a failure": "c = collect_all([f, o]); f.set_exception(ValueError('f')); said += [c.done()]; o.set_result(1); c.wait()",
    "all with two failures": "f.set_exception(ValueError('f')); o.set_exception(KeyError('o')); wait_all([o, f])",
    "all of none": "said += [wait_all([]), collect_all([]).wait()]",
    "all of numbers": "collect_all([1])",
    "wait for all": "f.set_result(1); o.set_result(2); said += [wait_all([f, o]), wait_all((o, f))]",
    "wait for numbers": "wait_all([3])",
    "a device": "Future(devices=['cuda:0'])", "the processor": "Future(devices=['cpu'])",
    "no devices": "said += [Future(devices=[]).done()]",
    "by position": "Future([])", "pickled": "pickle.dumps(f)", "copied": "copy.deepcopy(f)",
    "a type": "said += [isinstance(f, torch.Future)]",
    "from a thread": "threading.Timer(0.01, f.set_result, (torch.ones(2),)).start(); said += [f.wait().tolist()]",
}


def outcome(torch: Any, case: str) -> Any:
    """What a program notes down, and what it raises."""
    futures = torch.futures
    said: list[Any] = []
    names = {**{name: getattr(futures, name) for name in ("Future", "collect_all", "wait_all")}, "torch": torch, "f": futures.Future(),
             "o": futures.Future(), "said": said, **{name: __import__(name) for name in ("pickle", "copy", "threading")}}
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            exec(PROGRAMS[case], names)
    except Exception as error:
        said.append(re.sub(r"\n\nAt:.*", "", re.sub(r"<[\w.]+ object at \w+>", "<f>", f"{type(error).__name__}: {error}"), flags=re.DOTALL))
    return said


TABLE = Table("futures", PROGRAMS, outcome)
