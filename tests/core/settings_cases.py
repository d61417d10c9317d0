"""Programs that change settings of the process and flags of backends, each begun and ended with torch's defaults."""

from __future__ import annotations

import re
import warnings
from importlib import import_module
from typing import Any

from tests.recording import Table, attempted

STATES = """
t.use_deterministic_algorithms(True) | (t.are_deterministic_algorithms_enabled(), t.get_deterministic_debug_mode())
t.use_deterministic_algorithms(True, warn_only=True) | (t.is_deterministic_algorithms_warn_only_enabled(), t.get_deterministic_debug_mode())
t.use_deterministic_algorithms(1)
t.use_deterministic_algorithms(True, warn_only=0)
t.set_deterministic_debug_mode("warn") | t.get_deterministic_debug_mode()
t.set_deterministic_debug_mode(2) | t.get_deterministic_debug_mode()
t.set_deterministic_debug_mode("x")
t.set_deterministic_debug_mode(7)
t.set_deterministic_debug_mode(1.5)
t.use_deterministic_algorithms(True) | t.ones(3).put_(t.tensor([0]), t.ones(1))
t.use_deterministic_algorithms(True) | t.ones(3).put_(t.tensor([0]), t.ones(1), accumulate=True)
t.use_deterministic_algorithms(True) | t.put(t.ones(3), t.tensor([0]), t.ones(1))
t.use_deterministic_algorithms(True, warn_only=True) | t.ones(3).put_(t.tensor([0]), t.ones(1))
t.use_deterministic_algorithms(True) | t.nn.functional.max_unpool1d(t.ones(1, 1, 1), t.ones(1, 1, 1, dtype=t.int64), 2)
t.use_deterministic_algorithms(True) | t.nn.MaxUnpool2d(2)(t.ones(1, 1, 1, 1), t.ones(1, 1, 1, 1, dtype=t.int64))
t.use_deterministic_algorithms(True) | t.nn.functional.max_unpool3d(t.ones(1, 1, 1, 1, 1), t.ones(1, 1, 1, 1, 1, dtype=t.int64), 2)
t.use_deterministic_algorithms(True) | t.ones(3)[t.tensor([0, 0])].sum()
t.use_deterministic_algorithms(True) | t.zeros(3).index_add(0, t.tensor([0, 0]), t.ones(2))
t.use_deterministic_algorithms(True) | t.zeros(3).scatter_add(0, t.tensor([0, 0]), t.ones(2))
t.use_deterministic_algorithms(True) | [t.empty(2, dtype=d) for d in (t.float32, t.float64, t.float16, t.bfloat16, t.complex64)]
t.use_deterministic_algorithms(True) | [t.empty(2, dtype=d) for d in (t.uint8, t.int8, t.int16, t.int32, t.int64, t.bool)]
t.use_deterministic_algorithms(True) | [t.empty_like(t.ones(2)), t.ones(2).new_empty(2), t.empty_strided((2,), (1,)), t.Tensor(2)]
t.use_deterministic_algorithms(True) | [t.ones(1).resize_(3), t.ones(2).resize_(1), t.ones(2, 2).resize_(2, 3), t.empty(2, out=t.zeros(0))]
t.utils.deterministic.fill_uninitialized_memory = False | t.utils.deterministic.fill_uninitialized_memory
t.utils.deterministic.fill_uninitialized_memory = 3
t.set_warn_always(True) | t.is_warn_always_enabled()
t.set_warn_always(1)
t.set_default_tensor_type("torch.DoubleTensor") | (t.ones(1).dtype, t.get_default_dtype())
t.set_default_tensor_type(t.HalfTensor) | t.ones(1).dtype
t.set_default_tensor_type(t.IntTensor)
t.set_default_tensor_type(3)
t.set_default_tensor_type("nosuchmodule")
t.set_default_dtype(t.int32)
t.set_default_dtype("float32")
t.set_num_threads("a")
t.set_num_threads(0)
t.set_num_interop_threads(0)
t.set_num_interop_threads("a")
t.set_float32_matmul_precision("high") | (t.get_float32_matmul_precision(), b.cuda.matmul.allow_tf32, b.mkldnn.matmul.fp32_precision)
t.set_float32_matmul_precision("medium") | (t.get_float32_matmul_precision(), b.cuda.matmul.fp32_precision, b.mkldnn.matmul.fp32_precision)
t.set_float32_matmul_precision("x") | t.get_float32_matmul_precision()
b.cuda.matmul.allow_tf32 = True | (t.get_float32_matmul_precision(), b.cuda.matmul.fp32_precision)
b.cuda.matmul.allow_tf32 = 3
b.cuda.matmul.foo = 1
b.cuda.matmul.bar
b.cuda.matmul.allow_fp16_accumulation = True | b.cuda.matmul.allow_fp16_accumulation
b.cuda.is_built()
b.cuda.cufft_plan_cache.size
b.cuda.cufft_plan_cache[0]
b.cuda.preferred_linalg_library().name
b.cuda.preferred_linalg_library("x")
b.cuda.preferred_linalg_library("cusolver")
b.cuda.preferred_blas_library("cublaslt")
b.cuda.is_flash_attention_available()
b.cuda.enable_flash_sdp(False) | b.cuda.flash_sdp_enabled()
b.cuda.enable_math_sdp(False) | (b.cuda.math_sdp_enabled(), b.cuda.mem_efficient_sdp_enabled(), b.cuda.cudnn_sdp_enabled())
(b.cudnn.enabled, b.cudnn.benchmark, b.cudnn.benchmark_limit, b.cudnn.deterministic, b.cudnn.allow_tf32, b.cudnn.version())
(b.cudnn.is_available(), b.cudnn.is_acceptable(t.ones(1)))
b.cudnn.enabled = "x"
b.cudnn.benchmark = 2
b.cudnn.allow_tf32 = None
b.cudnn.allow_tf32 = False | (b.cudnn.conv.fp32_precision, b.cudnn.rnn.fp32_precision)
b.cudnn.benchmark = True | b.cudnn.benchmark
b.cudnn.set_flags(_benchmark=True) | b.cudnn.benchmark
with b.cudnn.flags(enabled=False): found = b.cudnn.enabled, b.cudnn.benchmark | found, b.cudnn.enabled
with b.cudnn.flags(deterministic=True, benchmark=True): found = b.cudnn.deterministic, b.cudnn.benchmark | found, b.cudnn.benchmark
with b.mkldnn.flags(enabled=False): found = b.mkldnn.enabled | found, b.mkldnn.enabled
b.mkldnn.enabled = 3
b.cudnn.fp32_precision = "tf32" | (b.cudnn.fp32_precision, b.cuda.matmul.fp32_precision, b.mkldnn.fp32_precision)
b.cudnn.fp32_precision = "bf16"
b.fp32_precision = "x"
b.fp32_precision = "tf32" | (b.fp32_precision, b.cudnn.conv.fp32_precision, b.mkldnn.rnn.fp32_precision)
b.mkldnn.matmul.fp32_precision = "bf16" | (b.mkldnn.matmul.fp32_precision, b.mkldnn.conv.fp32_precision, b.fp32_precision)
b.opt_einsum.is_available()
b.opt_einsum.set_flags(True, "auto")
b.mha.set_fastpath_enabled(False) | b.mha.get_fastpath_enabled()
b.quantized.engine = "foo"
(b.mps.is_available(), b.mps.is_built())
b.mps.is_macos13_or_newer()
(b.cusparselt.is_available(), b.cusparselt.version(), b.cusparselt.get_max_alg_id(), b.kleidiai.is_available())
b.miopen.immediate = 3
(t.__version__ > "2.9", t.__version__ >= (2, 13), t.__version__ < "2.13.1", t.__version__ < "3", t.__version__ > "x")
(t.version.cuda, t.version.hip, t.version.debug)
t.backends.flags_frozen()
b.disable_global_flags(); b.cudnn.enabled = False
b.disable_global_flags(); b.fp32_precision = "tf32"
b.disable_global_flags(); b.cudnn.fp32_precision = "tf32"
b.disable_global_flags(); b.cudnn.allow_tf32 = False
b.disable_global_flags(); b.mkldnn.fp32_precision = "tf32"
b.disable_global_flags(); b.miopen.immediate = True
b.disable_global_flags(); b.cudnn.conv.fp32_precision = "tf32" | b.cudnn.conv.fp32_precision
b.disable_global_flags(); b.mkldnn.conv.fp32_precision = "bf16" | b.mkldnn.conv.fp32_precision
b.disable_global_flags(); b.cuda.matmul.allow_tf32 = True | b.cuda.matmul.allow_tf32
b.disable_global_flags(); b.cuda.matmul.fp32_precision = "tf32" | b.cuda.matmul.fp32_precision
b.disable_global_flags(); b.cuda.matmul.allow_fp16_accumulation = True | b.cuda.matmul.allow_fp16_accumulation
b.disable_global_flags(); t.set_float32_matmul_precision("high") | t.get_float32_matmul_precision()
b.disable_global_flags(); b.cuda.enable_flash_sdp(False) | b.cuda.flash_sdp_enabled()
b.disable_global_flags(); b.mha.set_fastpath_enabled(False) | b.mha.get_fastpath_enabled()
b.disable_global_flags(); b.cudnn.set_flags(_benchmark=True) | b.cudnn.benchmark
b.disable_global_flags(); found = b.nnpack.set_flags(True) | found
b.disable_global_flags(); b.cudnn.set_flags(True, True) | (b.cudnn.benchmark, b.cudnn.enabled)
b.disable_global_flags(); f = b.cudnn.flags(benchmark=True); f.__enter__(); b.cudnn.benchmark = False
"""
CASES = {line.strip(): line for line in STATES.strip().splitlines()}


def initial(torch: Any) -> None:
    """torch's defaults."""
    b = torch.backends
    name = b.__name__
    import_module(name + ".cudnn.rnn"), import_module(name.rpartition(".")[0] + ".utils.deterministic")
    with getattr(b, "__allow_nonbracketed_mutation")():  # noqa: B009  # a name that classes would mangle
        torch.use_deterministic_algorithms(False)
        torch.utils.deterministic.fill_uninitialized_memory = True
        torch.set_warn_always(False)
        torch.set_default_dtype(torch.float32)
        b.cudnn.enabled, b.cudnn.benchmark, b.cudnn.deterministic, b.mkldnn.enabled = True, False, False, True
        b.mha.set_fastpath_enabled(True)
        b.cuda.enable_flash_sdp(True), b.cuda.enable_math_sdp(True)
        b.cuda.matmul.allow_fp16_accumulation = False
        b.fp32_precision = b.cudnn.fp32_precision = b.mkldnn.conv.fp32_precision = b.mkldnn.rnn.fp32_precision = "none"
        torch.set_float32_matmul_precision("highest")
        b.cudnn.allow_tf32 = True


def outcome(torch: Any, case: str) -> Any:
    """The value of what stands behind the bar, after what stands before it; warnings, too, that torch gives each time."""
    program, _, asked = CASES[case].partition(" | ")
    initial(torch)
    names: dict[str, Any] = {"t": torch, "b": torch.backends}

    def run() -> Any:
        if not asked and re.fullmatch(r"[^=]*(\(.*\))?[^=]*", program):
            return shown(torch, eval(program, names))
        exec(program, names)
        return shown(torch, eval(asked, names)) if asked else None

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = attempted(run)
    initial(torch)
    texts = {str(w.message).partition(" (Triggered")[0] for w in told}
    return {"found": found, "warned": sorted([text for text in texts if "TF32" not in text and "default_" not in text])}


def shown(torch: Any, value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, (list, tuple)):
        return [shown(torch, v) for v in value]
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


TABLE = Table("settings", CASES, outcome)
