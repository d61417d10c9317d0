"""Programs of torch.nn.utils: pruned, normalized, orthogonal and parametrized weights, by what is left of the module; and what converts
modules.

Each line is a program; after it, `m` is a module or anything else. Its state is compared, its output for a fixed input, the gradients of
that, and which hooks it has.
"""

from __future__ import annotations

import collections
import re
import warnings
from importlib import import_module
from typing import Any

from tests.recording import Table, attempted

PROGRAMS = """
m = prune.identity(linear(), "weight")
m = prune.random_unstructured(linear(), "weight", 3)
m = prune.random_unstructured(linear(), "weight", 0.5)
m = prune.random_unstructured(linear(), "bias", 0)
m = prune.random_unstructured(linear(), "bias", 4)
m = prune.random_unstructured(linear(), "bias", -1)
m = prune.random_unstructured(linear(), "bias", 1.5)
m = prune.random_unstructured(linear(), "bias", -0.1)
m = prune.random_unstructured(linear(), "bias", "1")
m = prune.random_unstructured(linear(), "none", 1)
m = prune.l1_unstructured(linear(), "weight", 3)
m = prune.l1_unstructured(linear(), "weight", 0.4)
m = prune.l1_unstructured(linear(), "weight", 1.0)
m = prune.l1_unstructured(linear(), "weight", 2, importance_scores=torch.arange(12.).view(3, 4))
m = prune.l1_unstructured(linear(), "weight", 2, importance_scores=torch.arange(12.))
m = prune.l1_unstructured(conv(), "weight", 11)
m = prune.random_structured(linear(), "weight", 1, 0)
m = prune.random_structured(linear(), "weight", 0.5, 1)
m = prune.random_structured(linear(), "weight", 0, 1)
m = prune.random_structured(conv(), "weight", 2, -3)
m = prune.random_structured(linear(), "bias", 1, 0)
m = prune.random_structured(linear(), "weight", 1, 2)
m = prune.random_structured(linear(), "weight", 4, 0)
m = prune.ln_structured(linear(), "weight", 1, 2, 0)
m = prune.ln_structured(linear(), "weight", 0.5, 1, -1)
m = prune.ln_structured(linear(), "weight", 1, "fro", 0)
m = prune.ln_structured(linear(), "weight", 0, 2, 0)
m = prune.ln_structured(conv(), "weight", 2, float("-inf"), 1)
m = prune.ln_structured(linear(), "weight", 1, 2, 0, importance_scores=torch.arange(12.).view(3, 4).flip(0))
m = prune.ln_structured(linear(), "weight", 9, 2, 0)
m = prune.custom_from_mask(linear(), "bias", torch.tensor([0, 1, 0]))
m = prune.custom_from_mask(linear(), "bias", torch.tensor([0, 1]))
m = linear(); prune.l1_unstructured(m, "weight", 3); prune.l1_unstructured(m, "weight", 3)
m = linear(); prune.l1_unstructured(m, "weight", 3); prune.random_unstructured(m, "weight", 0.5)
m = linear(); prune.ln_structured(m, "weight", 1, 2, 0); prune.ln_structured(m, "weight", 1, 2, 0)
m = linear(); prune.ln_structured(m, "weight", 1, 2, 0); prune.l1_unstructured(m, "weight", 2)
m = linear(); prune.l1_unstructured(m, "weight", 2); prune.random_structured(m, "weight", 1, -1); prune.identity(m, "weight")
m = linear(); prune.l1_unstructured(m, "weight", 3); prune.l1_unstructured(m, "bias", 1)
m = linear(); prune.l1_unstructured(m, "weight", 3); prune.l1_unstructured(m, "weight", 10)
m = linear(); prune.l1_unstructured(m, "weight", 3); prune.custom_from_mask(m, "weight", torch.ones(3, 4).tril())
m = prune.remove(prune.l1_unstructured(linear(), "weight", 3), "weight")
m = prune.remove(linear(), "weight")
m = prune.remove(prune.l1_unstructured(linear(), "weight", 3), "bias")
m = copy.deepcopy(prune.l1_unstructured(linear(), "weight", 3))
m = pickle.loads(pickle.dumps(prune.l1_unstructured(linear(), "weight", 3)))
m = nn.Sequential(nn.Linear(4, 4), linear()); prune.global_unstructured([(c, "weight") for c in m], prune.L1Unstructured, amount=7)
m = nn.Sequential(linear()); prune.global_unstructured([(m[0], "weight"), (m[0], "bias")], prune.RandomUnstructured, amount=0.5)
m = linear(); prune.global_unstructured([(m, "weight")], prune.L1Unstructured, {(m, "weight"): torch.arange(12.).view(3, 4)}, amount=5)
m = linear(); prune.l1_unstructured(m, "weight", 3); prune.global_unstructured([(m, "weight"), (m, "bias")], prune.L1Unstructured, amount=5)
m = linear(); prune.global_unstructured([(m, "weight")], prune.LnStructured, amount=1, n=2)
m = linear(); prune.global_unstructured(3, prune.L1Unstructured, amount=1)
m = linear(); prune.global_unstructured([(m, "weight")], prune.L1Unstructured, [1], amount=1)
m = prune.is_pruned(linear())
m = prune.is_pruned(nn.Sequential(prune.identity(linear(), "weight")))
m = prune.L1Unstructured(2).prune(torch.arange(1., 7.).view(2, 3))
m = prune.L1Unstructured(2).prune(torch.arange(1., 7.).view(2, 3), torch.tensor([[0., 1, 1], [1, 1, 1]]))
m = prune.L1Unstructured(2).prune(torch.arange(1., 7.).view(2, 3), importance_scores=-torch.arange(6.).view(2, 3))
m = prune.L1Unstructured(2).prune(torch.arange(1., 7.).view(2, 3), importance_scores=torch.arange(6.))
m = prune.LnStructured(1, 2).prune(torch.arange(1., 7.).view(2, 3))
m = prune.PruningContainer(3)
c = prune.PruningContainer(); c._tensor_name = "w"; c.add_pruning_method(3)
c = prune.PruningContainer(); c._tensor_name = "w"; p = prune.Identity(); p._tensor_name = "v"; c.add_pruning_method(p)
p = prune.Identity(); p._tensor_name = "w"; c = prune.PruningContainer(p); c.add_pruning_method(p); m = len(c), c[1] is p
m = nn.utils.spectral_norm(linear())
m = nn.utils.spectral_norm(linear(), n_power_iterations=3, eps=1e-3)
m = nn.utils.spectral_norm(conv())
m = nn.utils.spectral_norm(nn.ConvTranspose2d(2, 3, 2), dim=None)
m = nn.utils.spectral_norm(conv(), dim=2)
m = nn.utils.spectral_norm(linear()).eval()
m = nn.utils.spectral_norm(linear(), n_power_iterations=0)
m = nn.utils.spectral_norm(nn.Linear(4, 3, bias=False), "bias")
m = nn.utils.spectral_norm(linear(), "none")
m = nn.utils.spectral_norm(nn.utils.spectral_norm(linear()))
m = nn.utils.spectral_norm(nn.LazyLinear(3))
m = nn.utils.remove_spectral_norm(nn.utils.spectral_norm(linear())).weight
m = len(nn.utils.remove_spectral_norm(nn.utils.spectral_norm(linear()))._load_state_dict_pre_hooks)
m = nn.utils.remove_spectral_norm(linear())
m = nn.utils.spectral_norm(linear()); m.load_state_dict(nn.utils.spectral_norm(linear()).state_dict())
m = nn.utils.spectral_norm(linear()); d = m.state_dict(); del d._metadata; m.load_state_dict(d)
m = nn.utils.spectral_norm(nn.Linear(3, 4)); d = old(m.state_dict()); d["weight"] = d["weight_orig"] / 2; m.load_state_dict(d)
m = nn.utils.spectral_norm(linear()); d = old(m.state_dict()); m.load_state_dict(d)
m = nn.utils.spectral_norm(linear()).state_dict()._metadata
m = copy.deepcopy(nn.utils.spectral_norm(linear()))
m = nn.utils.weight_norm(linear())
m = nn.utils.weight_norm(conv(), dim=None)
m = nn.utils.remove_weight_norm(nn.utils.weight_norm(linear()))
m = ps.spectral_norm(linear())
m = ps.spectral_norm(nn.ConvTranspose2d(2, 3, 2), n_power_iterations=2)
m = ps.spectral_norm(linear(), "bias")
m = ps.spectral_norm(linear()).eval()
m = ps.weight_norm(conv())
m = ps.orthogonal(linear())
m = ps.orthogonal(nn.Linear(3, 4))
m = ps.orthogonal(nn.Linear(3, 3))
m = ps.orthogonal(nn.Linear(3, 3), orthogonal_map="cayley")
m = ps.orthogonal(linear(), orthogonal_map="cayley")
m = ps.orthogonal(nn.Linear(3, 4), orthogonal_map="matrix_exp")
m = ps.orthogonal(nn.Linear(3, 3), orthogonal_map="householder")
m = ps.orthogonal(linear(), use_trivialization=False)
m = ps.orthogonal(nn.Linear(3, 4), use_trivialization=False)
m = ps.orthogonal(nn.Linear(3, 3), use_trivialization=False)
m = ps.orthogonal(nn.Linear(3, 3), orthogonal_map="cayley", use_trivialization=False); m.weight = torch.eye(3)
m = ps.orthogonal(linear(), orthogonal_map="none")
m = ps.orthogonal(linear(), "bias")
m = ps.orthogonal(linear(), "none")
m = ps.orthogonal(conv())
m = ps.orthogonal(nn.Linear(3, 3, dtype=torch.complex64))
m = ps.orthogonal(nn.Linear(3, 3, dtype=torch.complex64), orthogonal_map="householder")
m = ps.orthogonal(linear()); m.weight = torch.eye(3, 4).flip(0)
m = ps.orthogonal(linear()); m.weight = torch.eye(4, 3)
m = nn.utils.convert_conv2d_weight_memory_format(nn.Sequential(conv(), nn.Conv3d(2, 2, 2)), torch.channels_last)[0].weight.stride()
m = nn.utils.convert_conv3d_weight_memory_format(nn.Sequential(conv(), nn.Conv3d(2, 3, 2)), torch.channels_last_3d)[1].weight.stride()
m = nn.Sequential(linear()).state_dict(); consume(m, "0.")
m = nn.Sequential(nn.Sequential(linear())).state_dict(); consume(m, "0."); m = m._metadata
m = nn.Sequential(linear()).state_dict(); del m._metadata; consume(m, "0.")
m = nn.modules.utils._list_with_default([None, 3], [5, 6, 7])
m = nn.modules.utils._list_with_default([None, 3], [5, 6])
m = nn.utils.fuse_conv_bn_eval(conv().eval(), bn().eval())
m = nn.utils.fuse_conv_bn_eval(nn.ConvTranspose2d(2, 3, 2, bias=False).eval(), bn().eval(), transpose=True)
m = nn.utils.fuse_conv_bn_eval(conv(), bn())
m = nn.utils.fuse_linear_bn_eval(linear().eval(), nn.BatchNorm1d(3).eval())
m = nn.utils.fuse_linear_bn_eval(linear().eval(), nn.BatchNorm1d(4).eval())
m = nn.utils.skip_init(nn.Linear, 4, 3).weight.shape
m = nn.utils.skip_init(dict)
m = nn.utils.skip_init(nn.ReLU)
m = [p.dtype for p in linear().to(cpu, True).parameters()]
m = [p.dtype for p in linear().to(torch.long).parameters()]
m = [p.dtype for p in linear().to(None, True).parameters()]
m = [p.dtype for p in linear().to(cpu, torch.long, True).parameters()]
m = [p.dtype for p in linear().to(cpu, dtype=torch.long, non_blocking=True).parameters()]
m = [p.dtype for p in linear().to([]).parameters()]
m = [p.dtype for p in linear().to({}, non_blocking=True).parameters()]
m = [p.dtype for p in linear().to(torch.tensor(3), non_blocking=True).parameters()]
m = [p.dtype for p in linear().to(cpu, torch.tensor(3), non_blocking=True).parameters()]
m = [p.dtype for p in linear().to().parameters()]
m = [p.dtype for p in linear().to(dtype=None).parameters()]
m = [p.dtype for p in linear().to(device=None).parameters()]
m = [p.dtype for p in linear().to(None).parameters()]
m = [p.dtype for p in linear().to('cpu').parameters()]
m = [p.dtype for p in linear().to(torch.double).parameters()]
m = [p.dtype for p in linear().to(torch.double, True).parameters()]
m = [p.dtype for p in linear().to(torch.double, False, True).parameters()]
m = [p.dtype for p in linear().to(cpu, torch.double).parameters()]
m = [p.dtype for p in linear().to(cpu, torch.double, False).parameters()]
m = [p.dtype for p in linear().to(other=x).parameters()]
m = [p.dtype for p in linear().to(x).parameters()]
m = [p.dtype for p in linear().to(x, True).parameters()]
m = [p.dtype for p in linear().to(tensor=x).parameters()]
m = [p.dtype for p in linear().to(foo=3).parameters()]
m = [p.dtype for p in linear().to(cpu, 3).parameters()]
m = [p.dtype for p in linear().to(memory_format=torch.contiguous_format).parameters()]
m = [p.dtype for p in linear().to(cpu, non_blocking=True).parameters()]
m = [p.dtype for p in linear().to(copy=True).parameters()]
m = [p.dtype for p in linear().to(torch.float64, copy=True).parameters()]
m = [p.dtype for p in linear().to('meta').parameters()]
m = [p.dtype for p in linear().to(cpu, None).parameters()]
m = [p.dtype for p in linear().to(x, dtype=torch.float64).parameters()]
m = [p.dtype for p in linear().to(torch.double, torch.double).parameters()]
m = [p.dtype for p in linear().to(cpu, cpu).parameters()]
m = [p.dtype for p in linear().to(device='cpu', dtype=torch.half).parameters()]
m = [p.dtype for p in linear().to(torch.strided).parameters()]
m = [p.dtype for p in linear().to(float).parameters()]
m = [p.dtype for p in linear().to('bla').parameters()]
m = [p.dtype for p in linear().to(cpu, device=cpu).parameters()]
m = x.to(cpu, True)
m = x.to(x, False, True) is x
m = x.to(tensor=x.double()).dtype
m = x.to(copy=True) is x, x.to(torch.float32) is x
m = list(nn.ParameterDict({"p8": x, "p7": x}))
m = nn.ParameterDict({"p8": x, "p7": x, "p9": x}).popitem()[0]
m = nn.ParameterDict([("p8", x), ("p7", x)]); m.update({"b": x, "a": x}); m.update(collections.OrderedDict(d=x, c=x)); m = list(m)
m = list(nn.ParameterDict({"p8": x}) | nn.ParameterDict([("p5", x), ("p4", x)]))
m = nn.ParameterDict({"a": x}); m.update(1)
m = nn.ParameterDict({"a": x}); m.update([1])
m = list(nn.ModuleDict({"b": nn.ReLU(), "a": nn.ReLU()}))
l = linear(); l.register_full_backward_hook(print); l.forward = see; l(x, x.clone().requires_grad_()); m = seen
l = linear(); l._apply(lambda t: torch.sparse_coo_tensor(torch.zeros([t.dim(), 1]), torch.ones([1]), t.shape)); m = l.weight.layout
l = linear(); w = l.weight; l._apply(lambda t: t.to("meta")); m = w.device.type, l.weight.device.type, l.weight is w
"""
CASES = PROGRAMS.strip().splitlines()


def outcome(torch: Any, case: str) -> Any:
    """What a module holds, computes, and has for hooks; of anything else, its text."""
    nn = torch.nn
    prefix = torch.nn.functional.__name__.removesuffix(".functional")
    prune, ps = import_module(f"{prefix}.utils.prune"), nn.utils.parametrizations
    import copy
    import pickle

    def bn() -> Any:
        made = nn.BatchNorm2d(3)
        with torch.no_grad():
            for i, t in enumerate((made.running_mean, made.running_var, made.weight, made.bias)):
                t.copy_(torch.arange(1., 4.) / (i + 1))
        return made

    def old(state: Any) -> Any:
        del state._metadata, state["weight_v"]
        return state

    seen: list[Any] = []
    names = {"torch": torch, "old": old, "cpu": torch.device("cpu"), "x": torch.ones(3), "collections": collections, "seen": seen,
             "see": lambda *a: seen.append([t.requires_grad for t in a]), "nn": nn, "prune": prune, "ps": ps, "copy": copy,
             "pickle": pickle, "linear": lambda: nn.Linear(4, 3),
             "conv": lambda: nn.Conv2d(2, 3, 2), "bn": bn, "consume": nn.modules.utils.consume_prefix_in_state_dict_if_present}
    torch.manual_seed(7)

    def run() -> Any:
        exec(case, names)
        m: Any = names.get("m")
        if not isinstance(m, nn.Module):
            return {"gives": {k: numbers(v) for k, v in m.items()} if isinstance(m, dict) and "" not in m else
                    numbers(m) if isinstance(m, torch.Tensor) else repr(m)}
        found: dict[str, Any] = {"state": {k: numbers(v) for k, v in m.state_dict().items()}, "text": str(m), "hooks": [
            type(getattr(hook, "hook", hook)).__name__ for part in m.modules() for table in (
                part._forward_pre_hooks, part._state_dict_hooks, part._load_state_dict_pre_hooks) for hook in table.values()]}
        weight = next(t for t in m.parameters() if t.ndim > 1)
        first = [part for part in m.modules() if hasattr(part, "weight")][0]
        n = 2 if weight.ndim == 4 else first.in_features
        x = torch.linspace(-1, 1, 2 * n * (9 if weight.ndim == 4 else 1)).view(2, n, *([3, 3] if weight.ndim == 4 else [])).to(weight.dtype)
        y = m(x)
        found["output"] = numbers(y)
        if y.requires_grad:
            y.abs().pow(2).sum().backward()
            found["grads"] = {k: None if p.grad is None else numbers(p.grad) for k, p in m.named_parameters()}
            y = m(x)
            found["again"] = numbers(y)
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = attempted(run)
    if "text" in found:
        found["text"] = re.sub(r" at 0x\w+", "", found["text"]).replace("torchcompat.", "torch.")
    return found


def numbers(t: Any) -> list[Any]:
    """A tensor's sizes and elements."""
    t = t.detach()
    if t.is_complex():
        t = t.real + 10 * t.imag
    return [list(t.shape), t.double().flatten().tolist()]


TABLE = Table("nn_utils", CASES, outcome, tolerance=(2e-5, 2e-5), digits=7, zipped=True)
