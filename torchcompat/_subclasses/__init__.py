"""torch._subclasses: tensors without elements that stand for others."""

from .._calls.absent import on_demand as _on_demand

_on_demand(__name__, {name: ".fake_tensor" for name in ("DynamicOutputShapeException", "FakeTensor", "FakeTensorMode",
                                                        "UnsupportedFakeTensorException")})
