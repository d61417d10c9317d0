"""torch.func: functions of functions. grad, vjp, jvp, Jacobians and vmap, which nest in any way."""

from ._grad import grad, grad_and_value, jvp, linearize, vjp
from ._jacobian import hessian, jacfwd, jacrev
from ._vmap import debug_unwrap, vmap

_LAZY = frozenset(["functional_call", "functionalize", "replace_all_batch_norm_modules_", "stack_module_state"])


def __getattr__(name: str) -> object:
    """What needs torch.nn, which is imported then."""
    if name not in _LAZY:
        raise AttributeError(f"module 'torch.func' has no attribute '{name}'")
    from . import _modules

    return getattr(_modules, name)


__all__ = ["debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
           "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]
