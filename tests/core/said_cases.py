"""Small calls, and all that can be seen of them: what comes back, what is warned of, what is refused.

Each group is the table of a rule: its expressions go through every dtype, size and argument that the rule tells apart."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

from tests.recording import Table, attempted

DTYPES = ("float32", "float64", "float16", "bfloat16", "complex64", "complex128", "int64", "int32", "int16", "int8", "uint8", "bool")
RARE = ("complex32", "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")

GROUPS: dict[str, list[str]] = {
    "dlpack": [
        *[f"label(zeros((3, 2), {d!r}).__dlpack__())" for d in (*DTYPES, *RARE, "float4_e2m1fn_x2", "int1", "uint7", "bits8")],
        *[f"T.utils.dlpack.from_dlpack(T.utils.dlpack.to_dlpack(filled((3, 2), {d!r}){part}))" for d in (*DTYPES, *RARE)
          for part in ("", "[:, 1]", ".t()", "[:0]")],
        *[f"shared({how}, T.ones(3, dtype=T.{d}))" for d in DTYPES
          for how in ("T.from_dlpack", "lambda x: T.from_dlpack(x.__dlpack__())", "T.utils.dlpack.from_dlpack")],
        *[f"T.from_dlpack({x})" for x in (
            "T.ones(2, requires_grad=True)", "T.ones(2, dtype=T.complex64).conj()", "T.ones(2).to_sparse()",
            "T.ones(2, device='meta')", "3", "np.ones(2)", "np.array(['a'])", "T.ones(2), copy=False", "T.ones(2), copy=True",
            "T.ones(2), device='cpu'", "np.ones(2), copy=True", "T.ones(2), device='meta'", "T.ones(2), device=3",
            "T.ones(2).__dlpack__(), copy=True", "T.ones(()), ", "Bare(np.ones(2)), copy=True",
            "T.ones(3).expand(2, 3)", "T.ones(2).as_subclass(type('S', (T.Tensor,), {}))")],
        *[f"done(T.ones(2).__dlpack__({a}))" for a in ("", "stream=1", "stream=None", "stream=-1", "stream='a'", "stream=T.ones(1)", "0",
                                                       "dl_device=(1, 0)")],
        "T.ones(2).__dlpack_device__()", "type(T.ones(2).__dlpack_device__()[0]).__name__", "T.ones(2, device='meta').__dlpack_device__()",
        "T.ones(2, device='meta').__dlpack__()", "T.to_dlpack(3)", "done(T.to_dlpack(T.ones(2, requires_grad=True)))", "twice()",
        "list(T.utils.dlpack.DLDeviceType)",
    ],
    "operators": [
        *[text.replace("x", f"filled(3, {d!r})") for d in (*DTYPES, *RARE)
          for text in ("~x", "-x", "+x", "abs(x)", "x << 1", "x >> x", "x & 1", "x | x", "x ^ True", "x // 2", "x % 2", "x ** 2", "2 ** x",
                       "1 - x", "2 / x", "7 // x", "x @ x", "x < 1", "1 << x", "True | x")],
    ],
    "keywords of factories": [
        f"T.{call}, {word})" for word in ("names=None", "names=('N',)", "foo=1")
        for call in ("zeros((2,)", "ones(2", "empty((2,)", "full((2,), 1", "zeros_like(S", "empty_like(S", "full_like(S, 1", "tensor([1.]",
                     "as_tensor([1.]", "empty_strided((2,), (1,)", "scalar_tensor(1")
    ],
    "indices": [
        *[call for d in (*DTYPES, "uint16", "uint64") for one, two in [(f"T.tensor(1, dtype=T.{d})", f"T.tensor([1, 0, 1], dtype=T.{d})")]
          for call in (f"S[{one}]", f"S[{two}]", f"S[0, {one}]", f"S[:{one}]", f"S[T.tensor([1, 0]), {one}]", f"after(S.clone(), {one}, 5)",
                       f"after(S.clone(), {two}, 5)", f"T.take_along_dim(S, {two}[:, None], 0)", f"T.take_along_dim(S, {two})")],
        *[f"T.ones(3).index_put_((T.tensor([1, {i}, 0], dtype=T.{d}),), T.ones({n}, dtype=T.{to}), accumulate={more})"
          for d in ("uint8", "bool") for i in (0, 1) for n in ("()", "1", "2", "3") for to in ("float32", "float64", "int64")
          for more in (False, True)],
        *[f"T.ones(2, 2).index_put_((T.tensor([1, {i}]),), T.ones({n}, dtype=T.float64))" for i in (0, 7) for n in ("()", "2", "3")],
        *[f"after(T.arange(4), T.arange(4) > -1, T.tensor({v}))" for v in ("[]", "[1, 2, 3]", "[1., 2., 3.]", "[1., 2., 3., 4.]", "7.")],
        *[f"T.empty(10, 0){at}" for at in ("[:, [0, 1]]", "[T.tensor([1]), T.tensor([0])]", "[[], []]", "[:, T.tensor(0)]", "[:, 0]")],
        "T.take_along_dim(S, T.zeros(3, dtype=T.int32), 0)", "T.take_along_dim(S, T.zeros(3, 3, dtype=T.int32), 7)", "removed(S, 0)",
        "T.nonzero(S, as_tuple=True, out=T.zeros(1))", "T.nonzero(S, as_tuple=False, out=T.zeros(0, dtype=T.int64))",
    ],
    "sizes": [
        *[f"T.ones(2, 2, 2).{name}()" for name in ("permute", "repeat", "expand", "reshape", "flip", "sum_to_size", "new_ones", "new_zeros",
                                                  "new_empty", "resize_")],
        *[f"T.ones(()).{name}({size})" for name in ("permute", "repeat", "expand", "reshape", "view") for size in ("()", "[]")],
        *[f"T.ones(2, 3).{name}({key}=(2, 3))" for name, key in (("expand", "size"), ("view", "size"), ("new_ones", "size"),
                                                                 ("repeat", "repeats"), ("reshape", "shape"))],
        *[f"T.{name}()" for name in ("ones", "zeros", "empty")],
        *[f"T.zeros({n}).{how}, memory_format=T.{order}).stride()" for size in ((10, 3, 4, 4), (2, 3, 4, 5, 6), (3, 4))
          for n in (0, 2000) for how in (f"resize_({size}", f"resize_as_(T.zeros({size})")
          for order in ("channels_last", "channels_last_3d", "contiguous_format", "preserve_format")],
        "T.zeros(9).resize_as_(T.zeros(2, 3, 4, 5).to(memory_format=T.channels_last), memory_format=T.preserve_format).stride()",
        "T.arange(24.).resize_((1, 2, 3, 4), memory_format=T.channels_last)", "T.arange(24.).reshape(2, 3, 4).mT.resize_(2, 4, 3).stride()",
        *[f"{call.format(size)}.shape" for size in ([2, 4, 2 ** 29, 2 ** 29], [2 ** 62, 2])
          for call in ("T.empty(()).resize_({})", "T.empty({})", "T.zeros({})", "T.ones(1).new_empty({})", "T.full({}, 1)")],
        *[f"T.tensor_split({x}, {at})" for x in ("T.arange(4)", "T.tensor(1)") for at in (
            "T.tensor(1.1)", "T.tensor([[1]])", "T.tensor([1.])", "T.tensor(3, dtype=T.int32)", "T.tensor(0)", "T.tensor(2)",
            "T.tensor([1])")],
        *[f"T.broadcast_shapes({shapes})" for shapes in ("3, 5", "(3,), (5,)", "3, (2, 1)")],
    ],
    "transposed": [
        *[f"T.full({size}, {value}).{name}" for name in ("mT", "H", "mH", "adjoint()") for size in ((), (3,), (2, 3), (2, 1, 3))
          for value in ("2.", "2+1j")],
        *[f"T.ones({size}, requires_grad=True).{name}.grad_fn is None" for name in ("mT", "H", "mH", "adjoint()", "T")
          for size in ("()", "2, 2")],
    ],
    "bytes": [
        f"geometry(T.zeros{x.replace(')', f', dtype=T.{d})', 1)}.view(T.{to}))" for d in ("int8", "float32", "complex64", "bfloat16")
        for to in ("int16", "float32", "complex128") for x in (
            "(5, 5)", "(4, 4)[:, 1:]", "(4, 17)[:, 1:]", "(())", "(16, 3).t()", "(65)[1:]", "(66)[2:]",
            "(1).expand(16, 16)")
    ],
}

CASES = {f"{group}: {call}": call for group, calls in GROUPS.items() for call in calls}


class Bare:
    """An exporter of before there were keywords."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def names(T: Any) -> dict[str, Any]:
    """What expressions call by name."""
    import ctypes

    def label(capsule: Any) -> list[int]:
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        raw = ctypes.string_at(pointer(capsule, b"dltensor") + 8, 16)
        return [int.from_bytes(raw[:4], "little"), int.from_bytes(raw[8:12], "little"), *raw[12:14], int.from_bytes(raw[14:16], "little")]

    def filled(shape: tuple[int, ...], dtype: str) -> Any:
        return T.arange(float(np.prod(shape))).reshape(shape).to(getattr(T, dtype))

    def shared(function: Any, x: Any) -> list[Any]:
        y = function(x)
        y.zero_()
        return [x, y.data_ptr() == x.data_ptr()]

    def twice() -> Any:
        capsule = T.to_dlpack(T.ones(2))
        T.from_dlpack(capsule)
        return T.from_dlpack(capsule)

    def after(x: Any, index: Any, value: Any) -> Any:
        x[index] = value
        return x

    def removed(x: Any, index: Any) -> None:
        del x[index]

    def geometry(x: Any) -> list[Any]:
        return [list(x.shape), list(x.stride()), x.storage_offset()]

    return {"after": after, "removed": removed, "geometry": geometry, "S": T.arange(9.0).reshape(3, 3), "T": T, "np": np,
            "Bare": Bare, "label": label, "filled": filled, "shared": shared, "twice": twice,
            "zeros": lambda shape, dtype: T.empty(shape, dtype=getattr(T, dtype)), "done": lambda x: None}


def told(T: Any, x: Any) -> Any:
    """A result as JSON has it: tensors as their words, sizes, strides and place in the base, lists as lists, others as their words."""
    if isinstance(x, T.Tensor):
        if x.is_meta or x.layout is not T.strided:
            return [type(x).__name__, str(x.dtype), list(x.shape), str(x.layout)]
        words = re.sub(r"grad_fn=<\w+ object at \w+>", "grad_fn", str(x))
        return [type(x).__name__, words, list(x.shape), list(x.stride()), x._base is not None, x.is_conj()]
    if isinstance(x, (list, tuple)):
        return [told(T, y) for y in x]
    return x if isinstance(x, (str, int, float, type(None))) else repr(x)


def said(T: Any, case: str) -> Any:
    """The outcome of an expression, and the texts of warnings, those that come once in a process among them."""
    T.set_warn_always(True)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        outcome = attempted(lambda: told(T, eval(CASES[case], names(T))))
    T.set_warn_always(False)
    texts = [f"{w.category.__name__}: {str(w.message).partition(' (Triggered internally')[0]}" for w in seen
             if not str(w.message).startswith("ComplexHalf support is experimental")]  # comes once in a process
    return {"gives": outcome, "warns": texts} if texts else outcome


TABLE = Table("said", CASES, said)
