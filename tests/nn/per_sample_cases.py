"""Gradients of the examples of a batch, one by one."""

from __future__ import annotations

import importlib
from typing import Any

from tests.recording import Table, attempted

SETTING = """
F = torch.nn.functional
def values(*shape):
    return torch.arange(1., 1 + torch.Size(shape).numel()).reshape(shape).sin()
def set_up(module):
    for i, p in enumerate(module.parameters()):
        p.data.copy_(values(*p.shape) + i)
    return module
def samples(module, *args, **options):
    module = set_up(module)
    out = call_for_per_sample_grads(module, **options)(*args)
    (out * values(*out.shape)).sum().backward()
    return [None if p.grad_sample is None else [n for n in p.grad_sample.flatten().tolist()] for p in module.parameters()]
class Shared(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
    def forward(self, x):
        return self.layer(self.layer(x).tanh())
class Raw(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(3))
    def forward(self, x):
        return x * self.w
def frozen():
    layer = set_up(torch.nn.Linear(3, 2))
    layer.weight.requires_grad_(False)
    call_for_per_sample_grads(layer)(values(4, 3)).sum().backward()
    return hasattr(layer.weight, "grad_sample"), layer.bias.grad_sample.tolist()
def twice():
    layer = set_up(torch.nn.Linear(1, 1, bias=False))
    call_for_per_sample_grads(layer)(values(2, 1)).sum().backward()
    call_for_per_sample_grads(layer)
def of_input():
    x = values(2, 3).requires_grad_()
    call_for_per_sample_grads(set_up(torch.nn.Linear(3, 2)))(x).sum().backward()
    return x.grad.tolist()
def weight(*shape, size=3):
    return weights.ExpandedWeight(torch.nn.Parameter(torch.ones(shape)), size, "sum")
def of(function, *args, **kwargs):
    out = function(*args, **kwargs)
    return out.tolist(), type(out.grad_fn).__name__
"""
CODES = """
samples(torch.nn.Linear(3, 2), values(4, 3))
samples(torch.nn.Linear(3, 2), values(2, 4, 3), loss_reduction='mean')
samples(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1, bias=False)), values(3, 3), batch_size=3)
samples(torch.nn.Conv1d(2, 4, 3, padding='same', groups=2), values(2, 2, 5))
samples(torch.nn.Conv2d(1, 2, 2, stride=2, padding=(1, 0), dilation=1), values(2, 1, 4, 4))
samples(torch.nn.Conv2d(1, 1, 2, padding=1, padding_mode='circular'), values(2, 1, 3, 3))
samples(torch.nn.Conv3d(1, 1, 2, bias=False), values(2, 1, 3, 3, 2))
samples(torch.nn.Embedding(4, 2, padding_idx=1), torch.tensor([[0, 1], [3, 3]]))
samples(torch.nn.Embedding(4, 2, max_norm=0.5), torch.tensor([[0, 1], [3, 3]]))
samples(torch.nn.LayerNorm(3), values(2, 4, 3))
samples(torch.nn.GroupNorm(2, 4), values(2, 4, 3))
samples(torch.nn.InstanceNorm1d(2, affine=True, track_running_stats=True), values(2, 2, 4))
samples(torch.nn.InstanceNorm2d(2, affine=True, track_running_stats=True).eval(), values(2, 2, 2, 2))
samples(Shared(), values(2, 3))
frozen()
of_input()
twice()
samples(Raw(), values(2, 3))
samples(torch.nn.BatchNorm1d(4), values(2, 4, 3))
samples(torch.nn.PReLU(), values(2, 3))
samples(torch.nn.Linear(3, 2), values(4, 3), batch_size=5)
samples(torch.nn.Linear(3, 2), values(3))
samples(torch.nn.Linear(3, 2), values(4, 3), loss_reduction='max')
samples(torch.nn.Linear(3, 2), values(4, 3), batch_size='a')
samples(torch.nn.Linear(3, 2), values(4, 3), batch_size=0)
samples(torch.nn.Linear(3, 2), 3)
samples(torch.nn.Bilinear(3, 3, 2), values(4, 3), values(2, 3))
samples(torch.nn.Linear(3, 2), torch.ones(0, 3))
samples(torch.nn.LayerNorm((4, 3)), values(4, 3))
samples(torch.nn.Embedding(4, 2), torch.tensor([0, 1]))
call_for_per_sample_grads(len)
of(F.linear, torch.ones(3, 3), weight(2, 3))
of(F.linear, torch.ones(3, 3), weight(2, 3), bias=weight(2))
of(F.linear, weight(3, 3), weight(2, 3))
of(F.conv1d, torch.ones(3, 1, 3), weight(1, 1, 2), torch.ones(1))
of(F.conv1d, torch.ones(2, 1, 3), weight(1, 1, 2))
of(F.layer_norm, torch.ones(3, 2), (2,), weight(2), None)
of(F.embedding, torch.zeros(3, 1, dtype=torch.int64), weight(4, 2))
of(F.conv1d, torch.ones(3, 1, 3), torch.nn.Parameter(torch.ones(1, 1, 2)), weight(1))
F.conv1d(torch.ones(3, 1, 3), torch.nn.Parameter(torch.ones(1, 1, 2)), weight(1)).sum().backward()
torch.sin(weight(3))
weight(3) + 1
weights.ExpandedWeight(3, 3, 'sum')
weights.ExpandedWeight(torch.ones(3), 3, 'sum')
weight(2, 3).batch_size, weight(2, 3).loss_reduction, weight(2).orig_weight.tolist(), isinstance(weight(2), torch.Tensor)
sorted([f.__name__ for f in weights.ExpandedWeight.handled_functions])
utils_.standard_kwargs(('bias',), (1, 2, 3))
utils_.forward_helper(F.linear, (torch.ones(3, 3), weight(2, 3)), {'bias': None}).tolist()
utils_.forward_helper(F.linear, (torch.tensor(3.), weight(2, 3)), {})
utils_.forward_helper(F.linear, (3, weight(2, 3)), {})
utils_.unpack_expanded_weight_or_tensor(torch.ones(3, requires_grad=True))
utils_.unpack_expanded_weight_or_tensor(weight(2)).tolist(), utils_.unpack_expanded_weight_or_tensor(4)
utils_.set_grad_sample_if_exists(torch.ones(3, requires_grad=True), lambda w: 3)
utils_.sum_over_all_but_batch_and_last_n(torch.ones(1, 2, 3, 4), 1).tolist()
""".strip().splitlines()


def outcome(torch: Any, code: str) -> Any:
    """What an expression gives."""
    utils = f"{torch.__name__}.nn.utils"
    names: dict[str, Any] = {
        "torch": torch, "call_for_per_sample_grads": importlib.import_module(f"{utils}._per_sample_grad").call_for_per_sample_grads,
        "weights": importlib.import_module(f"{utils}._expanded_weights"),
        "utils_": importlib.import_module(f"{utils}._expanded_weights.expanded_weights_utils")}
    exec(SETTING, names)
    return attempted(lambda: eval(code, names))


TABLE = Table("per_sample", CODES, outcome, tolerance=(1e-4, 1e-5))
