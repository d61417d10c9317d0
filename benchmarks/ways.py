"""What convolutions take by each of their two ways, which `autograd_tape/executors/kernels/ways.py` estimates: `python -m benchmarks.ways`.

Written to `benchmarks/ways.json`: the date, and of each geometry and result the seconds of one core by columns and by tiles.
`tests/kernels/test_ways.py` holds the estimates against these.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from time import process_time
from unittest.mock import patch

import numpy as np

from autograd_tape.executors.kernels import conv, sharing, ways

RECORDED = Path(__file__).with_name("ways.json")
#: Input, weight, stride, padding, groups.
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


def calls(name: str) -> dict[str, Callable[[], object]]:
    """What computes the result (`forward`) and the gradients (`input`, `weight`) of a geometry."""
    x_shape, w_shape, stride, padding, groups = GEOMETRIES[name]
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal(x_shape, np.float32), rng.standard_normal(w_shape, np.float32)
    forward, backward = (conv.conv2d, conv.conv2d_backward) if x.ndim == 4 else (conv.convnd, conv.convnd_backward)
    geometry = stride, padding, (1,) * len(stride), groups
    g = np.ones_like(forward(x, w, None, *geometry))
    return {"forward": lambda: forward(x, w, None, *geometry), "input": lambda: backward(g, x, w, *geometry, (True, False, False)),
            "weight": lambda: backward(g, x, w, *geometry, (False, True, False))}


def seconds(call: Callable[[], object]) -> float:
    """The shortest of twenty, after one that compiles."""
    call()
    times = []
    for _ in range(20):
        started = process_time()
        call()
        times.append(process_time() - started)
    return min(times)


def main() -> None:
    """Measures all, and writes what was found."""
    sharing.set_num_threads(1)
    measured: dict[str, dict[str, list[float]]] = {}
    for name in GEOMETRIES:
        measured[name] = {}
        for face, call in calls(name).items():
            both = []
            for tiles in (False, True):
                with patch.object(ways, "tiles_win", lambda face, geometry, tiles=tiles: tiles):
                    both.append(float(f"{seconds(call):.3g}"))
            measured[name][face] = both
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(faces)}" for name, faces in measured.items())
    RECORDED.write_text(f'{{"date": "{date.today()}", "seconds by columns and by tiles": {{\n{rows}}}}}\n')


if __name__ == "__main__":
    main()
