"""vmap: a function of examples as a function of batches."""

from __future__ import annotations

import functools
from typing import Any
from collections.abc import Callable

from autograd_tape.annotations import Fn, Keywords
from .._tensor import Tensor, frontend
from ..random import get_rng_state, set_rng_state
from ..utils._pytree import TreeSpec, _broadcast_to_and_flatten, tree_flatten, tree_unflatten
from ._batched import BatchedTensor, batched
from ._batching import is_example
from ._levels import VMAP, Level
from .._calls.shown import shown_in


def vmap(func: Fn, in_dims: int | tuple[object, ...] = 0, out_dims: int | tuple[int, ...] = 0, randomness: str = "error", *,
         chunk_size: int | None = None) -> Fn:
    """A function that carries out `func` for each example of a batch at once.

    Args:
        func: takes examples, returns tensors (in nested containers).
        in_dims: which dimension of each argument counts the examples, None for arguments that all examples share; a number for all, or
            in the (prefix of the) structure of the arguments.
        out_dims: where the examples are counted in each output.
        randomness: what random operations do: "error", the "same" for all examples, or "different" for each.
        chunk_size: how many examples at a time; all where None.

    >>> import torchcompat as torch
    >>> torch.vmap(torch.dot)(torch.tensor([[1., 2.], [3., 4.]]), torch.ones(2, 2))
    tensor([3., 7.])
    """
    check_randomness(randomness)
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func, updated=())
    def wrapped(*args: Tensor | int, **kwargs: object) -> object:
        return mapped(func, in_dims, out_dims, randomness, chunk_size, args, kwargs)

    return wrapped


def check_randomness(randomness: str) -> None:
    """RuntimeError where it is not what `vmap` takes."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")


def name_of(func: Fn) -> str:
    """What messages call a function."""
    return func.__name__ if hasattr(func, "__name__") else repr(func)


def mapped(func: Fn, in_dims: int | tuple[object, ...], out_dims: int | tuple[int, ...], randomness: str,
           chunk_size: int | Callable[[int], int] | None, args: tuple[Tensor | int, ...], kwargs: Keywords) -> Any:
    """One call of a mapped function. `chunk_size` may be told by the size of the batch."""
    name = name_of(func)
    _check_out_dims(out_dims, name)
    size, dims, flat, spec = _arguments(in_dims, args, name)

    def on(part: list[Any], n: int) -> tuple[list[Tensor], list[int], TreeSpec]:
        with Level(VMAP, n, randomness) as level:
            examples = [x if d is None else batched(level, x, d) for x, d in zip(part, dims)]
            result = func(*tree_unflatten(examples, spec), **kwargs)
            outputs, out_spec = tree_flatten(result)
            places = _out_places(out_dims, result, outputs, out_spec, name)
            return [_whole(level, o, d, name) for o, d in zip(outputs, places)], places, out_spec

    if callable(chunk_size):
        chunk_size = chunk_size(size)
    if chunk_size is None or chunk_size >= size:
        outputs, _, out_spec = on(flat, size)
        return tree_unflatten(outputs, out_spec)
    bounds = [(at, min(chunk_size, size - at)) for at in range(0, size, chunk_size)]
    numbers = get_rng_state() if randomness == "same" else None
    parts = []
    for at, n in bounds:
        if numbers is not None:
            set_rng_state(numbers)
        parts.append(on([x if d is None else frontend.narrow(x, d, at, n) for x, d in zip(flat, dims)], n))
    places, out_spec = parts[0][1:]
    joined = [column[0] if d is None else frontend.cat(list(column), d) for d, column in zip(places, zip(*[p[0] for p in parts]))]
    return tree_unflatten(joined, out_spec)


def _check_out_dims(out_dims: int | tuple[int, ...], name: str) -> None:
    if isinstance(out_dims, int):
        return
    leaves, _ = tree_flatten(out_dims)
    if not all(isinstance(d, int) or d is None for d in leaves):
        raise ValueError(f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
                         "representing where in the outputs the vmapped dimension should appear.")


def dimensions_of(in_dims: Any, args: tuple[Any, ...], name: str) -> tuple[list[Any], list[int | None], TreeSpec]:
    """(the leaves of the arguments, the dimension of each, the structure); ValueError where the two structures differ."""
    flat, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(tuple(in_dims) if isinstance(in_dims, list) else in_dims, spec)
    if dims is None:
        raise ValueError(f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the structure of `inputs`. "
                         f"in_dims has structure {tree_flatten(in_dims)[1]} but inputs has structure {spec}.")
    return flat, dims, spec


def _arguments(in_dims: int | tuple[object, ...], args: tuple[Tensor | int, ...], name: str) -> tuple[int, list[int | None],
               list[Tensor | int], TreeSpec]:
    """(number of examples, dimension per leaf of the arguments, the leaves, the structure)."""
    where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple, list)):
        raise ValueError(f"{where}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
                         f"{type(in_dims)}.")
    if not args:
        raise ValueError(f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
                         "function with no inputs. The latter is unsupported.")
    flat, dims, spec = dimensions_of(in_dims, args, name)
    sizes: list[int] = []
    for i, (x, d) in enumerate(zip(flat, dims)):
        if d is None:
            continue
        if not isinstance(d, int):
            raise ValueError(f"{where}: Got in_dim={d} for an input but in_dim must be either an integer dimension or None.")
        if not isinstance(x, Tensor):
            raise ValueError(f"{where}: Got in_dim={d} for an input but the input is of type {type(x)}. We cannot vmap over non-Tensor "
                             "arguments, please use None as the respective in_dim")
        n = x._data.ndim
        if not -n <= d < n:
            raise ValueError(f"{where}: Got in_dim={d} for some input, but that input is a Tensor of dimensionality {n} so expected in_dim "
                             f"to satisfy -{n} <= in_dim < {n}.")
        dims[i] = d % n
        sizes.append(x._data.shape[d])
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(n != sizes[0] for n in sizes):
        raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
                         "dimension")
    return sizes[0], dims, flat, spec


def _out_places(out_dims: int | tuple[int, ...], result: Tensor | tuple[Tensor, ...], outputs: list[Tensor], spec: TreeSpec,
                name: str) -> list[int]:
    """Where the examples are counted in each output."""
    for o in outputs:
        if not isinstance(o, Tensor) and out_dims is not None:
            raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(o)}. Did you mean to set out_dims= to "
                             "None for output?")
    if isinstance(result, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        return list(out_dims)
    places = _broadcast_to_and_flatten(out_dims, spec)
    if places is None:
        raise ValueError(f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`. "
                         f"out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {spec}.")
    return places


def _whole(level: Level, output: Any, dim: int | None, name: str) -> Tensor:
    """An output with its examples counted along dimension `dim`."""
    if dim is None:
        if is_example(output, level):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return output
    rank = output._data.ndim + 1
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    dim %= rank
    if not is_example(output, level):
        shape = output._data.shape
        return frontend.expand(frontend.unsqueeze(output, dim), (*shape[:dim], level.size, *shape[dim:]))
    value, bdim = output._value, output._bdim
    if bdim == dim:
        return value
    order = [d for d in range(rank) if d != bdim]
    order.insert(dim, bdim)
    return frontend.permute(value, tuple(order))


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor that holds the whole batch of an example; of the outermost vmap where `recurse`."""
    while isinstance(tensor, BatchedTensor):
        tensor = tensor._value
        if not recurse:
            break
    return tensor


shown_in("torchcompat.func", debug_unwrap, vmap)
