"""What may be passed as `out=`: torch's rules for its dtype, which differ from operation to operation, and their words.

A record states its own in the field `out_dtype`; most operations cast (`CASTS`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dataclasses import dataclass

from ..dtypes import FLOATING, SCALAR_TYPE_NAMES, DType, c_name
from ..errors import ArgumentError, AutogradError, type_name
from ..modes import GradMode, grad_mode
from ..tensor import TensorRef

if TYPE_CHECKING:
    from ..record import Record


def same(result: DType, out: DType) -> bool:
    """Only the dtype of the result."""
    return result is out


def castable(result: DType, out: DType) -> bool:
    """What holds numbers of that category: booleans go into all, complex numbers into complex ones alone."""
    return result.category <= out.category


def boolean(result: DType, out: DType) -> bool:
    """Only booleans."""
    return out.name == "bool"


def boolean_or_byte(result: DType, out: DType) -> bool:
    """Booleans, or bytes, which torch had in their place once."""
    return out.name in ("bool", "uint8")


def floating(result: DType, out: DType) -> bool:
    """Any floating-point or complex dtype."""
    return out.category >= FLOATING


@dataclass(frozen=True, slots=True)
class OutRule:
    """The dtypes that one operation writes its result to.

    `text` is what torch says of others: {found} and {wanted} stand for its names of the dtypes of `out` and of the result, {found_c} and
    {wanted_c} for those of C++, {name} for the operation.
    """

    text: str
    takes: Callable[[DType, DType], bool] = same
    error: type[AutogradError] = AutogradError

    def check(self, name: str, result: DType, out: DType) -> None:
        """Raises where a result is not written to a tensor of the dtype `out`."""
        if self.takes(result, out):
            return
        raise self.error(self.text.format(name=name, found=SCALAR_TYPE_NAMES[out.name], wanted=SCALAR_TYPE_NAMES[result.name],
                                          found_c=c_name(out), wanted_c=c_name(result)),
                         expected=f"out= of dtype {result.name}", found=out.name, remedy="pass a tensor of the result's dtype")


def casts_safely(name: str, what: str = "result") -> OutRule:
    """torch's rule for a result of linear algebra, which it calls `what`."""
    return OutRule(f"{name}: Expected {what} to be safely castable from {{wanted}} dtype, but got {what} with dtype {{found}}", castable)


CASTS = OutRule("result type {wanted} can't be cast to the desired output type {found}", castable)
CAN_CAST = OutRule("Expected canCast( typeMetaToScalarType(self.dtype()), typeMetaToScalarType(out.dtype())) to be true, but got false.  "
                   "(Could this error message be improved?  If so, please report an enhancement request to PyTorch.)", castable)
FACTORY = OutRule("dtype {wanted} does not match dtype of out parameter ({found})")
CASTS_INPUTS = OutRule("torch.cat(): input types can't be cast to the desired output type {found}", castable, ArgumentError)
FOUND = OutRule("Found dtype {found} but expected {wanted}")
EXPECTED = OutRule("Expected out tensor to have dtype {wanted_c}, but got {found_c} instead")
SCALAR_TYPE = OutRule("expected scalar_type {wanted} but found {found}")
INPUT_AND_OUT = OutRule("Expected the dtype for input and out to match, but got {wanted} for input's dtype and {found} for out's dtype.")
SELF_AND_RESULT = OutRule("{name}(): self and result must have the same scalar type")
DOT = OutRule("result dtype {found} does not match input dtype {wanted}")
TENSORDOT = OutRule("tensordot: Expected the output tensor to have dtype {wanted}, but got an output tensor with dtype {found}")
MULTI_DOT = OutRule("multi_dot(): expected out tensor to have dtype {wanted_c} but got {found_c}")
ARGUMENT_OUT = OutRule("Expected object of scalar type {wanted} but got scalar type {found} for argument 'out'")
QUANTILE = OutRule("quantile() out tensor must be same dtype as the input tensor")
POSITIONS = OutRule("torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether "
                    "out_int32 flag is True, but we got output tensor's dtype {found} and out_int32 flag is False")
ONLY_BOOL = OutRule("{name} does not support non-boolean outputs.", boolean)
BOOL_OR_BYTE = OutRule("{name} only supports bool tensor for result, got: {found}", boolean_or_byte)


def without_out(name: str) -> ArgumentError:
    """torch's error for `out=` beside arguments whose signature has none."""
    return ArgumentError(f"{name}() received an invalid combination of arguments: this signature has no out=", expected="no out=",
                         found="out=", remedy="copy the result to the tensor")


def check_outs(name: str, outs: Sequence[TensorRef], recorded: bool) -> None:
    """Raises where the operation `name` cannot write to `outs`: they are no tensors, or gradients would flow to them, or, as `recorded`
    says, to what is written."""
    for o in outs:
        if not isinstance(o, TensorRef):
            raise ArgumentError(f"{name}(): argument 'out' must be Tensor, not {type_name(o)}", expected="Tensor", found=type_name(o),
                                remedy="pass a tensor to write the result to")
    if recorded or grad_mode() is GradMode.ENABLED and any([o._node is not None for o in outs]):
        raise AutogradError(f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                            "arguments requires grad.")


def check_out_dtypes(rec: "Record | None", results: Sequence[TensorRef], outs: Sequence[TensorRef]) -> None:
    """Raises torch's error for the first of `outs` that its result cannot be written to; `rec` is None for factories."""
    rules = FACTORY if rec is None else rec.field("out_dtype") or CASTS
    for i, (result, out) in enumerate(zip(results, outs)):
        rule = rules[i] if isinstance(rules, tuple) else rules
        rule.check("" if rec is None else rec.name, result._k.dtype, out._k.dtype)
