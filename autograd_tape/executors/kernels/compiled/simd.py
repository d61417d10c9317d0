"""Vectors of eight numbers as values of compiled code, for loops that the compiler does not turn into SIMD code by itself.

``load(a, i)`` takes eight elements of a flat C-contiguous array from ``i`` on, and nobody checks that they are there.
The compiler splits a vector where the processor's are shorter.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

#: Numbers in a vector.
LANES = 8


class Vector(types.Type):
    """``LANES`` numbers of one type."""

    def __init__(self, dtype: object) -> None:
        self.dtype = dtype
        super().__init__(name=f"Vector({dtype})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Vector) -> None:
        super().__init__(dmm, fe_type, ir.VectorType(dmm.lookup(fe_type.dtype).get_value_type(), LANES))


def _place(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """The address of eight elements of an array."""
    data = context.make_array(array_type)(context, builder, array).data
    kind = context.data_model_manager[Vector(array_type.dtype)].get_value_type()
    return builder.bitcast(builder.gep(data, [index]), kind.as_pointer())


@intrinsic
def load(typingctx, array, index):
    def codegen(context, builder, signature, args):
        place = _place(context, builder, signature.args[0], args[0], args[1])
        return builder.load(place, align=array.dtype.bitwidth // 8)

    return Vector(array.dtype)(array, types.intp), codegen


@intrinsic
def store(typingctx, array, index, vector):
    def codegen(context, builder, signature, args):
        place = _place(context, builder, signature.args[0], args[0], args[1])
        builder.store(args[2], place, align=array.dtype.bitwidth // 8)

    return types.void(array, types.intp, vector), codegen


def _spread(builder: Any, number: Any) -> Any:
    kind = ir.VectorType(number.type, LANES)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), mask)


@intrinsic
def spread(typingctx, number):
    """A number in all places."""

    def codegen(context, builder, signature, args):
        return _spread(builder, args[0])

    return Vector(number)(number), codegen


def _fma(builder: Any, a: Any, b: Any, c: Any) -> Any:
    name = f"llvm.fma.v{LANES}{'f32' if a.type.element == ir.FloatType() else 'f64'}"
    kind = ir.FunctionType(a.type, [a.type] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [a, b, c])


@intrinsic
def multiply_add(typingctx, a, b, c):
    """``a * b + c`` for vectors, rounded once."""

    def codegen(context, builder, signature, args):
        return _fma(builder, *args)

    return a(a, b, c), codegen


@intrinsic(prefer_literal=True)
def every_other(typingctx, a, b, first):
    """Of sixteen numbers in two vectors those in even places, or with ``first`` (a literal) 1 those in odd ones."""
    offset = first.literal_value

    def codegen(context, builder, signature, args):
        mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), list(range(offset, 2 * LANES, 2)))
        return builder.shuffle_vector(args[0], args[1], mask)

    return a(a, b, first), codegen


@intrinsic
def total(typingctx, vector):
    """The sum of the eight numbers."""

    def codegen(context, builder, signature, args):
        part, n = args[0], LANES
        while n > 1:
            n //= 2
            halves = [ir.Constant(ir.VectorType(ir.IntType(32), n), list(range(at, at + n))) for at in (0, n)]
            low, high = (builder.shuffle_vector(part, ir.Constant(part.type, ir.Undefined), half) for half in halves)
            part = builder.fadd(low, high)
        return builder.extract_element(part, ir.Constant(ir.IntType(32), 0))

    return vector.dtype(vector), codegen
