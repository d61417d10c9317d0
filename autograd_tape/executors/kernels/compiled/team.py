"""Threads that share a kernel's work without the interpreter: atomic counters in an array of int64, the *cells*.

A caller publishes a job (a function pointer, its arguments, how many items in how many chunks) and draws chunks like
everybody else; workers wait for jobs in ``serve``.  Whoever lowers ``REMAINING`` from above zero owns one chunk: only
then may it read the job, which cannot change before that chunk is done.  The caller takes chunks from the front and
the workers from the back, so that in a series of operations each core meets the data that it has in its cache.

One caller at a time owns the cells; one that finds them owned does its work alone.  All of that happens in compiled code,
where no signal's handler runs: an interrupt finds the cells free, or waits until they are.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from llvmlite.binding import get_process_triple
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, register_jitable

from .._common import YIELD
from .._entry import FITS, INDEX
from .._kernel import Kernel
from .base import kernel

# Indices into the cells. What several threads write has cache lines of its own.
REMAINING, BACK, PENDING, FAILED, OWNED = 0, 16, 32, 48, 80
JOB, ARGUMENTS, ITEMS, CHUNKS = 64, 65, 66, 67

#: What becomes of a chunk.
_DONE, _ERROR, _BAD_INDEX = range(3)

#: Looks at a counter (about 20 ns each) until a worker goes to sleep, and between offers of the core to other threads:
#: those of a BLAS want it next, and would otherwise share it with a worker that only looks.
_PATIENCE = 10000
_LOOKS = 500
_X86 = get_process_triple().startswith("x86_64")

_word = ir.IntType(64)
_code = ir.IntType(32)
_job_type = ir.FunctionType(_code, [_word, _word, _word])


def _cell(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    cells = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(cells.data, [args[1]])


@intrinsic
def _load(typingctx, cells, index):
    def codegen(context, builder, signature, args):
        return builder.load_atomic(_cell(context, builder, signature, args), "acquire", 8)

    return types.int64(cells, types.int64), codegen


@intrinsic
def _store(typingctx, cells, index, value):
    def codegen(context, builder, signature, args):
        builder.store_atomic(args[2], _cell(context, builder, signature, args), "release", 8)

    return types.void(cells, types.int64, types.int64), codegen


@intrinsic
def _add(typingctx, cells, index, value):
    """Adds to a cell; gives what was there before."""

    def codegen(context, builder, signature, args):
        return builder.atomic_rmw("add", _cell(context, builder, signature, args), args[2], "seq_cst")

    return types.int64(cells, types.int64, types.int64), codegen


@intrinsic
def _swap(typingctx, cells, index, value):
    """Sets a cell; gives what was there before."""

    def codegen(context, builder, signature, args):
        return builder.atomic_rmw("xchg", _cell(context, builder, signature, args), args[2], "seq_cst")

    return types.int64(cells, types.int64, types.int64), codegen


@intrinsic
def _offer(typingctx, address):
    """Calls the system's function at ``address`` by which a thread lets others run; zero: there is none."""

    def codegen(context, builder, signature, args):
        with builder.if_then(builder.icmp_unsigned("!=", args[0], ir.Constant(_word, 0)), likely=True):
            builder.call(builder.inttoptr(args[0], ir.FunctionType(ir.IntType(32), []).as_pointer()), [])

    return types.void(types.int64), codegen


@intrinsic
def _pause(typingctx):
    """Tells the processor that a loop only waits."""

    def codegen(context, builder, signature, args):
        if _X86:
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), [])

    return types.void(), codegen


@intrinsic
def _invoke(typingctx, job, arguments, start, stop):
    def codegen(context, builder, signature, args):
        return builder.call(builder.inttoptr(args[0], _job_type.as_pointer()), args[1:])

    return types.int32(types.int64, types.int64, types.int64, types.int64), codegen


def binder(function: object) -> Any:
    """What in compiled code makes a job of ``function``: ``binder(function)(arguments)`` gives the addresses of code that
    calls ``function(*arguments, start, stop)``, and of the arguments, which live as long as the caller's frame."""

    @intrinsic
    def bind(typingctx, arguments):
        given = (*arguments.types, types.int64, types.int64)
        inner = types.Dispatcher(function).get_call_type(typingctx, given, {})

        def codegen(context, builder, signature, args):
            compiled = function.overloads[tuple(inner.args)]
            context.add_linking_libs([compiled.library])
            given = args[0]
            for i, kind in enumerate(arguments.types):
                if isinstance(kind, types.Array):
                    # Without an owner, views of an array count no references, for which threads would wait in turn.
                    array = context.make_array(kind)(context, builder, builder.extract_value(given, i))
                    array.meminfo = cgutils.get_null_value(array.meminfo.type)
                    given = builder.insert_value(given, array._getvalue(), i)
            place = cgutils.alloca_once_value(builder, given)
            job = ir.Function(builder.module, _job_type, builder.module.get_unique_name("shared_job"))
            job.linkage = "internal"
            body = ir.IRBuilder(job.append_basic_block())
            address, start, stop = job.args
            values = body.load(body.inttoptr(address, args[0].type.as_pointer()))
            unpacked = [body.extract_value(values, i) for i in range(len(arguments.types))]
            callee = context.declare_function(builder.module, compiled.fndesc)
            result = compiled.signature.return_type
            status, value = context.call_conv.call_function(body, callee, result, inner.args, [*unpacked, start, stop])
            found = ir.Constant(_code, _DONE)
            if result == types.boolean:
                found = body.select(cgutils.is_true(body, value), found, ir.Constant(_code, _BAD_INDEX))
            body.ret(body.select(status.is_error, ir.Constant(_code, _ERROR), found))
            pair = [builder.ptrtoint(job, _word), builder.ptrtoint(place, _word)]
            return context.make_tuple(builder, signature.return_type, pair)

        return types.UniTuple(types.int64, 2)(arguments), codegen

    return bind


@register_jitable
def _take_part(cells, caller):
    front = 0
    while _load(cells, REMAINING) > 0 and _add(cells, REMAINING, -1) > 0:
        items, chunks = _load(cells, ITEMS), _load(cells, CHUNKS)
        k = front if caller else chunks - 1 - _add(cells, BACK, 1)
        front += 1
        start, stop = items * k // chunks, items * (k + 1) // chunks
        code = _invoke(_load(cells, JOB), _load(cells, ARGUMENTS), start, stop)
        if code != _DONE:
            _store(cells, FAILED, code)
        _add(cells, PENDING, -1)


@register_jitable
def _judged(code):
    if code == _ERROR:
        raise MemoryError
    return INDEX if code == _BAD_INDEX else FITS


@register_jitable
def share(cells, items, chunks, job, arguments):
    """A job (see ``binder``) over ``range(items)``, in chunks, here and by whoever serves; what a checked kernel returns."""
    if chunks == 1 or _swap(cells, OWNED, 1) != 0:
        return _judged(_invoke(job, arguments, 0, items))
    _store(cells, JOB, job)
    _store(cells, ARGUMENTS, arguments)
    _store(cells, ITEMS, items)
    _store(cells, CHUNKS, chunks)
    _store(cells, FAILED, 0)
    _store(cells, BACK, 0)
    _store(cells, PENDING, chunks)
    _store(cells, REMAINING, chunks)
    _take_part(cells, True)
    looks = 0
    while _load(cells, PENDING) > 0:
        _pause()
        looks += 1
        if looks % _LOOKS == 0:
            _offer(_load(cells, YIELD))
    code = _load(cells, FAILED)
    _store(cells, OWNED, 0)
    return _judged(code)


@kernel("Q1[>=128] Q1[>=1]")
def serve(cells, call):
    """Take part in jobs until there has been none for a while, or ``call[0]`` is set."""
    patience = _PATIENCE
    while patience > 0 and _load(call, 0) == 0:
        if _load(cells, REMAINING) > 0:
            _take_part(cells, False)
            patience = _PATIENCE
        _pause()
        patience -= 1
        if patience % _LOOKS == 0:
            _offer(_load(cells, YIELD))


Kernel.sharing = share, binder
