"""The state dict of a module: saving, loading, and the hooks around both."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from typing import Any

from autograd_tape import warned
from autograd_tape.annotations import Fn, Keywords
import torchcompat as torch
from torchcompat._tensor import Tensor
from torchcompat.utils.hooks import RemovableHandle

from ..parameter import Parameter, is_lazy
from ._hooks import _WrappedHook, register

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` did not find, and what it had no place for."""

    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"

    __str__ = __repr__


class StateDict:
    """The part of Module that is about its state dict."""

    _version = 1
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: "OrderedDict[int, Any]"
    _state_dict_pre_hooks: "OrderedDict[int, Any]"
    _load_state_dict_pre_hooks: "OrderedDict[int, Any]"
    _load_state_dict_post_hooks: 'OrderedDict[int, object]'

    # -- what else a module wants saved ----------------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        """What to put into the state dict besides parameters and buffers; a module that wants this overrides it, together with
        `set_extra_state`."""
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called. Override it together with "
                           "set_extra_state(), or neither.")

    def set_extra_state(self, state: object) -> None:
        """Takes back what `get_extra_state` returned."""
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called. Override it together with "
                           "get_extra_state(), or neither.")

    def _overrides(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(StateDict, name)

    # -- hooks ------------------------------------------------------------------------------------------------------

    def _register_state_dict_hook(self, hook: Fn) -> RemovableHandle:
        """`hook(module, state_dict, prefix, local_metadata)` -> None or another state dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("Cannot register the same function as the state dict post hook that was previously registered via "
                               "register_state_dict_post_hook")
        return register(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook: Fn) -> RemovableHandle:
        """`hook(module, state_dict, prefix, local_metadata)` after `state_dict`; it may change the dict in place."""
        hook._from_public_api = True  # type: ignore[attr-defined]  # a mark on a function
        return register(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Fn) -> RemovableHandle:
        """`hook(module, prefix, keep_vars)` before `state_dict`."""
        return register(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook: Fn, with_module: bool = False) -> RemovableHandle:
        """`hook([module,] state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)` before loading."""
        return register(self._load_state_dict_pre_hooks, _WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_pre_hook(self, hook: Fn) -> RemovableHandle:
        """`hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)` before loading."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Fn) -> RemovableHandle:
        """`hook(module, incompatible_keys)` after loading; it may change the two lists in place."""
        return register(self._load_state_dict_post_hooks, hook)

    # -- saving -----------------------------------------------------------------------------------------------------

    def _save_to_state_dict(self, destination: Keywords, prefix: str, keep_vars: bool) -> None:
        """Puts this module's own parameters, persistent buffers and extra state into `destination`."""
        for name, tensor in (*self._parameters.items(), *self._buffers.items()):
            if tensor is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if self._overrides("get_extra_state"):
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> OrderedDict:
        """All parameters and persistent buffers by dotted name, as an OrderedDict that shares their memory.

        Args:
            destination: a dict to fill and return.
            prefix: put before every name.
            keep_vars: the parameters themselves, not detached from the graph.

        >>> list(torch.nn.Linear(2, 1).state_dict())
        ['weight', 'bias']
        """
        if args:
            warned.warn("Positional args are being deprecated, use kwargs instead. Refer to https://pytorch.org/docs/main/generated/"
                        "torch.nn.Module.html#torch.nn.Module.state_dict for details.", FutureWarning)
            given = [destination, prefix, keep_vars]
            given[:len(args)] = args
            destination, prefix, keep_vars = given
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if result is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = result
        return destination

    # -- loading ----------------------------------------------------------------------------------------------------

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Keywords, strict: bool,
                              missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str]) -> None:
        """Loads this module's own entries, not those of its submodules; notes what is missing, unexpected or wrong."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = {name: t for name, t in (*self._parameters.items(), *self._buffers.items())
               if t is not None and name not in self._non_persistent_buffers_set}
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                problem = self._load_one(name, key, tensor, state_dict[key], assign)
                if problem:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)

        extra_key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if self._overrides("set_extra_state"):
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra_key:
                    name, dot, _ = key[len(prefix):].partition(".")
                    if name not in self._modules if dot else name not in own:
                        unexpected_keys.append(key)

    def _load_one(self, name: str, key: str, tensor: Tensor, value: Tensor, assign: bool) -> str | None:
        """Puts `value` into the parameter or buffer `name`; returns what is wrong where it does not fit."""
        if not isinstance(value, Tensor) and not hasattr(value, "__torch_function__"):
            return (f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint but '
                    f"received {type(value)}")
        if not is_lazy(tensor):
            if tensor.ndim == 0 and value.ndim == 1 and value.shape[0] == 1:
                value = value[0]  # what very old versions saved for a 0-dim tensor
            if value.shape != tensor.shape:
                return (f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the shape in current "
                        f"model is {tensor.shape}.")
            if tensor.is_meta and not value.is_meta and not assign:
                warned.warn(
                  f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which is "
                  "a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their corresponding key "
                  "in the module instead of copying them in place?)")
        try:
            with torch.no_grad():
                if assign:
                    if isinstance(tensor, Parameter):
                        if isinstance(value, Parameter):
                            value.requires_grad_(tensor.requires_grad)
                        else:
                            value = Parameter(value, requires_grad=tensor.requires_grad)
                    setattr(self, name, value)
                else:
                    tensor.copy_(value)
        except Exception as error:
            return (f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.size()} and whose dimensions '
                    f"in the checkpoint are {value.size()}, an exception occurred : {error.args}.")
        return None

    def load_state_dict(self, state_dict: Mapping[str, object], strict: bool = True, assign: bool = False) -> _IncompatibleKeys:
        """Copies parameters and buffers from `state_dict` into this module and its submodules.

        Args:
            state_dict: what `state_dict()` returned.
            strict: names must be the same in both.
            assign: put the tensors themselves in, with their dtype and device, instead of copying their values.

        Returns:
            The missing and the unexpected keys.

        Raises:
            RuntimeError: shapes differ, or (where strict) names; everything else has been loaded then.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing, unexpected, errors = [], [], []  # type: ignore[var-annotated]  # lists of names
        metadata = getattr(state_dict, "_metadata", None)
        own: Any = OrderedDict(state_dict)  # hooks may change it
        if metadata is not None:
            own._metadata = metadata

        def load(module: Any, state: OrderedDict | dict[str, Tensor], prefix: str) -> None:
            local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local_metadata["assign_to_params_buffers"] = assign
            module._load_from_state_dict(state, prefix, local_metadata, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                if child is not None:
                    start = f"{prefix}{name}."
                    load(child, {k: v for k, v in state.items() if k.startswith(start)}, start)
            keys = _IncompatibleKeys(missing, unexpected)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, keys) is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if "
                        "incompatible_keys need to be modified, it should be done inplace.")

        load(self, own, "")
        if strict:
            for keys, what in ((unexpected, "Unexpected"), (missing, "Missing")):
                if keys:
                    errors.insert(0, f"{what} key(s) in state_dict: " + ", ".join(f'"{k}"' for k in keys) + ". ")
        if errors:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
        return _IncompatibleKeys(missing, unexpected)
