"""torch.func: functions of functions. grad, vjp, jvp, Jacobians and vmap, which nest in any way."""

from typing import TYPE_CHECKING

from . import _batching, _checks as _checks, _custom, _pull, _whole  # _checks adds to `autograd_tape.check_operation`
from .._calls.above import above as _above
from .._calls.absent import on_demand as _on_demand
from ._levels import transforming_functions as _transforming
from ._grad import grad, grad_and_value, jvp, linearize, vjp
from ._jacobian import hessian, jacfwd, jacrev
from ._vmap import debug_unwrap, vmap

# Where transforms take part: each operation, Function.apply, autograd.grad, and random numbers.
_above.apply_under_transforms, _above.grad_under_transforms = _custom.apply, _pull.grad_under_transforms
_above.drawn = _batching.drawn
_above.has_tangents, _above.transforming_functions = _whole.has_tangents, _transforming

if TYPE_CHECKING:
    from ._functional import functionalize
    from ._modules import functional_call, replace_all_batch_norm_modules_, stack_module_state

_LAZY = {"functional_call": "_modules", "functionalize": "_functional", "replace_all_batch_norm_modules_": "_modules",
         "stack_module_state": "_modules"}

_on_demand(__name__, _LAZY)

__all__ = ["debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
           "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]
