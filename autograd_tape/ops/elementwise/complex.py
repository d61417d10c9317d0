"""Complex numbers: made of real ones and shown as such, their parts, conjugates and angles."""

from __future__ import annotations

import math

import numpy as np

from ...dtypes import COMPLEX, FLOATING, SCALAR_TYPE_NAMES, dtype_of
from ...encodings import COMPLEX32, HALVES, imag_of, real_of
from ...errors import AutogradError
from ...functions.out import ARGUMENT_OUT, FOUND
from ...executors.kernels.elementwise import one_pass
from ...functions.refusals import on_meta
from ...record import op
from ...strided import copy_like, storage_offset
from ...tensor import TensorRef
from .. import _batch as batches
from .._samples import domain
from .arithmetic import broadcast_shapes, is_complex


@op("conj_physical(Tensor input) -> Tensor", family="unary", result="same", quiet="all", inplace=True)
class conj_physical:
    """The complex conjugate, computed.

    >>> torch.conj_physical(torch.tensor([1+2j]))
    tensor([1.-2.j])
    """

    out_dtype = FOUND
    sparse = "as they are"
    itself = "Q_NOT_COMPLEX"
    ufunc = np.conjugate
    def numpy(input):  # NumPy makes numbers of truth values
        return np.conjugate(input) if input.dtype.kind != "b" else copy_like(input)

    mindspore = "ops.Conj"
    def vjp(F, grad): return F.conj_physical(grad)
    samples = domain(-2, 2)


@op("conj(Tensor input) -> Tensor", out=False)
class conj:
    """The complex conjugate; a real tensor itself.

    >>> torch.conj(torch.tensor([1., 2.]))
    tensor([1., 2.])
    """

    sharding = "*a -> *a"
    passes_partial = "all"
    def function(F, input): return F.conjugate(input) if input._k.dtype.category == COMPLEX else input
    def numpy(input): return np.conjugate(input) if input.dtype.kind == "c" else input
    def compose(F, input): return F.conj_physical(input) if input.dtype.kind == "c" else input
    samples = domain(-2, 2)


@op("conj_view(Tensor input) -> Tensor", family="unary", result="same", quiet="all", method=False, namespace="_internal", out=False,
    node="ConjBackward0")
class conj_view:
    """The history of a conjugate view, whose memory holds the conjugates of its elements."""

    numpy = np.conjugate
    mindspore = "ops.Conj"
    def vjp(F, grad): return F.conj(grad)
    samples = domain(-2, 2)


@op("neg_view(Tensor input) -> Tensor", family="unary", result="same", quiet="all", method=False, namespace="_internal", out=False,
    node="NegViewBackward0")
class neg_view:
    """The history of a negative view, whose memory holds the negatives of its elements."""

    numpy = np.negative
    by_parts = True
    mindspore = "ops.Neg"
    def vjp(F, grad): return F.neg(grad)
    samples = domain(-2, 2)


@op("real_part(Tensor input) -> Tensor", family="view", quiet="all",
    method=False, namespace="_internal", out=False, node="ViewAsRealBackward0")
class real_part:
    """A view of the real parts of a complex tensor."""

    numpy = real_of
    def vjp(F, grad): return grad * (1 + 0j)
    def bits(conj, neg): return False, neg
    def samples(rng): yield (rng.standard_normal((2, 3)) + 1j * rng.standard_normal((2, 3)),)


@op("imag_part(Tensor input) -> Tensor", family="view", quiet="all",
    method=False, namespace="_internal", out=False, node="ViewAsRealBackward0")
class imag_part:
    """A view of the imaginary parts of a complex tensor."""

    numpy = imag_of
    def vjp(F, grad): return grad * 1j
    def bits(conj, neg): return False, neg ^ conj
    def samples(rng): yield (rng.standard_normal((2, 3)) + 1j * rng.standard_normal((2, 3)),)


def _view_as_real(input: np.ndarray) -> np.ndarray:
    if (part := _PART.get(input.dtype.char)) is not None and input.size:
        return input[..., None].view(part)
    if input.dtype.kind != "c" and input.dtype != COMPLEX32:
        raise AutogradError("view_as_real is only supported for complex tensors", remedy="use the tensor as it is")
    if not input.size:  # NumPy forgets how such an array lies in memory
        return np.empty((*input.shape, 2), real_of(input).dtype)
    return input[..., None].view(real_of(input).dtype)


_ndarray = np.ndarray
_PART: dict[str, np.dtype] = {"F": np.dtype(np.float32), "D": np.dtype(np.float64)}


@op("view_as_real(Tensor input) -> Tensor", family="view", quiet="all", out=False, method=False)
class view_as_real:
    """A view of complex numbers (...) as pairs (..., 2) of real and imaginary parts.

    >>> torch.view_as_real(torch.tensor([1+2j]))
    tensor([[1., 2.]])
    """

    sharding = "*a -> *a PARTS"
    numpy = _view_as_real

    def vjp(F, grad):
        if isinstance(grad, TensorRef):
            return F.view_as_complex(F.contiguous(grad))
        if grad.__class__ is np.ndarray:
            rows = np.ascontiguousarray(grad)
            return np.ndarray(rows.shape[:-1], _WHOLE[rows.dtype.char], rows)
        return F.complex(F.select(grad, -1, 0), F.select(grad, -1, 1))

    def bits(conj, neg):
        return (conj, neg) if not conj else (
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view it as real, use "
            "self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original.")

    def samples(rng): yield (rng.standard_normal((2, 3)) + 1j * rng.standard_normal((2, 3)),)
    def errors(rng): yield (np.ones(2),), RuntimeError, "view_as_real is only supported for complex tensors"


_WHOLE = {"e": COMPLEX32, "f": np.dtype(np.complex64), "d": np.dtype(np.complex128)}


def _view_as_complex(input: np.ndarray) -> np.ndarray:
    whole, shape = _WHOLE.get(input.dtype.char), input.shape
    if whole is not None and input.base is None and input.flags.c_contiguous and shape[-1:] == (2,) and input.size and (
            input.__class__ is _ndarray):
        return _ndarray(shape[:-1], whole, input)
    if whole is None:
        raise AutogradError("view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
                            f"{SCALAR_TYPE_NAMES[dtype_of(input).name]}")
    if not input.ndim:
        raise AutogradError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise AutogradError("Tensor must have a last dimension of size 2")
    if not input.size:  # NumPy forgets how such an array lies in memory
        return np.empty(input.shape[:-1], whole)
    steps, pair = input.strides, whole.itemsize
    if steps[-1] != input.itemsize:
        raise AutogradError("Tensor must have a last dimension with stride 1")
    if [s for s in steps[:-1] if s % pair]:
        raise AutogradError("Tensor must have a stride divisible by 2 for all but last dimension")
    if input.base is not None and storage_offset(input) % 2:
        raise AutogradError("Tensor must have a storage_offset divisible by 2")
    if input.__class__ is np.ndarray and input.flags.c_contiguous:
        return np.ndarray(input.shape[:-1], whole, input)
    return input.view(whole)[..., 0]


@op("view_as_complex(Tensor input) -> Tensor", family="view", quiet="all", out=False, method=False)
class view_as_complex:
    """A view of pairs (..., 2) of real and imaginary parts as complex numbers (...).

    >>> torch.view_as_complex(torch.tensor([[1., 2.]]))
    tensor([1.+2.j])
    """

    amp = "float32"
    sharding = "*a PARTS -> *a"
    numpy = _view_as_complex
    def vjp(F, grad): return F.view_as_real(grad)
    def batch(F, call):
        if not call.ranks["input"]:
            raise RuntimeError("Input tensor must have one or more dimensions")
        return call()
    def samples(rng): yield (rng.standard_normal((3, 2)),)

    def errors(rng):
        yield (np.ones((2, 3)),), RuntimeError, "Tensor must have a last dimension of size 2"
        yield (np.ones((3, 4))[:, 1:3],), RuntimeError, "Tensor must have a storage_offset divisible by 2"
        yield (np.ones((3, 3))[:, :2],), RuntimeError, "Tensor must have a stride divisible by 2 for all but last dimension"
        yield (np.ones((2, 2), np.int64),), RuntimeError, (
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: Long")


@op("real(Tensor input) -> Tensor", method=False, out=False)
class real:
    """The real parts, a view; a real tensor itself.

    >>> torch.real(torch.tensor([1+2j]))
    tensor([1.])
    """

    def function(F, input): return F.real_part(input) if input._k.dtype.category == COMPLEX else input
    samples = domain(-2, 2)


@op("imag(Tensor input) -> Tensor", method=False, out=False)
class imag:
    """The imaginary parts, a view.

    >>> torch.imag(torch.tensor([1+2j]))
    tensor([2.])
    """

    def function(F, input):
        if input._k.dtype.category != COMPLEX:
            raise AutogradError("imag is not implemented for tensors with non-complex dtypes.", remedy="convert to a complex dtype")
        return F.imag_part(input)

    def samples(rng): yield (rng.standard_normal((2, 3)) + 1j * rng.standard_normal((2, 3)),)

    def errors(rng):
        yield (np.ones(2),), RuntimeError, "imag is not implemented for tensors with non-complex dtypes."


@one_pass("angle", lambda: (math.pi,), exact=True)
def _angle(input: np.ndarray) -> np.ndarray:
    if input.dtype.kind == "c":
        return np.angle(input)
    below = np.less(input, 0)
    angle = np.asarray(np.multiply(below, input.dtype.type(math.pi)))
    np.copyto(angle, input, where=np.not_equal(input, input))
    return angle


@op("angle(Tensor input) -> Tensor", promotion="float", dtypes="float int half")
class angle:
    """The angle of a complex number; 0 or pi for real numbers.

    >>> torch.angle(torch.tensor([-1., 1.]))
    tensor([3.1416, 0.0000])
    """

    lacks = {"float8 chalf": "angle_cpu"}
    sharding = "*a -> *a"
    layout = "input"
    numpy = _angle
    def compose(F, input): return F.where(F.isnan(input), input, F.where(input < 0, np.full_like(input, math.pi), np.zeros_like(input)))
    shape = broadcast_shapes
    def vjp(F, grad, input): return F.zero_gradient(grad) if not is_complex(input) else grad * 1j * input / F.square(F.abs(input))

    def jvp(F, outputs, arguments, tangents):
        z, tangent = arguments["input"], tangents["input"]
        return F.imag(tangent / z) if is_complex(z) else F.zero_gradient(tangent)
    batch = batches.as_is

    samples = domain(-2, 2, kinks=(0,))


def _check_parts(a: TensorRef, b: TensorRef) -> None:
    names = [SCALAR_TYPE_NAMES[x._k.dtype.name] for x in (a, b)]
    if on_meta(a, b):
        for what, x in (("real", a), ("imag", b)):
            if x._k.dtype.category != FLOATING:
                raise AssertionError(f"{what} must be floating point, got torch.{x._k.dtype.name}")
    elif any([n not in ("Half", "Float", "Double") for n in names]):
        raise AutogradError(f"Expected both inputs to be Half, Float or Double tensors but got {names[0]} and {names[1]}")
    if names[0] != names[1]:
        raise AutogradError(f"Expected object of scalar type {names[0]} but got scalar type {names[1]} for second argument")


def _complex(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    shape = real.shape if real.shape == imag.shape else np.broadcast_shapes(real.shape, imag.shape)
    columns = real.shape == shape and real.flags.fnc and (imag.shape != shape or imag.flags.fnc)
    result = np.empty(shape, np.complex128 if real.dtype == np.float64 else np.complex64, "F" if columns else "C")
    result.real, result.imag = real, imag
    return result


@op("complex(Tensor real, Tensor imag) -> Tensor", broadcasts=True, method=False, dtypes="float")
class complex_:
    """Complex numbers of their real and imaginary parts.

    >>> torch.complex(torch.tensor([1.]), torch.tensor([2.]))
    tensor([1.+2.j])
    """

    out_dtype = ARGUMENT_OUT
    numpy = _complex
    def half(real, imag):
        numbers = _complex(real.astype(np.float32), imag.astype(np.float32))
        return HALVES.write(numbers) if real.dtype == np.float16 else numbers
    def check(real, imag): _check_parts(real, imag)
    def compose(F, real, imag): return _complex(real, imag)
    def vjp_real(F, grad): return F.real_part(grad)
    def vjp_imag(F, grad): return F.imag_part(grad)

    def jvp(F, outputs, arguments, tangents):
        shape = tuple(outputs[0].shape)
        parts = [F.expand(tangents[n], shape) if n in tangents else F.zeros_like(F.real(outputs[0])) for n in ("real", "imag")]
        return F.complex(*parts)

    def samples(rng): yield rng.standard_normal((2, 3)), rng.standard_normal(3)

    def errors(rng):
        yield (np.ones(2, np.int64), np.ones(2, np.int64)), RuntimeError, (
            "Expected both inputs to be Half, Float or Double tensors but got Long and Long")


@op("polar(Tensor abs, Tensor angle) -> Tensor", broadcasts=True, method=False, dtypes="float", complex="explicit")
class polar:
    """Complex numbers of their absolute values and angles.

    >>> torch.polar(torch.tensor([2.]), torch.tensor([0.]))
    tensor([2.+0.j])
    """

    lacks = {"half": "polar_cpu"}
    out_dtype = ARGUMENT_OUT
    amp = "float32"
    def numpy(abs, angle): return _complex(abs * np.cos(angle), abs * np.sin(angle))
    def check(abs, angle): _check_parts(abs, angle)
    def compose(F, abs, angle): return _complex(abs * np.cos(angle), abs * np.sin(angle))
    def vjp_abs(F, grad, result): return F.real_part(F.conj(grad) * F.sgn(result))  # nothing at 0, as in torch
    def jvp(F, outputs, arguments, tangents):
        along = [tangents["abs"] * F.polar(F.ones_like(arguments["angle"]), arguments["angle"])] if "abs" in tangents else []
        across = [tangents["angle"] * outputs[0] * 1j] if "angle" in tangents else []
        return (along + across)[0] if len(along + across) == 1 else along[0] + across[0]

    def vjp_angle(F, grad, abs, angle): return (F.imag_part(grad) * F.cos(angle) - F.real_part(grad) * F.sin(angle)) * abs
    def samples(rng): yield rng.random((2, 3)), rng.standard_normal((2, 3))
