"""Facts about operations are fields of their records: no list elsewhere names operations, and no field goes unread."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests import sources

from autograd_tape.ops import ALIASES, RECORDS, Record

NAMES = {name.rpartition(".")[2] for name in (*RECORDS, *ALIASES)}
LISTS: dict[tuple[str, str], str] = {
    ("autograd_tape/ops/networks/_losses.py", "REDUCTIONS"): "what `reduction` may be",
    ("autograd_tape/ops/data/index_along.py", "_REDUCTIONS"): "what `reduce` may be",
    ("autograd_tape/ops/data/scatter.py", "_HOW"): "what `reduce` may be",
    ("autograd_tape/ops/data/scatter.py", "_HOW_TRUE"): "what `reduce` may be",
    ("autograd_tape/ops/data/scatter.py", "_REDUCERS"): "what `reduce` may be",
    ("autograd_tape/samples.py", "THROUGH"): "what `Sample.through` may be",
    ("autograd_tape/ops/_index.py", "INDEX"): "which module has which record, written by a program and held current",
    ("autograd_tape/ops/_index.py", "METHODS"): "the same of methods",
    ("torchcompat/functional.py", "_OPERATIONS"): "what torch has in torch.functional, which has no operations of its own",
    ("torchcompat/nn/init.py", "_LINEAR"): "what `nonlinearity` may be",
    ("torchcompat/fx/node.py", "magic_methods"): "how Python writes its operators",
    ("torchcompat/_calls/aten.py", "_REDUCTIONS"): "what `reduction` may be",
    ("torchcompat/_calls/foreach.py", "_UNARY"): "torch's functions on lists, which torch has of these operations alone",
    ("torchcompat/_calls/foreach.py", "_IN_BOTH"): "the signatures of torch's functions on lists, which differ from the operations'",
    ("torchcompat/_calls/foreach.py", "SIGNATURES"): "the signatures of torch's functions on lists, some of which have no record",
    ("torchcompat/_calls/foreach.py", "ELEMENTS"): "what torch's functions on lists do with one element of each",
    ("torchcompat/masked/_ops.py", "_IDENTITIES"): "torch's masked functions, which torch has of these operations alone",
    ("torchcompat/masked/_ops.py", "_NORMALIZATIONS"): "torch's masked functions, which torch has of these operations alone",
    ("torchcompat/masked/_ops.py", "_REDUCTIONS"): "torch's masked functions, which torch has of these operations alone",
    ("torchcompat/masked/maskedtensor/binary.py", "BINARY_NAMES"): "what torch's MaskedTensors take of operations, by kind",
    ("torchcompat/masked/maskedtensor/binary.py", "INPLACE_BINARY_NAMES"): "what torch's MaskedTensors take of operations, by kind",
    ("torchcompat/masked/maskedtensor/passthrough.py", "_NAMES"): "what torch's MaskedTensors take of operations, by kind",
    ("torchcompat/masked/maskedtensor/reductions.py", "REDUCE_NAMES"): "what torch's MaskedTensors take of operations, by kind",
    ("torchcompat/masked/maskedtensor/unary.py", "INPLACE_UNARY_NAMES"): "what torch's MaskedTensors take of operations, by kind",
    ("torchcompat/masked/maskedtensor/unary.py", "UNARY_NAMES"): "what torch's MaskedTensors take of operations, by kind",
    ("torchcompat/masked/maskedtensor/unary.py", "UNARY_NAMES_UNSUPPORTED"): "what torch's MaskedTensors take of operations, by kind",
    ("torchcompat/_calls/factories.py", "_SIZES"): "functions that make tensors, some of which have no record",
    ("torchcompat/jit/_operators.py", "REDUCTIONS"): "what `reduction` may be, by the numbers that files have",
    ("torchcompat/jit/_operators.py", "FOREIGN"): "functions that TorchScript's files cannot write as ATen's, some of which have no record",
    ("torchcompat/jit/_forms.py", "FORMS"): "how TorchScript's files write calls, which no layer below knows of",
    ("torchcompat/onnx/_rows/elementwise.py", "NODES"): "operations as nodes of another format, which no layer below knows of",
    ("torchcompat/onnx/_rows/elementwise.py", "FORMULAS"): "operations as nodes of another format, which no layer below knows of",
    ("torchcompat/onnx/_rows/elementwise.py", "_KEEP"): "those of them whose nodes take arguments as they are",
    ("torchcompat/onnx/_rows/shapes.py", "_REDUCE"): "what `reduce` may be",
    ("autograd_tape/array_api.py", "ELEMENTWISE"): "the array API standard's names",
    ("autograd_tape/array_api.py", "SAME"): "the array API standard's names",
    ("autograd_tape/array_api.py", "_LINALG"): "the array API standard's names",
    ("autograd_tape/array_api.py", "linalg"): "the array API standard's names",
    ("autograd_tape/array_api.py", "_FFT"): "the array API standard's names",
    ("autograd_tape/array_api.py", "fft"): "the array API standard's names",
    ("autograd_tape/array_api.py", "(zeros, ones, empty)"): "functions that make tensors",
    ("autograd_tape/numpy/_shapes.py", "(zeros_like, ones_like, empty_like)"): "NumPy's names",
    ("autograd_tape/ops/reductions/segments.py", "_KINDS"): "values of an argument",
    ("autograd_tape/functions/attributes.py", "REDUCTIONS"): "values of an argument",
}
"""(file, name of the list) of those that may name operations, and why."""
COMPARED: dict[tuple[str, str], str] = {
    ("torchcompat/_memory/bits.py", "__call__"): "what conjugate views are resolved to is a copy already",
    ("torchcompat/func/_functional.py", "replay"): "the one view that some layouts do not allow",
}
"""(file, function) where the name of a record is compared, and why."""


def words(node: ast.AST) -> list[str]:
    """The strings of a collection: items, keys of a dict, words of a string that is split."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split" and isinstance(
            node.func.value, ast.Constant):
        return str(node.func.value.value).split()
    items: list[ast.expr | None] = []
    if isinstance(node, (ast.Set, ast.List, ast.Tuple)):
        items = [*node.elts]
    elif isinstance(node, ast.Dict):
        items = [*node.keys]
    return [item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]


def is_record(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and any([isinstance(d, ast.Call) and ast.unparse(d.func) == "op" for d in node.decorator_list])


def lists(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    """(name, operations) of each collection at the module's level most of whose strings name operations."""
    for statement in tree.body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            target = ast.unparse(statement.targets[0] if isinstance(statement, ast.Assign) else statement.target)
            found = [w for node in ast.walk(statement.value) for w in words(node)]
            named = [w for w in found if w in NAMES]
            if len(named) > 1 and 2 * len(named) > len(found) and target != "__all__":
                yield target, named


NAMED = r"\brec(ord)?\.name"
"""How code speaks of the name of a record."""


def comparisons(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    """(function, operations) of each comparison of a record's name with those of operations, but in records."""
    def visit(node: ast.AST, owner: str) -> Iterator[tuple[str, list[str]]]:
        if is_record(node):
            return
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            owner = node.name
        elif isinstance(node, ast.Compare) and re.search(f"{NAMED}$", ast.unparse(node.left)):
            found = [w for c in node.comparators for w in ([c.value] if isinstance(c, ast.Constant) else words(c)) if w in NAMES]
            if found:
                yield owner, found
        for child in ast.iter_child_nodes(node):
            yield from visit(child, owner)

    yield from visit(tree, "")


def trees(having: str = "") -> Iterator[tuple[str, ast.Module]]:
    for folder, path, tree in sources.trees(having=having):
        yield f"{folder.name}/{path.relative_to(folder).as_posix()}", tree


def test_no_list_elsewhere_names_operations() -> None:
    found = {(path, name): named for path, tree in trees() for name, named in lists(tree)}
    assert found.keys() == LISTS.keys(), {key: found[key] for key in found.keys() - LISTS.keys()}


def test_no_code_elsewhere_asks_for_an_operation_by_name() -> None:
    found = {(path, owner): named for path, tree in trees(NAMED) for owner, named in comparisons(tree)}
    assert found.keys() == COMPARED.keys(), {key: found[key] for key in found.keys() - COMPARED.keys()}


def test_every_field_of_every_record_is_known() -> None:
    """A field with a name that nobody reads would be a fact that has no effect."""
    assert Record.__doc__ is not None
    known = set(re.findall(r"^    `(\w+)", Record.__doc__, re.M)) | set(re.findall(r"^    `\w+`, `(\w+)`", Record.__doc__, re.M))
    for rec in RECORDS.values():
        formulas = {f"vjp_{p.name}" for p in rec.params}
        own = {name for name in vars(rec.body) if not name.startswith("__")}
        assert own <= known | formulas | {"vjp"}, f"{rec.name}: {own - known - formulas}"
