"""torch.backends.quantized: this build has no engine for quantized tensors."""

from __future__ import annotations

from ._flags import FlagModule

supported_engines: list[str] = ["none"]
_NAMES = ("none", "fbgemm", "qnnpack", "onednn", "x86")


class QuantizedEngine(FlagModule):
    """The module, whose `engine` is "none"."""

    @property
    def engine(self) -> str:
        """The engine that computes with quantized tensors."""
        return "none"

    @engine.setter
    def engine(self, value: str) -> None:
        if value not in _NAMES:
            raise RuntimeError(f"{value} is not a valid value for quantized engine")
        if value not in supported_engines:
            raise RuntimeError(f"quantized engine {value.upper()} is not supported")


QuantizedEngine.become(__name__)
