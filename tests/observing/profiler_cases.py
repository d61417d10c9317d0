"""What profiles say: schedules step by step, whose steps are recorded, tables without their times, errors. Programs of one line.

torch shows what operations are made of, too: here only what lies in nothing else, or in a block, is compared.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import tempfile
import warnings
from typing import Any

from tests.recording import Table

PROGRAMS = r"""
[a.name for a in map(P.schedule(wait=1, warmup=1, active=2), range(9))]
[a.name for a in map(P.schedule(wait=1, warmup=1, active=2, repeat=2), range(12))]
[a.name for a in map(P.schedule(wait=2, warmup=0, active=1, skip_first=3), range(12))]
[a.name for a in map(P.schedule(wait=2, warmup=1, active=1, repeat=2, skip_first=2, skip_first_wait=1), range(12))]
P.schedule(wait=0, warmup=0, active=1)
P.schedule(wait=-1, warmup=0, active=1)
P.schedule(wait=0, warmup=0, active=0)
P.schedule(wait=0, warmup=1, active=1)(-1)
P.schedule(wait=0, warmup=1, active=1, repeat=-1)
steps(5, P.schedule(wait=1, warmup=1, active=1))
steps(9, P.schedule(wait=1, warmup=1, active=2, repeat=2))
steps(7, P.schedule(wait=0, warmup=0, active=2))
steps(6, P.schedule(wait=0, warmup=1, active=3), acc_events=True)
steps(3, None)
steps(2, P.schedule(wait=1, warmup=2, active=1))
steps(5, lambda i: [A.RECORD, A.NONE, A.WARMUP, A.NONE, A.RECORD_AND_SAVE][i % 5])
steps(3, lambda i: A.DEVICE_STOPPED)
outer(lambda: model(x))
outer(lambda: model(x).sum().backward())
outer(lambda: block("a b", lambda: block("c", lambda: x + 1)))
outer(lambda: deco())
shapes(lambda: (x.mm(x.t()), t.bmm(x[None], x.t()[None]), t.nn.functional.conv2d(im, ker)))
flops(lambda: (x @ x.t(), t.bmm(x[None], x.t()[None]), t.addmm(x[:, :3], x, x.t())))
flops(lambda: t.nn.functional.conv2d(im, ker, padding=1))
flops(lambda: t.nn.functional.conv2d(im[:, :2], ker[:, :1], groups=2, stride=2))
columns(P.profile())
columns(P.profile(record_shapes=True), group_by_input_shape=True)
columns(P.profile(profile_memory=True), sort_by="cpu_time")
columns(P.profile(with_flops=True))
columns(P.profile(), header="here", top_level_events_only=True)
columns(P.profile(), max_name_column_width=12, row_limit=1)
columns(P.profile(), sort_by="cpu_time_total", row_limit=2, time_unit="ms")
trace(P.profile(record_shapes=True))
trace(P.profile(profile_memory=True, with_flops=True), metadata=[("k", "a b")], json_metadata=[("n", "[1, 2]")])
traced_files(use_gzip=True)
traced_files(worker_name="w")
P.profile(activities=[])
P.profile(activities=[P.ProfilerActivity.CPU] * 2)
P.profile(activities=["x"])
P.profile(activities=["x", P.ProfilerActivity.CPU])
P.profile(activities=[P.ProfilerActivity.CUDA]).start()
P.profile(use_cuda=False).activities
P.profile().events()
P.profile().key_averages()
P.profile().export_chrome_trace("x")
P.profile().export_stacks("x")
P.profile().stop()
P.profile().get_trace_id()
P.profile(post_processing_timeout_s=-1.).start()
ended(P.profile(custom_trace_id_callback=lambda: "mine")).get_trace_id()
ended(P.profile(experimental_config=P._ExperimentalConfig(trace_only=True))).events()
ended(P.profile()).export_stacks("x")
P.supported_activities()
[(k, v.value) for k, v in P.ProfilerActivity.__members__.items()]
sorted((k, v.value) for k, v in P.DeviceType.__members__.items())
sorted((k, v.value) for k, v in P.ProfilerAction.__members__.items())
P.kineto_available()
AP.profile(use_device="cuda").use_device
AP.profile(use_cuda=True).use_device
AP.profile(use_device="foo").use_device
AP.profile(use_cpu=False)
AP.profile(enabled=False).__enter__()
str(AP.profile())
AP.profile().table()
AP.profile().function_events
AP.profile(post_processing_timeout_s=-1.)
len(AP.profile().create_trace_id())
AP.emit_nvtx().__enter__()
AP.emit_nvtx(False).__enter__()
AP.EventList().export_stacks("x", "y")
AP.EventList().table()
AP.EventList().key_averages()
AP.EventList([event()]).key_averages()
built(event("a", 0, 10), event("b", 1, 4), event("b", 2, 3), event("c", 5, 9)).table(sort_by="cpu_time_total")
[(e.name, e.self_cpu_time_total, [c.name for c in e.cpu_children]) for e in built(event("a", 0, 10), event("b", 1, 4), event("a", 5, 9))]
[(e.name, e.cpu_parent and e.cpu_parent.name) for e in built(event("a", 0, 10), event("a", 1, 4), event("b", 2, 3))]
[(e.key, e.count, e.self_cpu_time_total) for e in built(event("a", 0, 10), event("b", 1, 4), event("b", 6, 7)).key_averages()]
built(event("a", 0, 2e6, cpu_memory_usage=5000), event("b", 1, 4000), profile_memory=True).key_averages().table()
built(event("a" * 80, 0, 2, input_shapes=[[1, 2]]), event("b", 5, 9, input_shapes=[[1, 2]] * 20)).table()
built(event("a", 0, 2, flops=12), event("b", 5, 9, flops=3000000), with_flops=True).table()
built(event("a", 0, 2, flops=12000), with_flops=True).table()
built(event("a", 0, 2, stack=["x" * 90, "y"]), event("b", 5, 9, stack=["z"])).table(max_src_column_width=20)
built(event("a", 0, 2, node_id=3)).table()
built(event("a", 0, 2, overload_name="Tensor")).table()
built(event("a", 0, 2), event("b", 1, 1.5)).table(top_level_events_only=True, header="h")
built(event("a", 0, 0)).table()
built(event("a", 0, 2), event("b", 3, 5)).total_average()
built(event("a", 0, 2))
event("a").append_cpu_child(3)
event("a").cuda_time
AP.EnforceUnique().see(1)
[u.see(1, 2) for u in [AP.EnforceUnique()] for _ in range(2)]
(AP.KinetoStepTracker.increment_step("mine"), AP.KinetoStepTracker.erase_step_count("mine"), AP.KinetoStepTracker.erase_step_count("x"))
[U._format_time(x) for x in (.5, 999.9, 1e3, 5e6)]
[U._format_memory(x) for x in (5, -2048, 5 << 20, 7 << 30)]
[U._format_time_share(1, 3), U._format_time_share(0, 0)]
U._format_time_share(1, 0)
"""


def outcome(torch: Any, program: str) -> Any:
    """What a program gives, or the error, and the warnings."""
    import importlib

    name = torch.__name__
    P, AP, U = [importlib.import_module(f"{name}.{m}") for m in ("profiler", "autograd.profiler", "autograd.profiler_util")]
    torch.manual_seed(0)
    model, x = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)), torch.ones(3, 4)

    def outermost(events: Any) -> list[str]:
        return [e.name for e in events if e.cpu_parent is None and not e.name.startswith(("autograd::", "[memory]"))
                and e.name not in ("aten::ones_like", "aten::empty_like")]  # the first gradient, which is no operation here

    def steps(count: int, schedule: Any, **options: Any) -> list[Any]:
        told: list[Any] = []
        with P.profile(schedule=schedule, on_trace_ready=lambda p: told.append([p.step_num, outermost(p.events())]), **options) as p:
            for i in range(count):
                x.add(i)
                p.step()
                told.append(p.current_action.name)
        return told

    def profiled(function: Any, **options: Any) -> Any:
        with P.profile(**options) as p:
            function()
        return p

    def ended(p: Any) -> Any:
        with p:
            x.add(1)
        return p

    def block(said: str, function: Any) -> None:
        with P.record_function(said):
            function()

    def columns(p: Any, **options: Any) -> Any:
        grouped = {k: options.pop(k) for k in ("group_by_input_shape",) if k in options}
        with p, P.record_function("aten_block"):
            x.mm(x.t())
        averages = p.key_averages(**grouped)
        averages[:] = [e for e in averages if e.key in ("aten_block", "aten::mm")]
        return re.sub(r"\d+\.\d+(%|us|ms|s)?", "#", re.sub(r" +", " ", averages.table(**options)))

    def trace(p: Any, metadata: Any = (), json_metadata: Any = ()) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.json")
            with p, P.record_function("mine"):
                [p.add_metadata(*pair) for pair in metadata], [p.add_metadata_json(*pair) for pair in json_metadata]
                x.mm(x.t())
            p.export_chrome_trace(path)
            with open(path) as file:
                found = json.load(file)
        events = {e["name"]: [e["cat"], e["ph"], e["args"].get("Input Dims")] for e in found["traceEvents"] if e["ph"] == "X"}
        return [sorted(set(found) - {"trace_id", "host_name", "traceName"}), {k: events[k] for k in ("mine", "aten::mm")}, {
            k: found.get(k) for k in ("k", "n", "schemaVersion", "profile_memory", "record_shapes", "with_flops", "displayTimeUnit")}]

    def traced_files(**options: Any) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            with P.profile(on_trace_ready=P.tensorboard_trace_handler(os.path.join(folder, "a", "b"), **options)):
                x.add(1)
            return [re.sub(r"^[\w-]+_\d+|\d{6,}", "#", file) for _, _, files in os.walk(folder) for file in files]

    def event(said: str = "a", start: float = 0, end: float = 1, **options: Any) -> Any:
        numbers = options.pop("id", next(ids))
        return U.FunctionEvent(id=numbers, name=said, thread=1, start_us=start, end_us=end, **{"stack": [], "flops": 0} | options)

    def built(*events: Any, **options: Any) -> Any:
        found = U.EventList(events, **options)
        found._build_tree()
        return found

    ids = itertools.count(1)
    here = {
        "t": torch, "P": P, "AP": AP, "U": U, "A": P.ProfilerAction, "model": model, "x": x, "steps": steps, "block": block, "ended": ended,
        "columns": columns, "trace": trace, "traced_files": traced_files, "event": event, "built": built, "im": torch.ones(1, 2, 6, 6),
        "ker": torch.ones(4, 2, 3, 3), "deco": P.record_function("deco")(lambda: x + 1),
        "outer": lambda f: [[e.name, [c.name for c in e.cpu_children] if e.is_user_annotation else None, e.count, e.scope]
                            for e in profiled(f).events() if e.name in outermost(profiled(f).events()) and e.cpu_parent is None],
        "shapes": lambda f: [[e.name, e.input_shapes] for e in profiled(f, record_shapes=True).events()
                             if e.name in ("aten::mm", "aten::bmm")],
        "flops": lambda f: sum([e.flops for e in profiled(f, with_flops=True).events() if e.flops and e.name != "aten::add"])}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        P.profiler._WARNINGS_SHOWN.clear() if hasattr(P.profiler, "_WARNINGS_SHOWN") else P.profiler._warned.clear()
        try:
            result = eval(program, here)
        except Exception as error:  # any exception is an outcome
            result = {"error": type(error).__name__, "text": str(error)}
        shown = result if isinstance(result, (list, dict, str, int, float, tuple, type(None))) else repr(result)
    text = re.sub(r" at 0x\w+", "", json.dumps(shown, default=repr)).replace("torchcompat", "torch")
    return [text, [f"{w.category.__name__}: {w.message}" for w in warned]]


TABLE = Table("profiler", PROGRAMS.strip().splitlines(), outcome, zipped=True)
