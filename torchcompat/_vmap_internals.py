"""The old place of vmap, under the names that programs still import from here, with the old rules: outputs are one tensor or a tuple of
tensors, dimensions are counted from the front, arguments have no keywords."""

from __future__ import annotations

import functools
from typing import Any

from autograd_tape import warned
from autograd_tape.annotations import Fn
from .func._vmap import dimensions_of, mapped, name_of
from ._tensor import Tensor

__all__ = ["vmap"]


def vmap(func: Fn, in_dims: Any = 0, out_dims: Any = 0) -> Fn:
    """`torch.vmap`, with a warning that it has moved."""
    warned.warn("Please use `torch.vmap` instead of `torch._vmap_internals.vmap`.", FutureWarning)
    return _vmap(func, in_dims, out_dims)


def _vmap(func: Fn, in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Fn:
    """vmap; with `allow_none_pass_through` outputs that are None stay None.

    Raises:
        ValueError: dimensions, arguments or outputs are not what the old vmap takes.
    """
    name = name_of(func)

    @functools.wraps(func, updated=())
    def wrapped(*args: Any) -> Any:
        _check_out_dims(out_dims, name)
        _check_in_dims(in_dims, args, name)
        places: list[bool] = []

        def examples(*given: object) -> object:
            result = func(*given)
            if not allow_none_pass_through:
                _check_outputs(result, name)
            outputs = result if isinstance(result, tuple) else (result,)
            if isinstance(out_dims, tuple) and len(out_dims) != len(outputs):
                raise ValueError(f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must have one dim per output (got {len(outputs)} "
                                 f"outputs) of {name}.")
            places[:] = [isinstance(result, tuple), *[o is not None for o in outputs]]
            return tuple([o for o in outputs if o is not None])

        try:
            found = iter(mapped(examples, in_dims, out_dims, "error", None, args, {}))
        except RuntimeError as error:
            if str(error).startswith("vmap: called random operation"):  # the old vmap knew no randomness modes
                raise RuntimeError("vmap: We do not yet support calling random operations inside of vmap. Please perform random operations "
                                   "outside of vmap as a workaround") from None
            raise
        outputs = tuple([next(found) if there else None for there in places[1:]])
        return outputs if places[0] else outputs[0]

    return wrapped


def _check_out_dims(out_dims: Any, name: str) -> None:
    if not isinstance(out_dims, int) and not (isinstance(out_dims, tuple) and all([isinstance(d, int) for d in out_dims])):
        raise ValueError(f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int or a tuple of int representing where in the "
                         "outputs the vmapped dimension should appear.")


def _check_in_dims(in_dims: Any, args: tuple[Any, ...], name: str) -> None:
    """Refuses dimensions that are in no tuple, or counted from the end."""
    where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(f"{where}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
                         f"{type(in_dims)}.")
    for x, d in zip(*dimensions_of(in_dims, args, name)[:2]) if args else ():
        if isinstance(x, Tensor) and isinstance(d, int) and not 0 <= d < x.dim():
            raise ValueError(f"{where}: Got in_dim={d} for some input, but that input is a Tensor of dimensionality {x.dim()} so expected "
                             f"in_dim to satisfy 0 <= in_dim < {x.dim()}.")


def _check_outputs(outputs: object, name: str) -> None:
    if isinstance(outputs, Tensor):
        return
    if not isinstance(outputs, tuple):
        raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(outputs)} as the return.")
    for i, output in enumerate(outputs):
        if not isinstance(output, Tensor):
            raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(output)} for return {i}.")
