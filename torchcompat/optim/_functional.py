"""Optimizers as functions of lists of parameters, gradients and states."""

from __future__ import annotations

from .._calls.absent import absences as _absences
from .adadelta import adadelta
from .adagrad import _make_sparse, adagrad
from .adam import adam
from .adamax import adamax
from .adamw import adamw
from .asgd import asgd
from .nadam import nadam
from .radam import radam
from .rmsprop import rmsprop
from .rprop import rprop
from .sgd import sgd
from .sparse_adam import sparse_adam

__all__ = ["_make_sparse", "adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop", "rprop", "sgd",
           "sparse_adam"]

_absences(__name__)
