"""The old place of vmap, under the names that programs still import from here."""

from __future__ import annotations

import warnings
from typing import Any

from autograd_tape.annotations import Fn
from .func._vmap import mapped
from .func._vmap import vmap as _current

__all__ = ["vmap"]


def vmap(func: Fn, in_dims: Any = 0, out_dims: Any = 0) -> Fn:
    """`torch.vmap`, with a warning that it has moved."""
    warnings.warn("Please use torch.vmap instead of torch._vmap_internals.vmap.", FutureWarning, stacklevel=2)
    return _current(func, in_dims, out_dims)


def _vmap(func: Fn, in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Fn:
    """vmap; with `allow_none_pass_through` outputs that are None stay None."""
    def wrapped(*args: object) -> object:
        try:
            return carry_out(*args)
        except RuntimeError as error:
            if str(error).startswith("vmap: called random operation"):  # the old vmap knew no randomness modes
                raise RuntimeError("vmap: We do not yet support calling random operations inside of vmap. Please perform random operations "
                                   "outside of vmap as a workaround") from None
            raise

    def carry_out(*args: Any) -> object:
        if not allow_none_pass_through:
            return mapped(func, in_dims, out_dims, "error", None, args, {})
        places: list[object] = []

        def without_none(*examples: object) -> object:
            result = func(*examples)
            outputs = result if isinstance(result, tuple) else (result,)
            places[:] = [isinstance(result, tuple), *[o is not None for o in outputs]]
            return tuple([o for o in outputs if o is not None])

        found = iter(mapped(without_none, in_dims, out_dims, "error", None, args, {}))
        outputs = tuple([next(found) if there else None for there in places[1:]])
        return outputs if places[0] else outputs[0]

    return wrapped
