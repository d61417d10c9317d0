"""What `autograd_tape.check_operation` asks of operations under transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd_tape.ops import Record, Sample
from autograd_tape.samples import CHECKS, bind

from .._tensor import Tensor, frontend
from ..utils._pytree import tree_flatten, tree_unflatten
from ._grad import jvp
from ._vmap import vmap


def _of_arrays(rec: Record, sample: Sample) -> tuple[Any, list[np.ndarray]]:
    """(a function of tensors in the place of the arrays in double precision, these); its result is a tuple of tensors."""
    flat, spec = tree_flatten(bind(rec, sample))
    places = [i for i, x in enumerate(flat) if isinstance(x, np.ndarray) and x.dtype == np.float64]

    def function(*tensors: object) -> Any:
        given = [frontend.wrap(np.array(x)) if isinstance(x, (np.ndarray, np.generic)) else x for x in flat]
        for i, t in zip(places, tensors):
            given[i] = t
        a, k = tree_unflatten(given, spec)
        return tuple([t for t in tree_flatten(frontend.function(rec.name)(*a, **k))[0] if isinstance(t, Tensor)])

    return function, [flat[i] for i in places]


def _mapped(rec: Record, sample: Sample) -> bool:
    """All examples at once give what a loop gives; with one argument a batch, and with all."""
    function, arrays = _of_arrays(rec, sample)
    if not arrays or rec.field("no_vmap") is not None or rec.field("random"):
        return False
    for batched in ([True] * len(arrays), *[[i == k for i in range(len(arrays))] for k in range(len(arrays))]):
        wholes = [np.stack([a, a * 1.001, a * 0.999]) if b else a for a, b in zip(arrays, batched)]
        found = vmap(function, in_dims=tuple([0 if b else None for b in batched]))(*[frontend.wrap(w.copy()) for w in wholes])
        for i in range(3):
            expected = function(*[frontend.wrap(np.array(w[i] if b else w)) for w, b in zip(wholes, batched)])
            for f, e in zip(found, expected):
                assert f.dtype is e.dtype and f.shape[1:] == e.shape, f"{f.dtype} {f.shape}, not {e.dtype} {e.shape}"
                np.testing.assert_allclose(f[i].numpy(), e.numpy(), rtol=1e-9, atol=1e-12)
    return True


def _pushed(rec: Record, sample: Sample) -> bool:
    """Tangents are central differences."""
    function, arrays = _of_arrays(rec, sample)
    if not arrays or not rec.has_gradient or rec.field("no_forward") is not None or rec.field("random"):
        return False
    rng, step = np.random.default_rng(0), 1e-6
    directions = [rng.uniform(-1, 1, a.shape) for a in arrays]
    values, tangents = jvp(function, *[tuple([frontend.wrap(x.copy()) for x in xs]) for xs in (arrays, directions)])
    up, down = [function(*[frontend.wrap(a + s * step * d) for a, d in zip(arrays, directions)]) for s in (1, -1)]
    for v, t, u, d in zip(values, tangents, up, down):
        if v.dtype.is_floating_point:
            np.testing.assert_allclose(t.numpy(), (u.numpy() - d.numpy()) / (2 * step), rtol=1e-5, atol=1e-5)
    return True


CHECKS["vmap"], CHECKS["forward mode"] = _mapped, _pushed
