"""functorch's functions that `torch.func` has: each does what that one does, and warns that it has moved."""

from __future__ import annotations

import functools
from typing import Any

from autograd_tape import warned
from autograd_tape.annotations import Fn
from .. import func
from .._calls.absent import absences as _absences
from .._calls.shown import shown_in
from . import make_functional as _made


def _moved(function: Fn, to: str) -> Any:
    """`function` with a warning that programs should use the function named `to`."""
    name = function.__name__
    text = (f"We've integrated functorch into PyTorch. As the final step of the integration, `functorch.{name}` is deprecated as of "
            "PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. "
            f"Please use `{to}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` migration guide for more details "
            "https://pytorch.org/docs/main/func.migrating.html")

    @functools.wraps(function)
    def moved(*args: object, **kwargs: object) -> Any:
        warned.warn(text, FutureWarning)
        return function(*args, **kwargs)

    shown_in(__name__, moved)
    return moved


vmap = _moved(func.vmap, "torch.vmap")
grad, grad_and_value = _moved(func.grad, "torch.func.grad"), _moved(func.grad_and_value, "torch.func.grad_and_value")
vjp, jvp = _moved(func.vjp, "torch.func.vjp"), _moved(func.jvp, "torch.func.jvp")
jacrev, jacfwd = _moved(func.jacrev, "torch.func.jacrev"), _moved(func.jacfwd, "torch.func.jacfwd")
hessian, functionalize = _moved(func.hessian, "torch.func.hessian"), _moved(func.functionalize, "torch.func.functionalize")
make_functional = _moved(_made.make_functional, "torch.func.functional_call")
make_functional_with_buffers = _moved(_made.make_functional_with_buffers, "torch.func.functional_call")
combine_state_for_ensemble = _moved(_made.combine_state_for_ensemble, "torch.func.stack_module_state")

_absences(__name__)
