"""Scaled losses, for gradients that would be too small for half precision."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

from autograd_tape import warned
from autograd_tape.annotations import Keywords
from autograd_tape.dtypes import Device, float16, float32, float64, int32

from .._calls.absent import absences as _absences
from .._tensor import Tensor, frontend

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """Where an optimizer is between two calls of `update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _fresh() -> Keywords:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Multiplies losses by a number, and divides the gradients by it before the optimizer sees them; a step is left out where they are
    not finite. The number grows after some finite steps, and shrinks after each other one.

    Args:
        device: the type of the device whose gradients are scaled.
        init_scale: the number at first.
        growth_factor: what it is multiplied with after `growth_interval` finite steps in a row; more than 1.
        backoff_factor: what it is multiplied with after a step that was left out; less than 1.
        enabled: where False, or where there is no such device, losses stay as they are and steps are plain ones.

    Raises:
        AssertionError: a factor is not on its side of 1.

    >>> import torchcompat as torch
    >>> scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    >>> scaler.scale(torch.tensor(3.0)), scaler.get_scale()
    (tensor(12.), 4.0)
    """

    def __init__(self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True) -> None:
        self._device, self._enabled = device, enabled
        if enabled and device == "cuda":
            warned.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
            self._enabled = False
        if self._enabled:
            if not growth_factor > 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if not backoff_factor < 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._growth_factor, self._backoff_factor = init_scale, growth_factor, backoff_factor
        self._growth_interval, self._init_growth_tracker = growth_interval, 0
        self._scale: Tensor | None = None
        self._growth_tracker: Tensor | None = None
        self._per_optimizer_states: dict[int, Keywords] = defaultdict(_fresh)

    def _begin(self, device: Any) -> Tensor:
        """The number as a tensor; made where it is first needed."""
        if self._scale is None:
            if self._growth_tracker is not None:
                raise AssertionError("_growth_tracker initialized before _scale")
            self._scale = frontend.full((), self._init_scale, dtype=float32, device=device)
            self._growth_tracker = frontend.full((), self._init_growth_tracker, dtype=int32, device=device)
        return self._scale

    def _begun(self, asker: str) -> tuple[Tensor, Tensor]:
        hint = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."
        if self._scale is None:
            raise AssertionError(f"Attempted {asker} but _scale is None.  {hint}")
        if self._growth_tracker is None:
            raise AssertionError(f"Attempted {asker} but _growth_tracker is None.  {hint}")
        return self._scale, self._growth_tracker

    def scale(self, outputs: Any) -> Any:
        """A tensor times the number, or the tensors of a list or tuple, or of an iterable, each."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._begin(outputs.device).to(device=outputs.device, non_blocking=True)
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _unscale(self, optimizer: Any, scale: Tensor, allow_fp16: bool) -> dict[Device, Any]:
        """Divides the gradients of an optimizer; whether some are not finite, by device."""
        inverse = scale.to(float64).reciprocal().to(float32)
        found: dict[Device, Any] = {}
        for group in optimizer.param_groups:
            for param in group["params"]:
                if param.grad is None:
                    continue
                if not allow_fp16 and param.grad.dtype is float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                if param.grad.is_sparse and param.grad.dtype is float16:
                    param.grad = param.grad.coalesce()  # sums of several may be infinite
                values = param.grad._values() if param.grad.is_sparse else param.grad
                flag: Any = found.setdefault(values.device, frontend.full((), 0.0, dtype=float32, device=values.device))
                if not values.isfinite().all().item():
                    flag.fill_(1.0)
                values.detach().copy_(values.detach().to(float32) * inverse if values.dtype.itemsize < 4 else values.detach() * inverse)
        return found

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of an optimizer now, so that they can be looked at or clipped before its step.

        Raises:
            RuntimeError: that, or the step, was done since the last `update`.
            ValueError: gradients are of float16, which cannot hold them.
        """
        if not self._enabled:
            return
        scale, _ = self._begun("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        with _no_grad():
            state["found_inf_per_device"] = self._unscale(optimizer, scale, False)
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """The step of an optimizer on gradients that are divided; left out, which gives None, where some are not finite.

        Raises:
            RuntimeError: it was done since the last `update`, or a closure is given.
            AssertionError: the optimizer has no gradients.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        scale, _ = self._begun("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._own_step(optimizer, state, scale, args, kwargs)
            state["stage"] = OptState.STEPPED
            return result
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None
        if not any([flag.item() for flag in state["found_inf_per_device"].values()]):
            result = optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _own_step(self, optimizer: Any, state: Keywords, scale: Tensor, args: Any, kwargs: Keywords) -> Any:
        """The step of an optimizer that divides gradients itself, which is told the number and whether they are finite."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warned.warn("GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. In the near future "
                        "GradScaler registers `grad_scale: Tensor` and `found_inf: Tensor` to the passed optimizer and let the optimizer "
                        "use them directly.", FutureWarning)
            return optimizer.step(*args, **{**kwargs, "grad_scaler": self})
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        flags = list(state["found_inf_per_device"].values())
        optimizer.grad_scale = None if state["stage"] is OptState.UNSCALED else scale * getattr(optimizer, "grad_scale", 1)
        optimizer.found_inf = sum(flags[1:], flags[0]) if flags else None
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """The number for the next iteration: grown, shrunk, or `new_scale`."""
        if not self._enabled:
            return
        scale, tracker = self._begun("update")
        if isinstance(new_scale, float):
            scale.fill_(new_scale)
        elif new_scale is not None:
            reason = ("new_scale should be a float or a 1-element torch.cuda.FloatTensor or                 torch.FloatTensor with "
                      "requires_grad=False.")
            if new_scale.device.type != self._device or new_scale.numel() != 1 or new_scale.requires_grad:
                raise AssertionError(reason)
            scale.copy_(new_scale)
        else:
            flags = [flag for state in self._per_optimizer_states.values() for flag in state["found_inf_per_device"].values()]
            if not flags:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._follow(scale, tracker, any([flag.item() for flag in flags]))
        self._per_optimizer_states = defaultdict(_fresh)

    def _follow(self, scale: Tensor, tracker: Tensor, failed: bool) -> None:
        if failed:
            scale.mul_(self._backoff_factor)
            tracker.fill_(0)
        elif int(tracker.item()) + 1 == self._growth_interval:
            grown = scale * self._growth_factor
            if grown.isfinite().item():
                scale.copy_(grown)
            tracker.fill_(0)
        else:
            tracker.add_(1)

    def get_scale(self) -> float:
        """The number; 1.0 where it is not enabled."""
        return 1.0 if not self._enabled else self._init_scale if self._scale is None else self._scale.item()

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def get_growth_factor(self) -> float:
        """What the number grows by."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets what the number grows by."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the number shrinks by."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets what the number shrinks by."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many finite steps it grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets after how many finite steps it grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether it scales."""
        return self._enabled

    def state_dict(self) -> Keywords:
        """What a checkpoint keeps; empty where it is not enabled."""
        if not self._enabled:
            return {}
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": self._get_growth_tracker()}

    def load_state_dict(self, state_dict: Keywords) -> None:
        """Goes on from a checkpoint.

        Raises:
            RuntimeError: that of a scaler which was not enabled.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.")
        self._init_scale, self._init_growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> Keywords:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError("A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                                     "scaler.update().")
            state.update(_init_scale=self.get_scale(), _init_growth_tracker=self._get_growth_tracker(), _scale=None, _growth_tracker=None)
        return state

    def __setstate__(self, state: Keywords) -> None:
        self.__dict__.update(state)

    def _check_inf_per_device(self, optimizer: Any) -> Keywords:
        """Whether gradients of an optimizer are finite, by device, without dividing them."""
        self._begun("_check_inf_per_device")
        state = self._per_optimizer_states[id(optimizer)]
        one = frontend.full((), 1.0, dtype=float32)
        with _no_grad():
            state["found_inf_per_device"] = self._unscale(optimizer, one, True)
        found: Keywords = state["found_inf_per_device"]
        return found

    def _found_inf_per_device(self, optimizer: Any) -> Keywords:
        found: Keywords = self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
        return found


def _no_grad() -> Any:
    from ..autograd.grad_mode import no_grad

    return no_grad()


_absences(__name__)
