"""Tracers of other kinds."""

from typing import TYPE_CHECKING

from torchcompat._calls.absent import on_demand as _on_demand

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


_on_demand(__name__)
