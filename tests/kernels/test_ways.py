"""The estimates by which convolutions choose their way, against the clock."""

from __future__ import annotations

from math import exp, log
from time import process_time

import numpy as np
import pytest

from autograd_tape.executors.kernels import _on_demand, conv, sharing, ways

# input, weight, stride, padding, groups
GEOMETRIES = {
    "stem": ((1, 3, 64, 64), (32, 3, 7, 7), (2, 2), (3, 3), 1),
    "patches": ((1, 3, 112, 112), (48, 3, 16, 16), (16, 16), (0, 0), 1),
    "one image": ((1, 32, 28, 28), (32, 32, 3, 3), (1, 1), (1, 1), 1),
    "small images": ((4, 64, 7, 7), (64, 64, 3, 3), (1, 1), (1, 1), 1),
    "strided": ((2, 32, 28, 28), (64, 32, 3, 3), (2, 2), (1, 1), 1),
    "groups": ((2, 64, 14, 14), (64, 4, 3, 3), (1, 1), (1, 1), 16),
    "signals": ((2, 1, 4000), (16, 1, 40), (4,), (0,), 1),
    "videos": ((1, 8, 6, 14, 14), (16, 8, 3, 3, 3), (1, 1, 1), (1, 1, 1), 1),
}


def seconds(call) -> float:
    call()
    times = []
    for _ in range(5):
        started = process_time()
        call()
        times.append(process_time() - started)
    return min(times)


@pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there are no tiles")
def test_the_way_that_is_chosen_is_not_much_slower_than_the_other(monkeypatch, rng):
    before = sharing.get_num_threads()
    sharing.set_num_threads(1)  # processor time counts waiting threads
    losses, chosen = {}, []
    choose = ways.tiles_win
    try:
        for name, (x_shape, w_shape, stride, padding, groups) in GEOMETRIES.items():
            x, w = rng.standard_normal(x_shape).astype("f"), rng.standard_normal(w_shape).astype("f")
            flat = x.ndim == 4
            forward, backward = (conv.conv2d, conv.conv2d_backward) if flat else (conv.convnd, conv.convnd_backward)
            geometry = stride, padding, (1,) * len(stride), groups
            g = np.ones_like(forward(x, w, None, *geometry))
            for face, call in (("forward", lambda: forward(x, w, None, *geometry)),
                               ("input", lambda: backward(g, x, w, *geometry, (True, False, False))),
                               ("weight", lambda: backward(g, x, w, *geometry, (False, True, False)))):
                took = {}
                for tiles in (False, True):
                    monkeypatch.setattr(ways, "tiles_win", lambda face, geometry, tiles=tiles: tiles)
                    took[tiles] = seconds(call)
                monkeypatch.setattr(ways, "tiles_win", lambda *given: chosen.append(choose(*given)) or chosen[-1])
                call()
                losses[name, face] = took[chosen[-1]] / min(took.values())
    finally:
        sharing.set_num_threads(before)
    assert set(chosen) == {True, False}
    assert exp(sum(map(log, losses.values())) / len(losses)) < 1.2, losses
    assert max(losses.values()) < 3, losses
