"""More than gradients from one backward pass: each example's, their variance, diagonals and factors of curvatures, for networks of layers
of every kind that has them; products with Hessians."""

import torch
from backpack import backpack, extend, extensions
from backpack.custom_module.permute import Permute
from backpack.custom_module.reduce_tuple import ReduceTuple
from backpack.hessianfree.ggnvp import ggn_vector_product
from backpack.hessianfree.hvp import hessian_vector_product
from torch import nn

PACKAGES = ("backpack-for-pytorch",)
FIRST = {"BatchGrad": "grad_batch", "Variance": "variance", "BatchL2Grad": "batch_l2", "SumGradSquared": "sum_grad_squared"}
SECOND = {"DiagGGNExact": "diag_ggn_exact", "DiagGGNMC": "diag_ggn_mc", "BatchDiagGGNExact": "diag_ggn_exact_batch",
          "BatchDiagGGNMC": "diag_ggn_mc_batch",
          "DiagHessian": "diag_h", "BatchDiagHessian": "diag_h_batch", "KFAC": "kfac", "KFLR": "kflr", "SqrtGGNExact": "sqrt_ggn_exact",
          "SqrtGGNMC": "sqrt_ggn_mc"}


def plain() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.Sigmoid(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 5), nn.Tanh(), nn.Linear(5, 3))


NETWORKS = {"plain": plain, "strided": lambda: nn.Sequential(nn.Conv2d(1, 2, 3, 2, 1), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(),
                                                             nn.Linear(2, 3)),
            "padded": lambda: nn.Sequential(nn.ZeroPad2d(1), nn.Conv2d(1, 2, 3, dilation=2), nn.ELU(), nn.Flatten(), nn.Linear(32, 3)),
            "transposed": lambda: nn.Sequential(nn.ConvTranspose2d(1, 2, 2, 2), nn.LeakyReLU(), nn.Flatten(), nn.Linear(288, 3)),
            "others": lambda: nn.Sequential(nn.Flatten(), nn.Linear(36, 6), nn.SELU(), nn.Dropout(0.3), nn.Linear(6, 4), nn.LogSigmoid(),
                                            nn.Linear(4, 3))}


def data() -> tuple:
    torch.manual_seed(0)
    return torch.randn(8, 1, 6, 6), torch.randint(0, 3, (8,))


def quantity(name: str, network: str = "plain") -> list:
    x, y = data()
    net, loss = extend(NETWORKS[network]()), extend(nn.CrossEntropyLoss())
    torch.manual_seed(1)
    with backpack(getattr(extensions, name)()):
        loss(net(x), y).backward()
    return [getattr(p, {**FIRST, **SECOND}[name]) for p in net.parameters()]


def layers(network: str) -> dict:
    return {name: quantity(name, network) for name in (*FIRST, "DiagGGNExact", "SqrtGGNExact")}


def regression() -> dict:
    x, _ = data()
    found = {}
    for name in ("BatchGrad", "DiagGGNExact", "DiagHessian", "KFRA", "KFLR"):
        torch.manual_seed(0)
        net, loss = extend(nn.Sequential(nn.Flatten(), nn.Linear(36, 4), nn.Sigmoid(), nn.Linear(4, 2))), extend(nn.MSELoss())
        with backpack(getattr(extensions, name)()):
            loss(net(x), x.flatten(1)[:, :2]).backward()
        found[name] = [getattr(p, {**FIRST, **SECOND, "KFRA": "kfra"}[name]) for p in net.parameters()]
    return found


def batch_norm() -> list:
    x, y = data()
    net, loss = extend(nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(),
                                     nn.Linear(32, 3)).eval()), extend(nn.CrossEntropyLoss())
    with backpack(extensions.BatchGrad(), extensions.DiagGGNExact()):
        loss(net(x), y).backward()
    return [[p.grad_batch, p.diag_ggn_exact] for p in net.parameters()]


def recurrent() -> list:
    torch.manual_seed(0)
    x = torch.randn(3, 4, 2)
    net, loss = extend(nn.Sequential(nn.LSTM(2, 3, batch_first=True), ReduceTuple(), Permute(0, 2, 1), nn.Flatten(),
                                     nn.Linear(12, 2))), extend(nn.CrossEntropyLoss())
    with backpack(extensions.BatchGrad(), extensions.DiagGGNExact()):
        loss(net(x), torch.tensor([0, 1, 1])).backward()
    return [[p.grad_batch, p.diag_ggn_exact] for p in net.parameters()]


def products() -> dict:
    x, y = data()
    net, loss, found = extend(plain()), extend(nn.CrossEntropyLoss()), {}
    for name in ("HMP", "GGNMP", "PCHMP"):
        net.zero_grad()
        with backpack(getattr(extensions, name)()):
            loss(net(x), y).backward()
        found[name] = [getattr(p, name.lower())(torch.ones(2, *p.shape)) for p in net.parameters()]
    parameters = list(net.parameters())
    ones = [torch.ones_like(p) for p in parameters]
    value, out = loss(net(x), y), net(x)
    found["Hessian"] = list(hessian_vector_product(value, parameters, ones))
    found["Gauss-Newton"] = list(ggn_vector_product(loss(out, y), out, net, ones))
    return found


def damped() -> list:
    """Steps down curvatures' diagonals, as its second order optimizers take them."""
    x, y = data()
    net, loss, losses = extend(plain()), extend(nn.CrossEntropyLoss()), []
    for _ in range(4):
        net.zero_grad()
        value = loss(net(x), y)
        with backpack(extensions.DiagGGNExact()):
            value.backward()
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.3 * p.grad / (p.diag_ggn_exact + 0.1)
        losses.append(value.item())
    return losses


CASES = {**{name: lambda name=name: quantity(name) for name in (*FIRST, *SECOND)},
         **{f"{name} network": lambda name=name: layers(name) for name in NETWORKS if name != "plain"},
         "regression": regression, "batch norm": batch_norm, "recurrent": recurrent, "products": products, "damped steps": damped}
