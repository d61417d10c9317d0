"""What operations make of NaN, infinities, signed zeros, denormal and largest numbers, equal numbers and large offsets: as recorded from
torch, forward and backward; `extremes_differ.json` lists what differs, with reasons, and is held to what is seen."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable

from tests.numerics import extreme_cases
import numpy as np
import pytest

import torchcompat as torch

LIST = pathlib.Path(__file__).with_name("extremes_differ.json")


def recorded() -> dict[str, list[tuple[str, tuple, list[np.ndarray] | None]]]:
    """(label, variant, torch's results) by record."""
    file = np.load(extreme_cases.PATH)
    numbers, at, found = file["numbers"], 0, {}
    for (name, variant), shapes in zip(extreme_cases.cases(), str(file["shapes"]).split("|"), strict=True):
        arrays = None if shapes == "-" else []
        for text in () if arrays is None or not shapes else shapes.split(";"):
            shape = tuple(int(n) for n in text.split(",") if n)
            size = int(np.prod(shape))
            arrays.append(numbers[at:at + size].reshape(shape))
            at += size
        found.setdefault(name, []).append((f"{variant[0]} {variant[1]}", variant, arrays))
    assert at == numbers.size
    return found


def same(found: list[np.ndarray] | None, expected: list[np.ndarray] | None) -> bool:
    if found is None or expected is None:
        return found is expected
    if [a.shape for a in found] != [a.shape for a in expected]:
        return False
    for a, b in zip(found, expected):
        a, b = a.astype(np.float64), b.astype(np.float64)
        with np.errstate(all="ignore"):
            close = (a == b) | np.isnan(a) & np.isnan(b) | (np.abs(a - b) <= 1e-4 * np.abs(b) + 1e-37)
        if not close.all():
            return False
    return True


RECORDED, DIFFER = recorded(), json.loads(LIST.read_text()) if LIST.exists() else {}


def differing(name: str) -> list[str]:
    """The labels of the cases in which a record differs from torch."""
    return [label for label, variant, expected in RECORDED[name] if not same(extreme_cases.outcome(torch, name, variant), expected)]


@pytest.mark.filterwarnings("ignore", "error:.* encountered in:RuntimeWarning")  # which NumPy gives, and torch does not
@pytest.mark.parametrize("name", RECORDED)
def test_extremes(name: str, compared: Callable[[int], None]) -> None:
    compared(sum([a.size for _, _, expected in RECORDED[name] for a in expected or ()]))
    row = DIFFER.get(name, {"cases": []})
    found, listed = [case for case in differing(name) if case not in row.get("of some BLAS", ())], row["cases"]  # of some processors' loops
    # NumPy 1 computes 0-dim numbers with Python's in float64, NumPy 2 in their own dtype: a few roundings, always nearer to torch's.
    assert found == listed or np.lib.NumpyVersion(np.__version__) >= "2.0.0" and set(found) <= set(listed)


def test_every_difference_has_a_reason() -> None:
    assert len(RECORDED) > 200
    for name, row in DIFFER.items():
        assert name in RECORDED and row["reason"].strip() and row["cases"], name


@pytest.mark.parametrize("loss", ["nll_loss", "cross_entropy"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 5), (3,), (2000, 7), (40, 7, 50)])
def test_ignored_targets_have_no_gradient(shape, weighted, reduction, loss):
    """Where every target is ignored, gradients are 0 (the mean itself is NaN); others are what they are without the ignored ones."""
    rng = np.random.default_rng(5)
    function, classes = getattr(torch.nn.functional, loss), shape[0 if len(shape) == 1 else 1]
    where = () if len(shape) == 1 else (shape[0], *shape[2:])
    data, weight = rng.standard_normal(shape), torch.tensor(rng.uniform(0.5, 1, classes)) if weighted else None
    target = rng.integers(0, classes, where)
    for smoothing in (0.0, 0.1) if loss == "cross_entropy" else (None,):
        extra = {} if smoothing is None else {"label_smoothing": smoothing}
        for ignored in (np.ones(where, bool), rng.random(where) < 0.5):
            for create_graph in (False, True):
                x = torch.tensor(data, requires_grad=True)
                value = function(x, torch.tensor(np.where(ignored, -100, target)), weight, reduction=reduction, **extra)
                value.sum().backward(create_graph=create_graph)
                assert np.isnan(value.detach().numpy()).all() == (bool(ignored.all()) and reduction == "mean")
                gradient = np.moveaxis(x.grad.detach().numpy(), 0 if len(shape) == 1 else 1, -1)
                assert not gradient[ignored].any()
                assert np.isfinite(gradient).all() and (ignored.all() or gradient[~ignored].any())


@pytest.mark.parametrize("size", [3, 600, 9000, 300_000])
@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gelu_of_the_largest_numbers(dtype, approximate, size):
    largest = float(np.finfo(dtype).max)
    x = torch.full((size,), largest, dtype=getattr(torch, dtype))
    assert (torch.nn.functional.gelu(x, approximate=approximate) == x).all()
    assert not torch.nn.functional.gelu(-x, approximate=approximate).numpy().any()


def test_lgamma_at_poles_and_beyond():
    x = torch.tensor([-1e308, -1e20, -(2.0**53), -3.0, -1.0, 0.0, float("inf"), float("-inf"), 1e308], dtype=torch.float64)
    assert torch.lgamma(x).tolist() == [float("inf")] * 9


@pytest.mark.parametrize("n", [2, 40, 300])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("p", [2.0, 3.0])
def test_distances_overflow_where_powers_of_single_precision_do(p, width, n):
    """Few or many, and of one number, too, as torch's; what is NaN, or 0, hides no other."""
    x, z = torch.zeros(n, width), torch.ones(n, width)
    x[0], x[-1], z[-1] = 1e30, float("nan"), 0
    found = torch.cdist(x, z, p, "donot_use_mm_for_euclid_dist")
    assert found[0].isinf().all() and found[-1].isnan().all() and torch.pdist(x, p)[:n - 2].isinf().all()
    x[0], z[0] = 1e-30, 0
    assert not torch.cdist(x[:-1], z[[0, -1]], p, "donot_use_mm_for_euclid_dist").any() and not torch.pdist(x[:-1], p).any()
