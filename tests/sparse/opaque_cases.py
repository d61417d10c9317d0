"""Tensors in oneDNN's layout: calls on them, what they tell, and gradients through them."""

from __future__ import annotations

import warnings
from typing import Any

from tests.recording import Table, attempted

CALLS = """
F.conv2d(m, w)
F.conv2d(m, wm)
F.conv2d(x, wm)
F.conv1d(m3, torch.randn(5, 4, 3))
F.conv3d(y5, torch.randn(5, 4, 3, 3, 3))
F.conv_transpose2d(m, torch.randn(4, 5, 3, 3))
F.conv2d(m, w, torch.ones(5))
F.conv2d(m, wm, torch.ones(5).to_mkldnn())
torch.ops.aten.convolution(m, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
F.linear(m2, torch.ones(3, 7))
F.linear(m2, torch.ones(3, 7).to_mkldnn())
F.linear(m2, torch.ones(3, 7).to_mkldnn(), torch.ones(3).to_mkldnn())
F.linear(x[:, 0, :, 0], torch.ones(3, 7).to_mkldnn())
F.relu(m)
F.relu_(m.clone())
F.leaky_relu(m)
F.gelu(m)
F.gelu(m, approximate='tanh')
F.sigmoid(m)
torch.tanh(m)
F.silu(m)
F.softmax(m, -1)
F.log_softmax(m, -1)
F.elu(m)
F.hardtanh(m)
F.relu6(m)
F.prelu(m, torch.ones(4).to_mkldnn())
F.prelu(m, torch.ones(4))
F.dropout(m, 0.5)
F.dropout(m, .5, False)
F.max_pool2d(m, 2)
F.max_pool2d(m, 2, return_indices=True)
F.max_pool3d(y5, 2)
F.max_pool1d(m3, 2)
F.avg_pool2d(m, 2)
F.avg_pool3d(y5, 2)
F.avg_pool1d(m3, 2)
F.adaptive_avg_pool2d(m, (7, 6))
F.adaptive_avg_pool2d(m, 1)
F.adaptive_max_pool2d(m, 1)
F.adaptive_avg_pool1d(m3, 1)
F.adaptive_avg_pool3d(y5, 1)
F.batch_norm(m, *bn)
F.batch_norm(m, *bd)
F.batch_norm(m, *bn, True)
F.batch_norm(m, None, None, bd[2], bd[3], True)
F.batch_norm(m, None, None, None, None, True)
F.group_norm(m, 2)
F.layer_norm(m, (6, ))
F.instance_norm(m)
m+m
m-m
m*m
m/m
m+2
m*2
2*m
m-2
m/2
m.add(m, alpha=2)
m.add_(m)
m.mul_(2.)
m.mul_(m)
-m
m**2
m@m
torch.mm(m2, m2.t())
m2.t()
torch.bmm(m3, m3)
m.matmul(m)
m.sqrt()
m.exp()
m.clamp(0)
m.sum()
m.mean()
m.transpose(0, 1)
m.permute(1, 0, 2, 3)
m.reshape(8, -1)
m.view(8, -1)
m.flatten(1)
m.unsqueeze(0)
m.squeeze()
m.expand(3, 2, 4, 7, 6)
m.unflatten(1, (2, 2))
m[0]
m[:, 1]
m.select(0, 0)
m.narrow(0, 0, 1)
m.chunk(2)
m.split(1)
torch.cat([m, m])
torch.cat([m, m], 1)
torch.stack([m, m])
m.clone()
m.detach()
m.contiguous()
m.contiguous(memory_format=torch.channels_last)
m.to(torch.bfloat16)
m.to(torch.float32)
m.float()
m.double()
m.half()
m.to_dense()
m.to_dense(torch.bfloat16)
m.to_mkldnn()
m.to_sparse()
m.zero_()
m.copy_(m.clone())
m.copy_(x)
x.copy_(m)
m.fill_(1)
m.data
m.is_contiguous()
m.is_leaf
m._version
m.requires_grad
torch.empty_like(m)
torch.zeros_like(m)
torch.zeros(2, 3, layout=torch._mkldnn)
torch.ones(2, layout=torch._mkldnn)
m.new_zeros(2)
m.new_tensor([1.])
m.type()
m.storage()
m.untyped_storage()
m.data_ptr()
m.storage_offset()
m.stride()
m.stride(0)
m.numpy()
m.tolist()
m.item()
torch.ones(1).to_mkldnn().item()
bool(m)
float(torch.ones(1).to_mkldnn())
len(m)
m.nbytes
m.element_size()
list(m)
m==m
m>0
m.eq(m)
torch.equal(m, m)
torch.allclose(m, m)
m.isnan()
m.any()
m.max()
m.argmax()
m.abs()
m.neg()
m.norm()
m.std()
m.var()
m.cumsum(0)
m.sort()
m.topk(1)
m.masked_fill(x>0, 1)
m.index_select(0, torch.tensor([0]))
m.gather(0, torch.zeros(1, 1, 1, 1, dtype=torch.long))
torch.where(x>0, m, m)
m+x
x+m
x*m
m*x
m.add(x)
x.add_(m)
m.add_(x)
F.interpolate(m, scale_factor=2)
F.pad(m, (1, 1))
F.pixel_shuffle(m, 2)
F.mse_loss(m, m)
F.cross_entropy(m2, torch.tensor([0, 1]))
m.resize_(3)
m.set_(m)
m.cpu()
m.to('cpu')
m.to('meta')
m.dim()
m.numel()
m.shape
m.size(1)
torch.nn.Parameter(m)
m.T
m.mT
m.mH
m.H
m.real
m.imag
m.conj()
m.is_complex()
m.layout
m.is_mkldnn
x.double().to_mkldnn()
x.half().to_mkldnn().dtype
x.bfloat16().to_mkldnn().dtype
x.to_mkldnn(torch.bfloat16).dtype
x.to_mkldnn(torch.half).dtype
x.to_mkldnn(torch.float64)
x.to_mkldnn(torch.int8)
(x*99).to_mkldnn(torch.int8)
(x*99).to_mkldnn(torch.uint8)
(x*99).bfloat16().to_mkldnn(torch.uint8)
x.int().to_mkldnn()
x.to(torch.uint8).to_mkldnn().dtype
x.to(torch.int8).to_mkldnn().dtype
x.bool().to_mkldnn()
x.cfloat().to_mkldnn()
torch.tensor(1.).to_mkldnn()
torch.ones(0).to_mkldnn()
torch.ones(2, 0).to_mkldnn().to_dense()
x.to_mkldnn(5)
x.to('meta').to_mkldnn()
x.to_sparse().to_mkldnn()
torch.ones([1]*6).to_mkldnn().shape
x.t().to_mkldnn()
x.transpose(1, 2).to_mkldnn().to_dense().stride()
torch.ones([1]*13).to_mkldnn().shape
torch.backends.mkldnn.is_available()
torch.backends.mkldnn.is_acl_available()
utils(nn.Linear(6, 2))(x)
utils(nn.Conv2d(4, 3, 2))(m)
utils(nn.Sequential(nn.Conv2d(4, 3, 2), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(18, 2)).eval())(m)
utils(nn.Conv3d(4, 2, 2, bias=False))(y5)
list(utils(nn.Sequential(nn.Conv2d(4, 3, 2), nn.BatchNorm2d(3), nn.PReLU()).eval()).state_dict())
[t.layout for t in utils(nn.Linear(6, 2), torch.bfloat16).state_dict().values()]
utils(nn.BatchNorm2d(4))
utils(nn.BatchNorm2d(4, affine=False).eval())
utils(nn.BatchNorm2d(4, track_running_stats=False).eval())
utils(nn.Linear(6, 2), torch.float64)
utils(nn.ReLU())
"""
GRADIENTS = """
a.to_mkldnn().to_dense()
F.relu(a.to_mkldnn()).to_dense()
F.gelu(a.to_mkldnn()).to_dense()
F.conv2d(a.to_mkldnn(), w).to_dense()
F.conv2d(a.to_mkldnn(), w, v, stride=2, padding=1).to_dense()
F.max_pool2d(a.to_mkldnn(), 2, 2).to_dense()
F.avg_pool2d(a.to_mkldnn(), 2, 2).to_dense()
F.adaptive_avg_pool2d(a.to_mkldnn(), 1).to_dense()
F.batch_norm(a.to_mkldnn(), None, None, s, t, True).to_dense()
F.prelu(a.to_mkldnn(), s.to_mkldnn()).to_dense()
(a.to_mkldnn() + a.to_mkldnn()).to_dense()
(a.to_mkldnn() * 2).to_dense()
(a.to_mkldnn().reshape(8, 42)).to_dense()
F.linear(a.to_mkldnn().reshape(8, 42), b).to_dense()
a.to_mkldnn(torch.bfloat16).to_dense()
F.relu(a.to_mkldnn(), True).to_dense()
F.conv2d(F.conv2d(a.to_mkldnn(), w).relu(), w[:, :1], groups=5).to_dense()
"""
CASES = [*CALLS.strip().splitlines(), *[f"grad of {line}" for line in GRADIENTS.strip().splitlines()]]


def outcome(torch: Any, case: str) -> Any:
    """A result's layout, dtype, sizes and elements, or the error; of gradients those of all leaves."""
    from importlib import import_module

    nn = torch.nn
    named: dict[str, Any] = {"torch": torch, "F": nn.functional, "nn": nn}
    named["utils"] = import_module(nn.functional.__name__.replace("nn.functional", "utils.mkldnn")).to_mkldnn
    torch.manual_seed(3)

    def numbers(*size: int) -> Any:
        return torch.randn(*size).mul_(4).round_().div_(4)

    x, y5 = numbers(2, 4, 7, 6), numbers(2, 4, 5, 6, 7).to_mkldnn()
    w = numbers(5, 4, 3, 3)
    bd = [(numbers(4).abs() + 1) for _ in range(4)]
    named |= {"x": x, "m": x.to_mkldnn(), "m3": x[:, :, :, 0].to_mkldnn(), "m2": x[:, 0, :, 0].to_mkldnn(), "w": w, "wm": w.to_mkldnn(),
              "y5": y5, "bd": bd, "bn": [t.to_mkldnn() for t in bd]}
    program = case.removeprefix("grad of ")
    if program is case:
        with torch.set_grad_enabled(not program.startswith("utils")):  # nodes of these are torch's own
            return attempted(lambda: described(torch, eval(program, named)))
    leaves = {"a": x, "w": w, "b": numbers(3, 42), "v": numbers(5), "s": bd[0], "t": bd[1]}
    leaves = {name: t.clone().requires_grad_() for name, t in leaves.items()}

    def gradients() -> Any:
        y = eval(program, named | leaves)
        y.backward(torch.linspace(0, 1, y.numel()).view(y.shape).to(y.dtype))
        return {name: described(torch, t.grad) for name, t in leaves.items() if t.grad is not None}

    return attempted(gradients)


def described(torch: Any, value: Any) -> Any:
    """What a result is."""
    if isinstance(value, torch.Tensor):
        dense = value.detach().to_dense().double().flatten()
        total = [float(dense.sum()), float(dense.abs().sum()), *dense[:3].tolist()]
        return [str(value.layout), str(value.dtype), list(value.shape), value.grad_fn.name() if value.grad_fn is not None else None, total]
    if isinstance(value, (tuple, list)):
        return [described(torch, v) for v in value]
    return value if isinstance(value, (bool, int, str)) else str(value)


def shortened(torch: Any, case: str) -> Any:
    """The outcome, without the parts of texts that list what torch was built with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = outcome(torch, case)
    if isinstance(found, dict) and "text" in found:
        found["text"] = found["text"].partition(" This could be because")[0][:120]
    return found


TABLE = Table("opaque", CASES, shortened, tolerance=(1e-4, 1e-4), digits=7)
