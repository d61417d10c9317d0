"""The array API's names on tensors: its functions of elements, statistics, sets, sorting, linear algebra, Fourier transforms, dtypes;
a regression written for any library of arrays."""

import array_api_compat
import torch

PACKAGES = ("array-api-compat",)
xp = array_api_compat.array_namespace(torch.ones(2))


def data() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(4, 5)


def elementwise() -> dict:
    x, y = data(), data().roll(1, 0)
    one = ("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "conj", "cos", "cosh", "exp", "expm1", "floor", "imag",
           "isfinite", "isinf",
           "isnan", "log", "log10", "log1p", "log2", "logical_not", "negative", "positive", "real", "reciprocal", "round", "sign",
           "signbit", "sin",
           "sinh", "sqrt", "square", "tan", "tanh", "trunc")
    two = ("add", "atan2", "copysign", "divide", "equal", "floor_divide", "greater", "hypot", "less_equal", "logaddexp", "logical_and",
           "maximum",
           "minimum", "multiply", "nextafter", "not_equal", "pow", "remainder", "subtract")
    found = {name: getattr(xp, name)(x.to(torch.complex64) if name in ("imag", "conj", "real") else x) for name in one}
    found.update({name: getattr(xp, name)(x, y) for name in two})
    whole = xp.asarray([5, 6, 7], dtype=xp.uint8)
    found.update({name: getattr(xp, name)(whole, xp.asarray([1, 2, 1], dtype=xp.uint8)) for name in (
        "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift")})
    return {**found, "bitwise_invert": xp.bitwise_invert(whole), "clip": xp.clip(x, -0.5, y.abs()), "scalar": xp.add(x, 2),
            "mixed": xp.add(whole, xp.asarray([1, 2, 3], dtype=xp.int16))}


def statistics() -> dict:
    x = data()
    names = ("sum", "prod", "mean", "std", "var", "max", "min", "any", "all", "argmax", "argmin", "count_nonzero")
    found = {f"{name} {axis}": getattr(xp, name)(x, axis=axis) for name in names for axis in (None, 1)}
    found.update({f"{name} several": getattr(xp, name)(x[None], axis=(0, 2)) for name in names if not name.startswith("arg")})
    found.update({f"{name} kept": getattr(xp, name)(x, axis=-1, keepdims=True) for name in names})
    found.update({f"{name} nowhere": getattr(xp, name)(x, axis=()) for name in ("sum", "prod", "mean", "max", "any", "all")})
    return {**found, "small": xp.sum(xp.asarray([200, 100], dtype=xp.uint8)), "correction": xp.var(x, correction=1), "bools": xp.sum(x > 0),
            "running": xp.cumulative_sum(x, axis=0, include_initial=True), "products": xp.cumulative_prod(x, axis=1), "steps": xp.diff(x,
                                                                                                                                       axis=1)}


def sets_and_sorting() -> dict:
    x = xp.asarray([3, 1, 2, 3, 1])
    found = {name: list(getattr(xp, name)(x)) for name in ("unique_counts", "unique_inverse")}
    y = data()
    return {**found, "values": xp.unique_values(x), "sort": xp.sort(y, axis=0, descending=True), "argsort": xp.argsort(y, stable=True),
            "argsort down": xp.argsort(y, descending=True), "searched": xp.searchsorted(xp.asarray([1.0, 2.0, 3.0]),
                                                                                        xp.asarray([0.5, 2.0, 9.0]), side="right"),
            "nonzero": list(xp.nonzero(y > 0)), "where": xp.where(y > 0, y, 0.0), "take": xp.take(y, xp.asarray([0, 2]), axis=1),
            "along": xp.take_along_axis(y, xp.argsort(y, axis=1), axis=1), "in": xp.isin(x, xp.asarray([1, 2]))}


def shapes() -> dict:
    x = data()
    return {"concat": xp.concat([x, x], axis=None), "stack": xp.stack([x, x], axis=-1), "permuted": xp.permute_dims(x, (1, 0)),
            "flip": xp.flip(x),
            "flip one": xp.flip(x, axis=1), "roll": xp.roll(x, (1, 2), axis=(0, 1)), "squeezed": xp.squeeze(x[None], axis=0),
            "broadcast": xp.broadcast_to(x[0], (2, 5)),
            "arrays": list(xp.broadcast_arrays(x, x[0])), "repeat": xp.repeat(x, 2, axis=1), "tile": xp.tile(x, (1, 2)),
            "unstack": list(xp.unstack(x, axis=1)),
            "moved": xp.moveaxis(x, 0, 1), "expanded": xp.expand_dims(x, axis=-1), "reshaped": xp.reshape(x, (2, -1)), "tril": xp.tril(x,
                                                                                                                                       k=1),
            "triu": xp.triu(x),
            "eye": xp.eye(3, 4, k=1), "linspace": xp.linspace(0, 1, 4, endpoint=False), "arange": xp.arange(1, 9, 3), "full": xp.full((2,),
                                                                                                                                      3),
            "zeros": xp.zeros(3, dtype=xp.int8), "like": xp.ones_like(x, dtype=xp.bool),
            "mesh": list(xp.meshgrid(xp.arange(2), xp.arange(3), indexing="ij"))}


def linear_algebra() -> dict:
    x = data()
    square = x @ xp.matrix_transpose(x) + xp.eye(4)
    linalg, found = xp.linalg, {}
    for name in ("cholesky", "det", "eigvalsh", "inv", "pinv", "svdvals", "trace", "matrix_rank", "diagonal", "matrix_norm"):
        found[name] = getattr(linalg, name)(square)
    sign, size = linalg.slogdet(square)
    u, s, v = linalg.svd(x, full_matrices=False)
    q, r = linalg.qr(x)
    values, vectors = linalg.eigh(square)
    return {**found, "slogdet": [sign, size], "svd": (u * s) @ v, "qr": q @ r, "eigh": [values, (vectors * values) @ vectors.mT],
            "solve": linalg.solve(square, x[:, 0]),
            "norms": [linalg.vector_norm(x, ord=order, axis=1) for order in (0, 1, 2, 3, float("inf"), -float("inf"))],
            "power": linalg.matrix_power(square, 3),
            "matrix norms": [linalg.matrix_norm(x, ord=order) for order in (1, 2, "nuc", "fro")], "cross": linalg.cross(x[:, :3], x[:,
                                                                                                                                    1:4]),
            "outer": linalg.outer(x[0], x[1]), "tensordot": linalg.tensordot(x, x, axes=((0,), (0,))), "vecdot": linalg.vecdot(x, x),
            "matmul": xp.matmul(x, x.mT)}


def transforms() -> dict:
    x, fft = data(), xp.fft
    return {"fft": fft.fft(x), "ifft": fft.ifft(x), "rfft": fft.rfft(x, n=8), "irfft": fft.irfft(fft.rfft(x)), "fftn": fft.fftn(x,
                                                                                                                                norm="ortho"),
            "hfft": fft.hfft(fft.fft(x)), "fftfreq": fft.fftfreq(5, d=0.1), "rfftfreq": fft.rfftfreq(5), "shift": fft.fftshift(x),
            "back": fft.ifftshift(x)}


def dtypes() -> dict:
    info, x = xp.__array_namespace_info__(), data()
    return {"default": info.default_dtypes(), "dtypes": info.dtypes(kind=("real floating", "signed integer")),
            "capabilities": info.capabilities(),
            "devices": info.devices(), "finfo": [xp.finfo(xp.float32).eps, xp.finfo(xp.float64).max, xp.finfo(xp.complex64).bits],
            "iinfo": [xp.iinfo(xp.int8).min, xp.iinfo(xp.uint8).max], "results": [str(xp.result_type(*pair)) for pair in (
                (xp.float32, xp.int8), (xp.uint8, xp.int8), (xp.int64, xp.float32), (x, 2.0), (xp.asarray(1), x), (xp.float32,
                                                                                                                   xp.complex128))],
            "casts": [xp.can_cast(xp.int8, xp.int32), xp.can_cast(xp.float64, xp.int8)], "kinds": [xp.isdtype(x.dtype, kind) for kind in (
                "real floating", "integral", "numeric", xp.float32, ("bool", "integral"))], "astype": xp.astype(x, xp.int32),
            "is": [array_api_compat.is_torch_array(x), array_api_compat.is_array_api_obj(x), array_api_compat.is_torch_namespace(xp),
                   array_api_compat.is_lazy_array(x)],
            "device": str(array_api_compat.device(x)), "size": array_api_compat.size(x), "moved": array_api_compat.to_device(x, "cpu") is x,
            "kept": xp.asarray(x, copy=False) is x, "copied": xp.asarray(x, copy=True) is x, "name": xp.__name__}


def regression() -> dict:
    """By Newton's method, with gradients by hand: nothing that a library of arrays would not have."""
    x, target = data(), data()[:, 0] > 0
    namespace = array_api_compat.array_namespace(x, target)
    weight, y, losses = namespace.zeros(5), namespace.astype(target, x.dtype), []
    for _ in range(4):
        chance = 1 / (1 + namespace.exp(-(x @ weight)))
        losses.append(float(-namespace.mean(namespace.where(target, namespace.log(chance), namespace.log(1 - chance)))))
        curvature = namespace.matrix_transpose(x) @ (x * (chance * (1 - chance))[:, None]) + 0.1 * namespace.eye(5)
        weight = weight - namespace.linalg.solve(curvature, namespace.matrix_transpose(x) @ (chance - y) + 0.1 * weight)
    return {"losses": losses, "weight": weight}


CASES = {"elementwise": elementwise, "statistics": statistics, "sets and sorting": sets_and_sorting, "shapes": shapes,
         "linear algebra": linear_algebra,
         "transforms": transforms, "dtypes": dtypes, "regression": regression}
