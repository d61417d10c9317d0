"""Every record's samples as calls on tensors, for tests that go over all operations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dataclasses import dataclass
from tests.ops.op_cases import UNINITIALISED, as_tensors, bind, samples, tensors

from autograd_tape import F, TensorRef
from autograd_tape.errors import ArgumentError
from autograd_tape.held import Slot
from autograd_tape.record import named_arguments
from autograd_tape.ops import RECORDS, Record

RANDOM = {"random"}


@dataclass(frozen=True, slots=True)
class Case:
    """A sample: the record, its tensors in order, and the other arguments by name."""

    rec: Record
    tensors: list[TensorRef]
    arguments: dict[str, Any]
    args: list[Any]
    kwargs: dict[str, Any]
    of: str

    def __str__(self) -> str:
        return f"{self.rec.name}({', '.join(str(list(t.shape)) for t in self.tensors)}, {self.arguments})"

    def call(self) -> list[TensorRef] | None:
        """The operation's outputs; None where they are no tensors."""
        return tensors(getattr(F, self.rec.name)(*self.args, **self.kwargs)) or None


IN_PLACE = {"setitem"}
CONSISTENT_VALUES = {"masked_place"}  # takes as many values as its mask has True, so zeros do not do
NAMES = sorted(name for name, rec in RECORDS.items() if name not in UNINITIALISED | IN_PLACE | CONSISTENT_VALUES and not name.endswith("_")
               and rec.module.rpartition(".")[2] not in RANDOM and rec.field("samples") is not None)
"""Operations with samples (the table of operations asks for them) that are deterministic, not in place, and called as their schema says."""


def cases(name: str, requires_grad: bool = False) -> Iterator[Case]:
    """The samples of a record, as its schema names their arguments; if asked, floating-point and complex tensors require grad where the
    operation can be differentiated."""
    rec = RECORDS[name]
    for sample in samples(rec):
        args, kwargs = as_tensors(bind(rec, sample), requires_grad=requires_grad and not sample.no_gradient)
        try:
            named = named_arguments(rec, gathered(rec, args), kwargs)
        except ArgumentError as error:
            if rec.field("function") is not None or rec.field("make") is not None:
                continue  # a form that a schema cannot say, as of arange(5), where the first number is the second parameter
            raise AssertionError(f"the sample {sample} of {rec.name} does not fit {rec.schema}") from error
        if rec.field("several_types") and any(p.type == "bool" and not isinstance(named[p.name], bool) for p in rec.params):
            continue  # another of torch's signatures
        tensors, arguments = [], {}
        lists = [i for i, p in enumerate(rec.params) if p.type == "Tensor[]"]
        several = len(lists) > 1 or any(
            isinstance(named[q.name], TensorRef) and q.default is not None for i in lists for q in rec.params[i + 1:])
        for p in rec.params:
            value = named[p.name]
            if requires_grad and p.name in (rec.field("refuses_grad") or ()) and isinstance(value, TensorRef):
                value.requires_grad = False
            if p.is_tensor and isinstance(value, TensorRef):
                tensors.append(value)
            elif p.is_tensor and isinstance(value, (list, tuple)) and value and isinstance(value[0], TensorRef):
                if several:  # it could be any of several tensors, so which of them the list has is said
                    arguments[p.name] = [Slot(len(tensors) + i) for i in range(len(value))]
                tensors += value
            else:
                arguments[p.name] = value
        yield Case(rec, tensors, arguments, args, kwargs, sample.of)


def gathered(rec: Record, args: list[Any]) -> list[Any]:
    """Positional arguments with those that irregular operations, plain functions of the front end, take one by one, `block_diag(a, b)`
    and `x.new_ones(2, 3)`, in the list that their schema has."""
    positional = [p for p in rec.params if not p.keyword_only]
    last = len(positional) - 1
    if not positional or not positional[-1].type.endswith("[]") or len(args) <= last:
        return args
    rest = args[last:]
    return args if len(rest) == 1 and isinstance(rest[0], (list, tuple)) else [*args[:last], rest]
