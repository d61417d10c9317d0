"""torch.autograd. What a training loop does not need is imported at first use."""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .._calls.absent import absent, submodules
from .engine import backward, grad
from .function import Function
from .grad_mode import (
    enable_grad, inference_mode, is_multithreading_enabled, no_grad, set_grad_enabled, set_multithreading_enabled,
)

if TYPE_CHECKING:
    from . import (
        anomaly_mode as anomaly_mode, forward_ad as forward_ad, function as function, functional as functional, grad_mode as grad_mode,
        graph as graph, profiler as profiler, profiler_util as profiler_util, variable as variable,
    )
    from .anomaly_mode import detect_anomaly, set_detect_anomaly
    from .gradcheck import GradcheckError, gradcheck, gradgradcheck
    from .variable import Variable

_LAZY = {
    "GradcheckError": "gradcheck", "gradcheck": "gradcheck", "gradgradcheck": "gradcheck", "Variable": "variable",
    **dict.fromkeys(["kineto_available", "_profiler_enabled", "_supported_activities", "_add_metadata_json", "ProfilerActivity"],
                    "profiler"), "DeviceType": "profiler_util",
    "detect_anomaly": "anomaly_mode", "set_detect_anomaly": "anomaly_mode",
}

__all__ = [
    "Function", "GradcheckError", "Variable", "backward", "detect_anomaly", "enable_grad", "grad", "gradcheck", "gradgradcheck",
    "inference_mode", "is_multithreading_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled",
]


class _Package(ModuleType):
    """The package, whose `gradcheck` is the function, as torch's is, although importing the module of that name would put it there."""

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value.gradcheck if name == "gradcheck" and isinstance(value, ModuleType) else value)


sys.modules[__name__].__class__ = _Package


if not TYPE_CHECKING:  # what stands here is known, and no other name
    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name == "torch":
            return sys.modules["torchcompat"]
        if name == "SavedTensor":
            from autograd_tape.saved import SavedTensor

            return SavedTensor
        if name in _LAZY:
            value = getattr(import_module(f".{_LAZY[name]}", __name__), name)
        elif name in submodules(__name__):
            value = import_module(f".{name}", __name__)
        else:
            raise absent(__name__, name)
        globals()[name] = value
        return value
