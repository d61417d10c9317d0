"""The package `functorch`, which comes with torch: the drop-in answers `import functorch` with it."""

from __future__ import annotations

from ..._calls.absent import on_demand as _on_demand
from ...version import __version__ as __version__
from ..deprecated import (combine_state_for_ensemble as combine_state_for_ensemble, functionalize as functionalize, grad as grad,
                          grad_and_value as grad_and_value, hessian as hessian, jacfwd as jacfwd, jacrev as jacrev, jvp as jvp,
                          make_functional as make_functional, make_functional_with_buffers as make_functional_with_buffers, vjp as vjp,
                          vmap as vmap)
from ..make_functional import FunctionalModule as FunctionalModule, FunctionalModuleWithBuffers as FunctionalModuleWithBuffers
from ..python_key import make_fx as make_fx

_on_demand(__name__)
