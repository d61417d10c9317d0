"""Containers taken apart by a `TreeSpec` that is known beforehand: what may be indexed will do, a proxy too."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable

from torchcompat._calls.absent import absences as _absences
from torchcompat.utils._pytree import PyTree, TreeSpec, tree_flatten

FlattenFuncSpec = Callable[[PyTree, TreeSpec], list[PyTree]]
FlattenFuncExactMatchSpec = Callable[[PyTree, TreeSpec], bool]
SUPPORTED_NODES: dict[object, FlattenFuncSpec] = {}
SUPPORTED_NODES_EXACT_MATCH: dict[object, FlattenFuncExactMatchSpec | None] = {}


def register_pytree_flatten_spec(cls: PyTree, flatten_fn_spec: FlattenFuncSpec,
                                 flatten_fn_exact_match_spec: FlattenFuncExactMatchSpec | None = None) -> None:
    """Says how objects of a class are taken apart by a spec."""
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def tree_flatten_spec(pytree: object, spec: TreeSpec) -> list[PyTree]:
    """The leaves of a container, as the spec has them.

    Raises:
        RuntimeError: the container is another one.
    """
    if spec.is_leaf():
        return [pytree]
    if spec.type in SUPPORTED_NODES:
        children = SUPPORTED_NODES[spec.type](pytree, spec)
        return [leaf for child, inner in zip(children, _children(spec)) for leaf in tree_flatten_spec(child, inner)]
    leaves, real = tree_flatten(pytree)
    if spec != real:
        raise RuntimeError(f"Real spec {real} of object {pytree} is different from expected spec {spec}.")
    return leaves


def _children(spec: TreeSpec) -> list[TreeSpec]:
    found: PyTree = getattr(spec, "children_specs", None)
    return list(found if found is not None else spec.children())


def _as_long(xs: PyTree, spec: TreeSpec) -> bool:
    return len(xs) == spec.num_children


def _by_position(xs: PyTree, spec: TreeSpec) -> list[PyTree]:
    return [xs[i] for i in range(spec.num_children)]


register_pytree_flatten_spec(dict, lambda d, spec: [d[k] for k in spec.context], _as_long)
for _kind in (list, tuple, namedtuple):
    register_pytree_flatten_spec(_kind, _by_position, _as_long)

_absences(__name__)
