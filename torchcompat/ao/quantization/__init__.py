"""torch.ao.quantization: the places in a network where quantization would begin and end. There are no quantized tensors."""

from ..._calls.absent import on_demand as _on_demand
from .stubs import DeQuantStub as DeQuantStub, QuantStub as QuantStub, QuantWrapper as QuantWrapper

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]

_on_demand(__name__)
