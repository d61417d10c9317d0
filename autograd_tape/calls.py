"""The door: the one place that every call of every operation passes while somebody listens, and which costs nothing while nobody does.

An *interceptor* looks at calls: it may change their arguments, carry them out in another way, or take note of them and let them proceed. It
listens between `listen` and `unlisten`. `ORDER` is the order in which those who listen are asked.

>>> from autograd_tape import F, TensorRef
>>> class Note(Interceptor):
...     place = "profile"
...     def __call__(self, call):
...         print(call.name, "of", len(call.tensors()))
...         return call.proceed()
>>> with listening(Note()):
...     y = F.var(TensorRef.of([1.0, 2.0]))
var of 1
var_of of 1
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import threading
from typing import TYPE_CHECKING, Any, Self, cast
from collections.abc import Callable, Iterator, Sequence

from .annotations import Arguments, Fn, Keywords, SomeFn
from . import modes
from .codegen import execute
from .dtypes import DType, Device
from .errors import MAX_DIMS, AutogradError, of_rank
from .modes import recordings
from .locks import fork_safe_lock
from .tensor import TensorRef

if TYPE_CHECKING:
    from .frontend import Frontend
    from .record import Record

ORDER = (
    "function",                                # __torch_function__ of modes and subclasses
    "profile",
    "Tracing", "trace",                        # with a capital: the handlers of a dispatch key
    "Functionalize", "functionalize",
    "Batched", "transform",                    # vmap, forward mode, torch.func.functionalize
    "AutocastCPU", "AutocastGPU", "autocast",
    "Autograd",
    "gradient",                                # gradient functions registered in the place of a record's
    "determinism",                             # what has no deterministic implementation in torch, what is left unset
    "nested",                                  # operations on nested tensors
    "opaque",                                  # operations on tensors in oneDNN's layout
    "sparse",                                  # operations on sparse tensors
    "bits",                                    # conjugate and negative views get values
    "mutation",                                # copies of what is about to change
    "Backend_CPU", "Backend_CUDA", "Backend_Ascend", "Backend_Meta", "CompositeExplicit",
    "dispatch",                                # __torch_dispatch__, of functions that make tensors
    "declared",                                # outputs of OpSpecs get values
    "tape",                                    # explicit tapes hold irregular operations whole
)
"""All places of interceptors, outermost first."""
_PLACES = {place: i for i, place in enumerate(ORDER)}


class Interceptor:
    """Looks at calls of operations.

    Attributes:
        place: where in `ORDER` it stands.
        frontend: the front end whose operations it looks at; None for those of all.
        all_functions: whether it also looks at functions without a record (see `passing`).
        parts: whether it must see what an operation is made of, also where it let the whole pass.
    """

    place: str
    frontend: Any = None
    all_functions = True
    parts = False

    def concerns(self, door: Door) -> bool:
        """Whether it looks at calls of this operation at all; the answer is kept until `changed`."""
        return True

    def idle(self, args: tuple[object, ...]) -> bool:
        """Whether it is certain to let a call with these arguments pass, as far as can be told at once. It is then not asked, and where
        all are idle no `Call` is made."""
        return False

    def meet(self, door: Door, args: tuple[object, ...], out: object, inplace: bool, asked: tuple[Interceptor, ...], at: int) -> Any:
        """The result of a call as the door has it, or NotImplemented; `asked[at:]` are those further in. One who does without a `Call`,
        which costs as much as a small operation, says here what `idle` and `__call__` do."""
        return NotImplemented if self.idle(args) else self(Call(door, args, out, inplace, asked, at))

    def __call__(self, call: Call) -> Any:
        """The result of the call, or NotImplemented to let it pass."""
        raise NotImplementedError


LISTENING: list[Interceptor] = []
"""Those who listen now, outermost first. Functions that have no quiet sets ask whether it is empty, and no more while it is."""
TO_ALL: list[Interceptor] = []
"""Those of them who also look at functions without a record, which ask the same of this."""
TO_REGULAR: list[Interceptor] = []
"""Those of them who look at calls of regular operations on tensors of all kinds."""
TO_PLAIN: list[Interceptor] = []
"""Those of them who look at calls whose arguments are all plain (see `plain`): all but who only listens for good."""
_listening: tuple[Interceptor, ...] = ()  # the same; another object each time that what is known of it may be wrong
_counts: dict[Interceptor, int] = {}
_to_regular: dict[Interceptor, int] = {}
_known: dict[tuple[Interceptor, ...], tuple[Interceptor, ...]] = {}
_kept: set[Interceptor] = set()  # those who listen for good
_lock = fork_safe_lock()


def listen(interceptor: Interceptor, *, everything: bool = True) -> None:
    """From now on `interceptor` is asked about calls. Calls nest.

    Args:
        everything: whether it looks at tensors of all kinds; else regular operations show it only calls that leave the quiet path, such
            as those on tensors of special kinds.
    """
    with _lock:
        _count(_counts, interceptor, 1)
        _count(_to_regular, interceptor, everything)
        _arrange()
    if everything:
        modes.watch_calls()


def unlisten(interceptor: Interceptor, *, everything: bool = True) -> None:
    """Undoes one `listen`."""
    with _lock:
        _count(_counts, interceptor, -1)
        _count(_to_regular, interceptor, -everything)
        _arrange()
    if everything:
        modes.unwatch_calls()


@contextlib.contextmanager
def listening(interceptor: Interceptor) -> Iterator[None]:
    """Inside, `interceptor` is asked about calls."""
    listen(interceptor)
    try:
        yield
    finally:
        unlisten(interceptor)


def listen_for_good(interceptor: Interceptor) -> None:
    """From now on `interceptor` is asked about calls with an argument that is not plain: it would let all others pass, which are spared
    the question."""
    if interceptor not in _kept:
        _kept.add(interceptor)
        listen(interceptor, everything=False)


def changed() -> None:
    """An interceptor concerns other operations than before."""
    with _lock:
        _known.clear()
        _arrange()


def _count(counts: dict[Interceptor, int], interceptor: Interceptor, more: int) -> None:
    counts[interceptor] = counts.get(interceptor, 0) + more
    if not counts[interceptor]:
        del counts[interceptor]


def _arrange() -> None:
    global _listening
    ordered = tuple(sorted(_counts, key=lambda interceptor: _PLACES[interceptor.place]))
    LISTENING[:] = ordered
    TO_REGULAR[:] = list(_to_regular)
    TO_ALL[:] = [interceptor for interceptor in ordered if interceptor.all_functions]
    TO_PLAIN[:] = [interceptor for interceptor in ordered if interceptor not in _kept or _counts[interceptor] > 1]
    _listening = _known.setdefault(ordered, tuple(list(ordered)))


OF_NO_KIND = frozenset([type(None), bool, int, float, complex, str, slice, DType, Device])
"""Classes of arguments that nobody who listens for good looks at."""


def plain(args: Sequence[object], depth: int = 0) -> bool:
    """Whether arguments are tensors of no special kind, or what is no tensor at all, or lists of these.

    >>> plain((TensorRef.of([1.0]), [0, 1], None)), plain((object(),))
    (True, False)
    """
    if depth > MAX_DIMS:  # a list in itself, perhaps
        return False
    for a in args:
        if a.__class__ in OF_NO_KIND:
            continue
        if isinstance(a, TensorRef):
            if a._k.special is not None:
                return False
        elif isinstance(a, dict):
            if a and not plain([*a.values()], depth + 1):
                return False
        elif not isinstance(a, (tuple, list)) or not OF_NO_KIND.issuperset(map(type, a)) and not plain(a, depth + 1):
            return False
    return True


class Call:
    """A call of an operation on its way from the outermost interceptor to the operation itself.

    Attributes:
        door: the operation's door; calling it with (args, out, inplace) makes another call, which all are asked about.
        args: the arguments in the order of `door.params`; those of `*args` as one tuple.
        out: what the result is to be written to, or None.
        inplace: whether it is the variant with an underscore.
    """

    __slots__ = ("door", "args", "out", "inplace", "_asked", "_at")

    def __init__(self, door: Door, args: Arguments, out: object, inplace: bool, asked: tuple[Interceptor, ...], at: int) -> None:
        self.door, self.args, self.out, self.inplace, self._asked, self._at = door, args, out, inplace, asked, at

    def proceed(self, args: tuple[object, ...] | None = None) -> Any:
        """What the interceptors further in, and at last the operation itself, make of the call, perhaps with other arguments."""
        door, args = self.door, self.args if args is None else args
        result = ask(door, args, self.out, self.inplace, self._asked, self._at) if self._at < len(self._asked) else NotImplemented
        return door.carry_out(args, self.out, self.inplace) if result is NotImplemented else result

    @property
    def rec(self) -> Any:
        """The operation's record."""
        return self.door.rec

    @property
    def frontend(self) -> Any:
        """The front end whose operation it is."""
        return self.door.frontend

    @property
    def name(self) -> str:
        """The operation's name, with an underscore where it is carried out in place."""
        return (self.door.rec.public or self.door.rec.name) + ("_" if self.inplace else "")

    @property
    def function(self) -> Fn:
        """The public function that was called."""
        return self.door.public(self.inplace)

    def tensors(self) -> list[Any]:
        """The tensors among the arguments, and in lists of them."""
        found: list[Any] = []
        for a in self.args:
            if isinstance(a, TensorRef):
                found.append(a)
            elif isinstance(a, (tuple, list)):
                found += [x for x in a if isinstance(x, TensorRef)]
        return found

    def spelled(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """(positional arguments, keyword arguments) with which the function is called so, without defaults at the end."""
        positional, keywords = self.door.spelled(self.args)
        if self.out is not None:
            keywords["out"] = self.out
        return positional, keywords


def mapped(function: Callable[[Any], Any], value: object) -> Any:
    """`function` of a tensor, or of those in tuples and lists, in their places."""
    if isinstance(value, TensorRef):
        return function(value)
    return type(value)([mapped(function, x) for x in value]) if value.__class__ is tuple or value.__class__ is list else value


def same(value: object, default: object) -> bool:
    """Whether an argument is its parameter's default."""
    return value is default or value.__class__ is default.__class__ and value.__class__ in _PLAIN and bool(value == default)


_PLAIN = frozenset([bool, int, float, str, tuple])


class Parameter:
    """A parameter of a function: `spread` is "*" or "**" for those that take several arguments."""

    __slots__ = ("name", "keyword_only", "default", "has_default", "spread")

    def __init__(self, name: str, keyword_only: bool = False, default: object = ..., spread: str = "") -> None:
        self.name, self.keyword_only, self.spread = name, keyword_only, spread
        self.has_default, self.default = default is not ..., default

    @classmethod
    def of(cls, p: inspect.Parameter) -> Parameter:
        """As a function has it."""
        return cls(p.name, p.kind is p.KEYWORD_ONLY, ... if p.default is p.empty else p.default,
                   "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else "")


def source_of(params: Sequence[Parameter]) -> tuple[list[str], list[str], Keywords]:
    """(the parameters, the arguments that pass them on, what the defaults are called), as source.

    >>> source_of([Parameter("x"), Parameter("dims", spread="*"), Parameter("keep", True, False)])
    (['x', '*dims', 'keep=_default_keep'], ['x', '*dims', 'keep=keep'], {'_default_keep': False})
    """
    head: list[str] = []
    for p in params:
        if p.keyword_only and not any(h.startswith("*") for h in head):
            head.append("*")
        head.append(p.spread + p.name + (f"=_default_{p.name}" if p.has_default else ""))
    call = [f"{p.name}={p.name}" if p.keyword_only else p.spread + p.name for p in params]
    return head, call, {f"_default_{p.name}": p.default for p in params if p.has_default}


def speller(params: Sequence[Parameter]) -> Callable[..., tuple[Arguments, Keywords]]:
    """A function of the arguments for `params`, as one tuple, that gives them as in a call: see `Door.spelled`.

    >>> speller([Parameter("x"), Parameter("dim", default=0), Parameter("keep", True, False)])((3, 0, True))
    ((3,), {'keep': True})
    """
    lines, cells = spelling(params)
    head = [f"{', '.join([p.name for p in params])}, = _args"] if params else []
    text = "def spell(_args):\n" + "".join([f"    {line}\n" for line in [*head, *lines, "return _given, _named"]])
    spell: Callable[..., tuple[Arguments, Keywords]] = execute(text, "spell", "<spell>", cells)
    return spell


def spelling(params: Sequence[Parameter], written: Callable[[str], str] = str) -> tuple[list[str], Keywords]:
    """(statements that set `_given` and `_named` to the arguments by position and by keyword, without defaults at the end, what they call
    by name). `written` is how an argument is written there."""
    changed = "{0} is not _default_{0} and not _same({0}, _default_{0})"
    lines = [f"_named = {{{', '.join(['**' + p.name for p in params if p.spread == '**'])}}}"]
    lines += [(f"if {changed.format(p.name)}: " if p.has_default else "") + f"_named['{p.name}'] = {written(p.name)}"
              for p in params if p.keyword_only]
    by_position = [p for p in params if not p.keyword_only and p.spread != "**"]
    given, choice = [p.spread + written(p.name) + ", " for p in by_position], ""
    while by_position and by_position[-1].has_default:
        choice += f"({''.join(given)}) if {changed.format(by_position.pop().name)} else "
        given.pop()
    return [*lines, f"_given = {choice}({''.join(given)})"], {"_same": same} | source_of(params)[2]


def ask(door: Door, args: tuple[object, ...], out: object, inplace: bool, asked: tuple[Interceptor, ...], at: int) -> Any:
    """What those who are asked make of a call, from number `at` on; NotImplemented where they all let it pass."""
    for interceptor in asked[at:] if at else asked:
        at += 1
        result = interceptor.meet(door, args, out, inplace, asked, at)
        if result is not NotImplemented:
            return result
    return NotImplemented


FAILURES = (AutogradError, AttributeError, TypeError, ValueError, IndexError, KeyError, OverflowError)
"""What operations raise where arguments are of wrong types, whether they have looked or stumbled."""
HERE: Any = object()
"""What says that a call is to go on where it is."""


class Door:
    """Where the calls of one operation of one front end pass.

    Attributes:
        rec: the operation's record.
        frontend: the front end.
        params: what the arguments are.
        irregular: whether the operation is made of others, or written by hand.
        unrecorded: whether it is no operation of a record, but a function that makes tensors, or reads them.
        spreads: whether it takes any number of arguments.
        front: the function that leads here, where that was written by hand.
        way: the method, or operator, of tensors that leads here, where it is another function than that of the record's name.
        at_once: whether tapes hold a call while it runs, because it writes, or gives numbers to Python; else they may do so later.
    """

    irregular = unrecorded = False
    front: Fn
    spreads = False
    at_once = True
    params: Sequence[Parameter]

    def __init__(self, rec: Record, frontend: Frontend) -> None:
        self.rec, self.frontend, self.way = rec, frontend, rec.field("shown_as")
        self._asked: tuple[object, tuple[Interceptor, ...]] = (None, ())  # those who listen, and who of them is to be asked here
        self._public: list[Any] = [None, None]
        self._below: list[Any] = [None, None]  # the second entrance, and that of the variant in place, where they are open to all calls

    def __call__(self, args: tuple[object, ...], out: object = None, inplace: bool = False) -> Any:
        """Carries out the operation on `args`, in the order of `params`, unless somebody who listens does."""
        if recordings and (noted := self.noted(args, out, inplace)) is not HERE:
            return noted
        try:
            heard, asked = self._asked
            if heard is not _listening:
                asked = self.hear()
            if asked and (TO_PLAIN or not plain(args) or out is not None):
                at = 0
                for interceptor in asked:
                    at += 1
                    result = interceptor.meet(self, args, out, inplace, asked, at)
                    if result is not NotImplemented:
                        return result
            below = self._below[inplace]
            if below is not None and out is None and modes.watched and not recordings:
                return below(*args)
            return self.carry_out(args, out, inplace)
        except FAILURES as error:
            if isinstance(error, (AutogradError, AttributeError)) and self.frontend.joins(args):
                return self(args, out, inplace)
            refused = self.frontend.refused(self, inplace)
            if refused is not None:
                raise refused from None
            if isinstance(error, AutogradError):
                raise self.frontend.error(error) from None
            if isinstance(error, (ValueError, IndexError)) and (many := of_rank(error)) is not None:
                raise self.frontend.error(many) from None
            raise

    def passed(self, args: tuple[object, ...], out: object, inplace: bool) -> Any:
        """A call that is not noted."""
        result = ask(self, args, out, inplace, self.hear(), 0)
        return self.carry_out(args, out, inplace) if result is NotImplemented else result

    def noted(self, args: tuple[object, ...], out: object, inplace: bool) -> Any:
        """The result of a call that tapes alone listen to, which is noted for them; HERE where it must go through the door."""
        return HERE

    def spelled(self, args: tuple[object, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """(positional arguments, keyword arguments) with which the function is called so, without defaults at the end."""
        self.spelled = spell = speller(self.params)  # type: ignore[method-assign]  # from now on, without another frame around it
        return spell(args)

    def hear(self) -> tuple[Interceptor, ...]:
        """Who of those that listen now is to be asked here."""
        current = _listening
        asked = tuple([i for i in current if i.frontend in (None, self.frontend) and (i.all_functions or not self.unrecorded)
                       and i.concerns(self)])
        if self.frontend is TensorRef._front_end and any([i.frontend not in (None, self.frontend) for i in current]):
            asked = (_ELSEWHERE, *asked)
        self._asked = current, asked
        return asked

    @property
    def writes(self) -> bool:
        """Whether the operation, not its variant in place, writes to its first argument."""
        return self.rec.name.endswith("_") or bool(self.rec.field("writes"))

    def carry_out(self, args: tuple[object, ...], out: object, inplace: bool) -> Any:
        """The operation itself."""
        raise NotImplementedError

    def rest(self, args: tuple[object, ...], out: object, inplace: bool) -> Any:
        """The operation itself, not on its quiet path."""
        raise NotImplementedError

    def whole(self, args: tuple[object, ...], out: object, inplace: bool) -> Any:
        """The operation itself, on no quiet path at all."""
        return self.rest(args, out, inplace)

    def sized_by(self, args: Sequence[object]) -> bool:
        """Whether values decide the shape of what a call with these arguments returns, and nothing that it calls says so."""
        return False

    def redirect(self, args: tuple[TensorRef | int, ...]) -> Any:
        """(name, arguments) of the operation that carries out a call with these arguments; None where it is this one."""

    def public(self, inplace: bool) -> Fn:
        """The function that leads here."""
        found: Callable[..., Any] = self._public[inplace]
        if found is None:
            found = self._public[inplace] = getattr(self.frontend.Tensor, self.way or "", None) or self.frontend.function(
                self.rec.name + ("_" if inplace else ""))
        return found

    def again(self) -> Self:
        """Another door to the same operation."""
        other = copy.copy(self)
        other._asked, other._below = (None, ()), [None, None]
        return other

    def leads_by(self, way: str) -> None:
        """From now on the tensors' method, or operator, `way` is what leads here."""
        self.way, self._public = way, [None, None]

    def shown_as(self, function: Fn) -> None:
        """From now on `function` is the one that leads here."""
        self._public = [function, function]


class _Elsewhere(Interceptor):
    """Calls of `autograd_tape.F` on tensors of another front end whose calls somebody looks at: its own function carries them out, so
    that who listens there (forward mode, vmap, autocast) meets them."""

    place = ORDER[0]

    def idle(self, args: tuple[object, ...]) -> bool:
        return not any([a.__class__ is not TensorRef and isinstance(a, (TensorRef, tuple, list)) for a in args])

    def __call__(self, call: Call) -> Any:
        for x in call.tensors():
            if x._front_end is not call.frontend:
                positional, keywords = call.spelled()
                return x._front_end.function(call.rec.name + "_" * call.inplace)(*positional, **keywords)
        return NotImplemented


_ELSEWHERE = _Elsewhere()


class _Named:
    """What stands for the record of a plain function."""

    namespace, family, takes_inplace, params = "", "", 0, ()
    field = staticmethod(lambda name: None)

    def __init__(self, name: str) -> None:
        self.name = self.public = name


class Plain(Door):
    """The door of a function that is no operation of a record."""

    irregular = unrecorded = True

    def __init__(self, function: Fn, frontend: Frontend) -> None:
        super().__init__(cast("Record", _Named(function.__name__)), frontend)
        self.params = [Parameter.of(p) for p in inspect.signature(function).parameters.values()]
        self.function = function

    def carry_out(self, args: tuple[object, ...], out: object, inplace: bool) -> Any:
        """The function itself."""
        given, named = self.spelled(args)
        _thread.inside = self
        try:
            return self.function(*given, **named)
        finally:
            _thread.inside = None

    def public(self, inplace: bool) -> Fn:
        """The function that leads here."""
        return self.function


class _Thread(threading.local):
    inside: Plain | None = None  # whose function, called next, is to go on


_thread = _Thread()


def passing(function: SomeFn, frontend: Frontend) -> SomeFn:
    """Puts a door before a function that makes tensors, or reads them. It begins with ::

        if TO_ALL and (found := passed(function, (its, arguments))) is not HERE: return found

    which costs less than another function around it would. `TO_PLAIN` may stand there where no argument can be but what is plain."""
    function.door = Plain(function, frontend)  # type: ignore[attr-defined]
    return function


def passed(function: Any, args: tuple[object, ...]) -> Any:
    """What those who listen make of a call with these arguments, one for each parameter; HERE where the function itself is to go on."""
    door: Plain = function.door
    if _thread.inside is door:
        _thread.inside = None
        return HERE
    if not TO_PLAIN and plain(args):
        return HERE
    heard, asked = door._asked
    if heard is not _listening:
        asked = door.hear()
    at = 0
    try:
        for interceptor in asked:
            at += 1
            result = interceptor.meet(door, args, None, False, asked, at)
            if result is not NotImplemented:
                return result
    except AutogradError as error:
        raise door.frontend.error(error) from None
    return HERE


def below(function: Any) -> Fn:
    """The function below its door, to be called at once: it is part of another's work."""
    if TO_ALL:
        _thread.inside = function.door
    return function


__all__ = ["HERE", "LISTENING", "OF_NO_KIND", "ORDER", "TO_ALL", "TO_PLAIN", "TO_REGULAR", "Call", "Door", "Interceptor", "Parameter",
           "Plain", "ask", "below", "changed", "listen", "listen_for_good", "listening", "mapped", "passed", "passing", "plain", "same",
           "source_of", "speller", "unlisten"]
