"""jacrev, jacfwd, hessian: all derivatives of a function at once, by vmap over vjp or jvp."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from autograd_tape.annotations import Fn
from .._tensor import Tensor, frontend
from ..utils._pytree import tree_flatten, tree_map_only, tree_unflatten
from ._batched import BatchedTensor
from ._levels import vmap_levels
from ._grad import check_argnums, jvp_of, require_tensors, vjp_of
from ._vmap import vmap
from .._calls.shown import shown_in


def _basis(x: Tensor) -> Tensor:
    """The unit tensors of the shape of `x`, along dimension 0."""
    n = x._data.size
    return frontend.wrap(np.eye(n, dtype=x._data.dtype).reshape(n, *x._data.shape), x._k)


def jacrev(func: Fn, argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False, chunk_size: int | None = None,
           _preallocate_and_copy: bool = False) -> Fn:
    """A function that returns the Jacobian of `func`, row by row: reverse mode, for fewer outputs than inputs.

    Args:
        argnums: with respect to which arguments.
        has_aux: `func` returns (output, aux), the new function (Jacobian, aux).
        chunk_size: how many rows at a time; all where None.

    Returns:
        In the structure of the output, and for each of its tensors in the structure of the arguments, tensors of shape
        `output.shape + argument.shape`.

    >>> import torchcompat as torch
    >>> torch.func.jacrev(torch.square)(torch.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: object) -> object:
        check_argnums(argnums, len(args))
        called = functools.partial(func, **kwargs) if kwargs else func
        made = vjp_of(called, args, argnums, has_aux)
        output, vjp_fn = made[0], made[1]
        outputs, spec = tree_flatten(output)
        blocks = []
        for nr, o in enumerate(outputs):
            others = [frontend.zeros_like(x.detach()) for x in outputs]

            def row(v: object, nr: int = nr, others: list[Any] = others) -> object:
                return vjp_fn(tree_unflatten([v if i == nr else z for i, z in enumerate(others)], spec))

            n = o._data.size
            if n:
                rows = vmap(row, chunk_size=chunk_size)(_basis(o))
                flat, in_spec = tree_flatten(rows)
            else:
                flat, in_spec = tree_flatten(vjp_fn(tree_unflatten(others, spec)))
                flat = [frontend.new_zeros(g, (0, *g.shape)) for g in flat]
            blocks.append(tree_unflatten([frontend.reshape(g, (*o._data.shape, *g._data.shape[1:])) for g in flat], in_spec))
        result = tree_unflatten(blocks, spec)
        return (result, made[2]) if has_aux else result

    return wrapper


def jacfwd(func: Fn, argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *,
           randomness: str = "error") -> Fn:
    """A function that returns the Jacobian of `func`, column by column: forward mode, for fewer inputs than outputs. See `jacrev`.

    >>> import torchcompat as torch
    >>> torch.func.jacfwd(torch.square)(torch.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    @functools.wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: object) -> object:
        numbers = check_argnums(argnums, len(args))
        called = functools.partial(func, **kwargs) if kwargs else func
        flat, spec = tree_flatten(tuple([args[i] for i in numbers]))
        require_tensors(flat)
        kept: list[object] = []
        columns: list[list[object]] = []  # per input, per output
        out_spec = None
        for nr, x in enumerate(flat):
            others = [frontend.zeros_like(y.detach()) for y in flat]

            def column(v: Tensor, nr: int = nr, others: list[Tensor] = others) -> object:
                tangents = tree_unflatten([v if i == nr else z for i, z in enumerate(others)], spec)
                result = jvp_of(called, args, tangents, numbers, False, has_aux)
                if has_aux:
                    level = vmap_levels()[-1]  # the one over the basis
                    kept.append(tree_map_only(BatchedTensor, lambda y: frontend.select(y._value, y._bdim, 0) if y._level is level else y,
                                              result[2]))
                return result[1]

            if x._data.size:
                pushed = vmap(column, randomness=randomness, out_dims=-1)(_basis(x))
            else:
                pushed = vmap(column, randomness=randomness,
                              out_dims=-1)(frontend.zeros_like(frontend.expand(frontend.unsqueeze(x.detach(), 0),
                                                                                                       (1, *x._data.shape))))
            outputs, out_spec = tree_flatten(pushed)
            columns.append([frontend.reshape(o, (*o._data.shape[:-1], *x._data.shape)) if x._data.size else
                            frontend.new_zeros(o, (*o.shape[:-1], *x._data.shape)) for o in outputs])
        blocks = [tree_unflatten(list(row), spec) for row in zip(*columns)]
        result = tree_unflatten([b[0] if isinstance(argnums, int) else b for b in blocks], out_spec)  # type: ignore[arg-type]
        return (result, kept[0]) if has_aux else result

    return wrapper


def hessian(func: Fn, argnums: int | tuple[int, ...] = 0) -> Fn:
    """A function that returns the second derivatives of `func`: forward over reverse mode.

    >>> import torchcompat as torch
    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


shown_in("torchcompat.func", hessian, jacfwd, jacrev)
