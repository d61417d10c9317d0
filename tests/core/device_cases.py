"""Names of devices that are not there, called as programs call them, and tensors that are asked for on them."""

from __future__ import annotations

import gzip
import inspect
import json
import re
import warnings
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.recording import Table, attempted

FAMILIES = ("cuda", "cpu", "mps", "xpu", "mtia", "accelerator", "backends.cuda", "backends.mps")
NAMES = Path(__file__).parents[2] / "torchcompat" / "_status" / "torch_names.json.gz"
CALLS = ("", "0", "None", "'cuda'", "0, 0")
MOVES = """
t.ones(2).cuda()
t.ones(2).cuda(0)
t.ones(2).cuda("cpu")
t.ones(2).cuda("cuda:1")
t.ones(2).to("cuda")
t.ones(2).to("cuda:1")
t.ones(2).to(device="cuda", dtype=t.float64)
t.ones(2).to(0)
t.ones(2, device="cuda")
t.ones(2, device=0)
t.ones(2, device="cuda:3")
t.zeros(0).to("cuda")
t.tensor([1], device="cuda")
t.rand(2, device="cuda")
t.randn(2, device="cuda")
t.arange(3, device="cuda")
t.empty(3, device="cuda")
t.full((2,), 3., device="cuda")
t.empty_strided((1,), (1,), device="cuda")
t.ones_like(t.ones(2), device="cuda")
t.ones(2).new_zeros(2, device="cuda")
t.as_tensor([1.], device="cuda")
t.nn.Linear(2, 2).cuda()
t.nn.Linear(2, 2).to("cuda")
t.nn.Linear(2, 2, device="cuda")
t.nn.Linear(2, 2).to(0)
t.nn.Linear(2, 2).xpu()
t.UntypedStorage(2, device="cuda")
t.ones(2).to("xpu")
t.ones(2).xpu()
t.ones(2, device="xpu")
t.ones(2).to("mtia")
t.ones(2, device="mtia")
t.ones(2).mtia()
t.ones(2).ipu()
t.nn.Linear(2, 2).mtia()
t.ones(2, device="hpu")
t.ones(2).to("hpu")
t.ones(2, device="privateuseone")
t.ones(2, device="vulkan")
t.ones(2).is_cuda, t.ones(2).is_pinned(), t.ones(2).get_device()
t.ones(2).pin_memory()
t.get_device_module("cuda").__name__, t.get_device_module().__name__, t.get_device_module(t.device("xpu")).__name__
t.get_device_module("nope")
t.get_device_module(3)
t.Stream()
t.Event()
t.Stream("cpu"), t.Stream(device="cpu", priority=1), t.Stream().query(), t.Stream().synchronize(), t.Stream() == t.Stream()
t.Stream("cuda")
t.Event("cuda")
t.Event(enable_timing=True).query()
t.Event().record()
t.Event().synchronize()
t.Stream().record_event()
t.Event().elapsed_time(t.Event())
with_(t.cpu.Stream(), lambda: t.cpu.current_stream())
with_(t.cpu.stream(t.cpu.Stream()), lambda: 1)
with_(t.cuda.device(-1), lambda: 1)
with_(t.cuda.device(0), lambda: 1)
with_(t.cuda.device("cpu"), lambda: 1)
with_(t.cuda.device(None), lambda: 1)
with_(t.cuda.device_of(t.ones(1)), lambda: 1)
with_(t.cuda.stream(None), lambda: 1)
with_(t.xpu.device(0), lambda: 1)
with_(t.xpu.stream(None), lambda: 1)
with_(t.xpu.device_of(t.ones(1)), lambda: 1)
with_(t.cuda.nvtx.range("x"), lambda: 1)
with_(t.accelerator.device_index(0), lambda: 1)
with_(t.accelerator.device_index(None), lambda: 1)
with_(t.cuda.caching_allocator_disabled(), lambda: 1)
with_(t.cuda.profiler.profile(), lambda: 1)
with_(t.random.fork_rng(), lambda: 1)
with_(t.mps.profiler.profile(), lambda: 1)
t.cuda.manual_seed_all(2**70), t.cuda.manual_seed(1), t.cuda.seed(), t.cuda.seed_all()
t.cuda.manual_seed(1.5), t.cuda.manual_seed_all("x")
t.cuda.set_rng_state(t.get_rng_state()), t.cuda.get_rng_state_all(), t.cuda.set_rng_state_all([])
t.cuda.set_rng_state_all([t.get_rng_state()])
t.cuda.OutOfMemoryError, issubclass(t.cuda.OutOfMemoryError, RuntimeError), t.cuda.OutOfMemoryError is t.OutOfMemoryError
t.AcceleratorError, t.AcceleratorError.__mro__
isinstance(t.ones(1), t.cuda.FloatTensor), t.cuda.FloatTensor.dtype, t.cuda.FloatTensor.is_cuda, t.cuda.HalfTensor
t.ones(2).type(t.cuda.FloatTensor)
t.cuda.memory_stats().get("allocated_bytes.all.peak", 0), t.cuda.memory_reserved(), t.cuda.max_memory_reserved()
t.cuda.is_available() and t.cuda.get_device_name(0)
t.cuda.amp.autocast().__class__.__mro__[1], t.cuda.amp.autocast(enabled=False)._enabled
t.cuda.amp.GradScaler().is_enabled(), t.cuda.amp.GradScaler(enabled=False).get_scale()
t.cpu.amp.autocast().__class__.__mro__[1], t.cpu.amp.autocast(enabled=False)._enabled
t.cpu.amp.GradScaler().is_enabled()
with_(t.cpu.amp.autocast(), lambda: (t.ones(2, 2) @ t.ones(2, 2)).dtype)
with_(t.cpu.amp.autocast(dtype=t.float16), lambda: (t.ones(2, 2) @ t.ones(2, 2)).dtype)
with_(t.cuda.amp.autocast(), lambda: (t.ones(2, 2) @ t.ones(2, 2)).dtype)
t.cuda.amp.autocast()(lambda: t.is_autocast_enabled("cuda"))()
t.cuda.current_device()
t.cuda.get_device_properties("cuda:0").name
t.cuda.set_device(-1)
t.cuda.synchronize("cpu")
t.cuda.Stream().synchronize()
t.cuda.Event(enable_timing=True)
t.cuda._is_compiled(), t.cuda._lazy_init()
t.set_default_device("cuda"), t.ones(2)
t.empty(2, device="cpu:1").device, t.ones(2, device="meta:3").device, t.ones(2).to("cpu:0").device, t.tensor([1.], device="meta:0").device
t.empty(2, device="cpu:1") + t.zeros(2, device="cpu:2") == t.zeros_like(t.ones(2), device="cpu")
t.nn.Linear(2, 2, device="meta:1").weight.device, t.UntypedStorage(3, device="cpu:1").device, t.Generator("cpu:3").device
with_(t.device("cpu:1"), lambda: t.empty(2).device)
t.device("cpu", 127), t.device("cpu", 128), t.device("cpu", 128).index, t.device("cuda:255"), t.device("cuda", 300)
t.device("cpu", -1)
t.Generator("cuda")
t.Generator("meta")
t.Generator("mps")
t.Generator("hpu")
t.Generator("xpu")
t.Generator("vulkan")
"""
MOVED = [line for line in MOVES.strip().splitlines()]


@cache
def _names() -> dict[str, list[str]]:
    found = json.loads(gzip.decompress(NAMES.read_bytes()))
    return {module: [name for name in names if "." not in name] for module, names in found.items()
            if module in FAMILIES or module.partition(".")[0] in FAMILIES}


def cases(torch: Any) -> list[str]:
    """Calls of everything public in the modules of devices, as recorded for the page of what is here."""
    return MOVED + [f"t.{module}.{name}({call})" for module, names in _names().items() for name in names
                    if not re.match("enable_|allow_|preferred_", name) for call in CALLS]


def _with(block: Any, function: Any) -> Any:
    with block:
        return function()


def shown(value: Any) -> Any:
    """A value as JSON has it; of objects, what is not their address."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [shown(v) for v in value]
    text = type(value).__name__ if " at 0x" in repr(value) or inspect.isgenerator(value) or not isinstance(value, str) and len(
        repr(value)) > 300 else str(value)
    return text.replace("torchcompat", "torch")[:160]


def outcome(torch: Any, case: str) -> Any:
    """What a call gives, and the warnings it begins with."""
    module = re.match(r"t\.([\w.]+)\.\w+\(", case)
    if module and case not in MOVED:
        attempted(lambda: import_module(f"{torch.__name__}.{module[1]}"))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = attempted(lambda: shown(eval(case, {"t": torch, "with_": _with})))
    torch.set_default_device(None)
    if isinstance(found, str):
        found = found.replace("torchcompat", "torch")[:300].partition("\nInvoked")[0].partition(": torch 2.13 has")[0]
    return [found, sorted({f"{w.category.__name__}: {w.message}" for w in told if "TypedStorage" not in str(w.message)})]


TABLE = Table("devices", cases, outcome, zipped=True)
