"""torch.profiler: profiles of steps, on a schedule."""

from .._calls.absent import absences as _absences
from ..autograd.profiler import (
    KinetoStepTracker, ProfilerActivity, RecordScope, _ExperimentalConfig, _supported_activities, kineto_available, record_function,
)
from ..autograd.profiler_util import DeviceType
from . import itt
from .profiler import ProfilerAction, _KinetoProfile, profile, schedule, supported_activities, tensorboard_trace_handler

__all__ = ["profile", "schedule", "supported_activities", "tensorboard_trace_handler", "ProfilerAction", "ProfilerActivity",
           "kineto_available", "DeviceType", "record_function"]

_absences(__name__)
