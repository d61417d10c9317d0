"""The errors of the specification.

Every message says what was expected, what was found and what to do about it. Each class also derives from the built-in
exception that PyTorch raises in the same situation, and carries PyTorch's wording as `message` where there is one, so that a front
end with torch's semantics can raise exactly that. What users of this package read, `str(error)`, is in its own words.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np


MAX_DIMS = 32 if np.lib.NumpyVersion(np.__version__) < "2.0.0" else 64
"""The most dimensions of a NumPy array."""


def type_name(value: object) -> str:
    """What messages call the type of an argument.

    >>> import numpy as np
    >>> type_name(1.5), type_name(np.ones(2))
    ('float', 'numpy.ndarray')
    """
    found = type(value)
    return f"numpy.{found.__name__}" if found.__module__ == "numpy" else getattr(found, "_torchs_name", found.__name__)


_OWN_WORDS = [(re.compile(pattern, re.DOTALL), own) for pattern, own in (
    (r"\s*Hint: enable anomaly detection[^.]*torch\.autograd\.set_detect_anomaly\([^)]*\)\.", ""),
    (r"\s*\(Could this error message be improved\?.*", ""),
    (r"\s*(?:Please file an issue|See)(?: to PyTorch)? (?:at )?https://github\.com/pytorch\S*"
     r"(?: if you need this feature\.| for more details\.?)?", ""),
    (r"torch\.Size\((\[[^\]]*\])\)", r"\1"),
    (r"torch\.([A-Z]\w*)Tensor", r"\1 tensor"),
    (r"torch::autograd::|torch\._C\.(?:_autograd\.)?|torch\.(?:nn\.functional|linalg|autograd|return_types|Tensor)\.|torch\.", ""),
    (r"\b(?:Py)?[Tt]orch(?:'s)? ?", ""),
)]


def own_words(text: str) -> str:
    """What users of this package read of a message that torchcompat needs in torch's words.

    >>> own_words("Expected torch.float32, got torch.Size([2, 3]); see torch.linalg.solve")
    'Expected float32, got [2, 3]; see solve'
    """
    if "orch" in text:
        for pattern, own in _OWN_WORDS:
            text = pattern.sub(own, text)
    return text


class AutogradError(Exception):
    """Base of all errors of this package.

    Args:
        message: what went wrong, in one sentence (PyTorch's own wording where it has one).
        expected: what the operation needs.
        found: what it got instead.
        remedy: what the caller can do.

    >>> print(ShapeMismatchError("The shapes differ", expected="(2, 3)", found="(3, 2)", remedy="transpose the operand"))
    The shapes differ. Expected (2, 3), found (3, 2). To fix it, transpose the operand.
    """

    builtin: type[Exception] = RuntimeError

    def __init__(self, message: str, *, expected: Any = None, found: Any = None, remedy: str | None = None) -> None:
        self.message, self.expected, self.found, self.remedy = message, expected, found, remedy
        super().__init__(message)

    def __str__(self) -> str:
        return own_words(self._text())

    def _text(self) -> str:
        text = self.message
        if self.expected is not None:
            text = text.rstrip(".") + f". Expected {self.expected}" + ("" if self.found is None else f", found {self.found}")
        elif self.found is not None:
            text = text.rstrip(".") + f". Found {self.found}"
        if self.remedy:
            text = text.rstrip(".") + f". To fix it, {self.remedy}"
        return text if text == self.message else text.rstrip(".") + "."

    def as_builtin(self) -> Exception:
        """The same failure as the built-in exception with PyTorch's bare wording."""
        return self.builtin(self.message)


class NoGradError(AutogradError, RuntimeError):
    """A gradient was asked of something that does not require one, or whose graph is gone."""


class TapeNotRecordingError(AutogradError, RuntimeError):
    """`Tape.record` was called on a tape that is not recording."""


class NoGradFnError(AutogradError, RuntimeError):
    """An operation on the tape has no gradient function."""


class ShapeMismatchError(AutogradError, RuntimeError):
    """Shapes that do not fit each other or the operation."""


class LinAlgError(AutogradError, RuntimeError):
    """A singular matrix, or one that a factorization does not exist for."""


class GradCheckFailedError(AutogradError, RuntimeError, AssertionError):
    """Analytical and numerical gradients disagree (see `autograd_tape.check`)."""

    __str__ = AutogradError._text  # with the names in the table as they are


class UnknownOperationError(AutogradError, LookupError):
    """No operation record has this name."""

    builtin = AttributeError


class MissingKernelError(AutogradError, NotImplementedError):
    """An operation has neither a kernel nor a composition on an executor."""

    builtin = NotImplementedError


class ExecutorUnavailableError(AutogradError, RuntimeError):
    """An executor or device was asked for that cannot be used here."""

    device_type = ""
    """That of the tensors which needed it; "" where only the executor itself was asked for."""

    def as_builtin(self) -> Exception:
        """With the remedy: there is no wording of PyTorch's to keep."""
        return self.builtin(self._text())


class DTypeError(AutogradError, TypeError):
    """An operation does not take this dtype."""


class UnsupportedDTypeError(DTypeError, NotImplementedError):
    """An operation exists, but not for this dtype."""

    builtin = NotImplementedError


class RankError(AutogradError, RuntimeError):
    """A tensor of more dimensions than a NumPy array has."""


def check_rank(dimensions: int, plain: bool = False) -> None:
    """Raises RankError, or the `plain` RuntimeError with torch's wording, for more dimensions than there can be.

    >>> check_rank(MAX_DIMS + 1)
    Traceback (most recent call last):
        ...
    autograd_tape.errors.RankError: only tensors with up to ... dims are supported. Expected what NumPy has arrays of, found ... dims.
    """
    if dimensions > MAX_DIMS:
        error = RankError(f"only tensors with up to {MAX_DIMS} dims are supported", expected="what NumPy has arrays of",
                          found=f"{dimensions} dims")
        raise error.as_builtin() if plain else error


_RANK_IS_TOO_HIGH = re.compile(r"maximum supported dimension|NPY_MAXDIMS|number of dimensions must be within|maximum number of dimension"
                               r"|ndmin must be|number of index arrays cannot be above|too many dimensions|maximum allowed dimension")


def of_rank(error: Exception) -> RankError | None:
    """What is to be raised in the place of an error of NumPy's about too many dimensions; None for any other."""
    if not _RANK_IS_TOO_HIGH.search(str(error)):
        return None
    return RankError(f"only tensors with up to {MAX_DIMS} dims are supported")


class ArgumentError(AutogradError, TypeError):
    """An argument of the wrong type."""

    builtin: type[Exception] = TypeError


class UnknownEntryError(ArgumentError, KeyError):
    """A tape has no entry of this id."""


class GradientDTypeError(DTypeError, ArgumentError, RuntimeError):
    """A gradient was asked for of numbers that have none: integers, booleans."""

    builtin: type[Exception] = RuntimeError


class SizeError(AutogradError, ValueError):
    """Sizes or values that an operation does not take."""

    builtin = ValueError


class IndexRangeError(AutogradError, IndexError):
    """A dimension or an index out of range."""

    builtin = IndexError
