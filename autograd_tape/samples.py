"""Operations held to what their records say, on the samples of the records: shapes and dtypes, compositions, variants, gradients.

What a sample stands for as a call is here, too, for tests that go over all records.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .annotations import Fn, Keywords
from .backward import backward
from .dtypes import CPU, META, DType, kind
from .errors import AutogradError
from .executors import executor_for
from .executors.meta import meta_array
from .frontend import F
from .grad import grad
from .modes import no_grad
from .ops import RECORDS, Record, Sample, get_record
from .ops._host import data_dependent
from .record import DIFFERENTIABLE
from .tensor import TensorRef
from .tree import leaves
from .tree import tree_map as map_leaves
from .version import number_of
from .warned import ignoring

THROUGH: dict[str, Callable[[Any], Any]] = {"symmetric": lambda x: (x + F.transpose(x, -2, -1)) / 2,
                                            "tril": lambda x: F.tril(x) if x.shape[-1] == x.shape[-2] else x,
                                            "log_softmax": lambda x: F.log_softmax(x, -1)}
"""What leads to where a sample's operation is defined, see `Sample.through`."""


def rng_of(name: str) -> np.random.Generator:
    """A generator of its own for each operation, the same in every run and for any order of tests."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def samples(rec: Record) -> list[Sample]:
    """The record's samples, all as `Sample`s."""
    field = rec.field("samples")
    assert field is not None, f"the record of {rec.name!r} has no samples; add `def samples(rng)` to it in {rec.module}"
    found = [s if isinstance(s, Sample) else Sample(tuple(s)) for s in field(rng_of(rec.name))]
    assert found, f"samples() of {rec.name!r} yields nothing"
    return found


def bind(rec: Record, sample: Sample) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments, as the schema wants them: samples may give keyword-only parameters by position."""
    if rec.field("function") is not None or rec.field("make") is not None:
        return list(sample.args), dict(sample.kwargs)
    args, kwargs = [], dict(sample.kwargs)
    for p, value in zip(rec.params, sample.args):
        if p.keyword_only:
            kwargs[p.name] = value
        else:
            args.append(value)
    return args, kwargs


def is_array(value: object) -> bool:
    """Whether a sample's argument stands for a tensor."""
    return isinstance(value, (np.ndarray, np.generic))


def tree_map(function: Callable[[Any], Any], value: object) -> Any:
    """`function` on the arrays and tensors within lists, tuples and dicts."""
    return map_leaves(lambda x: function(x) if is_array(x) or isinstance(x, TensorRef) else x, value)


def tensors(value: object) -> list[TensorRef]:
    """All tensors within a value, in order."""
    return [x for x in leaves(value) if isinstance(x, TensorRef)]


def arrays_of(value: object) -> list[np.ndarray]:
    """All arrays within a value, in order."""
    return [np.asarray(x) for x in leaves(value) if is_array(x)]


def copied(value: object) -> Any:
    """The same arguments over buffers of their own, with the layout kept."""
    return tree_map(lambda x: np.copy(x, order="K") if is_array(x) else x, value)


def as_tensors(value: object, *, requires_grad: bool = False) -> Any:
    """Arrays as TensorRefs; floating-point and complex ones require grad if asked."""
    wanted = "fc" if requires_grad else ""
    return tree_map(lambda x: TensorRef.of(x, requires_grad=np.asarray(x).dtype.kind in wanted) if is_array(x) else x, value)


def may_require_grad(rec: Record, args: list[Any], kwargs: Keywords) -> tuple[list[Any], Keywords]:
    """The arguments but those that torch does not let require grad."""
    refused = rec.field("refuses_grad") or {}
    names = [p.name for p in rec.params]
    kept = [x for i, x in enumerate(args) if i >= len(names) or names[i] not in refused]
    return kept, {k: x for k, x in kwargs.items() if k not in refused}


def run(rec: Record, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The operation, through the front end of TensorRef."""
    return F.function(rec.name)(*args, **kwargs)


def refuses_out(rec: Record, args: list[Any], kwargs: Keywords) -> bool:
    """Whether torch's signature for these arguments has no `out=`, as the record says."""
    refuses = rec.field("no_out")
    return refuses is not None and bool(refuses(**{**rec.defaults, **dict(zip([p.name for p in rec.params], args)), **kwargs}))


def float_outputs(result: Any, rec: Record | None = None) -> list[TensorRef]:
    """The outputs gradients flow from; not those that the record says are constants."""
    if rec is not None and any([kind == "Constant" for kind, _ in rec.returns]):
        result = [r for r, (kind, _) in zip(result, rec.returns) if kind != "Constant"]
    return [t for t in tensors(result) if t.dtype.is_floating_point or t.dtype.is_complex]


def weighted(t: TensorRef, w: np.ndarray) -> TensorRef:
    """A scalar of an output: the sum of its elements, of their real and imaginary parts, weighted."""
    if not t.dtype.is_complex:
        return F.sum(F.mul(t, TensorRef.of(w)))
    return F.sum(F.real(t) * TensorRef.of(w.real)) + F.sum(F.imag(t) * TensorRef.of(w.imag))


# -- gradients -----------------------------------------------------------------------------------------------------------------


class Problem:
    """A scalar function of the floating-point and complex arrays of one sample: the outputs weighted by fixed cotangents and summed."""

    def __init__(self, rec: Record, sample: Sample) -> None:
        self.rec, self.through, self.of, self.no_gradient = rec, THROUGH.get(sample.through), sample.of, sample.no_gradient
        self.args, self.kwargs = tree_map(np.asarray, bind(rec, sample))
        self.inputs: list[np.ndarray] = []
        self._collect((self.args, self.kwargs))
        rng = rng_of(rec.name + "/cotangents")
        with no_grad():
            outputs = float_outputs(self.call(self.inputs)[1], rec)
        self.weights = [rng.uniform(0.5, 1.5, t.shape) + (1j * rng.uniform(0.5, 1.5, t.shape) if t.dtype.is_complex else 0)
                        for t in outputs]

    def _collect(self, value: Any) -> None:
        allowed = {p.name for p in self.rec.params if p.type in DIFFERENTIABLE} if self.rec.params else set()
        names = {p.name for p in self.rec.differentiable_params} if self.rec.has_gradient else allowed

        def note(x: np.ndarray) -> np.ndarray:
            if is_array(x) and np.asarray(x).dtype in (np.float64, np.complex128):
                self.inputs.append(np.asarray(x))
            return x

        if self.rec.field("function") is not None or self.rec.field("make") is not None:
            tree_map(note, may_require_grad(self.rec, *value))
            return
        positional = [p for p in self.rec.params if not p.keyword_only]
        for p, x in [*zip(positional, self.args), *[(p, self.kwargs[p.name]) for p in self.rec.params if p.name in self.kwargs]]:
            if p.name in allowed and p.name in names:
                tree_map(note, x)

    def call(self, values: list[np.ndarray], *, requires_grad: bool = False) -> tuple[list[TensorRef], Any]:
        """(input tensors, result) with `values` in place of the inputs."""
        chosen = iter(values)
        known = [id(x) for x in self.inputs]
        made: list[TensorRef] = []

        def tensor(x: np.ndarray) -> Any:
            if not is_array(x):
                return x
            if id(x) in known:
                t = TensorRef.of(next(chosen), requires_grad=requires_grad)
                made.append(t)
                if self.rec.name.endswith("_") or self.rec.field("writes"):  # no leaf may be changed
                    t = F.mul(t, 1)
                return t if self.through is None else self.through(t)
            return TensorRef.of(np.copy(x))

        args, kwargs = tree_map(tensor, self.args), tree_map(tensor, self.kwargs)
        result = run(self.rec, args, kwargs)
        if result is None:  # what was written to
            result = args[0]
        return made, tree_map(getattr(F, self.of), result) if self.of else result

    def value(self, values: list[np.ndarray]) -> float:
        """The scalar."""
        with no_grad():
            outputs = float_outputs(self.call(values)[1], self.rec)
        return float(sum(np.sum(w.real * t.numpy().real) + np.sum(w.imag * t.numpy().imag) for w, t in zip(self.weights, outputs)))

    def gradients(self, values: list[np.ndarray], *, create_graph: bool = False) -> tuple[list[TensorRef], list[Any]]:
        """(input tensors, gradient of the scalar with respect to each, None where it does not depend on it)."""
        inputs, result = self.call(values, requires_grad=True)
        loss = None
        for w, t in zip(self.weights, float_outputs(result, self.rec)):
            if t.requires_grad:
                term = weighted(t, w)
                loss = term if loss is None else F.add(loss, term)
        if loss is None:
            return inputs, [None] * len(inputs)
        return inputs, grad(loss, inputs, create_graph=create_graph)


def central_differences(function: Callable[[list[np.ndarray]], float], values: list[np.ndarray], step: float = 1e-5) -> list[np.ndarray]:
    """The gradient of a scalar function of several float64 arrays, and of complex ones with respect to x as d/d(re x) + i d/d(im x).

    >>> central_differences(lambda v: float(np.sum(v[0] ** 2)), [np.array([1.0, 2.0])])[0].round(6)
    array([2., 4.])
    """
    found = []
    for k, value in enumerate(values):
        rate = np.zeros(value.shape, value.dtype)
        for index in np.ndindex(value.shape):
            for direction in (1, 1j) if value.dtype.kind == "c" else (1,):
                ends = []
                for sign in (1, -1):
                    moved = np.array(value)
                    moved[index] += sign * step * direction
                    ends.append(function([*values[:k], moved, *values[k + 1:]]))
                rate[index] += direction * (ends[0] - ends[1]) / (2 * step)
        found.append(rate)
    return found


def problems(name: str) -> Iterator[Problem]:
    """One problem per sample that has a floating-point or complex input."""
    for sample in samples(RECORDS[name]):
        problem = Problem(RECORDS[name], sample)
        if problem.inputs and problem.weights:
            yield problem


def _undefined(rec: Record) -> bool:
    """Whether an operation is recorded only to say that it has no derivative."""
    return rec.differentiable and (rec.node_name == "NotImplemented" or getattr(rec.field("vjp"), "refuses", False))


def no_derivative(rec: Record) -> str:
    """Why an operation has no derivative that could be compared, after a look at whether that is so; nothing where none is found.

    It takes no tensors, or nothing but integers: floating-point numbers in their place make it fail or give none; or its values are left
    to chance; or it refuses double precision; or it says itself that it has no derivative.
    """
    if rec.field("unset"):
        return "uninitialised"
    if rec.field("no_differences"):
        return str(rec.field("no_differences"))
    if any([sample.single for sample in samples(rec)]):
        return "single precision"
    found = [bind(rec, sample) for sample in samples(rec)]
    if not any(arrays_of(args) for args in found):
        return "no tensors"
    if _undefined(rec):
        return "undefined"
    if rec.params and not any(p.differentiable for p in rec.params):
        return "integers"
    for args, kwargs in found:
        dtypes = {x.dtype for x in arrays_of((args, kwargs))}
        floating = {d for d in dtypes if d.kind in "fc"}
        assert not floating or floating & {np.dtype("f8"), np.dtype("c16")}, (
            f"a sample of {rec.name} has {floating}, for which central differences are too coarse")
        given = tree_map(lambda x: TensorRef.of(np.asarray(x).astype("f8") if not floating and np.asarray(x).dtype.kind in "iu"
                                                else np.array(x)), (args, kwargs))
        try:
            result = run(rec, *given)
        except (AutogradError, TypeError, ValueError, IndexError, RuntimeError):
            continue
        if result is None or float_outputs(result):
            return ""
    return "integers"


# -- checks --------------------------------------------------------------------------------------------------------------------


def regular(rec: Record) -> bool:
    """Whether an operation takes tensors and is no plain function of the front end."""
    return bool(rec.tensor_params) and rec.field("function") is None and rec.field("make") is None


def has_out(rec: Record) -> bool:
    """Whether an operation can write its results into given tensors."""
    return regular(rec) and rec.out and rec.family not in ("view", "view?") and not rec.returns_list


def _refused(function: Callable[[], Any], words: str) -> bool:
    """True; AssertionError where no error says so."""
    try:
        function()
    except (AutogradError, NotImplementedError) as error:
        assert words in str(error), f"{error}, not {words}"
        return True
    raise AssertionError(f"no error says {words}")


def _predicted(rec: Record, sample: Sample) -> bool:
    args, kwargs = bind(rec, sample)
    made = tensors(run(rec, as_tensors(copied(args)), as_tensors(copied(kwargs))))
    if not regular(rec) or not made:
        return False

    def on_meta(x: object) -> object:
        a, t = np.asarray(x), TensorRef.of(np.zeros(()))
        t._data, t._k = meta_array(a.shape, a.dtype, a.strides), kind(DType.by_np[a.dtype], META)
        return t

    def predict() -> object:
        return run(rec, tree_map(on_meta, args), tree_map(on_meta, kwargs))

    if rec.field("meta") is data_dependent:
        _refused(predict, "depends on the values")
        return False
    predicted = tensors(predict())
    assert [(t.shape, t.dtype) for t in predicted] == [(t.shape, t.dtype) for t in made]
    return True


def _composed(rec: Record, sample: Sample) -> bool:
    compose = rec.field("compose")
    if compose is None or not regular(rec):
        return False
    args, kwargs = bind(rec, sample)
    given = dict(zip([p.name for p in rec.params if not p.keyword_only], copied(args))) | copied(kwargs)
    values = [given.get(p.name, rec.defaults.get(p.name)) for p in rec.params if p.passed]
    if any([p.scales for p in rec.params]) and given.get("alpha", 1) != 1:  # applied to the operand before the kernel
        values[1] = values[1] * given["alpha"]
    expected = tensors(run(rec, as_tensors(copied(args)), as_tensors(copied(kwargs))))
    found = compose(executor_for(CPU).F, *values)
    for f, e in zip(found if isinstance(found, (tuple, list)) else [found], expected):
        np.testing.assert_allclose(np.asarray(f), e.numpy(), rtol=1e-7, atol=1e-9, err_msg=rec.name)
    return True


def _into(rec: Record, sample: Sample) -> bool:
    if not has_out(rec):
        return False
    args, kwargs = bind(rec, sample)
    expected = run(rec, as_tensors(copied(args)), as_tensors(copied(kwargs)))
    outs = [TensorRef.of(np.zeros_like(t.numpy())) for t in tensors(expected)]
    operands, options = as_tensors(copied(args)), as_tensors(copied(kwargs))
    options["out"] = outs[0] if isinstance(expected, TensorRef) else tuple(outs)
    if refuses_out(rec, operands, {k: v for k, v in options.items() if k != "out"}):
        _refused(lambda: run(rec, operands, options), "this signature has no out=")
        return False
    for o, r, e in zip(outs, tensors(run(rec, operands, options)), tensors(expected)):
        assert r is o
        np.testing.assert_array_equal(o.numpy(), e.numpy())
    return True


def _unrecorded_view_is_refused(update: Fn, args: list[Any], kwargs: Keywords) -> None:
    """A view made without recording must not be changed once its base has a history: no quiet path may do it."""
    base = TensorRef.of(np.stack([args[0]] * 2))
    with no_grad():
        view = F.select(base, 0, 0)
    F.copy_(F.select(base, 0, 1), TensorRef.of(np.ones((), base.dtype.np), requires_grad=True))
    _refused(lambda: update(view, *as_tensors(copied(args[1:])), **as_tensors(copied(kwargs))),
             "A view was created in no_grad mode and is being modified inplace")
    np.testing.assert_array_equal(view.numpy(), args[0])
    assert base.requires_grad and number_of(base) == 1


def _in_place(rec: Record, sample: Sample) -> bool:
    """`name_` gives what `name` gives, in the tensor's own buffer, counts a version, and has the same gradients."""
    args, kwargs = bind(rec, sample)
    if not rec.inplace or not args:
        return False
    # The method takes the tensor first, as the in-place variant does, where the function takes a number first: polygamma.
    function, update = F.function(rec.name) if rec.params[0].is_tensor else F.method(rec.name), F.function(rec.name + "_")
    if not rec.params[0].is_tensor:
        args[:2] = args[1], args[0]
    if not is_array(args[0]):
        return False
    expected = function(*as_tensors(copied(args)), **as_tensors(copied(kwargs)))
    integers = np.asarray(args[0]).dtype.kind in "biu"
    if expected.dtype.category > DType.by_np[np.asarray(args[0]).dtype].category:
        args[0] = np.asarray(args[0]).astype(expected.dtype.np)
    target, *rest = as_tensors(copied(args))
    if expected.shape != target.shape:
        return False
    buffer, before = target._data, number_of(target)
    assert update(target, *rest, **as_tensors(copied(kwargs))) is target and target._data is buffer
    assert number_of(target) == before + 1
    np.testing.assert_array_equal(target.numpy(), expected.numpy().astype(target.dtype.np))
    if target.dtype.is_floating_point:
        _unrecorded_view_is_refused(update, args, kwargs)
    if not rec.has_gradient or sample.no_gradient or integers or target.dtype.np != np.float64 or not expected.dtype.is_floating_point:
        return True
    if rec.field("no_derivative_"):
        return _refused(lambda: backward(F.sum(update(as_tensors(copied(args), requires_grad=True)[0] * 1))),
                        f"the derivative for 'inplace version of {rec.name}' is not implemented")
    gradients = []
    for call in (function, update):
        inputs = as_tensors(copied(args), requires_grad=True)
        out = call(inputs[0] * 1, *inputs[1:], **as_tensors(copied(kwargs)))
        gradients.append(grad(F.sum(out * out), [t for t in tensors(inputs) if t.requires_grad]))
    for a, b in zip(*gradients):
        np.testing.assert_array_equal(np.zeros(()) if a is None else a, np.zeros(()) if b is None else b)
    return True


def _problem(rec: Record, sample: Sample) -> Problem | None:
    """The gradients of a sample, where there are any to be compared."""
    if rec.field("unset") or rec.field("no_differences") or _undefined(rec) or sample.single:
        return None
    floating = {a.dtype.char for a in arrays_of(bind(rec, sample))}
    assert not floating & set("efFE") or floating & set("dD"), (
        f"{sample} is in single precision alone, for which central differences are too coarse")
    problem = Problem(rec, sample)
    return problem if problem.inputs and problem.weights else None


def _differentiated(rec: Record, sample: Sample) -> bool:
    """First derivatives are those of central differences, in double precision; an operation that has none is locally constant."""
    problem = _problem(rec, sample)
    if problem is None:
        return False
    if problem.no_gradient:
        _, outputs = problem.call(problem.inputs, requires_grad=True)
        return all([_refused(lambda: backward(F.sum(t)), "is not implemented") for t in tensors(outputs) if t.requires_grad])
    inputs, gradients = problem.gradients(problem.inputs)
    for value, found, expected in zip(inputs, gradients, central_differences(problem.value, problem.inputs)):
        if found is None:
            found = np.zeros(value.shape, value.dtype.np)
        assert found.dtype == value.dtype.np and found.shape == value.shape
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6, err_msg=f"{rec.name}{problem.args}")
    return True


def _refuses(node: Any) -> bool:
    """Whether a graph has a node of an operation that has no derivative."""
    seen, waiting = {id(node)}, [node]
    while waiting:
        node = waiting.pop()
        if type(node).__name__ == "NotImplemented":
            return True
        for edge in getattr(node, "edges", ()):
            behind = edge.entry if edge is not None and edge._tag == 2 else edge
            if behind is not None and id(behind) not in seen:
                seen.add(id(behind))
                waiting.append(behind)
    return False


def _differentiated_twice(rec: Record, sample: Sample) -> bool:
    """Second derivatives, through create_graph, are the central differences of the first; and both ways of computing the first agree."""
    problem = _problem(rec, sample) if rec.has_gradient or rec.field("function") else None
    if problem is None or problem.no_gradient:
        return False
    inputs, gradients = problem.gradients(problem.inputs, create_graph=True)
    _, plain = problem.gradients(problem.inputs)
    rng, weights, terms = np.random.default_rng(0), [], []
    for recorded, raw in zip(gradients, plain):
        assert (recorded is None) == (raw is None)
        weights.append(rng.uniform(0.5, 1.5, () if raw is None else raw.shape))
        if recorded is not None:
            np.testing.assert_allclose(recorded.numpy(), raw, rtol=1e-9, atol=1e-12)
            if recorded.requires_grad:
                terms.append(F.sum(recorded * TensorRef.of(weights[-1])))

    refusing = [g for g in gradients if g is not None and _refuses(g._node)]
    if refusing:
        return all([_refused(lambda: backward(F.sum(g)), "is not implemented") for g in refusing])

    def first(values: list[np.ndarray]) -> float:
        return float(sum([np.sum(w * g) for w, g in zip(weights, problem.gradients(values)[1]) if g is not None]))

    seconds = grad(sum(terms[1:], terms[0]), inputs) if terms else [None] * len(inputs)
    for value, found, expected in zip(inputs, seconds, central_differences(first, problem.inputs)):
        np.testing.assert_allclose(np.zeros(value.shape) if found is None else found, expected, rtol=1e-4, atol=1e-5,
                                   err_msg=f"{rec.name}{problem.args}")
    return True


CHECKS: dict[str, Callable[[Record, Sample], bool]] = {
    "meta": _predicted, "compose": _composed, "out": _into, "in-place": _in_place, "gradients": _differentiated,
    "gradients of gradients": _differentiated_twice,
}
"""What `check_operation` asks, from a record and one of its samples to whether it has this. Higher modules add to it."""
MOST = {"gradients of gradients": 2}
"""How many samples are enough."""


def check_operation(name: str, *only: str) -> tuple[str, ...]:
    """Holds an operation to what its record says, on each of its samples.

    "meta": shapes and dtypes of results are those that the meta executor predicts. "compose": it computes what the kernel does. "out",
    "in-place": these variants give the same. "gradients": they are central differences, as are "gradients of gradients". With
    `torchcompat.func` imported "vmap" gives what a loop over examples gives, and tangents in "forward mode" are central differences.

    Args:
        name: of the operation.
        only: which of these, where not all.

    Returns:
        what of this the operation has.

    Raises:
        AssertionError: it is not as the record says.
        KeyError: there is no such check.

    >>> check_operation("expm1")[:5]
    ('meta', 'compose', 'out', 'in-place', 'gradients')
    """
    rec, found = get_record(name), []
    with ignoring():
        for word in only or CHECKS:
            held = 0
            for sample in samples(rec):
                held += CHECKS[word](rec, sample)
                if held == MOST.get(word):
                    break
            if held:
                found.append(word)
    return tuple(found)
