"""What most optimizers have in common: a rule for one parameter, and the loop over parameters; also as functions of lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import torchcompat as torch
from autograd_tape.annotations import Fn, Keywords
from autograd_tape.dtypes import Kind
from autograd_tape.engine import ON_TENSORS
from autograd_tape.executors.kernels._on_demand import contiguous
from autograd_tape.executors.kernels.handy import Exact, Listed
from autograd_tape.executors.kernels.sharing import BIG, get_num_threads
from autograd_tape.version import Version
from torchcompat._calls.lists import LARGE, Rows
from torchcompat._tensor import Tensor, frontend

from .optimizer import (
    Optimizer, _device_dtype_check_for_fused, _get_capturable_supported_devices, _get_scalar_dtype, _to_scalar,
)

States = Sequence[Tensor | None]
"""One kind of state, of every parameter."""
_NONE = {char: np.empty(0, char) for char in "fd"}
_HALF = frozenset(["E", "e"])


def _owner(x: Tensor) -> int:
    """Which array has the memory of a tensor: of others', the elements lie elsewhere."""
    base = getattr(x._data, "base", None)
    return id(x._data if base is None else base)


class RuleOptimizer(Optimizer):
    """An optimizer given by its rule for one parameter.

    Subclasses define `zeros` or `new_state`, what is kept for a parameter besides "step", and `update`, its update in tensor operations;
    `kernel`, `kept` and `numbers` where the update is compiled, too.
    """

    kernel: Exact | None = None
    """The update as a compiled loop, which gives the same bits: over parameter, gradient, state, and numbers."""
    kept: tuple[str, ...] = ()
    """The names of what it takes of a parameter's state."""
    in_half = False
    """Whether it computes fused steps of half precision, too, in single precision."""

    counts = True
    """Whether each parameter's state has a "step", counted before the update."""
    takes_sparse = False
    """Whether it knows what to do with sparse gradients."""
    by_rows = False
    """Whether `update` takes `Rows`, too: each of its steps is a method of one tensor, which computes element by element."""
    by_parts = True
    """Whether complex parameters are updated as pairs of reals."""
    zeros: tuple[str, ...] = ()
    """The names of what is kept for a parameter in tensors of its kind, zero at the beginning."""
    captured = ("params and state_steps", "params and state_steps")
    """What `capturable` wants on an accelerator, in its error's words, for one tensor after the other and for lists."""
    captured_by_xla = (True, False)
    """Whether XLA is one."""
    later: Keywords = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False, "amsgrad": False,
                       "decoupled_weight_decay": False, "fused": None}
    """What options mean that state dicts of older versions have not."""

    def __setstate__(self, state: Keywords) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name in self.defaults:
                if name in self.later:
                    group.setdefault(name, self.later[name])
            for p in group["params"]:
                own = self.state.get(p)
                if self.counts and own and not isinstance(own["step"], Tensor):
                    own["step"] = self.count(p, group, float(own["step"]))

    def step(self, closure: Fn | None = None) -> Any:
        """Updates all parameters once; `closure` computes the loss and its gradients anew, and the loss is returned."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.set_grad_enabled(self.defaults.get("differentiable", False)):
            for group in self.param_groups:
                params = [p for p in group["params"] if p.grad is not None]
                if ON_TENSORS and not self.takes_sparse:
                    self.refuse_sparse(params)
                if group.get("fused") and params:
                    self.check_fused(params)
                self.update_group(group, params)
        return loss

    def refuse_sparse(self, params: list[Tensor]) -> None:
        """RuntimeError for sparse gradients."""
        if any([p.grad._data.__class__ in ON_TENSORS for p in params]):  # type: ignore[union-attr]  # which have one
            name = type(self).__name__.replace("AdamW", "Adam")
            raise RuntimeError(f"{name} does not support sparse gradients" + ", please consider SparseAdam instead" * (name == "Adam"))

    def check_fused(self, params: list[Tensor]) -> None:
        """RuntimeError for a parameter that a fused step cannot take, where that was not looked at."""
        if getattr(self, "_need_device_dtype_check_for_fused", True):
            for p in params:
                _device_dtype_check_for_fused(p)
            self._need_device_dtype_check_for_fused = False

    @staticmethod
    def count(p: Tensor, group: Keywords, start: float = 0.0) -> Tensor:
        """A count of steps of `p`."""
        device = p.device if group.get("capturable") or group.get("fused") else "cpu"
        return torch.tensor(start, dtype=_get_scalar_dtype(group.get("fused")), device=device)

    def state_of(self, p: Tensor, group: Keywords) -> Keywords:
        """The state of a parameter, made at its first step."""
        state = self.state[p]
        if not state and self.counts:
            state["step"] = self.count(p, group)
            state.update(self.new_state(p, group))
        return state

    def new_state(self, p: Tensor, group: Keywords) -> dict[str, Tensor]:
        """What is kept for `p`, at the beginning."""
        return {name: torch.zeros_like(p, requires_grad=False) for name in self.zeros}

    def update_group(self, group: Keywords, params: list[Tensor]) -> None:
        """Updates `params`, which have gradients."""
        options = with_scalars(group)
        compiled = self.kernel is not None and not (group["differentiable"] or group.get("capturable") or isinstance(options["lr"], Tensor))
        for p in self.update_rows(params, options):
            assert p.grad is not None
            state = self.state_of(p, group)
            if not (compiled and self.update_compiled(p, p.grad, state, options)):
                self.update_one(p, p.grad, state, options)

    def update_rows(self, params: list[Tensor], group: Keywords) -> list[Tensor]:
        """Updates at once those in half precision that are at the same step, in memory of their own; what is left are the others."""
        sets = frontend.namespace
        if not self.by_rows or isinstance(group["lr"], Tensor) or any(map(group.get, ("fused", "capturable", "differentiable"))):
            return params
        few = [p for p in params if p._k in sets["Q_HALF"] and p._data.ndim and p._data.size < LARGE]
        if len(few) < 2 or len({*map(id, params)}) < len(params):
            return params
        kind, names = few[0]._k, None
        columns: dict[str, list[Tensor]] = {}
        grads: list[Tensor] = []
        for p in few:
            state, grad, shape = self.state_of(p, group), p.grad, p._data.shape
            if p._k is not kind or grad is None or grad._k is not kind or grad._node is not None or grad._data.shape != shape or (
                    names is not None and state.keys() != names):
                return params
            grads.append(grad)
            names = state.keys()
            for name, x in state.items():
                if x.__class__ is not Tensor or x._node is not None or (
                        x._data.shape != shape if x._k is kind else x._data.shape or x._k not in sets["Q_FLOAT"]):
                    return params
                columns.setdefault(name, []).append(x)
        if any([len({x.item() for x in column}) > 1 for column in columns.values() if column[0]._k is not kind]):
            return params
        written = [_owner(x) for column in (params, *columns.values()) for x in column]
        if len(owners := {*written}) < len(written) or not owners.isdisjoint(map(_owner, grads)):  # one step may see what another wrote
            return params
        rows: Keywords = {name: Rows(column) for name, column in columns.items()}
        self.update_one(Rows(few), Rows(grads), rows, group)  # type: ignore[arg-type]  # which are as tensors
        for name in rows.keys() - columns.keys():  # of a first step
            for p, x in zip(few, rows[name].tensors):
                self.state[p][name] = x
        done = {*map(id, few)}
        return [p for p in params if id(p) not in done]

    def update_compiled(self, p: Tensor, grad: Tensor, state: Keywords, group: Keywords) -> bool:
        """Updates one parameter by `kernel`; whether that takes it."""
        data, k = p._data, p._k
        half = self.in_half and bool(group.get("fused")) and data.dtype.char in _HALF
        if not on_buffers(p, False, half) or not data.flags.carray or grad._k is not k or grad._data.shape != data.shape:
            return False
        arrays = [data.reshape(-1), contiguous(grad._data).reshape(-1)]
        for name in self.kept_in(group):
            own = state.get(name) if name else None
            if own is not None and own._k is k and own._data.shape == data.shape and own._data.flags.carray:
                arrays.append(own._data.reshape(-1))
            elif name:
                return False
            else:
                arrays.append(_NONE[data.dtype.char])
        run = self.kernel.over(data.dtype.char, data.size)  # type: ignore[union-attr]  # which there is
        if run is None:
            return False
        count = state["step"]._data
        count += 1
        run(data.size, 1, *arrays, *self.numbers(state, group), group["maximize"])
        Version.count(p)
        return True

    def kept_in(self, group: Keywords) -> tuple[str, ...]:
        """`kept`, "" for what these options have no use of."""
        return self.kept

    @staticmethod
    def numbers(state: Keywords, group: Keywords) -> tuple[float, ...]:
        """What `kernel` takes of a group's options and of a parameter's state, whose step is counted already."""
        raise NotImplementedError

    @classmethod
    def update_one(cls, p: Tensor, grad: Tensor, state: Keywords, group: Keywords) -> None:
        """Counts the step and updates one parameter in place."""
        if group.get("capturable"):
            cls.refuse_capturable(group)
        if group.get("maximize"):
            grad = -grad
        if cls.counts:
            state["step"] += 1
        if cls.by_parts and p.__class__ is not Rows and p.is_complex():
            parts = {k: torch.view_as_real(v) if isinstance(v, Tensor) and v.is_complex() else v for k, v in state.items()}
            cls.update(torch.view_as_real(p), torch.view_as_real(grad), parts, group)
        elif group.get("fused") and p.element_size() < 4:  # fused steps compute in float32 and round once
            wide = {k: v.to(torch.float32) if isinstance(v, Tensor) else v for k, v in state.items()}
            whole = p.to(torch.float32)
            cls.update(whole, grad.to(torch.float32), wide, group)
            p.copy_(whole)
            for name, value in wide.items():
                state[name] = state[name].copy_(value) if name in state else value.to(p.dtype)
        else:
            cls.update(p, grad, state, group)

    @classmethod
    def refuse_capturable(cls, group: Keywords) -> None:
        """AssertionError: no accelerator is here that captures graphs."""
        lists = bool(group.get("foreach"))
        raise AssertionError(f"If capturable=True, {cls.captured[lists]} must be on supported devices: "
                             f"{_get_capturable_supported_devices(supports_xla=cls.captured_by_xla[lists])}.")

    @staticmethod
    def update(p: Tensor, grad: Tensor, state: Keywords, group: Keywords) -> None:
        """Updates one parameter in place."""
        raise NotImplementedError

    @classmethod
    def update_lists(cls, params: Sequence[Tensor], grads: Sequence[Tensor], state: dict[str, States], grad_scale: Tensor | None = None,
                     found_inf: Tensor | None = None, **options: Any) -> None:
        """Updates parameters by lists of gradients and of each kind of state: what torch's functions of optimizers' names do.

        Args:
            params, grads: of one length.
            state: lists of that length by the names that state dicts have; an empty list where that state is not in use.
            grad_scale, found_inf: where `fused`, what gradients are divided by, and whether there is no step since one is infinite.
            options: those of a parameter group.

        Raises:
            RuntimeError: what counts steps are no tensors.
            AssertionError: gradients are scaled, and not `fused`.
        """
        if not all([isinstance(step, Tensor) for step in state.get("step", ())]):
            raise RuntimeError("API has changed, `state_steps` argument must contain a list of singleton tensors")
        if grad_scale is not None or found_inf is not None:
            if not options.get("fused"):
                raise AssertionError("Expected grad_scale and found_inf to be None")
            if found_inf is not None and found_inf.item():
                return
            if grad_scale is not None:
                for grad in grads:
                    grad.div_(grad_scale)
        group = with_scalars(options)
        for i, (p, grad) in enumerate(zip(params, grads)):
            own = {name: values[i] for name, values in state.items() if len(values) > i and values[i] is not None}
            cls.update_one(p, grad, own, group)
            for name, values in state.items():
                if len(values) > i and values[i] is None and name in own:
                    values[i] = own[name]  # type: ignore[index]  # lists that are to be filled are lists


def with_scalars(group: Keywords, plain: Fn = _to_scalar) -> Keywords:
    """A group's options, those in tensors without dimensions; or as `plain` makes them."""
    changed: Keywords = {"lr": plain(group["lr"])}
    if "betas" in group:
        changed["betas"] = tuple(map(plain, group["betas"]))
    return {**group, **changed}


def check_lr(lr: float | Tensor) -> None:
    """ValueError for a learning rate that is none."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check(lr >= 0.0, f"Invalid learning rate: {lr}")


def check(holds: object, message: str) -> None:
    """ValueError with `message` unless something holds."""
    if not holds:
        raise ValueError(message)


def check_not_negative(**values: float) -> None:
    """ValueError for the first option below zero."""
    for name, value in values.items():
        check(value >= 0.0, f"Invalid {'epsilon' if name == 'eps' else name} value: {value}")


def check_betas(betas: Sequence[float | Tensor]) -> None:
    """ValueError for decay rates outside [0, 1)."""
    for i, beta in enumerate(betas):
        check(0.0 <= beta < 1.0, f"Invalid beta parameter at index {i}: {beta}")


def check_implementation(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """RuntimeError for ways to compute that exclude each other."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def decayed(p: Tensor, grad: Tensor, group: Keywords) -> Tensor:
    """The gradient with weight decay; where that is decoupled, the parameter shrinks instead."""
    decay = group["weight_decay"]
    if isinstance(decay, Tensor) and decay.requires_grad and not group.get("decoupled_weight_decay"):
        return grad.addcmul_(p.clone(), decay)
    if decay and group.get("decoupled_weight_decay"):
        p.mul_(1 - group["lr"] * decay)
        return grad
    return grad.add(p, alpha=decay) if decay else grad


def decays(group: Keywords) -> tuple[float, float]:
    """(what the parameter is multiplied by, what of it is added to the gradient)."""
    decay = group["weight_decay"]
    return (1 - group["lr"] * decay, 0.0) if decay and group["decoupled_weight_decay"] else (1.0, decay)


def may_be_at_once(kind: Kind, fused: object) -> bool:
    """Whether `at_once` has a loop for tensors of this kind."""
    sets = frontend.namespace
    return kind in sets["Q_FLOAT"] or bool(fused) and kind in sets["Q_HALF"]


def at_once(kernel: Listed, fused: object, lists: Sequence[States], *numbers: float) -> bool:
    """Updates parameters, the first of several lists, by one call of a compiled loop; whether it took them: all different, of one plain
    dtype with their gradients and states (in half precision where `fused`, which computes in single, too), of one shape and in rows each.
    A list of None stands for states that are not in use."""
    params, kind = lists[0], lists[0][0]._k  # type: ignore[union-attr]  # parameters
    run = kernel.rows(kind.np.char, len(params)) if may_be_at_once(kind, fused) else None
    if run is None or len({*map(id, params)}) < len(params):
        return False
    arrays: list[tuple[np.ndarray, ...]] = []
    for tensors in lists:
        data: list[np.ndarray] = []
        for x in tensors:
            if x is None or x._k is not kind:
                break
            data.append(x._data)
        if len(data) < len(params):
            if data or any([x is not None for x in tensors]):
                return False
            data = [np.empty(0, kind.np)] * len(params)
        arrays.append(tuple(data))
    if get_num_threads() > 1 and any([x.size >= BIG for x in arrays[0]]):
        return False
    try:
        run(*arrays, *numbers)
    except (TypeError, ValueError):
        return False
    Version.count_all(params)  # type: ignore[arg-type]  # parameters
    return True


def on_buffers(p: Tensor, differentiable: bool, half: bool = False) -> bool:
    """Whether a step may run on the buffers of `p`: float32 or float64 (or `half`), dense, on the CPU, and without history."""
    data, k = p._data, p._k
    return (k.device.type == "cpu" and k.special is None and not differentiable and type(data).__name__ == "ndarray"
            and (half or data.dtype.char in "fd") and data.flags.forc)


def fits(p: Tensor, grad: Tensor, *state: Tensor | None) -> bool:
    """Whether a step on the buffers of `p` may take these: all of one shape, dtype and device, the state dense.

    State may have come from another model, or `p.data` may have been replaced. What does not fit is for the rule in tensor operations,
    which broadcasts, converts and refuses as it should.
    """
    k, data = p._k, p._data
    shape, strides = data.shape, data.strides
    if grad._k is not k or grad._data.shape != shape:
        return False
    for s in state:
        if s is None or s._k is not k or s._data.shape != shape or s._data.strides != strides and not s._data.flags.forc:
            return False
    return True
