"""Replays recorded cases on a library and says where it deviates; also a command that keeps the two lists true.

    python -m tests.oracle.oracle_replay [OPERATION ...]    print every deviation, listed or not, and time per operation
    python -m tests.oracle.oracle_replay --update           rewrite not_yet.txt and drop the deviations that have healed
    python -m tests.oracle.oracle_replay --update --add     ... and add rows for the new ones

``--add`` leaves the reason of new rows empty, and the tests reject an empty reason until somebody has written it: a deviation
is to be mended first and listed only where there is a reason to keep it.  ``--module torch``, under a python that has torch, checks
the recording itself: nothing may deviate.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.oracle.oracle_cases import DATA, Reader, contiguous_strides, cotangent, dtype_name, flatten, load, tensors_in
from tests.oracle.oracle_operations import METADATA_ONLY, OPERATIONS, Missing, attribute, resolve

HERE = Path(__file__).resolve().parent
NOT_YET, DEVIATIONS = HERE / "not_yet.txt", HERE / "deviations.json"
Deviations = dict[tuple[str, str], str]  # (case, check) -> what was seen

# dtype -> (relative, absolute); what is not listed must be equal
TOLERANCES = {"float16": (1e-3, 1e-3), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7), "complex64": (1.3e-6, 1e-5),
              "complex128": (1e-7, 1e-7)}
GRADIENT_FACTOR = 4.0  # a backward pass sums more terms than the forward pass
# Where float32 results carry more rounding than that in torch itself (sums of products that cancel, steep functions).
WIDER_FAMILIES = {"linalg": (1e-5, 1e-4), "convolution": (1e-5, 1e-4), "layers": (1e-5, 1e-4)}
WIDER = {
    "cdist": (1e-4, 1e-3), "cosh": (1e-5, 1e-4), "cumprod": (1e-5, 1e-4), "digamma": (1e-5, 1e-4), "lgamma": (1e-5, 1e-4),
    "linalg.cholesky": (1e-4, 1e-4), "linalg.det": (1e-4, 1e-4), "linalg.inv": (1e-4, 1e-4), "linalg.slogdet": (1e-4, 1e-4),
    "linalg.solve": (1e-4, 1e-4), "polygamma.polygamma_n_1": (1e-5, 1e-4), "prod": (1e-5, 1e-4), "sinh": (1e-5, 1e-4),
    "tan": (1e-5, 1e-4),
}  # fmt: skip


@cache
def family(name: str) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """The operations and the arrays of a family's file."""
    content, arrays = load(DATA / f"{name}.npz")
    return content["operations"], arrays


def recorded(operation: str) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """What was recorded of one operation, and the arrays it refers to."""
    operations, arrays = family(OPERATIONS[operation])
    return operations[operation], arrays


def gradients(torch: Any, result: Any, inputs: Sequence[Any]) -> list[Any]:
    """The gradients of ``result``'s tensors that require grad, with their fixed cotangents, for the inputs that do."""
    outputs = [t for t in flatten(result) if isinstance(t, torch.Tensor) and t.requires_grad]
    leaves = [t for t in inputs if isinstance(t, torch.Tensor) and t.requires_grad]
    if not outputs or not leaves:
        return []
    cotangents = [torch.from_numpy(cotangent(tuple(t.shape), dtype_name(t.dtype), i)) for i, t in enumerate(outputs)]
    return list(torch.autograd.grad(outputs, leaves, cotangents, allow_unused=True))


class Replay:
    """One operation of a library against its recorded cases."""

    def __init__(self, torch: Any, operation: str) -> None:
        self.torch, self.operation = torch, operation
        self.call = resolve(torch, operation)
        self.record, arrays = recorded(operation)
        self.reader = Reader(torch, arrays)

    def run(self) -> Deviations:
        """Every deviation of every case."""
        seen: Deviations = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for case in self.record["cases"]:
                for check, text in self._case(case):
                    seen.setdefault((case["id"], check), text)
            for case in self.record["errors"]:
                for check, text in self._error(case):
                    seen[case["id"], check] = text
        return seen

    def _arguments(self, case: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return [self.reader.value(node) for node in case["in"]], self.reader.value({"dict": case["kw"]})

    def _case(self, case: dict[str, Any]) -> Iterator[tuple[str, str]]:
        arguments, keywords = self._arguments(case)
        try:
            result = self.call(*arguments, **keywords)
        except Exception as error:  # any exception is a finding
            yield "call", f"{type(error).__name__}: {error}"
            return
        yield from self._compare(result, case["out"])
        if "grad" in case:
            yield from self._gradients(result, [*flatten(arguments), *flatten(keywords)], case["grad"])
        for form in ("method", "in-place"):
            if form in case:
                yield from self._variant(form, case)

    def _error(self, case: dict[str, Any]) -> Iterator[tuple[str, str]]:
        arguments, keywords = self._arguments(case)
        kind, text = case["error"]
        try:
            self.call(*arguments, **keywords)
        except Exception as error:  # the kind of exception is what is compared
            if type(error).__name__ != kind:
                yield "error type", f"{type(error).__name__} for {kind}: {error}"
            elif str(error) != text:
                yield "error text", f"{error!s:.300} for {text:.300}"
        else:
            yield "error type", f"no error for {kind}: {text:.200}"

    def _compare(self, result: Any, node: Any) -> Iterator[tuple[str, str]]:
        """Structure, then shape, dtype, strides, requires_grad and values of every tensor."""
        if isinstance(node, dict) and "fields" in node:
            absent = [name for name in node["fields"] if not hasattr(result, name)]
            if absent:
                yield "fields", f"{type(result).__name__} has no {absent[0]}"
        expected = tensors_in(node)
        if not expected:
            value = self.reader.value(node)
            if type(value) is not type(result) or not _equal_scalars(value, result):
                yield "values", f"{result!r:.100} for {value!r:.100}"
            return
        actual = flatten(result)
        if len(actual) != len(expected) or not all(isinstance(t, self.torch.Tensor) for t in actual):
            yield "structure", f"{[type(t).__name__ for t in actual]} for {len(expected)} tensors"
            return
        for tensor, wanted in zip(actual, expected, strict=True):
            yield from self._compare_tensor(tensor, wanted)

    def _compare_tensor(self, tensor: Any, node: dict[str, Any]) -> Iterator[tuple[str, str]]:
        shape, dtype = tuple(tensor.shape), dtype_name(tensor.dtype)
        if shape != tuple(node["s"]):
            yield "shape", f"{shape} for {tuple(node['s'])}"
            return
        if dtype != node["t"]:
            yield "dtype", f"{dtype} for {node['t']}"
            return
        strides = tuple(node.get("st") or contiguous_strides(shape))
        if tuple(tensor.stride()) != strides:
            yield "strides", f"{tuple(tensor.stride())} for {strides} at shape {shape}"
        if bool(tensor.requires_grad) != bool(node.get("g")):
            yield "requires_grad", f"{tensor.requires_grad} for {bool(node.get('g'))}"
        if self.operation not in METADATA_ONLY and (text := self._differs(tensor, node)):
            yield "values", text

    def _differs(self, tensor: Any, node: dict[str, Any], factor: float = 1.0) -> str | None:
        """None if a tensor of the recorded shape and dtype has the recorded values."""
        actual, expected = np.asarray(tensor.detach().numpy(force=True)), self.reader.array(node)
        relative, absolute = TOLERANCES.get(node["t"], (0.0, 0.0))
        if node["t"] == "float32":
            usual = WIDER_FAMILIES.get(OPERATIONS[self.operation], (relative, absolute))
            relative, absolute = WIDER.get(self.operation, usual)
            absolute += 2.0 * node.get("e", 0.0)
        if not relative:
            same = actual == expected
        else:
            with np.errstate(all="ignore"):
                same = np.isclose(actual, expected, rtol=relative * factor, atol=absolute * factor, equal_nan=True)
        if same.all():
            return None
        index = tuple(int(i) for i in np.argwhere(~same)[0])
        return f"{(~same).sum()} of {same.size} differ, first at {index}: {actual[index]!r} for {expected[index]!r}"

    def _gradients(self, result: Any, inputs: list[Any], nodes: list[Any]) -> Iterator[tuple[str, str]]:
        try:
            actual = gradients(self.torch, result, inputs)
        except Exception as error:  # any exception is a finding
            yield "gradient", f"{type(error).__name__}: {error}"
            return
        if len(actual) != len(nodes):
            yield "gradient", f"{len(actual)} gradients for {len(nodes)}"
            return
        for number, (tensor, node) in enumerate(zip(actual, nodes, strict=True)):
            if tensor is None or node is None:
                if tensor is not None or node is not None:
                    yield "gradient", f"gradient {number} is {'' if tensor is None else 'not '}None"
            elif tuple(tensor.shape) != tuple(node["s"]) or dtype_name(tensor.dtype) != node["t"]:
                yield "gradient", f"gradient {number}: {tuple(tensor.shape)} {tensor.dtype} for {node['s']} {node['t']}"
            elif text := self._differs(tensor, node, GRADIENT_FACTOR):
                yield "gradient", f"gradient {number}: {text}"

    def _variant(self, form: str, case: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """The method or in-place form, which must give what the function gave (recorded only where torch's does)."""
        arguments, keywords = self._arguments(case)
        arguments = [t.detach() if isinstance(t, self.torch.Tensor) else t for t in arguments]
        try:
            result = attribute(self.torch, "Tensor." + case[form])(*arguments, **keywords)
        except Missing:
            yield form, f"no method {case[form]}"
            return
        except Exception as error:  # any exception is a finding
            yield form, f"{type(error).__name__}: {error}"
            return
        if form == "in-place" and result is not arguments[0]:
            yield form, "does not return its first argument"
        expected = tensors_in(case["out"])
        for tensor, node in zip(flatten(result), expected, strict=False):
            if not isinstance(tensor, self.torch.Tensor) or list(tensor.shape) != node["s"]:
                yield form, f"{getattr(tensor, 'shape', tensor)!r:.100} for {node['s']}"
            elif dtype_name(tensor.dtype) != node["t"]:
                yield form, f"{tensor.dtype} for {node['t']}"
            elif text := self._differs(tensor, node):
                yield form, text


def _equal_scalars(expected: Any, actual: Any) -> bool:
    if isinstance(expected, float):
        return bool(np.isclose(actual, expected, rtol=1e-6, atol=0.0, equal_nan=True))
    return bool(expected == actual)


def missing(torch: Any) -> list[str]:
    """The recorded operations that the library has no function or method for, sorted."""
    absent = []
    for operation in OPERATIONS:
        try:
            resolve(torch, operation)
        except Missing:
            absent.append(operation)
    return sorted(absent)


def listed_missing() -> list[str]:
    return NOT_YET.read_text().split() if NOT_YET.exists() else []


def listed_deviations() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(DEVIATIONS.read_text()) if DEVIATIONS.exists() else []
    return rows


def updated_rows(rows: list[dict[str, Any]], observed: dict[str, Deviations], add: bool) -> list[dict[str, Any]]:
    """The rows without what has healed, and if ``add`` with what is new, under an empty reason."""
    reasons = {(row["op"], row["check"], case): row["reason"] for row in rows for case in row["cases"]}
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for operation, deviations in observed.items():
        for case, check in deviations:
            reason = reasons.get((operation, check, case), "" if add else None)
            if reason is not None:
                grouped.setdefault((operation, check, reason), []).append(case)
    return [
        {"op": operation, "check": check, "cases": sorted(cases), "reason": reason}
        for (operation, check, reason), cases in sorted(grouped.items())
    ]


def write_rows(rows: list[dict[str, Any]]) -> None:
    lines = ",\n".join(json.dumps(row) for row in rows)
    DEVIATIONS.write_text(f"[\n{lines}\n]\n" if rows else "[]\n")


def main(report: Callable[[str], None] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operations", nargs="*", help="only these (default: all)")
    parser.add_argument("--module", default="torchcompat")
    parser.add_argument(
        "--update", action="store_true", help="rewrite not_yet.txt, drop healed rows of deviations.json"
    )
    parser.add_argument("--add", action="store_true", help="with --update: add rows for new deviations")
    options = parser.parse_args()
    if options.update and (options.operations or options.module != "torchcompat"):
        parser.error("--update needs a replay of every operation on torchcompat")
    if options.add and not options.update:
        parser.error("--add goes with --update")
    torch = importlib.import_module(options.module)
    absent = missing(torch)
    observed: dict[str, Deviations] = {}
    for operation in options.operations or OPERATIONS:
        if operation in absent:
            report(f"{operation}: missing")
            continue
        started = time.perf_counter()
        observed[operation] = Replay(torch, operation).run()
        for (case, check), text in observed[operation].items():
            report(f"{operation} {case} {check}: {text.splitlines()[0] if text else ''}")
        if (seconds := time.perf_counter() - started) > 1:
            report(f"{operation}: {seconds:.1f} s")
    if options.update:
        NOT_YET.write_text("".join(name + "\n" for name in absent))
        write_rows(updated_rows(listed_deviations(), observed, options.add))
    deviating = sum(bool(deviations) for deviations in observed.values())
    report(f"{len(observed)} operations replayed, {deviating} deviate; {len(absent)} of {len(OPERATIONS)} missing")
    return 1 if deviating else 0


if __name__ == "__main__":
    sys.exit(main())
