"""Compiled kernels, and the check between a caller's arrays and the pointers that a kernel takes of them.

A kernel is a loop in Python and a line that says what arrays it takes and how their sizes depend on one another.  From
the line, code is generated that compares the sizes of the very arrays whose pointers the loop then follows, within one
call without the interpreter: nobody can change them in between.  Dtype, dimensions, order, alignment and writability are
compared by the kernel's entry (see ``_entry``).  A call that does not fit raises ``ValueError``, or ``TypeError`` for another
kind of array, before any pointer is used.

Indices may change at any time, since they are somebody's data: a loop checks each one where it uses it.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, ClassVar

from ...annotations import Fn
from ...locks import fork_safe_lock
from ._entry import FITS, INDEX, MISFIT, Code, compiled, quick_compiler
from ._on_demand import LazyModule
from ._store import Store, file_name, kept_names, module_digest

__all__ = ["AnyKernel", "KeptKernel", "Kernel", "Spec", "compile_all"]

_lock = fork_safe_lock()

#: Largest magnitude of a number that takes part in the arithmetic of sizes, and of one in their products, which are bounded themselves.
LIMIT, FAR = 2**31, 2**60
#: Letters of arrays with a dtype of their own: read-only in small letters, writable in capitals.
_DTYPES = {"q": "int64", "x": "int64", "t": "int32", "b": "boolean", "u": "uint32", "n": "uint64", "e": "float32", "d": "float64"}
_ARRAY = re.compile(r"([rwqQxtTbBuUnNeEdD])(\d)(?:\[([^\]]*)\])?(\?)?$")
_NAME = re.compile(r"[A-Za-z_]\w*")


def _products(expression: ast.expr) -> Iterator[ast.expr]:
    """The largest parts of a condition that multiply integers, or divide them without rest; what is computed in float64 does not overflow.

    >>> [ast.unparse(part) for part in _products(ast.parse("(n == 0) | ((n - 1)*a + 2*m < size)", mode="eval").body)]
    ['(n - 1) * a + 2 * m']
    """
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod):
        parts = list(ast.walk(expression))
        multiplied = [part for part in parts if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult | ast.Mod)]
        if any(not isinstance(part.left, ast.Constant) for part in multiplied) and not any(isinstance(part, ast.Call) for part in parts):
            yield expression
        compared: list[ast.expr] = [part for part in parts if isinstance(part, ast.Compare)]
    else:
        compared = [expression]
    for part in compared:
        for side in ast.iter_child_nodes(part):
            if isinstance(side, ast.expr):
                yield from _products(side)


def _magnitude(expression: ast.expr) -> str:
    """The source of a bound, in float64, of the magnitude of a part of a condition and of all that is computed on the way to it.

    >>> _magnitude(ast.parse("(n - 1)*a // b", mode="eval").body)
    '(abs(float(n)) + 1) * abs(float(a))'
    """
    if isinstance(expression, ast.BinOp):
        left, right = _magnitude(expression.left), _magnitude(expression.right)
        match expression.op:
            case ast.Add() | ast.Sub():
                return f"({left} + {right})"
            case ast.Mult():
                return f"{left} * {right}"
            case ast.Mod():
                return f"({left} + {right})"
        return left  # of a quotient
    if isinstance(expression, ast.Compare):  # truth as a factor
        return "1"
    return ast.unparse(expression) if isinstance(expression, ast.Constant) else f"abs(float({ast.unparse(expression)}))"


class Spec:
    """What a kernel's arguments are, one word each, and what must hold between them.

    ============  =======================================================================================================
    ``r2[n,m]``   a read-only array of two dimensions, of the kernel's dtype, C-contiguous; ``w2[n,m]`` a writable one.
                  A name stands for a size; where it comes again, the size is the same.  A size may be an expression of
                  such names and of the kernel's integers (``kh*kw``), a bound (``>=n``), or anything (``_``)
    ``r0[n]``     an array of any number of dimensions, C-contiguous, which the loop sees flat, with its elements' number as size
    ``r1[n]?``    the same, or an empty array
    ``q Q b B``   arrays as ``r`` and ``w`` of int64, bool, uint32 (``u U``), uint64 (``n N``), float32 (``e E``),
    ``d D``       float64
    ``x1[n]``     int64 indices (int32: ``t``; ``T`` is a writable array of these): the kernel returns False when it meets one that is out
                  of range, and the call raises ``IndexError``; other kernels return nothing
    ``i``, ``s``  an int64, a float64
    ``(a>0)``     no argument: a condition
    ``:n``        two arguments, the last: ``start, stop`` within ``range(n)``, for threads that share the kernel
    ``|n``        the same for a kernel that callers slice themselves
    ============  =======================================================================================================
    """

    def __init__(self, name: str, text: str, parameters: tuple[str, ...]) -> None:
        self.name, self.text, self.parameters = name, text, parameters
        self.kinds: list[tuple[str, int]] = []  # letter and dimensions
        self.flat: set[int] = set()  # places of the arrays that are seen flat
        self.alike: list[int] = []  # of those that may not be empty instead
        self.items: str | None = None
        self.is_shared = False
        #: Names of the arrays with their sizes, and whether they may be empty instead; and what else must hold.
        self.arrays: list[tuple[str, list[str], bool]] = []
        self.conditions: list[str] = []
        left = iter(parameters)
        for word in text.split():
            if word[0] == "(":
                self.conditions.append(word)
            elif word[0] in ":|":
                self.items, self.is_shared = word[1:], word[0] == ":"
                self.kinds += [("i", 0), ("i", 0)]
                if parameters[-2:] != ("start", "stop"):
                    raise TypeError(f"kernel {name}: a range is for start and stop, the last two parameters")
            elif word in ("i", "s"):
                self.kinds.append((word, 0))
                next(left)
            else:
                found = _ARRAY.match(word)
                if found is None:
                    raise TypeError(f"kernel {name}: {word!r} is no argument")
                letter, ndim, sizes, optional = found[1], int(found[2]), found[3], found[4] is not None
                if not ndim:
                    self.flat.add(len(self.kinds))
                    ndim = 1
                dims = sizes.split(",") if sizes is not None else ["_"] * ndim
                if len(dims) != ndim:
                    raise TypeError(f"kernel {name}: {word!r} names {len(dims)} sizes of {ndim}")
                if not optional:
                    self.alike.append(len(self.kinds))
                self.kinds.append((letter, ndim))
                self.arrays.append((next(left), dims, optional))
        if len(self.kinds) != len(parameters):
            raise TypeError(f"kernel {name}: {len(self.kinds)} arguments for {len(parameters)} parameters")
        self.has_indices = any(letter in "xt" for letter, _ in self.kinds)
        #: Whether the kernel is compiled for several dtypes.
        self.generic = any(letter in "rw" for letter, _ in self.kinds)
        self._lines = self._checks()

    def _checks(self) -> list[str]:
        sizes: dict[str, str] = {}
        demands: list[str] = []
        for array, dims, optional in self.arrays:
            for axis, dim in enumerate(dims):
                shape = f"{array}.shape[{axis}]"
                if dim == "_":
                    continue
                if _NAME.fullmatch(dim) and dim not in self.parameters and dim not in sizes and not optional:
                    sizes[dim] = shape
                    continue
                demand = f"{shape} >= {dim[2:]}" if dim.startswith(">=") else f"{shape} == {dim}"
                demands.append(f"({array}.size == 0) | ({demand})" if optional else demand)
        demands += self.conditions
        if self.items is not None:
            demands += ["0 <= start", "start <= stop", f"stop <= {self.items}"]
        names, trees = set(_NAME.findall(" ".join(demands))), [ast.parse(demand, mode="eval").body for demand in demands]
        products = [product for tree in trees for product in _products(tree)]
        demands += dict.fromkeys(f"{_magnitude(product)} <= {FAR}" for product in products)
        # what is a size, or divides one, is as small
        bounded = {part.id for product in products for part in ast.walk(product) if isinstance(part, ast.Name)}
        bounded |= {size for _, dims, _ in self.arrays for size in dims}
        for parameter, (letter, _) in zip(self.parameters, self.kinds, strict=True):
            if letter == "i" and parameter in names and not (self.items is not None and parameter in ("start", "stop")):
                limit = FAR if parameter in bounded else LIMIT
                demands += [f"{parameter} <= {limit}", f"{parameter} >= -{limit}"]
        lines = [f"    {name} = {shape}" for name, shape in sizes.items() if name in names]
        if demands:  # one condition without branches: it is compiled in a fraction of the time
            lines.append(f"    if not ({' & '.join(f'({demand})' for demand in demands)}):")
            lines.append(f"        return {MISFIT}")
        return lines

    def types(self, char: str) -> list[Any]:
        """The compiler's types of the arguments for a dtype character."""
        from numba import types

        own = {"f": types.float32, "d": types.float64, "l": types.int64, "H": types.uint16, "B": types.uint8,
               "E": types.uint16, "e": types.int16}[char]

        def numba_type(letter: str, ndim: int) -> Any:
            if letter in "is":
                return types.int64 if letter == "i" else types.float64
            dtype = own if letter in "rw" else getattr(types, _DTYPES[letter.lower()])
            return types.Array(dtype, ndim, "C", readonly=letter != "w" and letter.islower())

        return [numba_type(*kind) for kind in self.kinds]

    def checked(self) -> str:
        """The source of a function that checks, and then calls ``body``; it returns ``FITS``, ``MISFIT`` or ``INDEX``."""
        call = f"body({', '.join(self.parameters)})"
        end = [f"    return {FITS} if {call} else {INDEX}"] if self.has_indices else [f"    {call}", f"    return {FITS}"]
        return "\n".join([f"def checked({', '.join(self.parameters)}):", *self._lines, *end])

    def listed(self) -> str:
        """The source of a function that checks, and then does all items of ``body``, or none."""
        given, sizes = self.parameters[:-2], [line for line in self._lines if " = " in line.partition("if ")[0]]
        lines = [f"def listed(run, {', '.join(given)}):", *sizes, f"    start, stop = 0, {self.items}", *self._lines[len(sizes):]]
        return "\n".join([*lines, "    if run:", f"        body({', '.join(self.parameters)})", f"    return {FITS}"])

    def shared(self) -> str:
        """The source of a function that checks, and then shares ``body`` among threads."""
        given = self.parameters[:-2]
        lines = [f"def shared(cells, items, chunks, {', '.join(given)}):", "    start, stop = 0, items", *self._lines]
        return "\n".join([*lines, f"    return share(cells, items, chunks, *bind(({', '.join(given)},)))"])


class _Compiled(dict[str, Callable[..., Any]]):
    """Machine code by dtype character, compiled when it is first asked for."""

    def __init__(self, kernel: Kernel, variant: str) -> None:
        super().__init__()
        self.kernel, self.variant = kernel, variant

    def __missing__(self, char: str) -> Fn:
        with _lock:
            if char not in self:
                self[char] = getattr(self.kernel, f"_compile_{self.variant}")(char)
        return self[char]


@cache
def _apart() -> type:
    """A compiler of functions of which no array overlaps with one that is written to, so that short loops need not find out."""
    from numba.core.compiler import Compiler

    class Apart(Compiler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.state.flags.noalias = True

    return Apart


class Kernel(_Compiled):
    """A loop in Python, compiled for one dtype at a time: ``kernel["f"](...)`` for float32, ``kernel["d"]`` for float64; what moves
    elements, or adds integers, for some others, too; what reads and writes by ``wide`` and ``rounded`` also ``kernel["E"]`` for bfloat16
    and ``kernel["e"]`` for float16, as their bits: unsigned integers are those of bfloat16, signed ones of float16.

    ``kernel.shared["f"](cells, items, chunks, ...)`` is for threads that share its items, with the arguments but ``start,
    stop`` (see ``compiled/team.py``); ``kernel.listed["f"](...)`` takes a tuple of arrays for each array, does all items of each row, and
    none where one row does not fit.  All check their arguments by the ``Spec``; nothing calls the loop alone.
    Explicit signatures spare the type inference of every call.
    """

    registry: dict[str, Kernel] = {}
    #: What makes of a body the kernel that threads share, see `compiled.team`, which every compiled module is imported after.
    sharing: ClassVar[tuple[Fn, Fn]]

    def __init__(
        self, function: Fn, spec: str, fastmath: frozenset[str], digest: str = "", complete: Callable[[], object] | None = None,
        dtypes: str = "", fresh: bool = False, lists: bool = False,
    ) -> None:
        """`fresh`: what it writes to is memory of its own, of no array that it reads. `lists`: there are callers of `listed`. `digest`
        stands for what the loop refers to that is in no file of `compiled/`; `complete` puts it there before it is compiled."""
        super().__init__(self, "checked")
        code = function.__code__
        self.digest, self.complete, self.fresh, self.lists = digest, complete, fresh, lists
        self.function = function
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        self.spec = Spec(self.name, spec, code.co_varnames[: code.co_argcount])
        self.fastmath = fastmath
        self.dtypes = dtypes or ("fdEe" if "wide" in code.co_names else "fd")
        self._body = _Compiled(self, "body")
        self.shared, self.listed = _Compiled(self, "shared"), _Compiled(self, "listed")

    def _compile_body(self, char: str) -> Fn:
        """The loop for the code around it, of which it becomes part and is kept with: nothing is made by which Python would call it."""
        from numba import njit, types

        if self.complete is not None:
            self.complete()
        result = types.boolean if self.spec.has_indices else types.void
        options: Any = {"fastmath": set(self.fastmath) or False, "no_cpython_wrapper": True}
        if self.fresh:
            options["pipeline_class"] = _apart()
        dispatcher: Any = njit(nogil=True, error_model="numpy", **options)(self.function)
        dispatcher.compile(result(*self.spec.types(char)))
        dispatcher.disable_compile()
        return dispatcher

    def _compile_checked(self, char: str) -> Fn:
        return self._machine_code("checked", self.spec.checked(), char, self.spec.types(char), lambda: {"body": self._body[char]})

    def _compile_shared(self, char: str) -> Fn:
        from numba import types

        share, binder = Kernel.sharing
        counts = [types.Array(types.int64, 1, "C"), types.int64, types.int64]
        arguments = [*counts, *self.spec.types(char)[:-2]]
        return self._machine_code(
            "shared", self.spec.shared(), char, arguments, lambda: {"share": share, "bind": binder(self._body[char])})

    def _compile_listed(self, char: str) -> Fn:
        from numba import types

        arguments = [types.int64, *self.spec.types(char)[:-2]]
        return self._machine_code("listed", self.spec.listed(), char, arguments, lambda: {"body": self._body[char]})

    def _machine_code(
        self, variant: str, text: str, char: str, arguments: list[Any], names: Callable[[], dict[str, Any]]
    ) -> Fn:
        """A generated function, loaded from where it was kept, or compiled with what the ``names`` in it then stand for."""
        name = file_name(self.name, variant, char if self.spec.generic else "f", self.digest)

        def compile_it() -> Code:
            from numba import njit, types

            with quick_compiler():
                namespace = {"__name__": self.function.__module__, **names()}
            exec(compile(text, f"<{variant} {self.name}>", "exec"), namespace)
            function = namespace[variant]
            function.__name__ = function.__qualname__ = f"{self.function.__name__}_{variant}"
            dispatcher: Any = njit(nogil=True, error_model="numpy")(function)
            misfit = f"kernel {self.name}: the arguments do not fit {self.spec.text!r}"
            flat = {at + 3 * (variant == "shared") for at in self.spec.flat}
            alike = self.spec.alike if variant == "listed" else None
            with quick_compiler():
                return compiled(dispatcher, types.int64(*arguments), self.name, misfit, flat, alike)

        return Store(name).function(compile_it)


class KeptKernel(dict[str, Fn]):
    """A kernel whose machine code was kept, for some of its dtypes: the module that it is of is imported for others only."""

    def __init__(self, module: str, name: str, variant: str = "checked") -> None:
        super().__init__()
        self.module, self.name, self.variant = module, name, variant
        if variant == "checked":
            self.shared, self.listed = [KeptKernel(module, name, other) for other in ("shared", "listed")]

    def __missing__(self, char: str) -> Fn:
        with _lock:
            if char not in self:
                found = Store(file_name(f"{self.module}.{self.name}", self.variant, char)).kept()
                if found is None:
                    kernel = getattr(importlib.import_module(f"{__package__}.compiled.{self.module}"), self.name)
                    found = (kernel if self.variant == "checked" else getattr(kernel, self.variant))[char]
                self[char] = found
        return self[char]


AnyKernel = Kernel | KeptKernel


def _kept_kernel(module: str, name: str) -> KeptKernel | None:
    return KeptKernel(module, name) if (f"{module}.{name}", module_digest(module)) in kept_names() else None


LazyModule.kept = _kept_kernel


def compile_all(dtypes: str = "fdEelHB", part: int = 0, parts: int = 1) -> int:
    """Compiles every kernel, and every formula of the records that are loaded, for those of the dtype characters in `dtypes` that it is
    written for, and keeps the machine code (to fill the cache of an image); returns how many. Fifteen minutes of a core, the first time,
    which `parts` processes share: each takes one `part`, counted from 0."""
    from pathlib import Path

    for path in sorted((Path(__file__).parent / "compiled").glob("*.py")):
        if path.stem != "__init__":
            importlib.import_module(f"{__package__}.compiled.{path.stem}")
    formulas = importlib.import_module(f"{__package__}.formulas").Formula.made
    count = 0
    kernels = [(kernel, kernel.dtypes) for kernel in Kernel.registry.values()]
    kernels += [(kernel, kernel.dtypes if "e" in kernel.dtypes else f.chars) for f in formulas for kernel in [f.kernel()]]
    every = [(kernel, char) for kernel, chars in kernels for char in dtypes if char in chars if kernel.spec.generic or char == dtypes[0]]
    for kernel, char in every[part::parts]:
        (kernel.shared if kernel.spec.is_shared else kernel)[char]
        if kernel.lists:
            kernel.listed[char]
        count += 1 + kernel.lists
    return count
