"""Tracers of other kinds."""

from typing import TYPE_CHECKING

from torchcompat._calls.absent import absent as _absent, submodules as _submodules
from importlib import import_module as _import_module

if TYPE_CHECKING:
    from . import (
        const_fold as const_fold,
        graph_gradual_typechecker as graph_gradual_typechecker,
        proxy_tensor as proxy_tensor,
        refinement_types as refinement_types,
        rewriter as rewriter,
        unification as unification,
        unify_refinements as unify_refinements,
    )


if not TYPE_CHECKING:  # what stands here is known, and no other name
    def __getattr__(name: str) -> object:
        if name in _submodules(__name__):
            return _import_module(f".{name}", __name__)
        raise _absent(__name__, name)
