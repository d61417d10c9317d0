"""torch.func: functions of functions. grad, vjp, jvp, Jacobians and vmap, which nest in any way."""

from .. import _tensor
from .. import random as _random
from .._tensor import frontend as _frontend
from ..autograd import engine as _engine
from ..autograd import function as _function
from ._batching import drawn as _drawn
from ._custom import apply as _apply
from ._levels import TRANSFORM as _TRANSFORM
from ._levels import transforming_functions as _transforming
from ._pull import grad_under_transforms as _grad_under_transforms
from ._grad import grad, grad_and_value, jvp, linearize, vjp
from ._jacobian import hessian, jacfwd, jacrev
from ._vmap import debug_unwrap, vmap

# Where transforms take part: each operation, Function.apply, autograd.grad, and random numbers.
_TRANSFORM.frontend = _frontend
_function.transforms = _apply
_engine.transforms = _grad_under_transforms
_random.mapped = _drawn
_tensor.transforming = _transforming

_LAZY = {"functional_call": "_modules", "functionalize": "_functional", "replace_all_batch_norm_modules_": "_modules",
         "stack_module_state": "_modules"}


def __getattr__(name: str) -> object:
    """What needs more than the others, which is imported then."""
    if name not in _LAZY:
        raise AttributeError(f"module 'torch.func' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f".{_LAZY[name]}", __name__), name)


__all__ = ["debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
           "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]
