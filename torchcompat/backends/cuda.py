"""torch.backends.cuda where there is no CUDA: its flags are kept, and what would need it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

from autograd_tape.annotations import DeviceLike, Keywords
from autograd_tape.modes import attention_kernels as _sdp
from .._calls.absent import absences as _absences
from . import _flags


def is_built() -> bool:
    """False."""
    return False


class _LinalgBackend(IntEnum):
    Default, Cusolver, Magma = 0, 1, 2


class _BlasBackend(IntEnum):
    Default, Cublas, Cublaslt, Ck = 0, 1, 2, 3


class _ROCmFABackend(IntEnum):
    Default, AOTriton, Ck = 0, 1, 2


_LinalgBackends: dict[str, _LinalgBackend] = {"default": _LinalgBackend(0), "cusolver": _LinalgBackend(1), "magma": _LinalgBackend(2)}
_BlasBackends: dict[str, _BlasBackend] = {
    "default": _BlasBackend(0), "cublas": _BlasBackend(1), "hipblas": _BlasBackend(1), "cublaslt": _BlasBackend(2),
    "hipblaslt": _BlasBackend(2), "ck": _BlasBackend(3)}
_ROCmFABackends: dict[str, _ROCmFABackend] = {"default": _ROCmFABackend(0), "aotriton": _ROCmFABackend(1), "ck": _ROCmFABackend(2)}


def _preferred(kinds: Keywords, now: object, names: dict[str, str], backend: Any) -> Any:
    """What is preferred; refuses what only a build with CUDA has."""
    if backend is None:
        return now
    if isinstance(backend, str):
        if backend not in kinds:
            raise RuntimeError(f"Unknown input value. Choose from: {', '.join(kinds)}.")
        backend = kinds[backend]
    elif not isinstance(backend, type(now)):
        raise RuntimeError("Unknown input value type.")
    if (missing := names.get(backend.name)) is not None:
        raise RuntimeError(f"Cannot set preferred backend to {missing} if PyTorch has not been compiled with {missing}.")
    return now


def preferred_linalg_library(backend: object = None) -> _LinalgBackend:
    """The library of linear algebra on CUDA.

    Raises:
        RuntimeError: one is asked for that this build lacks, or that is none.
    """
    found: _LinalgBackend = _preferred(_LinalgBackends, _LinalgBackend.Default, {"Cusolver": "cuSOLVER", "Magma": "MAGMA"}, backend)
    return found


def preferred_blas_library(backend: object = None) -> _BlasBackend:
    """The library of matrix products on CUDA; refuses as `preferred_linalg_library` does."""
    found: _BlasBackend = _preferred(_BlasBackends, _BlasBackend.Cublas, {"Cublaslt": "cuBLASLt", "Ck": "CK"}, backend)
    return found


def preferred_rocm_fa_library(backend: object = None) -> _ROCmFABackend:
    """The library of attention on ROCm."""
    found: _ROCmFABackend = _preferred(_ROCmFABackends, _ROCmFABackend.Default, {"Ck": "CK"}, backend)
    return found


class cuBLASModule:
    """Flags of matrix products on CUDA."""

    _reductions = {"allow_fp16_reduced_precision_reduction": True, "allow_bf16_reduced_precision_reduction": True,
                   "allow_fp16_accumulation": False}

    def __getattr__(self, name: str) -> Any:
        if name == "allow_tf32":
            tf32 = _flags.precision("cuda", "matmul") == "tf32"
            if tf32 != (_flags.legacy["matmul"] != "highest"):
                raise RuntimeError(_flags.MIXED.format("whether allow_tf32_new is enabled for cuBlas matmul",
                                                       "TF32 status for cublas matmul"))
            return tf32
        if name == "fp32_precision":
            return _flags.precision("cuda", "matmul")
        if name in self._reductions:
            return self._reductions[name]
        raise AttributeError("Unknown attribute " + name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "allow_tf32":
            if not isinstance(value, bool):
                raise RuntimeError(f"set_allow_tf32_cublas expects a bool, but got {type(value).__name__}")
            _flags.legacy["matmul"] = "high" if value else "highest"
            _flags.set_precision("cuda", "matmul", "tf32" if value else "ieee")
        elif name == "fp32_precision":
            _flags.set_precision("cuda", "matmul", value)
        elif name in self._reductions:
            self._reductions[name] = value
        else:
            raise AttributeError("Unknown attribute " + name)


class cuFFTPlanCacheManager:
    """Caches of plans, of which there are none: there is no device."""

    caches: list[object] = []

    def __getitem__(self, device: DeviceLike) -> Any:
        index = getattr(device, "index", device)
        raise RuntimeError(f"cufft_plan_cache: expected 0 <= device index < 0, but got device with index {index}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AssertionError("Torch not compiled with CUDA enabled")


matmul = cuBLASModule()
cufft_plan_cache = cuFFTPlanCacheManager()


def _switch(kind: str, asks: str, sets: str) -> tuple[Callable[[], bool], Callable[[bool], None]]:
    """(the function that says whether it may, named `asks`; the one that sets it, named `sets`)."""
    def enabled() -> bool:
        return _sdp[kind]

    def enable(enabled: bool) -> None:
        _sdp[kind] = enabled

    for function, name, does in ((enabled, asks, "Whether"), (enable, sets, "Sets whether")):
        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"{does} `scaled_dot_product_attention` may use the kernel {kind!r}."
    return enabled, enable


flash_sdp_enabled, enable_flash_sdp = _switch("flash", "flash_sdp_enabled", "enable_flash_sdp")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _switch("mem_efficient", "mem_efficient_sdp_enabled",
                                                              "enable_mem_efficient_sdp")
math_sdp_enabled, enable_math_sdp = _switch("math", "math_sdp_enabled", "enable_math_sdp")
cudnn_sdp_enabled, enable_cudnn_sdp = _switch("cudnn", "cudnn_sdp_enabled", "enable_cudnn_sdp")
fp16_bf16_reduction_math_sdp_allowed, allow_fp16_bf16_reduction_math_sdp = _switch(
    "fp16_bf16_reduction", "fp16_bf16_reduction_math_sdp_allowed", "allow_fp16_bf16_reduction_math_sdp")


def is_flash_attention_available() -> bool:
    """False."""
    return False


def is_ck_sdpa_available() -> bool:
    """False."""
    return False


class SDPAParams:
    """A call of `scaled_dot_product_attention`: what functions that ask for a kernel take."""

    _takes = ("torch.Tensor", "torch.Tensor", "torch.Tensor", "torch.Tensor | None", "typing.SupportsFloat | typing.SupportsIndex", "bool",
              "bool")

    def __init__(self, *args: Any) -> None:
        if len(args) != len(self._takes):
            takes = ", ".join([f"arg{i}: {t}" for i, t in enumerate(self._takes)])
            raise TypeError("__init__(): incompatible constructor arguments. The following argument types are supported:\n"
                            f"    1. torch._C._SDPAParams({takes})\n\nInvoked with: {', '.join(map(repr, args))}")
        self.query, self.key, self.value, self.attn_mask, self.dropout, self.is_causal, self.enable_gqa = args


def _never(name: str) -> Callable[..., bool]:
    """A function that says of each call that a kernel for CUDA does not take it."""
    def can_use(params: SDPAParams, debug: bool = False) -> bool:
        """False: there is no CUDA."""
        if not isinstance(params, SDPAParams):
            raise TypeError(f"_{name}(): incompatible function arguments. The following argument types are supported:\n"
                            f"    1. (arg0: torch._C._SDPAParams, arg1: bool) -> bool\n\nInvoked with: {params!r}, {debug!r}")
        return False

    can_use.__name__ = can_use.__qualname__ = name
    return can_use


can_use_flash_attention, can_use_efficient_attention, can_use_cudnn_attention = map(
    _never, ("can_use_flash_attention", "can_use_efficient_attention", "can_use_cudnn_attention"))


@contextmanager
def sdp_kernel(enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True,
               enable_cudnn: bool = True) -> Iterator[None]:
    """A block in which `scaled_dot_product_attention` may use these kernels alone."""
    before = dict(_sdp)
    _sdp.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _sdp.update(before)


def _workspace(library: str, size: int | None) -> int:
    raise AttributeError(f"module 'torch._C' has no attribute '_cuda_{'get' if size is None else 'set'}Cublas{library}WorkspaceSize'")


def cublas_workspace_size(size: int | None = None) -> int:
    """Refuses: AttributeError."""
    return _workspace("", size)


def cublaslt_workspace_size(size: int | None = None) -> int:
    """Refuses: AttributeError."""
    return _workspace("Lt", size)


def blas_workspace_size(size: int | None = None, backend: Any = None) -> int:
    """Refuses: AttributeError, RuntimeError of a backend that there is not."""
    if backend not in (None, "default", "cublas", "cublaslt", "hipblas", "hipblaslt"):
        raise RuntimeError("Unknown backend type." if not isinstance(backend, str) else
                           f"Unknown input value. Choose from: {', '.join(_BlasBackends)}.")
    return _workspace("Lt" if str(backend).endswith("lt") and backend != "default" else "", size)


_absences(__name__)
