"""torch.utils: data loading, checkpointing, hooks, pytrees. Its modules are imported at first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._calls.absent import on_demand as _on_demand

if TYPE_CHECKING:
    from . import benchmark as benchmark, checkpoint as checkpoint, data as data, deterministic as deterministic, dlpack as dlpack
    from . import hooks as hooks
    from .._tensor import Tensor
    from . import flop_counter as flop_counter, mkldnn as mkldnn, module_tracker as module_tracker, serialization as serialization
    from . import weak as weak
    from .throughput_benchmark import ThroughputBenchmark as ThroughputBenchmark

_on_demand(__name__, {"ThroughputBenchmark": "throughput_benchmark"})


def set_module(obj: Any, mod: str) -> None:
    """Has an object say that it is of a module.

    Raises:
        TypeError: the name of the module is no text.
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchanges all that two tensors are, but for their identity: values, class, attributes, gradients and hooks. Whoever holds one of
    them finds the other in it.

    Raises:
        RuntimeError: a weak reference is held to one of them, or their classes have different slots.

    >>> import torchcompat as torch
    >>> a, b = torch.ones(2), torch.nn.Parameter(torch.zeros(1))
    >>> torch.utils.swap_tensors(a, b)
    >>> a, b
    (Parameter containing:
    tensor([0.], requires_grad=True), tensor([1., 1.]))
    """
    from ._swap import swap

    swap(t1, t2)
