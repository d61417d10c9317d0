"""The base of all optimizers: parameter groups, state, state dicts, hooks, and the loop over parameters."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from autograd_tape import warned
from autograd_tape.dtypes import DType
from autograd_tape.annotations import Arguments, Fn, Keywords
import torchcompat as torch
from torchcompat._tensor import Tensor
from torchcompat.autograd.profiler import _active, record_function
from torchcompat.utils._foreach_utils import (
    _get_foreach_kernels_supported_devices, _get_fused_kernels_supported_devices, _group_tensors_by_device_and_dtype,
)
from torchcompat.utils.hooks import RemovableHandle

from .._calls.absent import absences as _absences

if TYPE_CHECKING:
    from torchcompat.utils._foreach_utils import Groups

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]


ParamsT: TypeAlias = Iterable[Tensor] | Iterable[Keywords] | Iterable[tuple[str, Tensor]]
"""Parameters, with their names or in groups with options of their own."""


StateDict: TypeAlias = Keywords
GlobalOptimizerPreHook: TypeAlias = Callable[["Optimizer", Arguments, Keywords], tuple[Arguments, Keywords] | None]
GlobalOptimizerPostHook: TypeAlias = Callable[["Optimizer", Arguments, Keywords], None]
_foreach_supported_types = [Tensor, torch.nn.parameter.Parameter]
_params_doc = "params: tensors; or (name, tensor) pairs; or dicts, one for each group, with \"params\" and options of the group's own."
_foreach_doc = "foreach: whether all parameters are updated by operations on lists, where None where that is faster."
_fused_doc = "fused: whether each parameter is updated in one pass over memory."
_capturable_doc = "capturable: whether the step may be recorded in a graph of an accelerator, where parameters then have to be."
_differentiable_doc = "differentiable: let gradients flow through the step."
_maximize_doc = "maximize: go up instead of down."


class _RequiredParameter:
    """The default of an option that every parameter group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()
_global_optimizer_pre_hooks: OrderedDict[int, Fn] = OrderedDict()
_global_optimizer_post_hooks: OrderedDict[int, Fn] = OrderedDict()
_TABLES = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks", "_optimizer_state_dict_pre_hooks", "_optimizer_state_dict_post_hooks",
           "_optimizer_load_state_dict_pre_hooks", "_optimizer_load_state_dict_post_hooks")


def _register(table: OrderedDict[int, Fn], hook: Fn, prepend: bool = False) -> RemovableHandle:
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


def number(x: float | Tensor) -> float:
    """The number in a tensor with one element; numbers as they are."""
    return x.item() if isinstance(x, Tensor) else x


_get_value = number


def _to_scalar(x: Any) -> Any:
    """A tensor with one element without dimensions; anything else as it is."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() != 0 else x


def _stack_if_compiling(x: object) -> object:
    """`x` as it is: steps are not compiled."""
    return x


def _disable_dynamo_if_unsupported(single_tensor_fn: Fn | None = None) -> Callable[[Fn], Fn]:
    """A decorator that changes nothing: steps are not compiled."""
    return lambda function: function


def _use_grad_for_differentiable(func: Fn) -> Fn:
    """Lets the operations of a method be recorded where its optimizer's option `differentiable` is set, and only there."""

    @functools.wraps(func)
    def method(self: Optimizer, *args: object, **kwargs: object) -> object:
        with torch.set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)

    return method


def _get_scalar_dtype(is_fused: bool | None = None) -> DType:
    """The dtype of counts of steps."""
    return torch.float64 if torch.get_default_dtype() is torch.float64 and not is_fused else torch.float32


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """Kinds of devices whose graphs can record a step."""
    return ["cuda", "xpu", "hpu", "privateuseone"] + ["xla"] * supports_xla


def _default_to_fused_or_foreach(params: Sequence[Tensor | None], differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """Whether a step is best made fused, or else by operations on lists."""
    def all_on(devices: list[str], more: Callable[[Tensor], bool]) -> bool:
        return all([p is None or type(p) in _foreach_supported_types and p.device.type in devices and more(p) for p in params])

    if differentiable:
        return False, False
    fused = use_fused and all_on(_get_fused_kernels_supported_devices(), torch.is_floating_point)
    return fused, not fused and all_on(_get_foreach_kernels_supported_devices(), lambda p: True)


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    """RuntimeError for a parameter that a fused step cannot take."""
    devices = [name for name in _get_fused_kernels_supported_devices() if not (cuda_unsupported and name == "cuda")]
    if not (p.device.type in devices and p.is_floating_point()):
        raise RuntimeError("`fused=True` requires all the params to be floating point Tensors of "
                           f"supported devices: {devices} but {p.dtype} and {p.device.type}")


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Replaces complex tensors in lists, where `params` has them, by pairs of reals."""
    for i, p in enumerate(params):
        if p.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[i] = torch.view_as_real(tensors[i])


class Optimizer:
    """Updates parameters by their gradients.

    Args:
        params: tensors; or (name, tensor) pairs; or dicts, one for each group, with "params" and options of the group's own.
        defaults: the options, with the values for groups that do not give them.

    Attributes:
        param_groups: the groups, dicts of options and "params".
        state: from parameter to its state, a dict.
    """

    OptimizerPreHook = GlobalOptimizerPreHook
    OptimizerPostHook = GlobalOptimizerPostHook

    _optimizer_step_pre_hooks: OrderedDict[int, Fn]
    _optimizer_step_post_hooks: OrderedDict[int, Fn]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Fn]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Fn]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Fn]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Fn]

    def __init__(self, params: Any, defaults: Keywords) -> None:
        self.defaults = defaults
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                            + torch.typename(params))
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[Keywords] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)
        self._warned_capturable_if_run_uncaptured = True

    def _patch_step_function(self) -> None:
        """Sees to the tables of hooks, and to `step` calling them, wrapped once a class."""
        for table in _TABLES:
            self.__dict__.setdefault(table, OrderedDict())
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"
        cls = type(self)
        if not getattr(cls.step, "hooked", None):
            cls.step = self.profile_hook_step(cls.step)  # type: ignore[method-assign]
            cls.step.hooked = True  # type: ignore[attr-defined]  # a mark on a function

    @staticmethod
    def profile_hook_step(func: Fn) -> Fn:
        """`func`, a `step`, named in profiles and with the hooks around it."""

        def with_hooks(self: Optimizer, args: Arguments, kwargs: Keywords) -> object:
            for hook in chain(_global_optimizer_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
                result = hook(self, args, kwargs)
                if result is not None:
                    if not (isinstance(result, tuple) and len(result) == 2):
                        raise RuntimeError(f"{func} must return None or a tuple of (new_args, new_kwargs), but got {result}.")
                    args, kwargs = result
            out = func(*args, **kwargs)
            self._optimizer_step_code()
            for hook in chain(self._optimizer_step_post_hooks.values(), _global_optimizer_post_hooks.values()):
                hook(self, args, kwargs)
            return out

        @functools.wraps(func)
        def wrapper(self: Optimizer, *args: object, **kwargs: object) -> object:
            if not (_global_optimizer_pre_hooks or self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks
                    or _global_optimizer_post_hooks or _active):
                return func(self, *args, **kwargs)
            with record_function(f"Optimizer.step#{type(self).__name__}.step"):
                return with_hooks(self, (self, *args), kwargs)

        return wrapper

    def _optimizer_step_code(self) -> None:
        """Called after each `step` that is profiled or has hooks; for profilers that look at calls."""

    def _accelerator_graph_capture_health_check(self) -> None:
        """Nothing: no accelerator is here whose graphs could record the step."""

    _cuda_graph_capture_health_check = _accelerator_graph_capture_health_check

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist: list[list[Tensor | None]], with_indices: bool = False) -> Groups:
        """Lists of tensors, cut into groups of one device and dtype."""
        return _group_tensors_by_device_and_dtype(tensorlistlist, with_indices)

    def __getstate__(self) -> Keywords:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: Keywords) -> None:
        self.__dict__.update(state)
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

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

    def add_param_group(self, param_group: Keywords) -> None:
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
            warned.warn("optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
                        "github.com/pytorch/pytorch/issues/40967 for more information")
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
        state_dict: Keywords = {
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
        owner = {number: p for g, s in zip(groups, saved) for number, p in zip(s["params"], g["params"])}
        state: defaultdict[Any, Any] = defaultdict(dict)
        for number, value in state_dict["state"].items():
            if number in owner:
                param = owner[number]
                state[param] = self._cast(param, value, number, state_dict["param_groups"])
            else:
                state[number] = value
        for group, new in zip(groups, saved):
            new["params"] = group["params"]
            if "param_names" in group:
                new.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    @staticmethod
    def _process_value_according_to_param_policy(param: Tensor, value: Tensor, param_id: int, param_groups: list[Keywords],
                                                 key: Hashable = None) -> Tensor:
        """A loaded tensor of state as `param` needs it; "step" stays as it is, or goes where the parameter is to be captured or fused."""
        if key == "step":
            group = next((g for g in param_groups if param_id in g["params"]), {})
            on_device = group.get("capturable") or group.get("fused")
            return value.to(dtype=torch.float32, device=param.device) if on_device else value
        return value.to(dtype=param.dtype if param.is_floating_point() else None, device=param.device)

    def _cast(self, param: Tensor, value: object, number: int, groups: list[Keywords], key: Hashable = None) -> object:
        """Loaded state as `param` needs it."""
        if isinstance(value, Tensor):
            return Optimizer._process_value_according_to_param_policy(param, value, number, groups, key)
        if isinstance(value, dict):
            return {k: self._cast(param, v, number, groups, k) for k, v in value.items()}
        if isinstance(value, Iterable) and not isinstance(value, str):
            return type(value)(self._cast(param, v, number, groups) for v in value)  # type: ignore[call-arg]  # a list or tuple
        return value

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Resets the gradients of all parameters, to None or else to zero."""
        if _active:
            with record_function(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"):
                return self._zero_grad(set_to_none)
        self._zero_grad(set_to_none)

    def _zero_grad(self, set_to_none: bool) -> None:
        grads = []
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif (grad := p.grad) is not None:
                    if grad._node is not None:
                        if grad.grad_fn is not None:
                            grad.detach_()
                        else:
                            grad.requires_grad_(False)
                    grads.append(grad)
        if grads:
            from torchcompat._calls.lists import changed, changes_of

            if changed(changes_of("zero")[0], [grads], 0) is None:
                for grad in grads:
                    grad.zero_()

    def step(self, closure: Callable[[], float] | None = None) -> Any:
        """Updates all parameters once; `closure` computes the loss and its gradients anew, and the loss is returned."""
        raise NotImplementedError


_absences(__name__)
