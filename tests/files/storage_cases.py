"""Programs that make, read and change storages, with torch itself and with this package."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tests.recording import Table, attempted

PROGRAMS = """
t.FloatStorage()
t.FloatStorage(2).size()
t.FloatStorage([1, 2.5])
t.IntStorage((1, 2))
t.ByteStorage([1, 2]).tolist()
t.FloatStorage(range(3)).tolist()
t.FloatStorage(2, 3)
t.FloatStorage("a")
t.FloatStorage(t.ones(2))
t.FloatStorage(device="cpu", dtype=t.float32)
t.FloatStorage(0, wrap_storage=t.ones(2).untyped_storage())
t.FloatStorage(wrap_storage=t.ones(2).storage())
t.FloatStorage(wrap_storage=t.ones(2).untyped_storage())
t.FloatStorage([1], dtype=t.float32)
t.FloatStorage([1], device="cpu")
t.FloatStorage([1], device="meta")
t.storage._LegacyStorage()
t.TypedStorage()
t.TypedStorage(2, dtype=t.float64).size()
t.TypedStorage([1, 2], dtype=t.int16)
t.TypedStorage([1, 2])
t.TypedStorage(dtype=3)
t.TypedStorage(dtype=t.float32, device="meta")
t.TypedStorage([1, 2], dtype=t.float32, device="meta").nbytes()
t.TypedStorage(4, dtype=t.float32, device="meta")
t.TypedStorage(wrap_storage=t.ones(2).untyped_storage())
t.TypedStorage(wrap_storage=t.ones(2).untyped_storage(), dtype=0)
t.TypedStorage(wrap_storage=t.ones(2).untyped_storage(), dtype=t.float32)
t.TypedStorage(wrap_storage=t.ones(2).untyped_storage(), dtype=t.float32, device="cpu")
t.TypedStorage(wrap_storage=t.ones(2).storage(), dtype=t.float32)
t.TypedStorage(0, wrap_storage=t.ones(2).untyped_storage(), dtype=t.float32)
t.TypedStorage(t.tensor([]), dtype=t.float32)
t.TypedStorage(0, 0, dtype=t.float32)
t.TypedStorage(dtype=t.float32, device="xla")
t.UntypedStorage(3).nbytes()
t.UntypedStorage([1, 2, 3]).tolist()
t.UntypedStorage("a")
t.UntypedStorage(2, device="meta").nbytes()
t.UntypedStorage()
t.IntStorage([-1, 0, 1]).float().type()
[getattr(t.IntStorage([-1, 0, 2]), n)().tolist() for n in names]
[getattr(t.FloatStorage([1, 2]), n)().type() for n in names]
[getattr(t.FloatStorage([1, 2]), n)().type() for n in ("complex_double", "complex_float", "float8_e5m2", "float8_e4m3fn")]
t.ComplexFloatStorage([1, 2j]).complex_double().tolist()
[getattr(t.FloatStorage([1e9, -0.3, 500, 1e-9]), n)().untyped().tolist() for n in ("float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz")]
t.ComplexFloatStorage([1 + 2j, 2j]).float().tolist(), t.ComplexFloatStorage([1 + 2j, 2j]).bool().tolist()
t.FloatStorage([2.7, 3.2]).byte().tolist(), t.FloatStorage([0.5, 0]).bool().tolist(), t.DoubleStorage([1e300, 0.1]).half().tolist()
t.FloatStorage([1, 2]).type()
t.ones(2).storage().type()
t.ones(2).storage_type().__name__
t.ones(2).untyped_storage().type()
t.ones(2, dtype=t.uint16).storage().type()
t.ones(2, dtype=t.uint16).storage_type()
isinstance(t.ones(2).storage(), t.FloatStorage), isinstance(t.ones(2).storage(), t.IntStorage)
t.FloatStorage.dtype, t.QInt8Storage.dtype, t.FloatStorage.__name__, t.FloatStorage.__module__
sorted(map(str, t.storage._dtype_to_storage_type_map())), t.storage._dtype_to_storage_type_map()[t.bfloat16]
t.storage._storage_type_to_dtype_map()["HalfStorage"]
s = t.FloatStorage([1, 2, 3]); s[1] = 5; s.tolist()
s = t.FloatStorage([1, 2, 3]); s[1:] = 5; s.tolist()
s = t.FloatStorage([1, 2, 3]); s[0:2]
s = t.FloatStorage([1, 2, 3]); s[1], s[-1]
s = t.FloatStorage([1, 2, 3]); s[3]
s = t.FloatStorage([1, 2, 3]); s[3] = 1
s = t.FloatStorage([1, 2, 3]); s["a"]
s = t.FloatStorage([1, 2, 3]); s["a"] = 1
s = t.FloatStorage([1, 2, 3]); s[0] = "a"
s = t.BoolStorage([True, False]); s[1] = True; s.tolist()
s = t.HalfStorage([1, 2]); s[1] = 0.1; s.tolist()
s = t.BFloat16Storage([1, 2]); s[1] = 0.1; s.tolist()
s = t.QInt8Storage([1, 2]); s[1] = 3; s.tolist()
s = t.FloatStorage([1, 2, 3]); s.fill_(7).tolist()
s = t.FloatStorage([1, 2, 3]); s.copy_(t.FloatStorage([4, 5, 6])).tolist()
s = t.FloatStorage([1, 2, 3]); s.copy_(t.IntStorage([4, 5, 6])).tolist()
s = t.FloatStorage([1, 2, 3]); s.copy_(t.FloatStorage([4, 5]))
s = t.FloatStorage([1, 2, 3]); s.resize_(5); s.size()
s = t.FloatStorage([1, 2, 3]); s.resize_(2); s.tolist()
s = t.UntypedStorage([1, 2, 3]); s.resize_(5); s.tolist()[:3], s.nbytes()
x = t.ones(3); x.untyped_storage().resize_(24); x.untyped_storage().nbytes(), x
s = t.FloatStorage([1, 2, 3]); len(s), s.size(), s.nbytes(), s.element_size(), list(s)
s = t.FloatStorage([1, 2, 3]); c = s.clone(); c[0] = 9; s.tolist(), c.tolist(), type(c).__name__
s = t.FloatStorage([1, 2, 3]); import copy; c = copy.deepcopy(s); c[0] = 9; s.tolist(), c.tolist(), type(c).__name__
s = t.FloatStorage([1, 2, 3]); s == t.FloatStorage([1, 2, 3]), s == s, s == 3, s.untyped() == s.untyped()
s = t.FloatStorage([1, 2, 3]); import pickle; pickle.loads(pickle.dumps(s)).tolist()
s = t.FloatStorage([1, 2, 3]); s.pickle_storage_type(), s.dtype, str(s.device), s.is_cuda, s.is_sparse, s.is_pinned(), s.is_shared()
s = t.FloatStorage([1, 2, 3]); x = t.tensor(s); x
s = t.FloatStorage([1, 2, 3]); t.tensor(s, dtype=t.int32)
s = t.FloatStorage([1, 2, 3]); t.FloatTensor(s)
s = t.FloatStorage([1, 2, 3]); t.IntTensor(s)
s = t.FloatStorage([1, 2, 3]); t.Tensor(s)
s = t.FloatStorage([1, 2, 3]); t.tensor([]).set_(s)
s = t.FloatStorage([1, 2, 3]); t.tensor([], dtype=t.int32).set_(s)
s = t.FloatStorage([1, 2, 3]); t.tensor([]).set_(s, 1, (2,), (1,))
s = t.FloatStorage([1, 2, 3]); t.tensor([]).set_(s.untyped(), 0, (2,))
s = t.FloatStorage([1, 2, 3]); t.ones(2).new(s)
t.ByteStorage.from_buffer(bytearray([1, 2, 3, 4])).tolist()
t.ShortStorage.from_buffer(bytearray([1, 2, 3, 4]), "big").tolist()
t.ShortStorage.from_buffer(bytearray([1, 2, 3, 4]), "little").tolist()
t.IntStorage.from_buffer(bytearray([1, 2, 3, 4]), "native").tolist()
t.IntStorage.from_buffer(bytearray([1, 2, 3, 4]))
t.IntStorage.from_buffer(bytearray([1, 2, 3]), "big")
t.IntStorage.from_buffer(bytearray([1, 2, 3, 4]), "middle")
t.FloatStorage.from_buffer(bytearray([0x40, 0x10, 0, 0]), "big").tolist()
t.BoolStorage.from_buffer(bytearray([0, 1, 2]), "big").tolist()
t.UntypedStorage.from_buffer(bytearray([1, 2, 3, 4]), dtype=t.uint8).tolist()
t.ByteStorage.from_buffer(b"")
t.FloatStorage.from_file(f, True, 3).fill_(2).tolist()
t.FloatStorage.from_file(f, False, 3).size(), t.from_file(f, size=2, dtype=t.float32).shape
t.from_file(f, shared=True, size=3).fill_(1); t.from_file(f, size=3)
t.TypedStorage.from_file(f, False, 3)
t.UntypedStorage.from_file(f, False, 3).nbytes()
t.FloatStorage([1, 2]).pin_memory()
t.FloatStorage([1]).share_memory_().is_shared()
t.UntypedStorage([1, 2]).byteswap(t.int16)
t.FloatStorage([1, 2, 3])._untyped_storage.nbytes(), t.FloatStorage([1, 2, 3]).untyped().tolist()[:4]
t.FloatStorage([1.5]).device.type, t.UntypedStorage(1).device.type, t.UntypedStorage(1).is_cuda
t.Storage([1, 2])
t.is_storage(t.FloatStorage()), t.is_storage(t.UntypedStorage()), t.is_storage(1)
t.empty(2, device="meta").untyped_storage().tolist()
t.TypedStorage([1, 2], dtype=t.float32, device="meta")[0]
t.TypedStorage([1, 2], dtype=t.float32, device="meta").tolist()
t.TypedStorage([1, 2], dtype=t.float32, device="meta").fill_(1)
t.TypedStorage([1, 2], dtype=t.float32, device="meta").clone().nbytes()
t.TypedStorage([1, 2], dtype=t.float32, device="meta").float()
"""
CONVERSIONS = "double float half bfloat16 long int short char byte bool".split()
CASES = [line for line in PROGRAMS.strip().splitlines()]


def outcome(torch: Any, case: str) -> Any:
    """What the last expression of a program gives."""
    def run() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            name = str(Path(folder, "file"))
            Path(name).write_bytes(bytes(range(1, 13)))
            names: dict[str, Any] = {"t": torch, "f": name, "names": CONVERSIONS}
            *before, last = case.split("; ")
            exec("\n".join(before), names)
            if " = " in last and "==" not in last:
                exec(last, names)
                return None
            return shown(eval(last, names))

    found = attempted(run)
    if isinstance(found, dict):
        found["text"] = found["text"].replace("torchcompat", "torch").strip()
    return found


def shown(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, (list, tuple)):
        return [shown(v) for v in value]
    if isinstance(value, complex):
        return [value.real, value.imag]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value).replace("torchcompat", "torch")


TABLE = Table("storages", CASES, outcome)
