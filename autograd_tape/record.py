"""The declarative record of an operation. See `autograd_tape/ops/__init__.py` for how to write one."""

from __future__ import annotations

import copy
import inspect
import itertools
import re
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dataclasses import dataclass, field

from .annotations import Arguments, Fn, Functions, Keywords, Values
from .dtypes import OPAQUE, SCALAR_TYPE_NAMES, DType
from .errors import ArgumentError, AutogradError, MissingKernelError, UnknownOperationError, UnsupportedDTypeError
from .locks import cached_property
from .records import Records
from .tensor import TensorRef, above

if TYPE_CHECKING:
    import numpy as np

TENSOR_TYPES = {"Tensor", "Tensor?", "Operand", "Tensor[]", "Index", "Index?", "Mask", "Mask?"}
_DTYPE_WORDS = {"half": ("float16", "bfloat16"), "int": ("uint8", "int8", "int16", "int32", "int64"), "float": ("float32", "float64"),
                "short": ("uint8", "int8", "int16", "int32"), "complex": ("complex64", "complex128"),
                **{g: tuple([d.name for d in DType.by_name.values() if d.group == g]) for g in ("uint", "float8", "chalf")},
                "rare": tuple([d.name for d in DType.by_name.values() if d.group])}
"""What a word for dtypes stands for; "short" are the integers but int64, "rare" are those that have a group in the table of dtypes."""
DIFFERENTIABLE = {"Tensor", "Tensor?", "Operand", "Tensor[]"}


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of a schema: `Tensor input`, `int dim=-1`."""

    name: str
    type: str
    default: str | None = None
    keyword_only: bool = False

    @property
    def is_tensor(self) -> bool:
        """Whether tensors are passed here."""
        return self.type in TENSOR_TYPES

    @property
    def differentiable(self) -> bool:
        """Whether a gradient can flow here."""
        return self.type in DIFFERENTIABLE

    @property
    def passed(self) -> bool:
        """Whether kernels see it: a dtype and a scaling `alpha` are applied to the operands before, `inplace` picks another function."""
        return self.type != "dtype?" and not self.scales and self.name != "inplace"

    @property
    def scales(self) -> bool:
        """Whether it is the `alpha` of `add` and its like, which multiplies the second operand."""
        return self.name == "alpha" and self.type == "Scalar"

    def __str__(self) -> str:
        return self.name if self.default is None else f"{self.name}={self.default}"


@dataclass(frozen=True, slots=True)
class Saved:
    """What a parameter of a gradient formula stands for; nodes save it.

    Attributes:
        kind: "tensor", "tensors" (a list of them) or "value", as that parameter of the operation; "shape" or "dtype" of a parameter;
            "output"; "kernel", what kernels return for the gradient alone; "needs", which inputs want a gradient, which is not saved.
        param: the operation's parameter, None for the last three.
        nr: where it is among what kernels return.
    """

    name: str
    kind: str
    param: Param | None = None
    nr: int = 0


_PARAM = re.compile(r"(?P<type>[\w\[\]?.]+)\s+(?P<name>\w+)(?:\s*=\s*(?P<default>.+))?$")


def _split(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            yield text[start:i].strip()
            start = i + 1
    if text[start:].strip():
        yield text[start:].strip()


_made = itertools.count()


class Record:
    """Everything known about one operation; made by `@op(...)` from a class body.

    Fields of the class body, all optional but a kernel or `compose`:

    `numpy`               kernel on buffers, called with the schema's parameters in order
    `mindspore`           the dotted name of a primitive that takes the tensors alone ("ops.Exp"), or a function `(ms, *arguments)` on
                          MindSpore tensors (see `ops._mindspore`), which raises NotImplementedError for what it would get wrong
    `mindspore_takes`     "complex" where that kernel is right for complex numbers, "half" where that for float16 is the quicker one
    `ufunc`               NumPy's ufunc that calls it on tensors, where that is not the kernel; a tuple of several
    `many`                the kernel that takes the place of one that is NumPy's ufunc, where there are many elements
    `scipy`               the name of the ufunc of scipy.special that does
    `sparse`              of an operation element by element that leaves 0 as it is and that torch has for sparse tensors: "in order"
                          where several elements at one place are added up before, "as they are" where each may be computed by itself
    `half`                the NumPy kernel for float16 and bfloat16, where torch rounds on the way; else they are computed in float32
    `itself`              the quiet set of kinds whose tensors are their own result
    `as_elementwise`      whether its gradient formulas take half precision as those of elementwise operations do (see `halves.Halves`)
    `opmath`              "number": half precision with a number is computed in float32, the number not rounded before; "alpha": with an
                          `alpha` alone; "product": the same, and the `alpha` is not rounded either
    `compose(F, ...)`     the operation in terms of others, for executors without a kernel
    `vjp(F, grad, ...)`   the gradient. Its further parameters name what is saved: a parameter of the schema, an output
                          (`result`, or its name in the schema), `<tensor>_shape`, `needs` (which inputs want a gradient).
                          Returns the gradient of the only differentiable input, or a tuple with one per input.
    `vjp_<input>(F, grad, ...)`  the gradient with respect to one input, computed only when wanted
    `jvp`                 how tangents go through it: "linear" (in all differentiable tensors together), "bilinear", "elementwise" (the
                          gradient formulas are their own transpose), "transposed" (`vjp`'s transpose), or a function
                          `(F, outputs, arguments, tangents)`, the last two by parameter name, that returns a tangent per output,
                          in the dtype that the tangent is to have.
                          Left out: "linear" of views, "elementwise" of what is so, else "transposed"
    `batch(F, call)`      the operation on batches of examples, for vmap (see `_batch`): left out where family or schema say enough, as
                          `_batch.rule_of` reads them; else it is carried out for each example in turn
    `aten`                how torch's dispatcher shows it, "name.overload(arguments)[0]", in part or whole, or a function of the arguments
                          that says so: the arguments are source, of the parameters and the words of `torchcompat._calls.aten`, those
                          that are None by keyword left out; "[0]" where ATen returns more for its own backward. Left out: the record's
                          name, "Tensor", "Scalar" or "default", and its arguments but for trailing defaults
    `put_back(F, base, new, nr, ...)`  of a view, the value of its base once the view, that of number `nr`, is `new`; or ATen's name of
                          what puts `new` into the base, and the arguments after these two; left out, "as_strided_scatter"
    `sharding`            how its results are sharded: letters, "m k, k n -> m n", words that name a rule, "reduces dim by add", or a
                          function of the call (see `sharding.rules`); left out, what the family says, else every device computes all of it
    `flops`               how many multiplications and additions it takes: the operand whose last dimension is summed over, or a function of
                          (result, **arguments); left out, two for each term of a notation, else one for each element
    `passes_partial`      through which operands it passes on sums that wait to be added: "all" together, "each" of them by itself, or the
                          number of the only one; left out, as `jvp` says
    `sized_by_values(...)`  whether the values of these arguments decide on the result's size; that `meta` is `data_dependent` says so, too
    `no_differences`      why its gradient is not the limit of differences of its values
    `unset`               whether the values of its result are whatever lay in memory
    `undetermined(...)`   what torch calls it where it refuses a call with these arguments in deterministic mode; None where it does not
    `writes`              whether it writes to its first argument, where its name does not say so by an underscore
    `bits(conj, neg)`     of a view, which of these bits it has of a tensor that has these; or torch's refusal. Left out, the same
    `known_as`            what profiles call it, where it is neither the name under which programs know it nor what `aten` says; "" where
                          torch's do not show it
    `shown_as`            the tensors' method, or operator, as which who listens to calls is shown what is a part of others alone
    `decompose(F, ...)`   what torch makes of other operations before its dispatcher sees it, in terms of these; NotImplemented for
                          arguments where it does not
    `unfold(F, ...)`      what torch's graph has in the place of the one node: the operations that it is made of there, in terms of what the
                          node saved, by name; its tensors have their history, or stand for those of which only the shape is known. "input"
                          where what made the only input is seen. Left out, `decompose`, where the node saved all that it takes
    `copied`              of an operation that makes a view or a copy, the name of a copy's node, which alone is unfolded
    `seen_as`             {condition on what the node saved, as source: name of the last of these nodes, where it is another}
    `shape(...)`          the output's shape with shapes in place of tensors, for the meta executor; a tuple of shapes for several
                          outputs, followed by those of what is saved for the gradient (None where nothing is)
    `meta_layout`         how the meta executor lays results out that are not element-wise, or whose `layout` says "rows" of others alone,
                          in one word or one per output: "input" in the order of the tensors, "columns" as LAPACK does; left out, "rows"
    `meta(...)`           the meta executor's own kernel, where `shape` does not say enough
    `place(values)`       the device of the result of an operation whose tensors may be on several, from its arguments by name; nothing
                          can come from a meta tensor, though
    `redirect(...)`       (name, arguments) of the operation that carries out a call with such arguments, or None: `clamp` with
                          tensors as bounds, `div` with a rounding mode. Called on the general path only, with the arguments as given.
    `composite`           what ATen has of it before it is made of others, in the words of `aten`; or a function of the arguments that gives
                          that, or None where they have no such form. Programs that are exported hold it so
    `keywords`            {keyword: name of the operation that carries out a method call with it}: `x.view(dtype=...)`
    `may_share`           what memory the target of the in-place variant may share: "itself" (several of its elements may be one place,
                          since it writes the same everywhere, or torch does not look), "same" (an operand that is its very elements),
                          "others" (operands, which are read first), "nothing" (not even an operand that is the target, as else)
    `warns_expanded`      (torch's name of it, how else it is written), where torch warns of several of its elements being one place
    `function(F, ...)`    the operation made of others: it is irregular, as is one with `make`
    `store(a, ...)`       of the family "store", the kernel that overwrites the buffer `a`
    `moves`                whether the kernel looks at no elements, but moves them: half precision needs no path of its own
    `by_parts`            whether a complex number's is that of each of its parts, of which NumPy's loops are vectors
    `keeps`               kinds of tensors, as `itself` names them, of which its variant in place leaves all elements as they are
    `changes`             by the number of tensors beside its first, which of the kernels' changes it is, see `executors/kernels/changes.py`
    `store_part(a, ...)`  of an operation that leaves elements as they are, a kernel that overwrites the others in the buffer `a`, several
                          of whose elements may be one place
    `store_all(a, ...)`   a kernel that writes the result over its first operand's buffer `a`, no two of whose elements are one place; it
                          says whether it did
    `overloads`           torch's signatures of an operation that has several, as `_overloads` words their refusals
    `function_(F, ...)`   the in-place variant of an irregular operation that has one
    `no_forward`          what torch's message calls the step of it that has no forward mode ("aten::..." where it has no derivative at
                          all), or a function of the arguments that gives the name, or None where they have one
    `no_vmap`             of an irregular operation that torch has no batching rule for, the name of its step ("aten::equal"), or what
                          the message begins with; or a function of the arguments that gives either, or None
    `gives`               the type of what calls give, in the schema's words or "Any", where the schema does not say it; or
                          {parameter: the type where it is True}. Stubs say it
    `reads`               the parameters whose values an irregular operation reads itself, or a function of the arguments that gives them:
                          where one of these is an example of a vmap it is carried out for each example
    `no_vmap_`            what torch says of the in-place variant where examples would have to be stored in a tensor that all share:
                          "arithmetic", "shape", "name"; or a function, of which arguments are examples, that gives this or None
    `random`              whether it draws numbers, so that vmap's `randomness` says what examples get: a multiple of its input, or, where
                          it has a parameter `shape`, a tensor of that
    `without_tangents`    the inputs whose tangents count for nothing, since torch's formula does not look at them
    `method(F, ...)`      the Tensor method, where its parameters differ from the function's: `x.where(condition, other)`
    `method_`             whether the in-place variant is a Tensor method though the operation is none
    `complex_kernel(...)`  what the option `complex` says of operations that torch refuses for complex tensors, where it depends on
                          arguments
    `numbers`             {an Operand: name of the node where it is a number}, where torch has a signature of its own for it: the node
                          has no edge for the number, and saves what the other inputs' formulas need
    `complex_on_meta`     what the option `complex` says for meta tensors: True where the same, since not a kernel but the function itself
                          refuses them; another "<exception>: <text>"; left out, meta tensors, which come to no kernel, are taken
    `saved_as`            {a saved name: what torch's node calls it, or None where that has none}, where it is not the name itself, `self`
                          for `input` and `self_sym_sizes` for `input_shape`; "<node>.<name>" for that node alone
    `saved_also`          {torch's name: expression in what is saved}, where torch's node keeps a size or a constant; or
                          "<node>.<name>", as there
    `resizes_`            whether the in-place variant gives its target the result's shape, where the front end's tensors can take another
    `node_`, `numbers_`   the same of the in-place variant, where its nodes have other names, or it alone has one, of zero gradient
    `refuses_grad`        {parameter: torch's name of the step} of those that must not require grad; of an irregular operation "... if
                          any" where there are elements, of a regular one a function of its `input`
    `no_derivative_`      whether torch has no derivative for the in-place variant, which it refuses in forward mode, and backward
    `nodes`               {condition on the parameters, as source: name of the node where it holds}, for torch's other signatures
    `home`                where torch has the function, if not where its namespace says: "functional", in Python; "_C._nn", not in Python
    `words`               other words for parameters that torch's function takes, {"sections": "indices_or_sections"}
    `deprecated`          torch's deprecated signatures: all parameters in order, "input alpha other"; a method's tensor is left out
    `present`             where such an operation has several other signatures, these, of the function
    `quick(...)`          of an irregular operation: what it gives for plain arrays, at which nobody looks and which have no gradient, of
                          real numbers or truth values, with the arguments in order, those of no tensors of the very
                          classes that the schema says (so `quick` need not ask for them), as an array, a tuple of them or, where it
                          `gives` that, a bool; None where its `function` is to look at them, and an error leads there, too
    `quick_if`            a condition on the parameters, as source, without which `quick` makes nothing
    `quick_complex`       whether `quick` takes complex numbers, too
    `quick_conjugates`    whether a view of their conjugates is given of what `quick` makes of real numbers
    `gives_input`         whether `quick` may give the very array of the first tensor, which then is the result: as it is, or, of an
                          operation whose name ends in "_", changed
    `quick_named`         whether what it gives several of are named, as torch names them
    `together`            whether what `shown` gives are views of those that must not be changed in place, since they were made together
    `shown(...)`          of an irregular operation that gives views of its first tensor: the array of the view, or those of several, of the
                          tensors' arrays and the other arguments, where the first has no gradient and nobody looks; of a list
                          one view for each of its tensors, or what that itself has; None where its `function` is to look at them, and
                          an error leads there, too
    `becomes(...)`        of an irregular operation that changes the geometry of its tensor in place: the array of the view that takes its
                          place, of the tensor's array and the other arguments; an error leads to its `function`
    `overwrites(a, ...)`  of an irregular operation that writes to its tensor, or of its variant in place: whether it did, to the
                          tensor's array, of the other arguments, too; where not, and where an error is raised, its `function` is to
    `fresh(k, ...)`       of an irregular operation that makes new tensors: the array of kind `k`, of the arguments before the options (of a
                          tensor its array), where no option but the dtype is given and nobody looks; None, or an error, as for `quick`
    `make(F, namespace, general)`  the function of an irregular operation with a quiet path written by hand: it looks for the quiet sets in
                          `namespace`, and goes on to `general(args, out)`, with all arguments by position
    `amp`                 what autocast casts the floating-point arguments to: "lower" (its dtype), "float32", "widest" (of the arguments);
                          or a function of the arguments that says which, or None;
                          "whole" where torch carries out in one piece, and leaves as it is, what is made of others here: nothing is
                          cast, in its parts neither
    `parts`               the operations whose work that quiet path does itself: it is closed to those who look at them
    `recorded(entry, ...)`  the arguments of the regular operation whose entry that quiet path made of these arguments; calls of an
                          operation that says so are noted by tapes without a look inside
    `fused`               whether an irregular operation, or one that it is made of, has one kernel for what it makes of others where
                          somebody looks at operations, so that results there agree but for the last digits
    `several_types`       the parameters of an irregular operation that take other types than the schema's, as in torch's other signatures
    `alone`               whether an irregular operation of several tensors gives one view of one tensor, instead of a list of it
    `layout`              where the result lies in memory: "rows", or the names of the inputs whose order it takes, the first that has
                          one; left out, that of element-wise operations is the order of their operands, in turn
    `out_dtype`           the dtypes that `out=` may have (see `_out`), where it is not all that the result can be cast to; a tuple with
                          one rule for each output
    `computed_in_out`     whether the dtype of `out=` counts as `dtype` where none is given
    `out_apart`           "whole" where `out=` may not be one of the operands; that of element-wise operations may, but not share a part.
                          "single" where its elements, too, have to lie apart before it is given another shape, as for element-wise ones
    `out_list`            of an operation that returns a list: what torch calls the signature with `out=`, a list, too, for which it returns
                          nothing; others have no `out=`
    `no_out(...)`         whether torch's signature for these arguments has no `out=`
    `indices`             "int32" where the quiet path takes an Index of that dtype, and none of int64
    `refuses_bool`        whether `check` refuses bool tensors, so that the quiet path leaves them to it
    `lacks`               {dtypes: the kernel that torch lacks for them}, by its name in torch's message, or "<exception>: <text>", in which
                          {dtype} stands for the dtype; dtypes are names, or words as for the option `dtypes`. "if any" after a kernel's
                          name: tensors without elements never come to it. A function of the arguments by name, where they decide
    `number_fits`         whether a whole number beside a tensor must be one that its dtype holds; `check` says so
    `any_dtype`           whether the kernel takes elements of dtypes that nothing computes in, which only it reads
    `check(...)`          raises the error that torch raises for bad arguments; called on the general path only
    `samples(rng)`        yields argument tuples (arrays, numbers, ...), or `Sample`s, for the tests
    `errors(rng)`         yields (arguments, exception type, text) for bad input
    """

    def __init__(self, body: type, schema: str, *, family: str, alias: tuple[str, ...], promotion: str, result: str, quiet: str,
                 broadcasts: bool, method: bool, inplace: bool, out: bool, varargs: str | None, namespace: str,
                 node: str | None, differentiable: bool, dtypes: str | None, complex: str) -> None:
        self.body, self.schema, self.family = body, schema, family
        self.alias = tuple([name.removeprefix("=") for name in alias])
        self.same = frozenset([name[1:] for name in alias if name[0] == "="])
        self.promotion, self.result, self.quiet, self.broadcasts = promotion, result, quiet, broadcasts
        self.method, self.inplace, self.varargs, self.namespace = method, inplace, varargs, namespace
        self.out = out and ("Tensor[]" not in schema.partition("->")[2] or self.field("out_list") is not None)
        self.name = schema.partition("(")[0].strip()
        self.nr = next(_made)  # by which records of a module are in order
        self.node_name = node or re.sub(r"\d[a-z]", lambda m: m[0].upper(), self.name.title().replace("_", "")) + "Backward0"
        self.without: str | None = None  # the Operand that is a number, in the record of an overload
        self.doc = inspect.cleandoc(body.__doc__ or "")
        self.module = body.__module__
        self.differentiable = differentiable and self.has_vjp
        self.dtypes, self.complex = dtypes, complex

    def __repr__(self) -> str:
        return f"<operation {self.schema}>"

    def vjp_rule(self, primals: Sequence[np.ndarray], cotangent: np.ndarray, output: np.ndarray | None = None,
                 **arguments: object) -> tuple[np.ndarray | None, ...]:
        """The cotangents of the primals from that of the output, on arrays or tensors; None for a primal that has none.

        >>> import numpy as np
        >>> get_record("mul").vjp_rule((np.array(2.0), np.array(3.0)), np.array(1.0))
        (array(3.), array(2.))
        """
        found: Arguments = above.vjp_rule(self.name, **arguments)(primals, cotangent, output)
        return found

    @cached_property
    def unfold(self) -> Fn | None:
        """What makes torch's nodes that one of this record stands for; None where it stands for one. See the field."""
        found: Fn | None = self.field("unfold") or self.field("decompose")
        return found if self.has_vjp and (self.field("copied") is None or self.node_name == self.field("copied")) else None

    @cached_property
    def copied(self) -> "Record":
        """Of an operation that makes a view or a copy, the record of the nodes of copies."""
        name = self.field("copied")
        return self if name is None else self._overload(name)

    @property
    def elementwise(self) -> bool:
        """Whether each element of the result is made of the elements at its place, after broadcasting."""
        return self.family in ("unary", "binary", "compare") or self.broadcasts

    @property
    def has_gradient(self) -> bool:
        """Whether gradients flow through it: it is recorded, and not only to say that it has none (see `no_derivative`, `no_formula`)."""
        return self.differentiable and self.node_name != "NotImplemented" and not getattr(self.field("vjp"), "refuses", False)

    @property
    def public(self) -> str | None:
        """The name under which programs know it; None for what is a part of others alone."""
        return self.name.removeprefix("nn_functional_") if self.namespace != "_internal" or self.alias else None

    @property
    def in_python(self) -> bool:
        """Whether torch's function is written in Python: its parameters have one name each."""
        return (self.field("home") or self.namespace) in ("functional", "nn.functional")

    @property
    def torch_name(self) -> str:
        """What torch's dispatcher calls it, as far as that does not depend on arguments."""
        said = self.field("aten")
        return isinstance(said, str) and re.split(r"\W", said)[0] or self.name

    def field(self, name: str) -> Any:
        """A field of the class body, or None. Functions come without a `self`."""
        value = self.body.__dict__.get(name)
        return value.__func__ if value.__class__ is staticmethod else value

    @cached_property
    def _parsed(self) -> tuple[tuple[Param, ...], tuple[tuple[str, str], ...], tuple[str, ...]]:
        head, _, tail = self.schema.rpartition("->")
        inner = head[head.index("(") + 1: head.rindex(")")]
        params, keyword_only = [], False
        for item in _split(inner):
            if item == "*":
                keyword_only = True
                continue
            match = _PARAM.match(item)
            if match is None:
                raise ValueError(f"cannot read {item!r} in the schema {self.schema!r}; write 'Type name' or 'Type name=default'")
            params.append(Param(match["name"], match["type"], match["default"], keyword_only))
        tail = tail.strip()
        if tail.startswith("("):
            returns = tuple((m[0], m[1]) for m in (r.split() for r in _split(tail[1:-1])))
        else:
            returns = ((tail, "result"),)
        saved = tuple([name for t, name in returns if t == "Saved"])
        return tuple(params), returns[:len(returns) - len(saved)], saved

    @property
    def params(self) -> tuple[Param, ...]:
        """The parameters, without `out`."""
        return self._parsed[0]

    @property
    def returns(self) -> tuple[tuple[str, str], ...]:
        """(type, name) of each output."""
        return self._parsed[1]

    @property
    def saved_returns(self) -> tuple[str, ...]:
        """What kernels return after the outputs, for the gradient only: "-> (Tensor result, Saved mean, Saved rstd)". No tensor is
        made of it, and gradients take it as constant."""
        return self._parsed[2]

    @cached_property
    def returns_list(self) -> bool:
        """Whether the operation returns a list of tensors."""
        return self.returns[0][0] == "Tensor[]"

    @cached_property
    def tensor_params(self) -> tuple[Param, ...]:
        """The parameters that take tensors."""
        return tuple(p for p in self.params if p.is_tensor)

    @property
    def inplace_method(self) -> bool:
        """Whether tensors have the in-place variant as a method."""
        return self.inplace and (self.method or bool(self.field("method_")))

    @cached_property
    def takes_inplace(self) -> int:
        """The position of the flag `inplace` that functions of nn.functional have; 0 where there is none."""
        return next((i for i, p in enumerate(self.params) if p.name == "inplace"), 0)

    @cached_property
    def differentiable_params(self) -> tuple[Param, ...]:
        """The parameters that gradients flow to."""
        if not self.has_vjp:
            return ()
        names = self.vjp_names
        return tuple(p for p in self.params if p.differentiable and p.name != self.without and (names is None or p.name in names))

    @property
    def has_vjp(self) -> bool:
        """Whether a gradient is defined."""
        return any(name == "vjp" or name.startswith("vjp_") for name in self.body.__dict__)

    @cached_property
    def vjp_names(self) -> set[str] | None:
        """The inputs with a formula of their own; None where one `vjp` serves all."""
        if "vjp" in self.body.__dict__:
            return None
        return {name[4:] for name in self.body.__dict__ if name.startswith("vjp_")}

    @cached_property
    def vjps(self) -> tuple[tuple[str | None, Fn, tuple[object, ...]], ...]:
        """(input name or None, formula, names of what it needs)."""
        found = []
        for name, value in self.body.__dict__.items():
            if name == "vjp" or name.startswith("vjp_") and name[4:] != self.without:
                function = value.__func__ if isinstance(value, staticmethod) else value
                needed = tuple(inspect.signature(function).parameters)[2:]
                found.append((None if name == "vjp" else name[4:], function, needed))
        order = {p.name: i for i, p in enumerate(self.params)}
        return tuple(sorted(found, key=lambda item: order.get(item[0] or "", 0)))

    @cached_property
    def jvp(self) -> Any:
        """How tangents go through it: a word, or a function; see the field."""
        said = self.field("jvp")
        if said is None and self.family in ("view", "view?"):
            return "linear"
        if said is None and self.elementwise and not self.saved_returns and (
                self.vjp_names is not None or len(self.differentiable_params) == 1):
            return "elementwise"
        return said or "transposed"

    @cached_property
    def reads(self) -> dict[str, Saved]:
        """What the parameters of the gradient formulas stand for, in order; ValueError for one that stands for nothing."""
        return {name: self._read(name) for _, _, needed in self.vjps for name in needed}

    def _read(self, name: str) -> Saved:
        params = {p.name: p for p in self.params}
        if name in params:
            p = params[name]
            return Saved(name, "tensors" if p.type == "Tensor[]" else "tensor" if p.is_tensor else "value", p)
        tensor, _, kind = name.rpartition("_")
        if kind in ("shape", "dtype") and tensor in params:
            return Saved(name, kind, params[tensor])
        outputs = [n for _, n in self.returns]
        if name == "result" or name in outputs:
            return Saved(name, "output", nr=outputs.index(name) if name != "result" else 0)
        if name in self.saved_returns:
            return Saved(name, "kernel", nr=len(outputs) + self.saved_returns.index(name))
        if name == "needs":
            return Saved(name, "needs")
        raise ValueError(f"a gradient formula of {self.name!r} has a parameter {name!r}, which is none of the operation, no output, and no "
                         "shape or dtype of a tensor")

    @cached_property
    def saved(self) -> tuple[Saved, ...]:
        """What the gradient formulas need, in the order it is saved."""
        return tuple([s for s in self.reads.values() if s.kind != "needs"])

    @property
    def saved_names(self) -> tuple[str, ...]:
        """The names of what the gradient formulas need."""
        return tuple([s.name for s in self.saved])

    # -- torch's signatures, which differ in their nodes ------------------------------------------------------------

    def _overload(self, node_name: str, without: str | None = None) -> "Record":
        """The record of the signature whose node is called `node_name`, and where `without` is a number."""
        found = copy.copy(self)
        for name in ("differentiable_params", "vjps", "vjp_names", "jvp", "reads", "saved", "conjugates", "saves_values", "numbers",
                     "nodes", "unfold", "copied"):
            found.__dict__.pop(name, None)
        found.node_name, found.without = node_name, without
        if without is not None and self.vjp_names is not None:
            found.vjp_names = self.vjp_names - {without}
        return found

    @cached_property
    def numbers(self) -> dict[str, "Record"]:
        """From Operand to the record of the overload that takes a number there."""
        return {} if self.without else {operand: self._overload(name, operand) for operand, name in (self.field("numbers") or {}).items()}

    @cached_property
    def in_place(self) -> "Record":
        """The record of the in-place variant, where its nodes have names of their own."""
        name = self.field("node_")
        if name is None:
            return self
        found = self._overload(name)
        if self.field("no_derivative_"):
            def refuse(F: Functions, grad: object) -> object:
                raise NotImplementedError(f"the derivative for 'inplace version of {self.name}' is not implemented.")

            found.vjps, found.vjp_names = ((None, refuse, ()),), None
        found.numbers = {operand: self._overload(number, operand) for operand, number in (self.field("numbers_") or {}).items()}
        return found

    @cached_property
    def nodes(self) -> tuple[tuple[str, "Record", Callable[..., bool]], ...]:
        """(condition, record of the overload that is called where it holds, the condition as a function) of each."""
        names = ", ".join(p.name for p in self.params)
        return tuple((condition, self._overload(name), eval(f"lambda {names}: {condition}"))
                     for condition, name in ((self.field("nodes") or {}).items() if self.without is None else ()))

    def overload(self, values: Keywords) -> "Record":
        """The record of the overload that torch would call for these arguments."""
        for operand, found in self.numbers.items():
            if isinstance(values[operand], (int, float, complex)):
                return found
        for _, found, holds in self.nodes:
            if holds(**values):
                return found
        return self

    def shown(self, name: str) -> str | None:
        """What a saved name is called on the node, `_saved_...`; None where it is not shown."""
        names = self.field("saved_as") or {}
        for key in (f"{self.node_name}.{name}", name):
            if key in names:
                return names[key]
        if self.params and name == self.params[0].name:
            return "self"
        return "self_sym_sizes" if self.reads[name].kind == "shape" else name

    @cached_property
    def conjugates(self) -> bool:
        """Whether the gradient formulas depend on values, as analytic functions of them, so that complex gradients are conjugated before
        and after: torch's gradient is grad * conj(f'(z)) = conj(conj(grad) * f'(z)). What sees no values is linear, and needs nothing."""
        return self.complex == "analytic" and (self.saves_values or any(p.type in ("Scalar", "Operand") for p in self.params
                                                                        if p.name in self.saved_names))

    @cached_property
    def refuses_complex(self) -> bool:
        """Whether torch has no kernel for complex tensors."""
        return self.complex not in ("analytic", "explicit", "no gradient") or self.field("complex_kernel") is not None

    def forward_refusal(self, values: Keywords, suffix: str = "") -> NotImplementedError | None:
        """torch's error where some of these arguments have tangents; None where the operation has a forward mode for them."""
        name = f"aten::{self.name}" if self.node_name == "NotImplemented" else self.field("no_forward")
        if suffix and self.field("no_derivative_"):
            name = self.name
        if callable(name):
            name = name(**values)
        if name is None:
            return None
        name += suffix
        why = "" if name.startswith("aten::") else (
            " because it has not been implemented yet.\nPlease file an issue to PyTorch at https://github.com/pytorch/pytorch/issues/new?"
            "template=feature-request.yml so that we can prioritize its implementation or submit a PR adding the implementation to "
            "derivatives.yaml")
        return NotImplementedError(f"Trying to use forward AD with {name} that does not support it{why or '.'}")

    def vmap_refusal(self, values: Keywords) -> RuntimeError | None:
        """torch's error where some of these arguments are examples of a vmap; None where the operation can be carried out for them."""
        text = self.field("no_vmap")
        if callable(text):
            text = text(**values)
        if text is None:
            return None
        return RuntimeError(f"Batching rule not implemented for {text}. We could not generate a fallback." if text.startswith("aten::")
                            else f"{text} Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature.")

    def complex_refusal(self, dtype: str, values: dict[str, TensorRef | None], meta: bool = False) -> AutogradError | None:
        """torch's error for arguments with a tensor of a complex `dtype`, by its name in torch's messages; None where it takes them. With
        `meta`, for meta tensors."""
        kernel = self.field("complex_kernel")
        refusal: Any = self.field("complex_on_meta") if meta else True
        if refusal is True:
            refusal = self.complex if kernel is None else kernel(**values)
        if refusal is None:
            return None
        kind, _, text = refusal.partition(": ")
        if not text:
            kind, text = "NotImplementedError", f'"{refusal}" not implemented for \'{dtype}\''
        return (UnsupportedDTypeError if kind == "NotImplementedError" else AutogradError)(
            text.replace("{dtype}", dtype), expected="a real dtype", found=dtype, remedy="use real and imaginary parts")

    @cached_property
    def lacks(self) -> dict[str, Any]:
        """What the field says, by the name of each dtype."""
        return {name: kernel for words, kernel in (self.field("lacks") or {}).items() for word in words.split()
                for name in _DTYPE_WORDS.get(word, (word,))}

    @property
    def any_elements(self) -> bool:
        """Whether the kernel takes elements for what they are, of any dtype: it moves them, or knows how to read them."""
        return self.family in ("view", "view?") or bool(self.field("any_dtype"))

    @cached_property
    def usually_lacks(self) -> tuple[str, ...]:
        """The dtypes among these that quiet paths could come to."""
        return tuple(sorted([name for name in self.lacks if not DType.by_name[name].group]))

    def refuse_lacking(self, dtype: str, tensor: TensorRef, arguments: dict[str, Any]) -> None:
        """Raises torch's error for a computation in a dtype that it has no kernel for; `tensor` is the first of the arguments."""
        said = self.lacks.get(dtype)
        if callable(said):
            said = said(**arguments)
        if said is None:
            if DType.by_name[dtype].category != OPAQUE or self.any_elements:
                return
            said = next((kernel for kernel in self.lacks.values() if isinstance(kernel, str)), self.name)
        kind, _, text = said.partition(": ")
        kernel, only = if_any(kind)
        if not kind or not text and (tensor._k.device.type == "meta" or only and not tensor._data.size):
            return
        name = SCALAR_TYPE_NAMES[dtype]
        if text:
            raise AutogradError(text.replace("{dtype}", name), remedy="convert the tensor first")
        raise MissingKernelError(f"\"{kernel}\" not implemented for '{name}'", remedy="convert the tensor first")

    @cached_property
    def saves_values(self) -> bool:
        """Whether the gradient formulas see tensors that gradients flow to, or outputs that they flow from."""
        values = {p.name for p in self.params if p.differentiable} | {n for t,
                                                                      n in self.returns if t.startswith("Tensor")} | {*self.saved_returns}
        return not values.isdisjoint(self.saved_names) or "result" in self.saved_names

    @cached_property
    def defaults(self) -> Keywords:
        """Default values of the parameters that have one."""
        return {p.name: eval(p.default, {"inf": float("inf")}) for p in self.params if p.default is not None}

    def signature(self, *, with_out: bool = False) -> str:
        """The parameter list as Python source."""
        parts, star = [], False
        for p in self.params:
            if p.keyword_only and not star:
                parts.append("*")
                star = True
            parts.append(str(p))
        if with_out:
            parts += ([] if star else ["*"]) + ["out=None"]
        return ", ".join(parts)


def if_any(step: str) -> tuple[str, bool]:
    """(torch's name of a kernel or step, whether it is come to only where there are elements), of what a record says of it.

    >>> if_any("native_batch_norm if any"), if_any("lgamma_vml_cpu")
    (('native_batch_norm', True), ('lgamma_vml_cpu', False))
    """
    name = step.removesuffix(" if any")
    return name, name != step


RECORDS: Records[Record] = Records()
ALIASES: dict[str, str] = {}
registered: list[Callable[[Record], None]] = []
"""Told of each record when it is registered: by front ends, whose tensors get its methods."""


def op(schema: str, *, family: str = "generic", alias: str | tuple[str, ...] = (), promotion: str = "none", result: str = "numpy",
       quiet: str = "float", broadcasts: bool = False, method: bool = True, inplace: bool = False, out: bool = True,
       varargs: str | None = None, namespace: str = "", node: str | None = None, differentiable: bool = True,
       dtypes: str | None = None, complex: str = "analytic") -> Callable[[type], Record]:
    """Makes a record from a class body and registers it.

    Args:
        schema: "name(Type param, ..., *, Type param=default) -> Tensor", or "-> (Tensor values, Index indices)".
        family: the template of the compiled function: "unary", "binary", "compare", "view", or "generic".
        alias: further names, dotted for a namespace ("special.expm1"). Under each there is a function of its own, but for those that
            begin with "=", under which torch has the very same one.
        promotion: "none" (dtypes stay), "promote" (torch's promotion over tensors and Operands), "float" (and integers become
            the default float dtype).
        result: dtype of the output: "numpy" (what the kernel returns), "same" (that of the computation), "bool", "int64".
        quiet: the kinds the quiet path takes: "float" (float32, float64), "all" (all that NumPy has natively), "numbers" (the
            same, but half precision in single), "none" (it always takes the general path).
        broadcasts: inputs broadcast against each other, so gradients are summed back to their shapes.
        method, inplace, out: whether a Tensor method, `name_`, and `out=` exist.
        varargs: a parameter that the method also takes as several arguments: `x.permute(0, 1)`.
        namespace: "" for `torch.name`, or "nn.functional", "special", "linalg", ... if the function lives only there.
        node: the name of the graph node, "<Name>Backward0" where left out.
        dtypes: the dtypes tests use, a subset of "float int bool half complex" (default: float for differentiable
            operations, else float and int).
        complex: "analytic": the gradient formulas are written without conjugates, as for a real or analytic function, and complex
            gradients are conjugated around them (see `conjugates`). "explicit": the formulas say themselves what holds for complex
            numbers. "no gradient": torch refuses to record it for complex outputs. Else torch refuses complex tensors: the name
            of the kernel in its message, or "<exception>: <text>", in which {dtype} stands for the dtype.
    """

    def register(body: type) -> Record:
        record = Record(body, schema, family=family, alias=(alias,) if isinstance(alias, str) else tuple(alias), promotion=promotion,
                        result=result, quiet=quiet, broadcasts=broadcasts, method=method, inplace=inplace, out=out,
                        varargs=varargs, namespace=namespace, node=node, differentiable=differentiable, dtypes=dtypes, complex=complex)
        known = dict.get(RECORDS, record.name)
        if isinstance(known, Record):  # else the index names a module, which a record that was moved is no longer in
            raise ValueError(f"operation {record.name!r} has two records, in {known.module} and {record.module}; merge them")
        RECORDS[record.name] = record
        for other in record.alias:
            ALIASES[other] = record.name
        for tell in registered:
            tell(record)
        return record

    return register


def method_names(rec: Record) -> list[str]:
    """The names of an operation's methods, and of those that change the tensor in place."""
    names = [rec.name, *[name for name in rec.alias if "." not in name]]
    return [name + end for name in names for end, has in (("", rec.method), ("_", rec.inplace_method)) if has]


def no_derivative(name: str) -> Fn:
    """The `vjp` of an operation that torch records without having a gradient for it; its `node` is "NotImplemented"."""
    def vjp(F: Functions, grad: Values) -> object:
        raise AutogradError(f"derivative for aten::{name} is not implemented", remedy="detach its inputs")

    return vjp


def no_formula(name: str) -> Fn:
    """The same where torch has a node that refuses, of the operation's own name."""
    def vjp(F: Functions, grad: Values) -> object:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    vjp.refuses = True  # type: ignore[attr-defined]
    return vjp


def get_record(name: str) -> Record:
    """The record of an operation, by name or alias; UnknownOperationError lists the nearest names."""
    record = RECORDS.get(ALIASES.get(name, name))
    if record is None:
        import difflib

        near = difflib.get_close_matches(name, RECORDS, 3)
        raise UnknownOperationError(f"There is no operation {name!r}", expected="a registered operation", found=repr(name),
                                    remedy=f"use {' or '.join(near)}" if near else "register it with @op or register_grad_fn")
    return record


@dataclass(frozen=True, slots=True)
class Sample:
    """Arguments of one test call. Arrays stand for tensors, float ones for tensors that require grad."""

    args: tuple[Any, ...]
    kwargs: Keywords = field(default_factory=dict)
    note: str = ""
    through: str = ""
    """Where the operation is defined on part of all tensors alone, what leads there, before derivatives are taken: "symmetric" for
    symmetric matrices, "tril" for triangular ones, "log_softmax" for logarithms of probabilities along the last dimension."""
    of: str = ""
    """What derivatives are taken of, where the results are arbitrary in part: "abs" where the phase is."""
    no_gradient: str = ""
    """Why floating-point results have no history though they depend on floating-point arguments: what torch does, and the tests ask for."""
    single: str = ""
    """What holds the gradients of an operation that refuses double precision, without which there are no differences to compare with."""
    on_cpu: tuple[int, ...] = ()
    """The positions of tensors that have to lie on the CPU wherever the others are, as the sizes of a packed batch do."""


def dynamic_shape(step: str) -> str:
    """What torch says of an operation under vmap whose values decide on the size of its result, by its name there."""
    return f"vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{step}."


OPERATIONS: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
"""Operations of one's own that live, by name; see `autograd_tape.manual.Operation`."""


def named_arguments(rec: Record, args: Sequence[object], kwargs: Keywords) -> Keywords:
    """A call's arguments by parameter name, defaults filled in; ArgumentError where they do not fit the schema.

    >>> named_arguments(get_record("sum"), ["x"], {"dim": 0})
    {'input': 'x', 'dim': 0, 'keepdim': False, 'dtype': None}
    """
    positional = [p.name for p in rec.params if not p.keyword_only]
    if len(args) > len(positional):
        raise ArgumentError(f"{rec.name}() takes {len(positional)} positional arguments but {len(args)} were given",
                            expected=rec.schema, found=f"{len(args)} positional arguments", remedy="pass the rest by keyword")
    values = dict(zip(positional, args))
    for name, value in kwargs.items():
        if name in values or name not in {p.name for p in rec.params}:
            what = "got multiple values for argument" if name in values else "got an unexpected keyword argument"
            raise ArgumentError(f"{rec.name}() {what} '{name}'", expected=rec.schema, found=name, remedy="follow the schema")
        values[name] = value
    defaults = rec.defaults
    for p in rec.params:
        if p.name not in values:
            if p.default is None:
                raise ArgumentError(f"{rec.name}() missing required argument '{p.name}'", expected=rec.schema,
                                    found=", ".join(values) or "nothing", remedy=f"pass {p.name}")
            values[p.name] = defaults[p.name]
    return {p.name: values[p.name] for p in rec.params}


def assign_tensors(rec: Record, tensors: Sequence[Values], arguments: Keywords) -> tuple[Keywords, list[Any]]:
    """Distributes tensors over the tensor parameters that `arguments` leaves open, in the schema's order.

    Returns (all arguments by name, tensors left over). A list parameter takes all that the parameters after it can spare.
    """
    open_ = [p for p in rec.tensor_params if p.name not in arguments]
    named = dict(arguments)
    rest = list(tensors)
    for i, p in enumerate(open_):
        if p.type == "Tensor[]":
            after = sum(1 for q in open_[i + 1:] if q.default is None)
            named[p.name], rest = rest[:len(rest) - after], rest[len(rest) - after:]
        elif rest:
            named[p.name] = rest.pop(0)
        elif p.default is None and not p.type.endswith("?"):
            raise ArgumentError(f"'{rec.name}' needs more tensors", expected=", ".join(q.name for q in open_ if q.default is None),
                                found=f"{len(tensors)} tensors", remedy=f"pass {p.name}, or bind it: {p.name}=...")
        elif p.default is None:
            named[p.name] = None
    return named, rest
