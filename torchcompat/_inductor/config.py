"""Settings of torch's own compiler. They are kept as programs set them: where it is meant, programs run as they are."""

import sys

from torchcompat._dynamo.config import install

install(sys.modules[__name__], {
    "benchmark_kernel": False,
    "compile_threads": 2,
    "conv_1x1_as_mm": False,
    "coordinate_descent_check_all_directions": False,
    "coordinate_descent_tuning": False,
    "cpp_wrapper": False,
    "debug": False,
    "epilogue_fusion": True,
    "fallback_random": False,
    "force_fuse_int_mm_with_mul": False,
    "freezing": False,
    "fx_graph_cache": True,
    "joint_graph_constant_folding": True,
    "max_autotune": False,
    "max_autotune_gemm_backends": "ATEN,TRITON,CPP",
    "shape_padding": True,
    "split_reductions": True,
    "use_mixed_mm": True,
})
