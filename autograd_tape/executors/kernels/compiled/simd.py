"""Vectors of eight numbers as values of compiled code, for loops that the compiler does not turn into SIMD code by itself.

``load(a, i)`` takes eight elements of a flat C-contiguous array from ``i`` on, and nobody checks that they are there.
The compiler splits a vector where the processor's are shorter; tiles of float32 have vectors of sixteen where it has AVX-512.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

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


def _order(*lanes: int) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)


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


def _converted(builder: Any, value: Any, source: Any, target: Any) -> Any:
    """A vector of numbers of the type ``source`` as one of ``target``."""
    if source == target:
        return value
    kind = ir.VectorType(ir.FloatType() if target == types.float32 else ir.DoubleType(), LANES)
    return builder.fptrunc(value, kind) if target == types.float32 else builder.fpext(value, kind)


@intrinsic
def store(typingctx, array, index, vector):
    """Writes a vector to eight elements of an array from ``index`` on, in the precision of the array."""

    def codegen(context, builder, signature, args):
        place = _place(context, builder, signature.args[0], args[0], args[1])
        builder.store(_converted(builder, args[2], vector.dtype, array.dtype), place, align=array.dtype.bitwidth // 8)

    return types.void(array, types.intp, vector), codegen


def _arithmetic(operation: Callable[..., Any], instruction: str) -> None:
    """Gives an operator of Python's its meaning for two vectors: a product and a sum may become one instruction."""

    @intrinsic
    def compute(typingctx, a, b):
        def codegen(context, builder, signature, args):
            return getattr(builder, instruction)(*args, flags=("contract",))

        return a(a, b), codegen

    @overload(operation, strict=False)
    def of_vectors(a: object, b: object) -> object:
        return (lambda a, b: compute(a, b)) if isinstance(a, Vector) and isinstance(b, Vector) else None  # type: ignore[call-arg]


_arithmetic(operator.add, "fadd")
_arithmetic(operator.sub, "fsub")
_arithmetic(operator.mul, "fmul")


@intrinsic
def borrowed(typingctx, array):
    """An array that somebody else keeps: each function that is given one counts it, which takes as long as a short loop."""

    def codegen(context, builder, signature, args):
        found = context.make_array(array)(context, builder, args[0])
        found.meminfo = cgutils.get_null_value(found.meminfo.type)
        return found._getvalue()

    return array(array), codegen


def _spread(builder: Any, number: Any, lanes: int = LANES) -> Any:
    kind = ir.VectorType(number.type, lanes)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), _order(*[0] * lanes))


@intrinsic
def spread(typingctx, number):
    """A number in all places."""

    def codegen(context, builder, signature, args):
        return _spread(builder, args[0])

    return Vector(number)(number), codegen


def _fma(builder: Any, a: Any, b: Any, c: Any) -> Any:
    name = f"llvm.fma.v{a.type.count}{'f32' if a.type.element == ir.FloatType() else 'f64'}"
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
        return builder.shuffle_vector(args[0], args[1], _order(*range(offset, 2 * LANES, 2)))

    return a(a, b, first), codegen


def _alternating(builder: Any, a: Any, b: Any, half: int) -> Any:
    places = [(half + i % 2 * 2) * LANES // 2 + i // 2 for i in range(LANES)]
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), LANES), places))


@intrinsic(prefer_literal=True)
def alternating(typingctx, a, b, half):
    """The first four numbers of each of two vectors in turn, or with ``half`` (a literal) 1 the last four."""
    which = half.literal_value

    def codegen(context, builder, signature, args):
        return _alternating(builder, args[0], args[1], which)

    return a(a, b, half), codegen


@intrinsic
def turn(typingctx, source, at, pitch, rows, target, to, step, columns):
    """Eight vectors of an array, ``pitch`` apart, as the columns of a matrix whose rows are written to another array, ``step`` apart. Only
    ``rows`` vectors are there: others are the last one, once more; and only ``columns`` places to write to: others are dropped."""

    def codegen(context, builder, signature, args):
        word = ir.IntType(64)

        def places(array: int, first: Any, apart: Any, count: Any) -> list[Any]:
            last, found = builder.sub(count, word(1)), []
            for j in range(LANES):
                row = builder.select(builder.icmp_signed("<", word(j), last), word(j), last)
                index = builder.add(first, builder.mul(row, apart))
                found.append(_place(context, builder, signature.args[array], args[array], index))
            return found

        narrow, size = source.dtype.bitwidth > target.dtype.bitwidth, min(source.dtype.bitwidth, target.dtype.bitwidth) // 8
        vectors = [builder.load(place, align=size) for place in places(0, *args[1:4])]
        if narrow:
            vectors = [_converted(builder, vector, source.dtype, target.dtype) for vector in vectors]
        n = 1
        while n < LANES:  # each time, what is four vectors apart becomes neighbours
            pairs = zip(vectors[:LANES // 2], vectors[LANES // 2:])
            vectors, n = [_alternating(builder, a, b, half) for a, b in pairs for half in (0, 1)], 2 * n
        for vector, place in reversed(list(zip(vectors, places(4, *args[5:8])))):
            builder.store(vector if narrow else _converted(builder, vector, source.dtype, target.dtype), place, align=size)
        return context.get_dummy_value()

    number = types.intp
    return types.void(source, number, number, number, target, number, number, number), codegen


@intrinsic
def gathered(typingctx, array, index, places, at, step):
    """The elements of an array at ``index`` plus eight ``places``, those from ``at`` on. They lie side by side (``step`` 1), or every other
    one does (2), and are then read as vectors, or anywhere."""

    def codegen(context, builder, signature, args):
        kind, word, size = context.data_model_manager[Vector(array.dtype)].get_value_type(), ir.IntType(64), array.dtype.bitwidth // 8
        source = builder.gep(context.make_array(array)(context, builder, args[0]).data, [args[1]])
        spots = builder.gep(context.make_array(places)(context, builder, args[2]).data, [args[3]])
        found = cgutils.alloca_once(builder, kind)

        def spot(i: int) -> Any:
            return builder.load(builder.gep(spots, [word(i)]))

        def eight(more: int) -> Any:
            at = builder.gep(source, [builder.add(spot(0), word(more))])
            return builder.load(builder.bitcast(at, kind.as_pointer()), align=size)

        with builder.if_else(builder.icmp_signed("==", args[4], word(1))) as (close, apart):
            with close:
                builder.store(eight(0), found)
            with apart, builder.if_else(builder.icmp_signed("==", args[4], word(2))) as (even, any_):
                with even:
                    order = _order(*range(0, LANES, 2), *range(LANES + 1, 2 * LANES, 2))  # nothing is read beyond the last
                    builder.store(builder.shuffle_vector(eight(0), eight(LANES - 1), order), found)
                with any_:
                    made = ir.Constant(kind, ir.Undefined)
                    for i in range(LANES):
                        made = builder.insert_element(made, builder.load(builder.gep(source, [spot(i)])), ir.IntType(32)(i))
                    builder.store(made, found)
        return builder.load(found)

    return Vector(array.dtype)(array, types.intp, places, types.intp, types.intp), codegen


@intrinsic
def beyond(typingctx, a, b):
    """Which of eight numbers (unsigned ones are bfloat16) are greater than others, or NaN."""

    def number(builder: Any, bits: Any) -> Any:
        words = ir.VectorType(ir.IntType(32), LANES)
        high = builder.shl(builder.zext(bits, words), ir.Constant(words, [16] * LANES))
        return builder.bitcast(high, ir.VectorType(ir.FloatType(), LANES))

    def codegen(context, builder, signature, args):
        if a.dtype == types.int64:
            return builder.icmp_signed(">", *args)
        x, y = args if a.dtype != types.uint16 else [number(builder, bits) for bits in args]
        return builder.or_(builder.fcmp_ordered(">", x, y), builder.fcmp_unordered("uno", x, x))

    return Vector(types.boolean)(a, b), codegen


@intrinsic
def choose(typingctx, which, a, b):
    """``a`` where ``which`` is set, else ``b``."""
    return a(which, a, b), lambda context, builder, signature, args: builder.select(*args)


@intrinsic
def moved_by(typingctx, vector, number):
    """Eight integers plus another."""
    return vector(vector, number), lambda context, builder, signature, args: builder.add(args[0], _spread(builder, args[1]))


@intrinsic
def lane(typingctx, vector, i):
    """One of eight numbers."""
    return vector.dtype(vector, i), lambda context, builder, signature, args: builder.extract_element(*args)


def _sum(builder: Any, part: Any) -> Any:
    n = part.type.count
    while n > 1:
        n //= 2
        halves = [_order(*range(at, at + n)) for at in (0, n)]
        low, high = (builder.shuffle_vector(part, ir.Constant(part.type, ir.Undefined), half) for half in halves)
        part = builder.fadd(low, high)
    return builder.extract_element(part, ir.Constant(ir.IntType(32), 0))


@intrinsic
def total(typingctx, vector):
    """The sum of the eight numbers."""

    def codegen(context, builder, signature, args):
        return _sum(builder, args[0])

    return vector.dtype(vector), codegen


#: Whether there are twice as many registers for vectors.
MANY = bool(binding.get_host_cpu_features().get("avx512vl"))


def lanes_of(dtype: Any) -> int:
    """How many numbers a register has, `LANES` or more."""
    return 2 * LANES if MANY and dtype.bitwidth == 32 else LANES


def _vectors(array_type: Any, lanes: int = LANES) -> tuple[Any, int]:
    """Elements of an array as LLVM knows them, and the bytes of one."""
    number = ir.FloatType() if array_type.dtype == types.float32 else ir.DoubleType()
    return ir.VectorType(number, lanes), array_type.dtype.bitwidth // 8


def _apart(builder: Any, name: str, values: list[Any], write: Callable[[Any, list[Any]], None], *attributes: str) -> None:
    """Calls a function of its own, so that its loop has all the registers; ``write`` makes it where it is not yet there."""
    kind = ir.FunctionType(ir.VoidType(), [value.type for value in values])
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    if function.is_declaration:
        function.linkage = "internal"
        for attribute in ("noinline", *attributes):
            function.attributes.add(attribute)
        inside = ir.IRBuilder(function.append_basic_block())
        write(inside, list(function.args))
        inside.ret_void()
    builder.call(function, values)


@intrinsic(prefer_literal=True)
def tile(typingctx, rows, width, planes, shifts, first, last, at, weights, places, base, step, here, results, target, pitch, more):
    """``results[target + j * pitch + i] (+)= sum of weights[base + j * step + places[k]] * planes[at + shifts[k] + i]`` over k in
    [first, last), for ``rows`` (a literal) numbers j and ``width`` (a literal) vectors of i; added to what is there if ``more``. Only
    ``here`` rows of weights are there: others are the last one's, once more."""
    lanes = lanes_of(planes.dtype) if width.literal_value % 2 == 0 else LANES
    count, wide = rows.literal_value, width.literal_value * LANES // lanes

    def codegen(context, builder, signature, args):
        planes_, shifts_, weights_, places_, results_ = (context.make_array(kind)(context, builder, arg).data for kind, arg in (
            (planes, args[2]), (shifts, args[3]), (weights, args[7]), (places, args[8]), (results, args[12])))
        kind, size = _vectors(planes, lanes)
        word = ir.IntType(64)
        values = [builder.gep(planes_, [args[6]]), shifts_, args[4], args[5], builder.gep(weights_, [args[9]]), places_, args[10], args[11],
                  builder.gep(results_, [args[13]]), args[14], args[15]]

        def write(inside: Any, given: list[Any]) -> None:
            source, shifts, first, last, weight, places, step, here, result, pitch, more = given
            rest = inside.sub(here, word(1))
            lines = [inside.gep(weight, [inside.mul(inside.select(inside.icmp_signed("<", word(j), rest), word(j), rest), step)])
                     for j in range(count)]
            sums = [[cgutils.alloca_once(inside, kind) for _ in range(wide)] for _ in range(count)]

            def spots() -> Iterator[tuple[Any, Any]]:
                for j, line in enumerate(sums):
                    for v, total in enumerate(line):
                        index = inside.add(inside.mul(word(j), pitch), word(lanes * v))
                        yield inside.bitcast(inside.gep(result, [index]), kind.as_pointer()), total

            with inside.if_else(more) as (then, otherwise):
                with then:
                    for spot, total in spots():
                        inside.store(inside.load(spot, align=size), total)
                with otherwise:
                    for _, total in spots():
                        inside.store(ir.Constant(kind, [0.0] * lanes), total)
            with cgutils.for_range_slice(inside, first, last, word(1), word) as (k, _):
                x = inside.gep(source, [inside.load(inside.gep(shifts, [k]))])
                place = inside.load(inside.gep(places, [k]))
                xs = [inside.load(inside.bitcast(inside.gep(x, [word(lanes * v)]), kind.as_pointer()), align=size) for v in range(wide)]
                for pointer, line in zip(lines, sums):
                    t = _spread(inside, inside.load(inside.gep(pointer, [place])), lanes)
                    for vector, total in zip(xs, line):
                        inside.store(_fma(inside, t, vector, inside.load(total)), total)
            for spot, total in spots():
                inside.store(inside.load(total), spot, align=size)

        # Unrolled, the loop would want more registers than there are.
        _apart(builder, f"tile_{count}_{wide}_{lanes}_{size}", values, write, "optsize")
        return context.get_dummy_value()

    return types.void(rows, width, planes, shifts, types.intp, types.intp, types.intp, weights, places, types.intp, types.intp, types.intp,
                      results, types.intp, types.intp, types.boolean), codegen


@intrinsic(prefer_literal=True)
def dots(typingctx, rows, width, left, at, pitch, right, spots, shifts, k, first, last, results, target, step):
    """``results[target + j * step + i] += sum of left[at + j * pitch + n * p + l] * right[spots[p] + shifts[k + i] + l]`` over p in
    [first, last) and l < n (``lanes_of``), for ``rows`` (a literal) numbers j and ``width`` (a literal) of i."""
    count, wide, lanes = rows.literal_value, width.literal_value, lanes_of(left.dtype)

    def codegen(context, builder, signature, args):
        left_, right_, spots_, shifts_, results_ = (context.make_array(kind)(context, builder, arg).data for kind, arg in (
            (left, args[2]), (right, args[5]), (spots, args[6]), (shifts, args[7]), (results, args[11])))
        kind, size = _vectors(left, lanes)
        word = ir.IntType(64)
        values = [builder.gep(left_, [args[3]]), args[4], right_, spots_, builder.gep(shifts_, [args[8]]), args[9], args[10],
                  builder.gep(results_, [args[12]]), args[13]]

        def write(inside: Any, given: list[Any]) -> None:
            left, pitch, right, spots, shifts, first, last, result, step = given
            sums = [[cgutils.alloca_once(inside, kind) for _ in range(wide)] for _ in range(count)]
            for line in sums:
                for total in line:
                    inside.store(ir.Constant(kind, [0.0] * lanes), total)
            xs = [inside.gep(right, [inside.load(inside.gep(shifts, [word(i)]))]) for i in range(wide)]
            lines = [inside.gep(left, [inside.mul(word(j), pitch)]) for j in range(count)]
            with cgutils.for_range_slice(inside, first, last, word(1), word) as (p, _):
                spot, at = inside.load(inside.gep(spots, [p])), inside.mul(p, word(lanes))
                vectors = [inside.load(inside.bitcast(inside.gep(x, [spot]), kind.as_pointer()), align=size) for x in xs]
                for pointer, line in zip(lines, sums):
                    g = inside.load(inside.bitcast(inside.gep(pointer, [at]), kind.as_pointer()), align=size)
                    for vector, total in zip(vectors, line):
                        inside.store(_fma(inside, g, vector, inside.load(total)), total)
            for j, line in enumerate(sums):
                for i, total in enumerate(line):
                    pointer = inside.gep(result, [inside.add(inside.mul(word(j), step), word(i))])
                    inside.store(inside.fadd(inside.load(pointer), _sum(inside, inside.load(total))), pointer)

        _apart(builder, f"dots_{count}_{wide}_{size}", values, write)
        return context.get_dummy_value()

    return types.void(rows, width, left, types.intp, types.intp, right, spots, shifts, types.intp, types.intp, types.intp, results,
                      types.intp, types.intp), codegen
