"""Events and numbers over spans of time, which are an hour long, or over at once: programs of one line."""

from __future__ import annotations

import datetime
import importlib
import re
from typing import Any

from tests.recording import Table, attempted

PROGRAMS = """
stat("a", [A.SUM, A.MEAN]).get(), stat("a", []).get(), stat("a", [A.VALUE]).get()
added(stat("a", list(A.__members__.values()), 3), 1, 2.5, 4)
added(stat("a", list(A.__members__.values()), 3), 1, 2.5, 4, 5, 6, 7)
added(stat("a", [A.SUM, A.COUNT], 1), -1)
added(stat("a", [A.MIN, A.MAX, A.MEAN]), -1, True)
added(stat("a", [A.SUM]), "x")
ended(stat("b", [A.SUM, A.MIN]), 5, 6)
ended(stat("b", [A.SUM]))
(M.log_event(event({"a": 1, "b": 2.5, "c": "x", "d": True})), told())[1]
sorted(event({"a": 1, "d": True}).data.items()), event({}).name
event({"a": [1]})
event(3)
M.Event("n", 3, {})
M.log_event(3)
M.register_event_handler(3)
(M.unregister_event_handler(handle), M.log_event(event({})), told())[2]
[(k, v.value) for k, v in A.__members__.items()], M.SUM is A.SUM, M.STAT_EVENT
written()
"""


def outcome(torch: Any, program: str) -> Any:
    """What a program gives, or the error."""
    M = importlib.import_module(f"{torch.__name__}.monitor")
    seen: list[Any] = []
    handle = M.register_event_handler(seen.append)

    def stat(name: str, said: Any, most: int | None = None) -> Any:
        return M.Stat(name, said, datetime.timedelta(hours=1000), *([] if most is None else [most]))

    def told() -> Any:
        return [[e.name, dict(sorted(e.data.items()))] for e in seen]

    def added(s: Any, *values: Any) -> Any:
        found = []
        for v in values:
            s.add(v)
            found.append([s.count, sorted([(k.name, x) for k, x in s.get().items()])])
        return [found, told(), s.name]

    def ended(s: Any, *values: Any) -> Any:
        [s.add(v) for v in values]
        keep.append(s)
        return None

    def event(data: Any) -> Any:
        return M.Event("n", datetime.datetime(2020, 1, 2), data)

    def written() -> Any:
        lines: list[Any] = []

        class Writer:
            def add_scalar(self, tag: str, value: float, walltime: float) -> None:
                lines.append((tag, value, walltime))

        at = datetime.datetime(2020, 1, 2)
        for name in ("torch.monitor.Stat", "other"):
            M.TensorboardEventHandler(Writer())(M.Event(name, at, {"x": 2.0}))
        return [(tag, value) for tag, value, _ in lines]

    keep: list[Any] = []
    here = {"M": M, "A": M.Aggregation, "stat": stat, "added": added, "ended": ended, "event": event, "told": told, "handle": handle,
            "written": written}
    found = attempted(lambda: eval(program, here))
    if keep:
        keep.clear()
        found = told()
    if "unregister" not in program:
        M.unregister_event_handler(handle)
    text = re.sub(r"data_value_t at 0x\\w+| at 0x\w+", "", repr(found)).replace("torchcompat", "torch")
    return re.sub(r"torch\.(_C\._)?monitor", "torch.monitor", text)


TABLE = Table("monitor", PROGRAMS.strip().splitlines(), outcome)
