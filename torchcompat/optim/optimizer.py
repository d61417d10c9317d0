"""The base of all optimizers: parameter groups, state, state dicts, hooks, and the loop over parameters."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, TypeAlias
from collections.abc import Callable

from autograd_tape.annotations import Fn, Keywords
import torchcompat as torch
from autograd_tape.engine import ON_TENSORS
from torchcompat._tensor import Tensor
from torchcompat.utils.hooks import RemovableHandle

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]


ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
"""Parameters, with their names or in groups with options of their own."""


class _Required:
    """The default of an option that every parameter group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()
_global_optimizer_pre_hooks: OrderedDict[int, Fn] = OrderedDict()
_global_optimizer_post_hooks: OrderedDict[int, Fn] = OrderedDict()
_TABLES = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks", "_optimizer_state_dict_pre_hooks", "_optimizer_state_dict_post_hooks",
           "_optimizer_load_state_dict_pre_hooks", "_optimizer_load_state_dict_post_hooks")


def _register(table: OrderedDict[int, Any], hook: Fn, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(table)
    table[handle.id] = hook
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Fn) -> RemovableHandle:
    """`hook(optimizer, args, kwargs)` -> None or new (args, kwargs), before every optimizer's `step`."""
    return _register(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Fn) -> RemovableHandle:
    """`hook(optimizer, args, kwargs)` after every optimizer's `step`."""
    return _register(_global_optimizer_post_hooks, hook)


def _with_hooks(step: Fn) -> Fn:
    """`step` with the hooks around it."""

    @functools.wraps(step)
    def wrapper(self: Any, *args: object, **kwargs: Any) -> Tensor | None:
        if not (_global_optimizer_pre_hooks or self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks
                or _global_optimizer_post_hooks):
            return step(self, *args, **kwargs)
        args = (self, *args)
        for hook in chain(_global_optimizer_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
            result = hook(self, args, kwargs)
            if result is not None:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {result}.")
                args, kwargs = result
        out = step(*args, **kwargs)
        for hook in chain(self._optimizer_step_post_hooks.values(), _global_optimizer_post_hooks.values()):
            hook(self, args, kwargs)
        return out

    wrapper.hooked = True  # type: ignore[attr-defined]  # a mark on a function
    return wrapper


def _to_scalar(x: float | Tensor) -> float:
    """The number in a tensor with one element; numbers as they are."""
    return x.item() if isinstance(x, Tensor) else x


class Optimizer:
    """Updates parameters by their gradients.

    Args:
        params: tensors; or (name, tensor) pairs; or dicts, one for each group, with "params" and options of the group's own.
        defaults: the options, with the values for groups that do not give them.

    Attributes:
        param_groups: the groups, dicts of options and "params".
        state: from parameter to its state, a dict.
    """

    _optimizer_step_pre_hooks: OrderedDict[int, object]
    _optimizer_step_post_hooks: OrderedDict[int, object]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Any]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._prepare()
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                            + torch.typename(params))
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def _prepare(self) -> None:
        for table in _TABLES:
            self.__dict__.setdefault(table, OrderedDict())
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = _with_hooks(cls.step)  # type: ignore[method-assign]  # wrapped once a class

    def __getstate__(self) -> Keywords:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()
        for group in self.param_groups:
            for name, default in self.defaults.items():
                group.setdefault(name, default)  # options that older versions did not have
        for own in self.state.values():
            if isinstance(own, dict) and isinstance(own.get("step"), (int, float)):
                own["step"] = torch.tensor(float(own["step"]))

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {name}: {group[name]}\n" for name in sorted(group) if name != "params")
        return text + ")"

    # -- hooks ------------------------------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Fn) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` -> None or new (args, kwargs), before `step`."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Fn) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` after `step`."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Fn, prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer)` before `state_dict`."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Fn, prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer, state_dict)` -> None or another state dict."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Fn, prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer, state_dict)` -> None or another state dict, before it is loaded."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Fn, prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer)` after a state dict was loaded."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # -- groups and state -------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group.

        Args:
            param_group: {"params": tensors, option: value, ...}; options left out get their defaults.

        Raises:
            TypeError: a parameter is no tensor, or they come as a set.
            ValueError: a parameter is no leaf, or is in another group, or some have names and others not.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will "
                            "change between runs. Please use a list instead.")
        params = [params] if isinstance(params, Tensor) else list(params)
        names = [p[0] for p in params if isinstance(p, tuple)]
        if names:
            if len(names) != len(params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = names
            params = [p[1] for p in params]
        param_group["params"] = params
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {torch.typename(p)}")
            if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            warnings.warn("optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
                          "github.com/pytorch/pytorch/issues/40967 for more information", stacklevel=3)
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                which = "with names" if "param_names" in param_group else "without names"
                raise ValueError("all optimizer param groups should be with/without names. cannot add param group "
                                 f"{which} to the optimizer")
        if not set(params).isdisjoint(chain.from_iterable(group["params"] for group in self.param_groups)):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def state_dict(self) -> dict[str, dict[int, dict] | list[dict]]:
        """The state and the options, parameters replaced by their numbers: {"state": {0: {...}, ...}, "param_groups": [...]}."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups, start = [], 0
        for group in self.param_groups:
            for i, p in enumerate(group["params"], start):
                numbers.setdefault(id(p), i)
            start += len(group["params"])
            groups.append({**{k: v for k, v in group.items() if k != "params"}, "params": [numbers[id(p)] for p in group["params"]]})
        state_dict: dict[str, Any] = {
            "state": {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            result = hook(self, state_dict)
            state_dict = state_dict if result is None else result
        return state_dict

    def load_state_dict(self, state_dict: Keywords) -> None:
        """Takes options and state from `state_dict`, the state cast to the parameters' dtypes and devices.

        Raises:
            ValueError: the groups, or the numbers of parameters in them, do not fit.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            result = hook(self, state_dict)
            state_dict = state_dict if result is None else result
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        owner = {number: (p, s) for g, s in zip(groups, saved) for number, p in zip(s["params"], g["params"])}
        state: defaultdict[Any, Any] = defaultdict(dict)
        for number, value in state_dict["state"].items():
            if number in owner:
                param, group = owner[number]
                state[param] = self._cast(param, value, group, None)
            else:
                state[number] = value
        for group, new in zip(groups, saved):
            new["params"] = group["params"]
            if "param_names" in group:
                new.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def _cast(self, param: Any, value: Any, group: dict[str, Any], key: str | None) -> Any:
        """A loaded state as `param` needs it; "step" stays a float32 on the CPU."""
        if isinstance(value, Tensor):
            if key == "step":
                on_device = group.get("capturable") or group.get("fused")
                return value.to(dtype=torch.float32, device=param.device) if on_device else value
            return value.to(dtype=param.dtype if param.is_floating_point() else None, device=param.device)
        if isinstance(value, dict):
            return {k: self._cast(param, v, group, k) for k, v in value.items()}
        if isinstance(value, Iterable) and not isinstance(value, str):
            return type(value)(self._cast(param, v, group, None) for v in value)  # type: ignore[call-arg]  # a list or tuple
        return value

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Resets the gradients of all parameters, to None or else to zero."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    if p.grad.grad_fn is not None:
                        p.grad.detach_()
                    else:
                        p.grad.requires_grad_(False)
                    p.grad.zero_()

    def step(self, closure: Callable[[], float] | None = None) -> Any:
        """Updates all parameters once; `closure` computes the loss and its gradients anew, and the loss is returned."""
        raise NotImplementedError


class RuleOptimizer(Optimizer):
    """An optimizer given by its rule for one parameter.

    Subclasses define `zeros` or `new_state`, what is kept for a parameter besides "step", and `update`, its update in tensor operations;
    those whose update has a fused kernel override `update_group`.
    """

    counts = True
    """Whether each parameter's state has a "step", counted before the update."""
    takes_sparse = False
    """Whether it knows what to do with sparse gradients."""
    zeros: tuple[str, ...] = ()
    """The names of what is kept for a parameter in tensors of its kind, zero at the beginning."""

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates all parameters once; `closure` computes the loss and its gradients anew, and the loss is returned."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.set_grad_enabled(self.defaults.get("differentiable", False)):
            for group in self.param_groups:
                params = [p for p in group["params"] if p.grad is not None]
                if ON_TENSORS and not self.takes_sparse:
                    self._refuse_sparse(params)
                self.update_group(group, params)
        return loss

    def _refuse_sparse(self, params: list[Any]) -> None:
        if any([p.grad._data.__class__ in ON_TENSORS for p in params]):
            name = type(self).__name__.replace("AdamW", "Adam")
            raise RuntimeError(f"{name} does not support sparse gradients" + ", please consider SparseAdam instead" * (name == "Adam"))

    def state_of(self, p: Any, group: dict[str, Any]) -> Keywords:
        """The state of a parameter, made at its first step."""
        state = self.state[p]
        if not state and self.counts:
            on_device = group.get("capturable") or group.get("fused")
            state["step"] = torch.zeros((), dtype=torch.float32, device=p.device if on_device else "cpu")
            state.update(self.new_state(p, group))
        return state

    def new_state(self, p: Tensor, group: Keywords) -> dict[str, Tensor]:
        """What is kept for `p`, at the beginning."""
        return {name: torch.zeros_like(p, requires_grad=False) for name in self.zeros}

    def update_group(self, group: Keywords, params: list[Tensor]) -> None:
        """Updates `params`, which have gradients."""
        options = {**group, "lr": _to_scalar(group["lr"])}
        for p in params:
            grad = -p.grad if group.get("maximize") else p.grad
            state = self.state_of(p, group)
            if self.counts:
                state["step"] += 1
            if p.is_complex():
                real = {k: torch.view_as_real(v) if isinstance(v, Tensor) and v.is_complex() else v for k, v in state.items()}
                self.update(torch.view_as_real(p), torch.view_as_real(grad), real, options)
                state.update({k: v for k, v in real.items() if k not in state})
            else:
                self.update(p, grad, state, options)

    def update(self, p: Tensor, grad: Tensor, state: Keywords, group: Keywords) -> None:
        """Updates one parameter in place."""
        raise NotImplementedError


def check_lr(lr: Any) -> None:
    """ValueError for a learning rate that is none."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check(lr >= 0.0, f"Invalid learning rate: {lr}")


def check(holds: bool, message: str) -> None:
    """ValueError with `message` unless something holds."""
    if not holds:
        raise ValueError(message)


def check_not_negative(**values: Any) -> None:
    """ValueError for the first option below zero."""
    for name, value in values.items():
        check(value >= 0.0, f"Invalid {'epsilon' if name == 'eps' else name} value: {value}")


def check_betas(betas: Any) -> None:
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
    if decay and group.get("decoupled_weight_decay"):
        p.mul_(1 - group["lr"] * decay)
        return grad
    return grad.add(p, alpha=decay) if decay else grad


def on_buffers(p: Tensor, differentiable: bool) -> bool:
    """Whether a step may run on the buffers of `p`: it is real, dense, on the CPU, and the step itself needs no history."""
    data, k = p._data, p._k
    return (k.device.type == "cpu" and not differentiable and not k.dtype.is_complex and type(data).__name__ == "ndarray"
            and data.flags.forc)


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
