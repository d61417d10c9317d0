"""Ways into machine code: from Python without the compiler, written beside each kernel, and found again in what was kept.

A kernel's entry has CPython's own calling convention (``METH_FASTCALL``). It compares kind, dtype, dimensions, order, alignment and
writability of each array by NumPy's structures, turns numbers into int64 and double first (which may run Python), and then calls the
checked kernel with what the arrays say at that moment, without the interpreter's lock. What calls it needs neither types nor a compiler:
where `_elf` knows how, the object code is linked without LLVM, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np

from ...annotations import Fn
from ._elf import ALLOCATE, RESHAPE, Refused, link

__all__ = ["FITS", "INDEX", "MISFIT", "Code", "compiled", "load", "quick_compiler"]

#: What a checked kernel returns.
FITS, MISFIT, INDEX = range(3)
#: NumPy's flags: C order, alignment, writability.
_ORDERED, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400
#: CPython's: arguments come as an array of objects.
_FASTCALL = 0x80
#: Bytes of an object's head, after which NumPy's structures begin.
_HEAD = object.__basicsize__
#: What entries find in the place of their module: objects of Python, which machine code of another process cannot name.
_OWN = (np.ndarray, TypeError, ValueError, IndexError, MemoryError, None)


class Code(NamedTuple):
    """Machine code as an object file, the function in it to call, and the functions of others that it calls."""

    symbol: str
    needed: list[str]
    content: bytes


class _Method(ctypes.Structure):
    """CPython's description of a function."""

    _fields_ = [("name", ctypes.c_char_p), ("address", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


def _check_layout() -> None:
    """That arrays lie in memory as the entries read them."""
    array = np.zeros((3, 2), np.float32)[1:]
    at = id(array) + _HEAD
    data, dims = ctypes.c_void_p.from_address(at).value, ctypes.c_void_p.from_address(at + 16).value
    nd, flags = ctypes.c_int.from_address(at + 8).value, ctypes.c_int.from_address(at + 48).value
    kind = ctypes.c_void_p.from_address(at + 40).value or 0
    fits = data == array.ctypes.data and nd == 2 and kind == id(array.dtype) and flags & 0x501 == 0x501
    fits = fits and [ctypes.c_int64.from_address((dims or 0) + 8 * i).value for i in range(2)] == [2, 2]
    if not fits or ctypes.c_int.from_address(kind + _HEAD + 12).value != array.dtype.num:
        raise RuntimeError("arrays of this version of NumPy lie in memory in a way that compiled kernels do not know")


@contextlib.contextmanager
def quick_compiler() -> Iterator[None]:
    """Compiles without what takes time and nobody uses: entrances for C of each function that a kernel calls (a twentieth of the time),
    and searches for garbage among the millions of objects that the compiler makes and keeps (a tenth)."""
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target

    context, collected = cpu_target.target_context, gc.isenabled()
    with global_compiler_lock:
        gc.disable()
        context.create_cfunc_wrapper = lambda *_, **__: None
        try:
            yield
        finally:
            del context.create_cfunc_wrapper
            if collected:
                gc.enable()


def compiled(dispatcher: Any, signature: Any, name: str, misfit: str, flat: Collection[int] = (),
             alike: Collection[int] | None = None) -> Code:
    """The machine code of a compiler's function that returns ``FITS``, ``MISFIT`` or ``INDEX``, with a way in for Python.

    Args:
        dispatcher: the compiler's function, not compiled so far.
        signature: its type.
        name: of the kernel, in errors' texts.
        misfit: the error's text for arrays that do not fit each other.
        flat: the places of arrays of one dimension for which those of any number of dimensions may be given.
        alike: of a function for lists, whose first argument says whether to compute, the places of arrays that have one shape; others may
            be empty instead.
    """
    from numba.core.compiler_lock import global_compiler_lock

    _check_layout()
    context = dispatcher.targetdescr.target_context

    def write(library: Any, fndesc: Any, *_: object, **__: object) -> None:
        _write(context, library, fndesc, name, misfit, flat, alike)

    with global_compiler_lock:
        context.create_cpython_wrapper = write  # in the place of the compiler's own way in
        try:
            dispatcher.compile(signature)
        finally:
            del context.create_cpython_wrapper
    result = dispatcher.overloads[tuple(signature.args)]
    parts = [*result.library._final_module.functions, *result.library._final_module.global_variables]
    needed = sorted(part.name for part in parts if part.is_declaration and not part.name.startswith("llvm."))
    return Code(result.fndesc.llvm_cpython_wrapper_name, needed, result.library._get_compiled_object())


def _write(context: Any, library: Any, fndesc: Any, name: str, misfit: str, flat: Collection[int], alike: Collection[int] | None) -> None:
    """Add the way in to a kernel's library.

    One for lists takes tuples of arrays, which nobody can change, and goes over them twice: before anything is computed, everything has
    been compared.
    """
    from llvmlite import ir
    from numba import types
    from numba.np.arrayobj import populate_array

    module = context.create_module("entry")
    byte, number, word = ir.IntType(8), ir.IntType(32), ir.IntType(64)
    pointer, nothing = byte.as_pointer(), ir.VoidType()

    def outer(symbol: str, result: Any, *arguments: Any) -> Any:
        return ir.Function(module, ir.FunctionType(result, arguments), symbol)

    function = outer(fndesc.llvm_cpython_wrapper_name, pointer, pointer, pointer.as_pointer(), word)
    builder = ir.IRBuilder(function.append_basic_block())
    own, given, count = function.args
    get_item = outer("PyTuple_GetItem", pointer, pointer, word)

    def member(value: object) -> Any:
        return builder.call(get_item, [own, constant(word, _OWN.index(value))])

    set_error, is_subtype = outer("PyErr_SetString", nothing, pointer, pointer), outer("PyType_IsSubtype", number, pointer, pointer)
    null = ir.Constant(pointer, None)

    def constant(kind: Any, value: object) -> Any:
        return ir.Constant(kind, value)

    def demand(holds: Any, kind: type, text: str) -> None:
        with builder.if_then(builder.not_(holds), likely=False):
            builder.call(set_error, [member(kind), builder.bitcast(context.insert_const_string(module, text), pointer)])
            builder.ret(null)

    def field(at: Any, offset: int, kind: Any) -> Any:
        return builder.load(builder.bitcast(builder.gep(at, [constant(word, offset)]), kind.as_pointer()))

    def elements(dims: Any, count: Any) -> Any:
        """The product of `count` sizes."""
        before, loop, body, end = builder.block, *[builder.append_basic_block() for _ in range(3)]
        builder.branch(loop)
        builder.position_at_end(loop)
        axis, total = builder.phi(number), builder.phi(word)
        builder.cbranch(builder.icmp_signed("<", axis, count), body, end)
        builder.position_at_end(body)
        more = builder.mul(total, builder.load(builder.gep(dims, [builder.sext(axis, word)])))
        for value, start, then in ((axis, constant(number, 0), builder.add(axis, constant(number, 1))), (total, constant(word, 1), more)):
            value.add_incoming(start, before)
            value.add_incoming(then, body)
        builder.branch(loop)
        builder.position_at_end(end)
        return total

    def demand_all(parts: list[Any], kind: type, text: str) -> None:
        holds = parts[0]
        for part in parts[1:]:
            holds = builder.and_(holds, part)
        demand(holds, kind, text)

    arguments = fndesc.argtypes if alike is None else fndesc.argtypes[1:]
    demand(builder.icmp_signed("==", count, constant(word, len(arguments))), TypeError, f"kernel {name}: takes {len(arguments)} arguments")
    objects = [builder.load(builder.gep(given, [constant(word, i)])) for i in range(len(arguments))]
    values: list[Any] = [None] * len(arguments)
    occurred = outer("PyErr_Occurred", pointer)
    to_float, to_int = outer("PyFloat_AsDouble", ir.DoubleType(), pointer), outer("PyLong_AsLongLong", word, pointer)
    for i, (kind, item) in enumerate(zip(arguments, objects, strict=True)):
        if not isinstance(kind, types.Array):
            real = kind == types.float64
            values[i] = builder.call(to_float if real else to_int, [item])
            minus = constant(values[i].type, -1)
            failed = builder.fcmp_ordered("==", values[i], minus) if real else builder.icmp_signed("==", values[i], minus)
            with builder.if_then(failed, likely=False), builder.if_then(builder.icmp_unsigned("!=", builder.call(occurred, []), null)):
                builder.ret(null)
    arrays, other_order = member(np.ndarray), ord(">" if sys.byteorder == "little" else "<")
    none = member(None)
    save, restore = outer("PyEval_SaveThread", pointer), outer("PyEval_RestoreThread", nothing, pointer)
    callee = context.declare_function(module, fndesc)

    def view(i: int, kind: Any, item: Any) -> tuple[Any, Any, Any]:
        """An array as the kernel sees it, its sizes, and the first of these as the kernel sees it."""
        dtype = np.dtype(str(kind.dtype).replace("boolean", "bool"))
        rank, written = "" if i in flat else f" of {kind.ndim} dimensions", ", writable" if kind.mutable else ""
        words = f"{dtype.name} array{rank}, C-contiguous and aligned{written}"
        text = f"kernel {name}: argument {i + 1} is no {words}"
        type_of = field(item, _HEAD - 8, pointer)
        demand(builder.icmp_signed("!=", builder.call(is_subtype, [type_of, arrays]), constant(number, 0)), TypeError, text)
        flags = _ORDERED | _ALIGNED | (_WRITEABLE if kind.mutable else 0)
        descr = field(item, _HEAD + 40, pointer)
        code = field(descr, _HEAD + 12, number)
        same = [constant(number, np.dtype(c).num) for c in "?bBhHiIlLqQfd" if np.dtype(c) == dtype]
        is_kind = [builder.icmp_signed("==", code, one) for one in same]
        if dtype.itemsize < 4 and dtype.kind in "ui":  # half precision comes as its bits, bool as bytes
            letter, bits = field(descr, _HEAD + 9, byte), {"uint16": "E", "int16": "e", "uint8": "?"}.get(dtype.name, "?")
            is_kind.append(builder.icmp_signed("==", letter, constant(byte, ord(bits))))
        for one in is_kind[1:]:
            is_kind[0] = builder.or_(is_kind[0], one)
        demand_all([
            is_kind[0], builder.icmp_signed("!=", field(descr, _HEAD + 10, byte), constant(byte, other_order)),
            *([] if i in flat else [builder.icmp_signed("==", field(item, _HEAD + 8, number), constant(number, kind.ndim))]),
            builder.icmp_signed("==", builder.and_(field(item, _HEAD + 48, number), constant(number, flags)), constant(number, flags)),
        ], TypeError, text)
        dims = field(item, _HEAD + 16, word.as_pointer())
        shape = [elements(dims, field(item, _HEAD + 8, number))] if i in flat else [
            builder.load(builder.gep(dims, [constant(word, axis)])) for axis in range(kind.ndim)]
        strides = [constant(word, dtype.itemsize)]
        for size in shape[:0:-1]:
            strides.insert(0, builder.mul(strides[0], size))
        array = context.make_array(kind)(context, builder)
        data = builder.bitcast(field(item, _HEAD, pointer), array.data.type)
        populate_array(array, data=data, shape=shape, strides=strides, itemsize=constant(word, dtype.itemsize), meminfo=None)
        return array._getvalue(), dims, shape[0]

    def run(values: list[Any]) -> None:
        """Calls the kernel without the interpreter's lock, and judges what it returned."""
        saved = builder.call(save, [])
        status, code = context.call_conv.call_function(builder, callee, fndesc.restype, fndesc.argtypes, values)
        builder.call(restore, [saved])
        demand(builder.not_(status.is_error), MemoryError, f"kernel {name}: no memory for what is kept in between")
        demand(builder.icmp_signed("!=", code, constant(code.type, MISFIT)), ValueError, misfit)
        demand(builder.icmp_signed("!=", code, constant(code.type, INDEX)), IndexError, f"kernel {name}: an index is out of range")

    @contextlib.contextmanager
    def loop(stop: Any) -> Iterator[Any]:
        """What is written inside is done for each number below ``stop``."""
        before, head, body, end = builder.block, *[builder.append_basic_block() for _ in range(3)]
        builder.branch(head)
        builder.position_at_end(head)
        at = builder.phi(word)
        builder.cbranch(builder.icmp_signed("<", at, stop), body, end)
        builder.position_at_end(body)
        yield at
        at.add_incoming(constant(word, 0), before)
        at.add_incoming(builder.add(at, constant(word, 1)), builder.block)
        builder.branch(head)
        builder.position_at_end(end)

    places = [i for i, kind in enumerate(arguments) if isinstance(kind, types.Array)]
    if alike is None:
        for i in places:
            values[i] = view(i, arguments[i], objects[i])[0]
        run(values)
    else:
        length, compare = outer("PyTuple_Size", word, pointer), outer("memcmp", number, pointer, pointer, word)
        lengths = [builder.call(length, [objects[i]]) for i in places]
        for one in lengths:
            with builder.if_then(builder.icmp_signed("<", one, constant(word, 0)), likely=False):
                builder.ret(null)
            demand(builder.icmp_signed("==", one, lengths[0]), ValueError, misfit)
        with loop(constant(word, 2)) as turn, loop(lengths[0]) as row:
            items = [builder.call(get_item, [objects[i], row]) for i in places]
            first: Any = None
            for i, item in zip(places, items):
                values[i], dims, size = view(i, arguments[i], item)
                rank, dims = field(item, _HEAD + 8, number), builder.bitcast(dims, pointer)
                if first is None:
                    first = rank, dims
                    continue
                one_shape = constant(ir.IntType(1), 1) if i in alike else builder.icmp_signed("!=", size, constant(word, 0))
                with builder.if_then(one_shape):
                    demand(builder.icmp_signed("==", rank, first[0]), ValueError, misfit)
                    bytes_of = builder.mul(builder.sext(rank, word), constant(word, 8))
                    demand(builder.icmp_signed("==", builder.call(compare, [dims, first[1], bytes_of]), constant(number, 0)),
                           ValueError, misfit)
            run([turn, *values])
    builder.call(outer("Py_IncRef", nothing, pointer), [none])
    builder.ret(none)
    _write_memory(module, outer)
    _write_reshape(module, outer)
    library.add_ir_module(module)


def _write_memory(module: Any, outer: Fn) -> None:
    """What the compiler's arrays in between live in, from the C library: where `_elf` links, it stands for the compiler's own.

    Its head is the compiler's: count of references, two pointers that are of no use here, the address of the data, and its size. It is
    freed as a whole, with the last reference.
    """
    from llvmlite import ir

    byte, number, word = ir.IntType(8), ir.IntType(32), ir.IntType(64)
    pointer, head = byte.as_pointer(), 48
    function = outer(ALLOCATE, pointer, word, number)
    function.linkage = "weak_odr"
    builder = ir.IRBuilder(function.append_basic_block())
    size, align = function.args[0], builder.zext(function.args[1], word)
    place = builder.call(outer("malloc", pointer, word), [builder.add(builder.add(size, ir.Constant(word, head)), align)])
    with builder.if_then(builder.icmp_unsigned("==", place, ir.Constant(pointer, None)), likely=False):
        builder.ret(place)
    last = builder.add(builder.ptrtoint(place, word), builder.add(align, ir.Constant(word, head - 1)))
    data = builder.and_(last, builder.neg(align))
    for offset, value in ((0, ir.Constant(word, 1)), (8, ir.Constant(word, 0)), (16, ir.Constant(word, 0)), (24, data), (32, size)):
        builder.store(value, builder.bitcast(builder.gep(place, [ir.Constant(word, offset)]), word.as_pointer()))
    builder.ret(place)


def _write_reshape(module: Any, outer: Fn) -> None:
    """Strides of an array in C order by another shape of as many elements; it stands for the compiler's own, too.

    Takes dimensions, sizes and strides, the new dimensions and sizes, a place for the new strides, an element's size, and whether the
    order is Fortran's, which no kernel's array has: then it gives 0, else 1.
    """
    from llvmlite import ir

    number, word = ir.IntType(32), ir.IntType(64)
    line = word.as_pointer()
    function = outer(RESHAPE, number, word, line, line, word, line, line, word, number)
    function.linkage = "weak_odr"
    _, _, _, count, sizes, strides, itemsize, columns = function.args
    first = function.append_basic_block()
    builder = ir.IRBuilder(first)
    loop, body, end = [function.append_basic_block() for _ in range(3)]
    builder.branch(loop)
    builder.position_at_end(loop)
    left, stride = builder.phi(word), builder.phi(word)
    builder.cbranch(builder.icmp_signed(">", left, ir.Constant(word, 0)), body, end)
    builder.position_at_end(body)
    axis = builder.sub(left, ir.Constant(word, 1))
    builder.store(stride, builder.gep(strides, [axis]))
    for value, start, then in ((left, count, axis), (stride, itemsize, builder.mul(stride, builder.load(builder.gep(sizes, [axis]))))):
        value.add_incoming(start, first)
        value.add_incoming(then, body)
    builder.branch(loop)
    builder.position_at_end(end)
    builder.ret(builder.zext(builder.icmp_signed("==", columns, ir.Constant(number, 0)), number))


def _link_by_llvm(code: Code, name: str) -> tuple[int, object]:
    """The address of the function, and what keeps it; with the compiler, whose own functions the code may call."""
    import llvmlite.binding as llvm
    from numba.core.registry import cpu_target

    cpu_target.target_context.refresh()
    if missing := [symbol for symbol in code.needed if not llvm.address_of_symbol(symbol)]:
        raise ImportError(f"machine code of {name} calls {', '.join(missing)}, which nobody has")
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code.content))
    engine.finalize_object()
    return engine.get_function_address(code.symbol), engine


def load(code: Code, name: str) -> Fn:
    """A function that runs machine code; ImportError if it calls what is not there."""
    memory: object
    try:
        address, memory = link(code.content, code.symbol)
    except Refused:
        address, memory = _link_by_llvm(code, name)
    text = name.encode()
    method = _Method(text, address, _FASTCALL, None)
    kept = memory, method, text
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))  # to the very end of the process, when who holds the function may still call it
    new = ctypes.pythonapi.PyCFunction_NewEx
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_Method), ctypes.py_object, ctypes.c_void_p)(
        ctypes.cast(new, ctypes.c_void_p).value or 0)
    return make(ctypes.pointer(method), _OWN, None)
