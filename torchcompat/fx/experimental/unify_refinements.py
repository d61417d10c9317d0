"""Types of all nodes of a graph, from the annotations of some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchcompat._calls.absent import absences as _absences
from torchcompat.fx.tensor_type import TensorType

from .graph_gradual_typechecker import Refine
from .refinement_types import Equality
from .unification import Var, unify

if TYPE_CHECKING:
    from torchcompat.fx.graph import Graph
    from torchcompat.fx.graph_module import GraphModule

__all__ = ["check_for_type_equality", "convert_eq", "infer_symbolic_types", "infer_symbolic_types_single_pass", "substitute_all_types",
           "substitute_solution_one_type", "unify_eq"]


def infer_symbolic_types_single_pass(traced: GraphModule) -> None:
    """Gives nodes types with variables for what is unknown, the same variable where sizes are known to be the same."""
    refinement = Refine(traced)
    refinement.refine()
    substitute_all_types(traced.graph, unify_eq(refinement.constraints))


def infer_symbolic_types(traced: GraphModule) -> None:
    """As a single pass, twice: which sizes are broadcast is known after the first. Variables become symbols of `sympy` then."""
    infer_symbolic_types_single_pass(traced)
    infer_symbolic_types_single_pass(traced)
    Refine(traced).symbolic_relations()


def convert_eq(list_of_eq: list[Equality]) -> tuple[tuple[object, ...], tuple[object, ...]]:
    """The left sides and the right sides."""
    return tuple([eq.lhs for eq in list_of_eq]), tuple([eq.rhs for eq in list_of_eq])


def unify_eq(list_of_eq: list[Equality]) -> dict[object, object]:
    """The values of variables that make all of the equalities true.

    Raises:
        TypeError: there are none.
    """
    found = unify(*convert_eq(list_of_eq))
    if found is False:
        raise TypeError("'bool' object is not iterable")
    return found


def substitute_solution_one_type(mapping: dict[object, object], t: object) -> object:
    """A type with the values of variables in their place."""
    if isinstance(t, Var):
        return mapping.get(t, t)
    if isinstance(t, TensorType):
        return TensorType(tuple([substitute_solution_one_type(mapping, size) for size in t.dims]))
    if isinstance(t, (list, tuple)):
        return type(t)([substitute_solution_one_type(mapping, inner) for inner in t])
    return t


def substitute_all_types(graph: Graph, mapping: dict[object, object]) -> None:
    """Puts values of variables in their place in the types of all nodes; `mapping` has no variables of its own among its values then."""
    for variable, value in list(mapping.items()):
        while isinstance(value, Var) and value in mapping:
            value = mapping[value]
        mapping[variable] = value
    for node in graph.nodes:
        node.type = substitute_solution_one_type(mapping, node.type)


def check_for_type_equality(g1: Graph, g2: Graph) -> bool:
    """Whether the nodes of two graphs have the same types."""
    return all([a.type == b.type for a, b in zip(g1.nodes, g2.nodes)])


_absences(__name__)
