"""Records the oracle: inputs, results, gradients and errors of real torch's own operator database.

It needs expecttest, which torch's testing package imports, and rewrites ``tests/fixtures/oracle/<family>.npz``.  Every case is stored, read
back and run from what was read, so that what is recorded is what a replay will do; the result must equal that of the database's own
callable.  Seeds are fixed, and the same torch on the same kind of CPU writes the same cases again.
"""

from __future__ import annotations

import itertools
import random
import warnings
from collections import Counter
from typing import Any

import numpy as np
import torch
from tests.oracle.oracle_cases import DATA, Reader, Unstorable, Writer, flatten, tensors_in
from tests.oracle.oracle_operations import DTYPES, FAMILIES, METADATA_ONLY, Missing, public_name, resolve
from tests.oracle.oracle_replay import gradients
from torch.testing._internal.common_methods_invocations import op_db

GENERATED = 300  # samples looked at per operation and dtype
CASES = {"float32": 12, "float64": 6, "int64": 5, "bool": 3}
ERRORS = 12
LARGE_CASES = {"float32": 2, "float64": 1, "int64": 1, "bool": 1}  # at most, where there are not enough small ones
SMALL, LARGE, HUGE = 600, 5000, 40000  # numbers per case: inputs, results and gradients together


class Rejected(Exception):
    """A sample is not recorded; the message is the reason, counted in the summary."""


def seed() -> None:
    random.seed(0)
    np.random.seed(0)  # the database draws from the global generators
    torch.manual_seed(0)


def spread(items: list[Any], number: int) -> list[Any]:
    """``number`` items, evenly from the first to the last; the database starts with the simplest and ends with the oddest."""
    if len(items) <= number:
        return items
    return [items[round(i * (len(items) - 1) / max(number - 1, 1))] for i in range(number)]


def elements(node: Any) -> int:
    """How many numbers the tensors below a node have."""
    return sum(int(np.prod(leaf["s"])) for leaf in tensors_in(node))


class Recorder:
    """Records one family into one writer."""

    def __init__(self) -> None:
        self.writer = Writer(torch)
        self.rejected: Counter[str] = Counter()

    def arguments(self, sample: Any) -> tuple[list[Any], dict[str, Any]]:
        """The stored form of a sample's arguments; rejects what is too large or cannot be stored."""
        if any(isinstance(t, torch.Tensor) and t.numel() > HUGE for t in flatten([sample.input, *sample.args])):
            raise Rejected("too large")
        if any(sample.kwargs.get(name) is not None for name in ("generator", "out")) or sample.kwargs.get("dropout_p"):
            raise Rejected("random or out=")
        if "device" in sample.kwargs and str(sample.kwargs["device"]) != "cpu":
            raise Rejected("other device")
        try:
            positional = [self.writer.value(value) for value in (sample.input, *sample.args)]
            return positional, {name: self.writer.value(value) for name, value in sample.kwargs.items()}
        except Unstorable as error:
            raise Rejected(f"unstorable {error}") from None

    def reader(self) -> Reader:
        """Reads what has been stored so far."""
        return Reader(torch, {name: np.concatenate(parts) for name, parts in self.writer.parts.items()})

    def case(self, info: Any, name: str, sample: Any, limit: int = LARGE) -> dict[str, Any]:
        """Run one sample from its stored form and store what it gives."""
        positional, keywords = self.arguments(sample)
        reader, call = self.reader(), resolve(torch, name)
        arguments = [reader.value(node) for node in positional]
        named = reader.value({"dict": keywords})
        try:
            result = call(*arguments, **named)
        except Exception as error:  # the database's call may differ from the public one
            raise Rejected(f"raises {type(error).__name__}: {str(error).splitlines()[0]:.80}") from None
        if name in METADATA_ONLY:
            with torch.no_grad():
                result.zero_()  # what happened to be there must not be recorded
        else:
            theirs = info.op(sample.input, *sample.args, **sample.kwargs)
            torch.testing.assert_close(detached(result), detached(theirs), equal_nan=True)
        try:
            case: dict[str, Any] = {"in": positional, "kw": keywords, "out": self.writer.value(result)}
        except Unstorable as error:
            raise Rejected(f"unstorable result {error}") from None
        if name not in METADATA_ONLY:
            leaves = [*flatten(arguments), *flatten(named)]
            try:
                grads = gradients(torch, result, leaves)
            except RuntimeError as error:
                raise Rejected(f"no gradient: {str(error).splitlines()[0]:.60}") from None
            if grads:
                case["grad"] = [self.writer.value(g) for g in grads]
            self.note_rounding(call, positional, keywords, case)
            for form, method in (("method", info.method_variant), ("in-place", info.inplace_variant)):
                if hasattr(method, "__name__") and self.variant_agrees(form, method, reader, case):
                    case[form] = method.__name__
        if elements([case["in"], case["kw"], case["out"], case.get("grad")]) > limit:
            raise Rejected("too large")
        return case

    def note_rounding(self, call: Any, positional: list[Any], keywords: dict[str, Any], case: dict[str, Any]) -> None:
        """Store with each float32 result and gradient how far torch itself is from its float64 answer, where that is far.

        Elsewhere (sums that cancel, logarithms of gradients) the last digits are torch's rounding, not the operation's value.
        """
        reader = self.reader()
        nodes = [*tensors_in(case["out"]), *tensors_in(case.get("grad", []))]
        if not any(node["t"] == "float32" for node in nodes):
            return
        arguments = [doubled(reader.value(node)) for node in positional]
        named = doubled(reader.value({"dict": keywords}))
        try:
            result = call(*arguments, **named)
            precise = [*flatten(result), *gradients(torch, result, [*flatten(arguments), *flatten(named)])]
        except RuntimeError:
            return  # not for float64, or not for a mixture: the usual tolerance stands
        precise = [t for t in precise if isinstance(t, torch.Tensor)]
        if len(precise) != len(nodes):
            return
        for node, exact in zip(nodes, precise, strict=True):
            if node["t"] != "float32" or list(exact.shape) != node["s"] or exact.numel() == 0:
                continue
            values, truth = reader.array(node), exact.detach().numpy(force=True)
            finite = np.isfinite(values) & np.isfinite(truth)
            error = float(np.max(np.abs(values - truth)[finite], initial=0.0))
            scale = float(np.max(np.abs(truth)[finite], initial=0.0))
            # an error as large as the values is a step function's other step, which nobody may call rounding
            if 5e-6 < error < 0.01 * scale:
                node["e"] = float(f"{error:.2g}")

    def variant_agrees(self, form: str, method: Any, reader: Reader, case: dict[str, Any]) -> bool:
        """Whether the method or in-place form gives the function's very result on this case."""
        arguments = [reader.value(node) for node in case["in"]]
        arguments = [t.detach() if isinstance(t, torch.Tensor) else t for t in arguments]
        if not isinstance(arguments[0], torch.Tensor) or not hasattr(torch.Tensor, method.__name__):
            return False
        expected = [self.reader().value(node) for node in tensors_in(case["out"])]
        try:
            result = method(*arguments, **reader.value({"dict": case["kw"]}))
        except (RuntimeError, TypeError):
            return False  # no in-place form for this broadcast or promotion: nothing to record
        if form == "in-place" and result is not arguments[0]:
            return False
        actual = flatten(result)
        return len(actual) == len(expected) and all(
            isinstance(a, torch.Tensor)
            and a.dtype == e.dtype
            and torch.equal(torch.nan_to_num(a.detach()), torch.nan_to_num(e.detach()))
            for a, e in zip(actual, expected, strict=True)
        )

    def error(self, name: str, sample: Any) -> dict[str, Any]:
        positional, keywords = self.arguments(sample)
        reader = self.reader()
        try:
            resolve(torch, name)(*[reader.value(node) for node in positional], **reader.value({"dict": keywords}))
        except Exception as error:  # whatever torch raises is what is recorded
            return {"in": positional, "kw": keywords, "error": [type(error).__name__, str(error)]}
        raise Rejected("error input without an error")

    def operation(self, info: Any, name: str) -> dict[str, Any]:
        """All cases of one operation; a rejected sample leaves nothing behind but a count."""
        recorded: dict[str, Any] = {"cases": [], "errors": []}
        for dtype_name in DTYPES:
            dtype = getattr(torch, dtype_name)
            if dtype not in info.dtypes:
                continue
            seed()
            grad = info.supports_autograd and dtype.is_floating_point
            samples = list(itertools.islice(info.sample_inputs("cpu", dtype, requires_grad=grad), GENERATED))
            kept = self.keep(
                samples, CASES[dtype_name], LARGE_CASES[dtype_name], lambda sample: self.case(info, name, sample)
            )
            for number, case in enumerate(kept):
                recorded["cases"].append({"id": f"{dtype_name}-{number}", **case})
            if not recorded["cases"]:  # the database has no smaller sample: one huge case is better than none
                for case in self.keep(samples, 1, 1, lambda sample: self.case(info, name, sample, HUGE)):
                    recorded["cases"].append({"id": f"{dtype_name}-0", **case})
        if info.error_inputs_func is not None:
            seed()
            errors = [entry.sample_input for entry in itertools.islice(info.error_inputs("cpu"), 3 * ERRORS)]
            kept = self.keep(errors, ERRORS, ERRORS, lambda sample: self.error(name, sample))
            for number, case in enumerate(kept):
                recorded["errors"].append({"id": f"error-{number}", **case})
        return recorded

    def keep(self, samples: list[Any], number: int, large: int, record: Any) -> list[dict[str, Any]]:
        """Record ``number`` samples out of those that can be recorded, the small ones first, and at most ``large`` others."""
        usable = []
        for sample in samples:
            mark = self.mark()
            try:
                usable.append((elements(list(record(sample).values())), sample))
            except Rejected as reason:
                self.rejected[str(reason)] += 1
            self.rewind(mark)
        chosen = spread([sample for size, sample in usable if size <= SMALL], number)
        others = sorted((pair for pair in usable if pair[0] > SMALL), key=lambda pair: pair[0])
        chosen += [sample for _, sample in others[: min(large, number - len(chosen))]]
        return [record(sample) for sample in chosen]

    def mark(self) -> tuple[dict[str, int], dict[str, int]]:
        return dict(self.writer.sizes), {name: len(parts) for name, parts in self.writer.parts.items()}

    def rewind(self, mark: tuple[dict[str, int], dict[str, int]]) -> None:
        """Forget the arrays stored since ``mark``."""
        self.writer.sizes = dict(mark[0])
        self.writer.parts = {name: self.writer.parts[name][:count] for name, count in mark[1].items()}


def doubled(value: Any) -> Any:
    """The same value with float32 tensors as float64, leaves again if they were."""
    if isinstance(value, (tuple, list)):
        return type(value)(doubled(item) for item in value)
    if isinstance(value, dict):
        return {key: doubled(item) for key, item in value.items()}
    if isinstance(value, torch.Tensor) and value.dtype is torch.float32:
        return value.detach().double().requires_grad_(value.requires_grad)
    return value


def detached(value: Any) -> Any:
    leaves = [t.detach() if isinstance(t, torch.Tensor) else t for t in flatten(value)]
    return [leaf for leaf in leaves if isinstance(leaf, (torch.Tensor, bool, int, float))]


def database() -> dict[str, Any]:
    """torch's operators by name, with ``.variant`` where there is one."""
    return {f"{i.name}.{i.variant_test_name}" if i.variant_test_name else i.name: i for i in op_db}


def record() -> None:
    """Records all families."""
    warnings.simplefilter("ignore")
    infos = database()
    DATA.mkdir(exist_ok=True)
    for family in FAMILIES:
        recorder, operations = Recorder(), {}
        for name in FAMILIES[family].split():
            if name not in infos:
                raise Missing(f"torch's database has no {name} (public name {public_name(name)})")
            before = Counter(recorder.rejected)
            try:
                operations[name] = recorder.operation(infos[name], name)
            except Exception as error:
                error.add_note(f"while recording {name}")
                raise
            cases = operations[name]["cases"]
            if not cases:
                print(f"  {name}: NO CASE: {dict(recorder.rejected - before)}")
        path = DATA / f"{family}.npz"
        recorder.writer.write(path, {"torch": torch.__version__, "operations": operations})
        total = sum(len(o["cases"]) + len(o["errors"]) for o in operations.values())
        print(f"{family}: {len(operations)} operations, {total} cases, {path.stat().st_size / 1024:.0f} KiB")
        for reason, count in recorder.rejected.most_common(6):
            print(f"    {count:5d} rejected: {reason}")
