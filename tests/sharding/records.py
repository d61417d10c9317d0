"""Every record's samples on tensors that lie over small meshes, beside the same on plain ones.

`python -m tests.sharding.records [NAME ...]` goes through all placements, of all records or of these; the test goes through a few of each.
"""

from __future__ import annotations

import itertools
import random
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dataclasses import dataclass
import numpy as np

from autograd_tape import TensorRef
from autograd_tape.errors import AutogradError
from autograd_tape.grad import grad
from autograd_tape.ops import RECORDS, Record, Sample
from autograd_tape.random.generator import default_generator
from autograd_tape.samples import THROUGH, bind, float_outputs, is_array, rng_of, samples, tensors, tree_map, weighted
from autograd_tape.sharding import Mesh, ReplicationWarning, Sharding, gather, replications, shard

MESHES = [Mesh({"a": 2}), Mesh({"a": 3}), Mesh({"a": 2, "b": 2})]
NAMES = sorted([name for name, rec in RECORDS.items() if rec.field("samples") is not None])

OTHER_STRIDES = frozenset(["linalg_lstsq", "linalg_solve", "lstsq_solution", "solve_matrices"])
"""Operations whose results lie in memory as the meta executor foresees them, which is otherwise than the kernels lay them."""
Placement = Sequence["Sharding | None"]
"""How each array among a sample's arguments lies, None for a plain tensor."""


def of_one(mesh: Mesh, array: np.ndarray) -> Iterator[Sharding]:
    """All ways to lay an array over one axis of a mesh, or over all of them along one dimension; whole; and as sums that wait."""
    for axes in dict.fromkeys([mesh.names[:1], mesh.names[-1:], mesh.names]):
        for d in range(array.ndim):
            yield Sharding(mesh, [axes if e == d else None for e in range(array.ndim)])
    yield Sharding(mesh, [None] * array.ndim)
    if array.dtype.kind != "b":
        yield Sharding(mesh, [None] * array.ndim, mesh.names[-1:])


def at_random(r: random.Random, mesh: Mesh, array: np.ndarray) -> Sharding | None:
    """Some way to lay an array over a mesh, perhaps none."""
    dims: list[list[str]] = [[] for _ in range(array.ndim)]
    partial = []
    for axis in r.sample(mesh.names, len(mesh.names)):
        choice = r.random()
        if choice < 0.7 and array.ndim:
            dims[r.randrange(array.ndim)].append(axis)
        elif choice < 0.8 and array.dtype.kind != "b":
            partial.append(axis)
    return None if r.random() < 0.1 else Sharding(mesh, [tuple(d) for d in dims], partial)


def placements(arrays: Sequence[np.ndarray], r: random.Random, writes: bool = False) -> list[Placement]:
    """Each array alone over each mesh in all ways over single axes, and some joint ways, in random order."""
    found: list[Placement] = [[at if j == i else None for j in range(len(arrays))] for i, array in enumerate(arrays)
                              for mesh in MESHES for at in of_one(mesh, array)]
    for mesh in MESHES * 3:
        found.append([at_random(r, mesh, a) for a in arrays])
    # What is not on the mesh cannot be written to with what is.
    found = [p for p in found if any([at is not None for at in p]) and not (writes and p[0] is None)]
    r.shuffle(found)
    return found


def laid(array: np.ndarray, at: Sharding | None, cls: type[TensorRef] = TensorRef) -> Any:
    """A tensor that lies so. Sums that wait are of parts that the whole cannot be mistaken for: twice the whole, and minus once."""
    plain = cls._front_end.wrap(np.copy(array, order="K"))
    if at is None:
        return plain
    t = shard(plain, at.mesh, at.dims, at.partial_sum_axes)
    if at.partial_sum_axes:
        groups = at.mesh.groups(at.partial)
        for group in groups:
            first, second = [t._data.parts[d] for d in group[:2]]
            finite = np.isfinite(first)
            # Zeros of one sign: the sum of two has that of the whole.
            others = np.where(first == 0, first, np.zeros_like(first))
            second = np.where(finite, np.where(first == 0, first, np.negative(first)), second)
            first = np.where(finite, first + first, first)
            for device, part in zip(group, (first, second, *[others] * (len(group) - 2))):
                t._data.parts[device] = part.astype(array.dtype, copy=False)
    return t


@dataclass(frozen=True, slots=True)
class Result:
    """What a call gives: its tensors, and the gradients of the arguments that have one."""

    outputs: list[Any]
    gradients: list[Any]
    leaves: list[Any]


class Case:
    """A sample of a record, to be called with its arrays laid in different ways."""

    def __init__(self, rec: Record, sample: Sample, cls: type[TensorRef] = TensorRef) -> None:
        self.rec, self.sample, self.cls = rec, sample, cls
        self.args, self.kwargs = tree_map(np.asarray, bind(rec, sample))
        self.arrays: list[np.ndarray] = []
        self.writes = rec.name.endswith("_") or rec.family == "store" or bool(rec.field("writes"))
        refused = rec.field("refuses_grad") or {}
        self.constant = {id(x) for p, x in zip(rec.params, self.args) if p.name in refused} | {
            id(x) for name, x in self.kwargs.items() if name in refused}
        tree_map(lambda x: self.arrays.append(x) if is_array(x) else None, (self.args, self.kwargs))

    def __str__(self) -> str:
        def text(x: Any) -> str:
            if isinstance(x, (list, tuple)):
                return f"[{', '.join([text(y) for y in x])}]"
            return f"{x.dtype}{list(x.shape)}" if is_array(x) else repr(x)

        return f"{self.rec.name}({', '.join([*map(text, self.args), *[f'{k}={text(v)}' for k, v in self.kwargs.items()]])})"

    def run(self, placement: Placement) -> Result:
        """The call, with its arrays laid so, and its gradients."""
        at, leaves = iter(placement), []
        rec, through = self.rec, THROUGH.get(self.sample.through)
        F = self.cls._front_end

        def tensor(x: Any) -> Any:
            if not is_array(x):
                return x
            t = laid(x, next(at), self.cls)
            if x.dtype not in (np.float64, np.complex128) or id(x) in self.constant or self.sample.no_gradient:
                return t
            t.requires_grad = True
            leaves.append(t)
            if self.writes:  # no leaf may be changed
                t = F.function("mul")(t, 1)
            return t if through is None else through(t)

        args, kwargs = tree_map(tensor, (self.args, self.kwargs))
        default_generator.manual_seed(7)
        result = F.function(rec.name)(*args, **kwargs)
        outputs = tensors(args[0] if result is None or self.writes and not tensors(result) else result)
        # What is left to chance in part is compared, and differentiated, by what is not.
        shown = [F.function(self.sample.of)(t) for t in outputs] if self.sample.of else outputs
        rng, loss = rng_of(rec.name + "/cotangents"), None
        for t in float_outputs(shown):
            weights = rng.uniform(0.5, 1.5, t.shape) + (1j * rng.uniform(0.5, 1.5, t.shape) if t.dtype.is_complex else 0)
            if t.requires_grad and t.dtype.itemsize > 4 and not rec.field("unset"):
                term = weighted(t, weights)
                loss = term if loss is None else loss + term
        wanted = [t for t in leaves if t.requires_grad]
        gradients = [] if loss is None else _grads(loss, wanted)
        return Result(shown, gradients, wanted)


def _grads(loss: Any, leaves: list[Any]) -> list[Any]:
    try:
        return list(grad(loss, leaves)) if leaves else []
    except (NotImplementedError, AutogradError) as error:  # as the derivative of floor_divide
        return [str(error)]


def values(x: Any) -> np.ndarray:
    """The numbers of a tensor or an array."""
    return gather(x).numpy() if isinstance(x, TensorRef) else x


def steps(t: Any) -> list[int]:
    """The strides that matter."""
    return [s for n, s in zip(t.shape, t._data.strides) if n != 1] if t._data.size else []


def same(found: Result, expected: Result, unset: bool = False, strides: bool = True) -> None:
    """Raises AssertionError where two calls gave something else."""
    assert len(found.outputs) == len(expected.outputs), "another number of outputs"
    for i, (f, e) in enumerate(zip(found.outputs, expected.outputs)):
        assert (tuple(f.shape), f.dtype) == (tuple(e.shape), e.dtype), f"output {i}: {f.dtype}{f.shape}, not {e.dtype}{e.shape}"
        assert not strides or steps(f) == steps(e) or 0 in steps(e), f"output {i}: strides {f._data.strides}, not {e._data.strides}"
        assert f.requires_grad == e.requires_grad, f"output {i}: requires_grad is {f.requires_grad}"
        if not unset:
            close(f, e, f"output {i}")
    assert len(found.gradients) == len(expected.gradients), "another number of gradients"
    for i, (f, e) in enumerate(zip(found.gradients, expected.gradients)):
        assert (f is None) == (e is None), f"gradient {i} is {f}, not {e}"
        if isinstance(e, str):
            assert f == e
        elif e is not None:
            close(f, e, f"gradient {i}")
            leaf = found.leaves[i]
            if leaf.sharding is not None:
                assert f.sharding is not None and f.sharding.dims == leaf.sharding.dims, f"gradient {i} lies as {f.sharding}"


def close(found: Any, expected: Any, what: str) -> None:
    """Raises AssertionError where numbers differ by more than rounding."""
    f, e = values(found), values(expected)
    exact = e.dtype.kind not in "fc" or e.dtype.itemsize < 4
    rtol, atol = (0.02, 1e-3) if exact and e.dtype.kind in "fcV" else (0, 0) if exact else (1e-4, 1e-5) if e.dtype in (
        np.float32, np.complex64) else (1e-7, 1e-9)
    np.testing.assert_allclose(f, e, rtol, atol, err_msg=what)


def check(rec: Record, most: int | None, seed: int = 0, cls: type[TensorRef] = TensorRef, report: Callable[[str], None] = print) -> int:
    """The number of failures among the placements of a record's samples, of at most so many of them, each told."""
    r, failures = random.Random(zlib.crc32(rec.name.encode()) + seed), 0
    todo = []
    for sample in samples(rec):
        case = Case(rec, sample, cls)
        if case.arrays:
            todo.append((case, placements(case.arrays, r, case.writes)))
    if most is not None and todo:
        # A placement of each of some samples, before second ones of any.
        r.shuffle(todo)
        pairs = list(itertools.islice((pair for round in itertools.zip_longest(*[[(c, p) for p in ps] for c, ps in todo])
                                       for pair in round if pair is not None), most))
    else:
        pairs = [(c, p) for c, ps in todo for p in ps]
    known: dict[int, Result] = {}
    for case, placement in pairs:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if id(case) not in known:
                known[id(case)] = case.run([None] * len(case.arrays))
            try:
                same(case.run(placement), known[id(case)], bool(rec.field("unset")), rec.name not in OTHER_STRIDES)
            except Exception as error:  # whatever it is, the call on plain tensors did not raise it
                failures += 1
                words = " ".join(str(error).split())[:160]
                report(f"{case} at {[None if at is None else at for at in placement]}: {type(error).__name__}: {words}")
    return failures


def main(names: Sequence[str]) -> None:
    """Goes through everything, and says what fails and which records are computed whole."""
    total: Counter[str] = Counter()
    for name in names or NAMES:
        told: list[str] = []
        found = check(RECORDS[name], None, report=told.append)
        if found:
            print(*sorted(told, key=len)[:2 if not names else None], sep="\n", flush=True)
            total[name] = found
    print(f"{sum(total.values())} failures: {dict(total.most_common())}")
    print(f"computed whole: {sorted(replications)}")


if __name__ == "__main__":
    warnings.simplefilter("ignore", ReplicationWarning)
    main(sys.argv[1:])
