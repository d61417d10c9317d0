"""What `dynamic_shapes` says of inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._tensor import Tensor
from ._export import Input


def take_dynamic_shapes(shapes: Any, inputs: Sequence[Input], args: Sequence[Any], kwargs: Mapping[str, Any],
                        names: Sequence[str]) -> None:
    """Gives the inputs the names of their dimensions that may be of any size.

    Args:
        names: of the positional arguments.

    Raises:
        ValueError: what is said is not of the inputs' structure.
    """
    if shapes is None:
        return
    by_path = {x.path: x for x in inputs}
    counter = iter(range(len(inputs) * 8))

    def leaf(x: Input, said: Any) -> None:
        if said is None:
            return
        dims = said.items() if isinstance(said, Mapping) else enumerate(said)
        for axis, dim in dims:
            if dim is None or isinstance(dim, int) or getattr(dim, "name", None) == "STATIC":
                continue
            name = dim if isinstance(dim, str) else getattr(dim, "__name__", None) or f"s{next(counter)}"
            x.axes[axis % x.tensor.dim()] = name

    def visit(value: Any, said: Any, path: tuple[Any, ...]) -> None:
        if said is None:
            return
        if isinstance(value, Tensor):
            leaf(by_path[path], said)
        elif isinstance(value, (tuple, list)):
            if not isinstance(said, (tuple, list)) or len(said) != len(value):
                raise ValueError(f"dynamic_shapes has {said!r} for an argument of {len(value)} items")
            for i, (v, s) in enumerate(zip(value, said)):
                visit(v, s, (*path, i))
        elif isinstance(value, dict):
            for key, v in value.items():
                visit(v, said.get(key), (*path, key))

    if isinstance(shapes, Mapping):
        places = {name: (0, i) for i, name in enumerate(names)} | {name: (1, name) for name in kwargs}
        if any([key not in places for key in shapes]):
            raise ValueError("When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names "
                             f"{list(places)} of `inputs`, but here they are {list(shapes)}.")
        for key, said in shapes.items():
            path: tuple[Any, ...] = places[key]
            visit(kwargs[key] if path[0] == 1 else args[path[1]], said, path)
    else:
        for i, (value, said) in enumerate(zip([*args, *kwargs.values()], shapes)):
            visit(value, said, (0, i) if i < len(args) else (1, list(kwargs)[i - len(args)]))
