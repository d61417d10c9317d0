"""torch.ao.quantization.stubs: where numbers are to be quantized, and where no longer. They hand on what they get."""

from __future__ import annotations

from ..._calls.absent import absences as _absences
from ...nn import Module


class QuantStub(Module):
    """Hands on its argument; marks where quantized tensors would begin.

    Args:
        qconfig: how they would be quantized; an attribute where it is given.
    """

    def __init__(self, qconfig: object = None) -> None:
        Module.__init__(self)
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: object) -> object:
        """The argument."""
        return x


class DeQuantStub(Module):
    """As QuantStub; marks where quantized tensors would end."""

    __init__, forward = QuantStub.__init__, QuantStub.forward


class QuantWrapper(Module):
    """A network between both marks.

    Args:
        module: the network, whose `qconfig`, if any, is that of the marks.
    """

    def __init__(self, module: Module) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(qconfig))
        self.add_module("dequant", DeQuantStub(qconfig))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X: object) -> object:
        """What the network makes of the argument."""
        return self.dequant(self.module(self.quant(X)))


_absences(__name__)
