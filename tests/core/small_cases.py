"""Small modules of torch that libraries import: symbols' functions, weak references, structures as text, throughput, helpers."""

from __future__ import annotations

import collections
import enum
import importlib
from typing import Any

from tests.recording import Table, attempted

SETTING = """
P = collections.namedtuple("P", "x y")
flat = lambda tree: tree_.tree_flatten(tree)[1]
ones = torch.ones(2)
def again(tree):
    spec = flat(tree)
    return tree_.treespec_dumps(spec), tree_.treespec_loads(tree_.treespec_dumps(spec)) == spec
def swapped(a, b):
    known = a, b
    torch.utils.swap_tensors(a, b)
    return [(type(t).__name__, t.tolist(), t.requires_grad, t.is_leaf, dict(t.__dict__)) for t in known]
def hooked():
    a, b = torch.ones(2, requires_grad=True), torch.zeros(3, requires_grad=True)
    a.register_hook(lambda g: g * 5)
    torch.utils.swap_tensors(a, b)
    (b * 2).sum().backward()
    return a.grad, b.grad.tolist()
def kept():
    a, b = torch.ones(2), torch.ones(2)
    d = weak.WeakIdKeyDictionary({a: 1})
    d[b] = 2
    seen = [len(d), d[a], d[b], a in d, torch.ones(2) in d, 3 in d, list(d.values())]
    del b
    return [*seen, len(d), d.pop(a), d.pop(a, None), d.setdefault(a, 4), d.copy() == d, len(d | {int: 1}), len({int: 1} | d),
            d.popitem()[1], len(d), bool(d)]
def referred():
    a = torch.ones(2)
    r, x, y = weak.TensorWeakRef(a), weak.WeakIdRef(a), weak.WeakIdRef(a)
    seen = [r() is a, x == y, hash(x) == id(a), x() is a]
    del a
    return [*seen, r(), x(), x == y, x == x]
def baton(path):
    one, other = baton_.FileBaton(path), baton_.FileBaton(path)
    seen = [one.try_acquire(), other.try_acquire()]
    one.release()
    other.wait()
    return [*seen, other.try_acquire(), other.release()]
def timed(**options):
    benchmark = torch.utils.ThroughputBenchmark(torch.nn.Linear(2, 2))
    benchmark.add_input(ones)
    found = benchmark.benchmark(**options)
    return found.num_iters, found.latency_avg_ms > 0, found.iters_per_second > 0, [line.split(":")[0] for line in str(found).split("\\n")]
def env(**facts):
    fields = dict.fromkeys(collect.SystemEnv._fields)
    return collect.pretty_str(collect.SystemEnv(**{**fields, "pip_version": "pip3", "cpu_info": "one", **facts}))
def runner(status, output):
    return lambda command: (status, output, "wrong")
active = torch._C._are_functorch_transforms_active
class Shared:
    @_utils.classproperty
    def name(cls):
        return cls.__name__
"""
NUMBERS = ("3", "3.7", "True", "'x'", "-2.5", "torch.tensor(3)")
CODES = [
    *[f"torch.sym_{call.format(x)}" for x in NUMBERS for call in (
        "float({})", "int({})", "not({})", "sqrt({})", "ite({}, 1, 2)", "ite(True, {}, 2)", "max({}, 2)", "min({}, 2)", "max({}, 2.5)",
        "sum([{0}, {0}])", "sum({0}, {0})")],
    *[f"torch.sym_{call}" for call in (
        "max(2, 2.0)", "sum([])", "sum()", "constrain_range(3)", "constrain_range(3, min=4)",
        "constrain_range(3, min=5, max=4)", "constrain_range('x')", "constrain_range(3.5)", "constrain_range_for_size(3, min=1, max=2)",
        "constrain_range_for_size(-3)", "constrain_range_for_size(7, max=5)", "fresh_size(3)")],
    "isinstance(3, torch.SymInt), isinstance(3., (torch.SymFloat, torch.SymBool))",
    *[f"again({tree})" for tree in (
        "1", "[1]", "(1, (2,))", "{'a': 1}", "{3: [1]}", "{Colour.RED: 1}", "collections.OrderedDict(a=1, b=[2])",
        "collections.defaultdict(list, a=1)", "collections.deque([1, 2], maxlen=3)", "P(1, 2)", "None", "{(1, 2): 3}")],
    *[f"tree_.{call}" for call in (
        "treespec_dumps(3)", "treespec_dumps(flat([1]), protocol=7)", "treespec_loads('[7, {}]')", "treespec_loads('x')",
        """treespec_loads('[1, {"type": "foo", "context": "null", "children_spec": []}]')""", "_get_node_type(3).__name__",
        "_get_node_type(P(1, 2)).__name__", "_get_node_type([]).__name__")],
    "swapped(torch.ones(2), torch.nn.Parameter(torch.zeros(3)))", "swapped(ones.clone(), torch.zeros(1))", "hooked()",
    "swapped(torch.ones(2, requires_grad=True) * 2, torch.zeros(1))",
    "kept()", "referred()", "weak.TensorWeakRef(3)", "weak.WeakTensorKeyDictionary is weak.WeakIdKeyDictionary",
    "baton(temporary())", "timed(num_calling_threads=2, num_warmup_iters=1, num_iters=6)", "timed(num_warmup_iters=0, num_iters=1)",
    "torch.utils.ThroughputBenchmark(torch.nn.Linear(2, 2)).benchmark()", "torch.utils.ThroughputBenchmark(torch.relu).run_once(-ones)",
    *[f"throughput.format_time({call})" for call in ("0.5", "999", "1000", "2.5e6", "time_ms=3", "time_s=2", "", "1, 2")],
    "backcompat.broadcast_warning.enabled, backcompat.keepdim_warning.get_enabled()",
    "Shared.name, Shared().name", "_utils._get_device_index('cpu')", "_utils._get_device_index('cpu', allow_cpu=True)",
    "_utils._get_device_index('cuda:1')", "_utils._get_device_index(None)", "_utils._get_device_index(None, True)",
    "_utils._get_device_index(3)", "_utils._handle_complex(torch.ones(2, dtype=torch.complex64)).tolist()",
    "_utils._set_obj_state(Shared(), ({'a': 1}, {'b': 2})).__dict__", "_utils._set_obj_state(Shared(), (1, 2, 3))",
    "_utils._get_device_module('foo')", "_utils._get_available_device_type()",
    "[t.tolist() for t in _utils._flatten_sparse_tensors([torch.eye(2).to_sparse()])]",
    "torch.utils.checkpoint.get_device_states(ones)", "torch.utils.checkpoint.DefaultDeviceType.get_device_type()",
    "torch.nn.init._no_grad_fill_(torch.zeros(2), 3.).tolist()", "torch._shape_as_tensor(torch.ones(2, 3)).tolist()",
    *[f"torch._int_mm({call}).tolist()" for call in (
        "torch.ones(2, 8, dtype=i8), torch.full((8, 3), -128, dtype=i8)", "torch.ones(2, 8, dtype=i8), torch.ones(7, 3, dtype=i8)",
        "torch.ones(2, 8), torch.ones(8, 3)", "torch.ones(2, 8, dtype=i8), torch.ones(8, 3)",
        "torch.ones(8, dtype=i8), torch.ones(8, 3, dtype=i8)", "torch.ones(2, 2, dtype=torch.uint8), torch.ones(2, 1, dtype=i8)")],
    *[f"torch._convert_indices_from_{call}.tolist()" for call in (
        "coo_to_csr(torch.tensor([0, 0, 2]), 4)", "coo_to_csr(torch.tensor([0., 0.]), 4)", "coo_to_csr(torch.tensor([[0, 2]]), 4)",
        "csr_to_coo(torch.tensor([0, 2, 3]), torch.tensor([0, 1, 1]))",
        "csr_to_coo(torch.tensor([0, 2, 3]), torch.tensor([0, 1, 1]), transpose=True)",
        "csr_to_coo(torch.tensor([[0, 2, 3], [0, 1, 3]]), torch.tensor([[0, 1, 1], [0, 0, 1]]))",
        "csr_to_coo(torch.tensor([0., 2, 3]), torch.tensor([0, 1, 1]))")],
    "torch._C._get_accelerator().type, torch._C._get_default_device(), torch._C._get_privateuse1_backend_name()",
    "active(), torch.func.grad(lambda x: x * active())(torch.tensor(1.)).item()",
    "env()", "env(is_debug_build=False, nvidia_gpu_models='a\\nb', pip_packages='', conda_packages='x\\ny', torch_version='2')",
    "env(cuda_runtime_version='13', caching_allocator_config={'a': 'b'}, pip_packages='x', is_cuda_available='False')",
    *[f"collect.{call}" for call in (
        "get_gcc_version(runner(0, 'gcc (Debian) 12'))", "get_gcc_version(runner(1, ''))",
        "get_clang_version(runner(0, 'clang version 3'))",
        "get_cmake_version(runner(0, 'cmake version 3'))", "get_gpu_info(runner(0, 'GPU 0: A (UUID: GPU-1)'))",
        "get_running_cuda_version(runner(0, 'release 13.0, V13.0.88'))", "get_nvidia_driver_version(runner(0, 'Driver Version: 5.1  x'))",
        "get_lsb_version(runner(0, 'Description:\\tDebian 12'))", "check_release_file(runner(0, 'PRETTY_NAME=\"Debian\"'))",
        "get_pip_packages(runner(0, 'torch==1\\nfoo==2\\nonnx==3'))", "get_pip_packages(runner(1, ''))",
        "get_conda_packages(runner(0, '# a\\nmkl 1\\nfoo 2'))", "get_conda_packages(runner(1, ''))", "get_cpu_info(runner(1, 'x'))",
        "run_and_return_first_line(runner(0, 'a\\nb'), 'c')", "run('exit 3')[0]", "get_cuda_module_loading_config()",
        "is_xnnpack_available()")],
    "cpp.CppExtension('x', ['a.cpp'], extra_compile_args=['-O2']).extra_compile_args", "cpp.CUDAExtension('x', ['a.cu'])",
    "cpp.CppExtension('x', ['a.cpp']).language, cpp.CUDA_HOME, cpp.IS_HIP_EXTENSION", "cpp.include_paths('cuda')",
    "cpp.BuildExtension.with_options(use_ninja=False).__name__", "cpp.check_compiler_is_gcc('nothing')",
    "issubclass(cpp.BuildExtension, __import__('setuptools').Command)", "cpp.get_cxx_compiler()",
    "torch.torch is torch",
]


class Colour(enum.Enum):
    """A key of a tree."""

    RED = 1


def outcome(torch: Any, code: str) -> Any:
    """What an expression gives."""
    import tempfile
    from pathlib import Path

    names: dict[str, Any] = {"torch": torch, "collections": collections, "Colour": Colour, "i8": torch.int8}
    for name, path in (("tree_", "utils._pytree"), ("weak", "utils.weak"), ("baton_", "utils.file_baton"), ("_utils", "_utils"),
                       ("throughput", "utils.throughput_benchmark"), ("backcompat", "utils.backcompat"), ("_", "utils.checkpoint"),
                       ("collect", "utils.collect_env"), ("cpp", "utils.cpp_extension")):
        names[name] = importlib.import_module(f"{torch.__name__}.{path}")
    with tempfile.TemporaryDirectory() as folder:
        names["temporary"] = lambda: str(Path(folder) / "baton")
        exec(SETTING, names)

        def told() -> Any:
            found = eval(code, names)
            return found.tolist() if isinstance(found, torch.Tensor) else found

        return attempted(told)


TABLE = Table("small", CODES, outcome)
