"""Tape-based reverse-mode automatic differentiation, organised as tape / backward / grad.

>>> import autograd_tape as at
>>> x = at.TensorRef.of([[1.0, 2.0]], requires_grad=True)
>>> loss = at.F.sum(at.F.exp(x))
>>> at.backward(loss)[x.id].round(3)
array([[2.718, 7.389]])
"""

from .dtypes import DType, Device
from .errors import (
    AutogradError, GradCheckFailedError, NoGradError, NoGradFnError, ShapeMismatchError, TapeNotRecordingError,
)
from .tape import (
    GradMode, RecordingContext, Tape, TapeEntry, TapeId, clear_default_tape, get_default_tape, no_grad, set_default_tape,
)
from .tensor import TensorRef
from .ops import load_families as _load_families

_load_families()

from .frontend import Frontend, install_methods  # noqa: E402

F = Frontend(TensorRef, "autograd_tape.F")
"""All operations as functions of TensorRefs: `F.add(x, y)`."""
install_methods(TensorRef, F)

from .backward import BackwardContext, BackwardOptions, backward, grad, topological_order  # noqa: E402
from .registry import get_grad_fn, has_grad_fn, register_grad_fn  # noqa: E402
