"""Every operation's samples: forward mode against central differences, vmap against a Python loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.ops import op_cases
import pytest

import torchcompat as torch
from autograd_tape.ops import RECORDS
from torchcompat._tensor import frontend
from torchcompat.func import _batching, jvp, vmap
from torchcompat.utils._pytree import tree_flatten, tree_unflatten

NAMES = sorted(n for n, r in RECORDS.items() if r.field("samples"))
RANDOM_NAMES = {n for n in NAMES if "dropout" in n or RECORDS[n].field("random")}
VALUES_DECIDE = set("masked_select nonzero argwhere bincount histc item repeat_interleave masked_scatter masked_place combinations one_hot "
                    "isin gaussian_nll_loss".split())
"""Operations whose result's shape, very result in Python, or refusal of their input depends on values."""
LAYOUT_DECIDES = set("as_strided as_strided_ as_strided_copy as_strided_scatter "
                     "as_strided_view view_dtype contiguous new_empty new_empty_strided empty_like "
                     "view_as_complex".split())
"""Operations whose result depends on the memory an example lies in, or on nothing."""


LOOPS = {"_native_batch_norm_legit", "ctc", "ctc_backward", "ctc_loss", "embedding_renorm", "histogram", "histogramdd", "istft",
         "multi_margin", "multi_margin_backward", "multi_margin_loss", "multilabel_margin", "multilabel_margin_backward",
         "multilabel_margin_loss"}
"""Operations that vmap carries out example by example, as torch does, or because each moves running statistics in place."""
NOT_BATCHED = {n for n in NAMES if RECORDS[n].field("no_vmap") is not None}
"""Operations that torch has no batching rule for; `test_transforms.py` holds how they refuse."""
REFUSED = {n for n in NAMES if isinstance(RECORDS[n].field("no_forward"), str)} | {
    "cdist", "pdist", "cross_distances", "distances_behind", "grid_sample", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d"}
"""Operations that torch has no forward mode for; `test_transforms.py` holds how they refuse."""
THROUGH: dict[str, Any] = {"symmetric": lambda x: (x + x.mT) / 2,
                           "tril": lambda x: x.tril() if x.shape[-1] == x.shape[-2] else x,
                           "log_softmax": lambda x: x.log_softmax(-1)}


def calls(name: str, derivatives: bool = False) -> list[tuple[Any, list[np.ndarray], list[bool]]]:
    """Per sample: a function of tensors in the place of its float64 and complex128 arrays, these, and which have a derivative. Of
    operations that are no record of their own all have but labels."""
    rec = RECORDS[name]
    found = []
    for sample in op_cases.samples(rec):
        args, kwargs = op_cases.bind(rec, sample)
        leaves, spec = tree_flatten((args, kwargs))
        places = [i for i, x in enumerate(leaves) if op_cases.is_array(x) and np.asarray(x).dtype in (np.float64, np.complex128)]

        def function(*tensors: Any, leaves: Any = leaves, spec: Any = spec, places: Any = places, sample: Any = sample) -> Any:
            given = [torch.from_numpy(np.array(x)) if op_cases.is_array(x) else x for x in leaves]
            for i, t in zip(places, tensors):
                given[i] = THROUGH[sample.through](t) if sample.through else t
            a, k = tree_unflatten(given, spec)
            result = frontend.function(name)(*a, **k)
            result = a[0] if result is None else result  # what was written to
            flat = [t for t in tree_flatten(result)[0] if isinstance(t, torch.Tensor)]
            return tuple([getattr(torch, sample.of)(t) for t in flat] if sample.of else flat)

        arrays = [np.array(leaves[i]) for i in places]
        varied = [not (a.size > 1 and np.array_equal(a, np.sign(a))) for a in arrays]
        if rec.differentiable:
            named = [p.name for p in rec.params if not p.keyword_only]
            owners = [n for n, a in [*zip(named, args), *kwargs.items()] for _ in tree_flatten(a)[0]]
            varied = [owners[i] in {p.name for p in rec.differentiable_params} for i in places]
        if not sample.no_gradient or not derivatives:
            found.append((function, arrays, varied))
    return found


@pytest.mark.parametrize("name", [n for n in NAMES if n not in RANDOM_NAMES | REFUSED])
def test_forward_mode_matches_central_differences(name: str, excused: Callable[[str], None]) -> None:
    reason = op_cases.no_derivative(RECORDS[name])
    if reason:
        excused(reason)
        return
    rng = op_cases.rng_of(name + "/tangent")
    for sample in op_cases.samples(RECORDS[name]):
        if sample.no_gradient:
            excused(sample.no_gradient)
    found = calls(name, derivatives=True)
    for function, arrays, varied in found:
        outputs = function(*[torch.from_numpy(a.copy()) for a in arrays])
        if not arrays or not any(o.dtype.is_floating_point or o.dtype.is_complex for o in outputs):
            continue
        directions = [np.asarray(rng.uniform(-1, 1, a.shape) * (1 + 0.5j if a.dtype.kind == "c" else 1) * v)
                      for a, v in zip(arrays, varied)]
        primals = tuple(torch.from_numpy(a.copy()) for a in arrays)
        values, tangents = jvp(function, primals, tuple(torch.from_numpy(d) for d in directions))
        step = 1e-6
        with torch.no_grad():
            up = function(*[torch.from_numpy(np.asarray(a + step * d)) for a, d in zip(arrays, directions)])
            down = function(*[torch.from_numpy(np.asarray(a - step * d)) for a, d in zip(arrays, directions)])
        constants = [kind == "Constant" for kind, _ in RECORDS[name].returns]  # through which no derivative goes
        for v, t, u, d, constant in zip(values, tangents, up, down, [*constants, *[False] * len(values)]):
            if not constant and (v.dtype.is_floating_point or v.dtype.is_complex):
                t, u, d = (x.detach().resolve_conj().numpy() for x in (t, u, d))
                np.testing.assert_allclose(t, (u - d) / (2 * step), rtol=1e-5, atol=1e-5)


APART = {"linalg_cond": "a quotient of singular values that are 0", "polar": "torch's gradient by the absolute value is 0 where that is, "
         "its tangent is not", "linalg_qr": "rounding decides whether a matrix of rank 1 has rank 2",
         "poisson_nll_loss": "the target's gradient has 0 * log(0), its tangent has it not",
         **dict.fromkeys(("fmax", "clamp_tensor"), "torch's tangent is the second operand's, its gradient the first's"),
         **dict.fromkeys(("euclidean_distance", "cross_distances", "distances_behind"), "torch has no forward mode for cdist and pdist"),
         **dict.fromkeys(("lp_pool1d", "lp_pool2d", "lp_pool3d"), "torch's tangent of a root is NaN where its gradient is 0")}
"""Operations whose gradient and tangent differ where all numbers are equal, as torch's do, and why."""


@pytest.mark.parametrize("name", [n for n in NAMES if n not in RANDOM_NAMES | REFUSED and n not in APART])
def test_forward_mode_and_backward_agree_on_equal_numbers(name: str, excused: Callable[[str], None],
                                                          compared: Callable[[int], None]) -> None:
    """Where formulas divide zero by zero: <weights, tangents along t> is <gradients, t>, or both are NaN."""
    inner = lambda xs, ys: sum([float(np.sum((np.conj(x) * y).real)) for x, y in zip(xs, ys)])  # noqa: E731
    rng = op_cases.rng_of(name + "/equal")
    if op_cases.no_derivative(RECORDS[name]):
        excused("no derivative")
        return
    done = 0
    for function, arrays, varied in calls(name, derivatives=True)[:2]:
        for number in (0.0, 1.0):
            values = [np.full_like(a, number) if v else a for a, v in zip(arrays, varied)]
            along = [np.asarray(rng.uniform(-1, 1, a.shape) * (1 + 0.5j if a.dtype.kind == "c" else 1) * v) for a, v in zip(arrays, varied)]
            leaves = [torch.from_numpy(x.copy()).requires_grad_(bool(v)) for x, v in zip(values, varied)]
            wanted = [i for i, x in enumerate(leaves) if x.requires_grad]
            try:
                outputs = function(*leaves)
                places = [i for i, o in enumerate(outputs) if o.requires_grad]
                if not places or not wanted:
                    continue
                weights = [torch.from_numpy(np.asarray(rng.uniform(0.5, 1, tuple(outputs[i].shape)))).to(outputs[i].dtype) for i in places]
                found = torch.autograd.grad([outputs[i] for i in places], [leaves[i] for i in wanted], weights, allow_unused=True)
                _, tangents = jvp(function, tuple([torch.from_numpy(x) for x in values]), tuple([torch.from_numpy(t) for t in along]))
            except (RuntimeError, ValueError) as error:  # a singular matrix, equal singular values, a bad probability
                excused(str(error))
                continue
            given = [(g.resolve_conj().numpy(), along[i]) for i, g in zip(wanted, found) if g is not None]
            backward = inner(*zip(*given)) if given else 0.0
            forward = inner([w.numpy() for w in weights], [tangents[i].resolve_conj().numpy() for i in places])
            np.testing.assert_allclose(forward, backward, rtol=1e-6, atol=1e-8)
            done += 1
    compared(done)
    if not done:
        excused("nothing to differentiate")


@pytest.mark.parametrize("name", [n for n in NAMES if n not in VALUES_DECIDE | LAYOUT_DECIDES | RANDOM_NAMES | NOT_BATCHED])
def test_vmap_matches_a_loop(name: str, monkeypatch: pytest.MonkeyPatch, excused: Callable[[str], None]) -> None:
    def refuse(level: Any, function: Any, args: Any, op: str) -> Any:
        raise AssertionError(f"{op} is carried out example by example")

    if name not in LOOPS:
        monkeypatch.setattr(_batching, "loop", refuse)
    rng = op_cases.rng_of(name + "/batch")
    for function, arrays, _ in calls(name):
        if not arrays:
            excused("no floating-point or complex tensors, along which the examples differ")
            continue
        places = [a.ndim if i % 2 == 0 else 0 for i, a in enumerate(arrays)]
        for batched in ([True] * len(arrays), [i == 0 for i in range(len(arrays))], [i == len(arrays) - 1 for i in range(len(arrays))]):
            # The examples are the sample itself and small changes of it, which leave what the sample relies on (order, definiteness) alone.
            whole = [np.stack([np.asarray(a * s) for s in (1.0, *rng.uniform(0.999, 1.001, 2))], axis=d) if b else a
                     for a, b, d in zip(arrays, batched, places)]
            dims = tuple(d if b else None for b, d in zip(batched, places))
            if name == "setitem" and not batched[0]:
                with pytest.raises(RuntimeError, match="vmap: (inplace arithmetic|index_put_)"):
                    vmap(function, in_dims=dims)(*[torch.from_numpy(w.copy()) for w in whole])
                continue
            result = vmap(function, in_dims=dims)(*[torch.from_numpy(w.copy()) for w in whole])
            for i in range(3):
                examples = [np.array(w.take(i, d)) if b else w.copy() for w, b, d in zip(whole, batched, places)]
                expected = function(*[torch.from_numpy(x) for x in examples])
                assert len(expected) == len(result)
                for r, e in zip(result, expected):
                    assert r.dtype is e.dtype and r.shape[1:] == e.shape, (r.dtype, e.dtype, r.shape, e.shape)
                    got, wanted = (x.resolve_conj().numpy() for x in (r[i], e))
                    np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12, equal_nan=True)


def over_none(function: Any, arrays: Any) -> Any:
    """What vmap over no examples gives, or says."""
    try:
        return vmap(function)(*[torch.from_numpy(np.zeros((0, *a.shape), a.dtype)) for a in arrays])
    except RuntimeError as error:
        return str(error)


@pytest.mark.parametrize("part", range(4))
@pytest.mark.no_numbers("there are none")
def test_vmap_over_no_examples_gives_none(part: int) -> None:
    """In the shape and dtype of what an example gives; what is made of examples one by one says that there are none."""
    counted = 0
    for name in [n for n in NAMES if n not in VALUES_DECIDE | LAYOUT_DECIDES | RANDOM_NAMES | NOT_BATCHED][part::4]:
        for function, arrays, _ in calls(name)[:3]:
            if not arrays:
                continue
            results = over_none(function, arrays)
            if isinstance(results, str):
                assert "vmap" in results, f"{name}: {results}"
                continue
            expected = function(*[torch.from_numpy(a.copy()) for a in arrays])
            assert [(r.shape, r.dtype) for r in results] == [((0, *e.shape), e.dtype) for e in expected], name
            counted += 1
    assert counted > 150
