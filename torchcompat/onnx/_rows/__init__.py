"""The translations of operations into nodes of ONNX, by what they are about; see `onnx._table`."""

from . import elementwise, making, networks, recurrent, reductions, shapes
