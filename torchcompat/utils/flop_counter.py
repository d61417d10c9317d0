"""How many multiplications and additions products take, by module: what the records of operations tell of them (`flops`)."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd_tape import warned
from autograd_tape.annotations import Fn
from autograd_tape.modes import GradMode
from autograd_tape.ops import RECORDS
from autograd_tape.sharding.planned import products

from .._calls.absent import absences as _absences
from .._calls.aten import OpOverloadPacket, aten
from .._tensor import Tensor
from ._python_dispatch import TorchDispatchMode, _state
from ._pytree import tree_map, tree_map_
from .module_tracker import ModuleTracker

if TYPE_CHECKING:
    from torchcompat.nn import Module

    Shape = Sequence[int]

__all__ = ["FlopCounterMode", "register_flop_formula"]

flop_registry: dict[Any, Fn] = {}
"""By operation (`torch.ops.aten.mm`), the number, as a function of the call's arguments, and of its result `out_val`."""


def get_shape(i: object) -> object:
    """The shape of a tensor; anything else itself."""
    return i.shape if isinstance(i, Tensor) else i


def shape_wrapper(f: Fn) -> Fn:
    """A function of tensors that gives one of shapes these."""

    @functools.wraps(f)
    def nf(*args: object, out_val: object = None, **kwargs: object) -> object:
        args, kwargs, out_shape = tree_map(get_shape, (args, kwargs, out_val))
        return f(*args, out_shape=out_shape, **kwargs)

    return nf


def register_flop_formula(targets: object, get_raw: bool = False) -> Callable[[Fn], Fn]:
    """A decorator of the function that tells the number for an operation, or for several in a list.

    Args:
        get_raw: whether it is given tensors and `out_val`; else it is given their shapes and `out_shape`.

    Raises:
        ValueError: something is no operation.
        RuntimeError: an operation has one.
    """

    def register_fun(flop_formula: Fn) -> Fn:
        formula = flop_formula if get_raw else shape_wrapper(flop_formula)

        def register(target: object) -> None:
            if not isinstance(target, OpOverloadPacket):
                raise ValueError("register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. torch.ops.mylib.foo), "
                                 f"JitFunction, or HigherOrderOperator, got {target} which is of type {type(target)}")
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = formula

        tree_map_(register, targets)
        return formula

    return register_fun


def _told(name: str, out: Shape, **shapes: Shape) -> int:
    """What a record tells of operands of these shapes."""
    def sized(shape: Shape) -> np.ndarray:
        return np.broadcast_to(np.float32(0), tuple(shape))

    return int(products(RECORDS[name], {p: sized(shape) for p, shape in shapes.items()}, sized(out)) or 0)


@register_flop_formula(aten.mm)
def mm_flop(a_shape: Shape, b_shape: Shape, *args: object, out_shape: object = None, **kwargs: object) -> int:
    """Of (M, K) with (K, N): two for each of M N K.

    Raises:
        AssertionError: they do not fit.
    """
    (m, k), (k2, n) = a_shape, b_shape
    if k != k2:
        raise AssertionError(f"matmul: inner dimensions must match (k == k2), got {k} and {k2}")
    return _told("mm", (m, n), input=a_shape, mat2=b_shape)


@register_flop_formula(aten.addmm)
def addmm_flop(self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: object = None, **kwargs: object) -> int:
    """The same; the sum is not counted."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape: Shape, b_shape: Shape, out_shape: object = None, **kwargs: object) -> int:
    """Of (B, M, K) with (B, K, N).

    Raises:
        AssertionError: they do not fit.
    """
    (b, m, k), (b2, k2, n) = a_shape, b_shape
    if b != b2:
        raise AssertionError(f"bmm: batch dimensions must match (b == b2), got {b} and {b2}")
    if k != k2:
        raise AssertionError(f"bmm: inner dimensions must match (k == k2), got {k} and {k2}")
    return _told("bmm", (b, m, n), input=a_shape, mat2=b_shape)


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: object = None, **kwargs: object) -> int:
    """The same; the sum is not counted."""
    return bmm_flop(a_shape, b_shape)


@register_flop_formula(aten._scaled_mm)
def _scaled_mm_flop(a_shape: Shape, b_shape: Shape, *args: object, out_shape: object = None, **kwargs: object) -> int:
    """As of a product without scales."""
    return mm_flop(a_shape, b_shape)


def conv_flop_count(x_shape: Shape, w_shape: Shape, out_shape: Shape, transposed: bool = False) -> int:
    """Of (N, C, ...) with (O, C / groups, ...): two for each element of kernels and place of the result; transposed, of the input."""
    if transposed:
        return _told("convolution_nd_input", out_shape, input=x_shape, weight=w_shape)
    return _told("convolution_nd", out_shape, weight=w_shape)


@register_flop_formula(aten.convolution)
def conv_flop(x_shape: Shape, w_shape: Shape, _bias: object, _stride: object, _padding: object, _dilation: object, transposed: bool,
              *args: object, out_shape: Shape = (), **kwargs: object) -> int:
    """Of ATen's arguments."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed=transposed)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(grad_out_shape: Shape, x_shape: Shape, w_shape: Shape, _bias: object, _stride: object, _padding: object,
                       _dilation: object, transposed: bool, _output_padding: object, _groups: object, output_mask: Sequence[bool],
                       out_shape: Sequence[Shape] = (), **kwargs: object) -> int:
    """Of its gradients: that of the input is a convolution the other way round, that of the kernels one of input and gradient."""
    def across(shape: Shape) -> list[int]:
        return [shape[1], shape[0], *shape[2:]]

    count = conv_flop_count(grad_out_shape, w_shape, out_shape[0], not transposed) if output_mask[0] else 0
    if output_mask[1]:
        x, grad = (grad_out_shape, x_shape) if transposed else (x_shape, grad_out_shape)
        count += 2 * x[0] * x[1] * prod(out_shape[1][2:]) * prod(across(grad)[:1]) * prod(grad[2:])
    return count


def sdpa_flop_count(query_shape: Shape, key_shape: Shape, value_shape: Shape) -> int:
    """Of attention: (B, H, L, E) with (B, G, S, E) and (B, G, S, V), H a multiple of G: two products.

    Raises:
        AssertionError: they do not fit.
    """
    (b, h, length, e), (b2, g, s, e2), (b3, g2, s2, v) = query_shape, key_shape, value_shape
    if not (b == b2 == b3 and g == g2 and e == e2 and s == s2):
        raise AssertionError(f"sdpa_flop_count: query/key/value shapes are incompatible: q={query_shape}, k={key_shape}, v={value_shape}")
    if h < g or h % g != 0:
        raise AssertionError(f"sdpa_flop_count: query heads ({h}) must be a multiple of key/value heads ({g})")
    return bmm_flop((b * h, length, e), (b * h, e, s)) + bmm_flop((b * h, length, s), (b * h, s, v))


def normalize_tuple(x: object) -> tuple[object, ...]:
    """A tuple: itself, or of it."""
    return x if isinstance(x, tuple) else (x,)


suffixes = ["", "K", "M", "B", "T"]


def get_suffix_str(number: int) -> str:
    """The unit that leaves at most four digits.

    >>> get_suffix_str(123456)
    'K'
    """
    return suffixes[max(0, min(len(suffixes) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number: float, suffix: str) -> str:
    """A number in a unit.

    >>> convert_num_with_suffix(1234567, "M")
    '1.235M'
    """
    return f"{number / 1000 ** suffixes.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num: float, denom: float) -> str:
    """A part of a whole in percent, "0%" of nothing."""
    return "0%" if denom == 0 else f"{num / denom:.2%}"


class FlopCounterMode:
    """Inside, multiplications and additions of products are counted, by operation and by the modules that run.

    Args:
        mods: not needed.
        depth: of modules in modules, in the table; all where None.
        display: whether to print the table at the end.
        custom_mapping: more functions, as of `flop_registry`.
    """

    def __init__(self, mods: Module | list[Module] | None = None, depth: int | None = 2, display: bool = True,
                 custom_mapping: Mapping[Any, Fn] | None = None) -> None:
        if mods is not None:
            warned.warn("mods argument is not needed anymore, you can stop passing it")
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        self.mode: _FlopCounterMode | None = None
        self.flop_registry = {**flop_registry, **{k: v if getattr(v, "_get_raw", False) else shape_wrapper(v)
                                                  for k, v in (custom_mapping or {}).items()}}
        self.mod_tracker = ModuleTracker()

    def get_total_flops(self) -> int:
        """The number of all."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """The numbers by module, and by operation."""
        return {k: dict(v) for k, v in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The numbers as text, a row each."""
        depth, whole = depth or self.depth or 999999, self.get_total_flops()
        unit, rows, covered = get_suffix_str(whole), list[list[str]](), False

        def add(module: str, indent: str) -> int:
            found = self.flop_counts[module]
            total = sum(found.values())
            for name, count in ((indent + module, total), *[(f"{indent} - {op}", n) for op, n in found.items()]):
                rows.append([name, convert_num_with_suffix(count, unit), convert_to_percent_str(count, whole)])
            return total

        names = [name for name in sorted(self.flop_counts) if name != "Global" and name.count(".") < depth]
        for name in names:
            covered |= add(name, " " * name.count(".")) >= whole
        if "Global" in self.flop_counts and not covered:
            inner, rows = [[" " + row[0], *row[1:]] for row in rows], []
            add("Global", "")
            rows += inner
        head, rows = ["Module", "FLOP", "% Total"], rows or [["Global", "0", "0%"]]
        widths = [max([len(row[i]) for row in rows] + [len(head[i]) + 2]) for i in range(3)]

        def line(cells: Sequence[str]) -> str:
            return f"{cells[0]:<{widths[0]}}  {cells[1]:>{widths[1]}}  {cells[2]:>{widths[2]}}"

        return "\n".join([line(head), "  ".join(["-" * width for width in widths]), *[line(row) for row in rows]])

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode = _FlopCounterMode(self)
        self.mode.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.mode is None:
            raise AssertionError("Internal error: FlopCounter.__exit__ called but mode is None")
        self.mode.__exit__(*exc)
        self.mode = None
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def _count_flops(self, packet: object, out: object, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        if packet in self.flop_registry:
            self._add(packet, self.flop_registry[packet](*args, **kwargs, out_val=out))
        return out

    def _add(self, packet: object, count: int) -> None:
        if self.mod_tracker.is_bw and _state.shown_in is GradMode.DISABLED:  # in a node, and in nothing that it computes anew
            packet = next((p for p in self.flop_registry if str(p) == f"{packet}_backward"), packet)
        for parent in self.mod_tracker.parents:
            self.flop_counts[parent][packet] += count


class _FlopCounterMode(TorchDispatchMode):
    def __init__(self, counter: FlopCounterMode) -> None:
        self.counter = counter

    def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> object:
        out, rec = func(*args, **kwargs or {}), RECORDS.get(func.name_)
        if rec is None or rec.namespace != "_internal" or func.namespace != "aten":
            return self.counter._count_flops(getattr(aten, func.name_) if func.namespace == "aten" else func.overloadpacket, out, args,
                                             kwargs or {})
        # A part of an operation that ATen has whole: it counts as what its node is the gradient of.
        values = {p.name: a._data if isinstance(a, Tensor) else a for p, a in zip(rec.params, args)}
        count = products(rec, values, out._data) if isinstance(out, Tensor) else None
        if count:
            self.counter._add(getattr(aten, str(rec.node_name).split("Backward")[0].lower()), int(count))
        return out


_absences(__name__)
