"""Tensors without elements that say they are on a device: programs that size models with them."""

from __future__ import annotations

import importlib
from typing import Any

from tests.recording import Table, attempted

SETTING = """
import copy
import numpy as np
F = torch.nn.functional
x = torch.ones(2, 3)
def of(fake):
    told = fake.device, fake.requires_grad, fake.is_leaf, fake.stride(), fake.storage_offset(), fake._is_view()
    return isinstance(fake, fake_tensor.FakeTensor), *told
def trained(layer, make, **options):
    optimizer = make(layer.parameters(), **options)
    layer(torch.empty(2, 3)).sum().backward()
    optimizer.step()
    return [(p, p.grad) for p in layer.parameters()]
def copied(module):
    with fake_tensor.FakeCopyMode(mode):
        return copy.deepcopy(module)
def written(t, *values):
    for value in values:
        t[0] = value
    return t, t.constant
def whole(t):
    return t, t.constant is not None and t.constant.tolist()
def forgotten():
    t = torch.tensor([1.])
    view = t[:]
    seen = [t.constant is not None, view.constant is not None, t.storage()._cdata == view.storage()._cdata]
    view.add_(torch.rand(1))
    return [*seen, t.constant is None, view.constant is None]
def memo(t):
    fake = mode.from_tensor(t)
    return mode.from_tensor(t) is fake
def shared(t, view):
    fakes = mode.from_tensor(t), mode.from_tensor(view)
    return fakes[1]._base is fakes[0], fakes[0].untyped_storage()._cdata == fakes[1].untyped_storage()._cdata, *map(of, fakes)
def graded():
    p = torch.nn.Parameter(torch.ones(2))
    p.grad = torch.ones(2)
    fake = mode.from_tensor(p)
    return fake, fake.grad, isinstance(fake, torch.nn.Parameter), type(fake).__name__
"""

#: What is done inside a mode.
INSIDE = """
torch.empty(2, 3)
torch.randn(2, 3, dtype=torch.float16), torch.arange(4), torch.eye(3), torch.full((2,), 7), torch.tensor(3), torch.tensor([1., 2.])
torch.from_numpy(np.ones(3)), torch.as_tensor(np.ones(2)), torch.tensor(np.zeros((4, 4)))
of(torch.empty(4, 5).t()[1:]), of(torch.empty(2, 3, requires_grad=True) * 2), of(torch.empty(2, requires_grad=True))
torch.nn.Linear(3, 4).weight, type(torch.nn.Linear(3, 4).weight).__name__, isinstance(torch.nn.Linear(3, 4).weight, torch.nn.Parameter)
torch.nn.Linear(100000, 100000)(torch.empty(5, 100000))
torch.nn.Conv2d(3, 4, 3)(torch.empty(1, 3, 8, 8)), torch.nn.BatchNorm1d(3)(torch.empty(2, 3)), torch.nn.LSTM(3, 4)(torch.empty(5, 2, 3))[0]
torch.nn.TransformerEncoderLayer(8, 2, 16)(torch.empty(5, 1, 8)), torch.nn.Embedding(10, 3)(torch.zeros(4, dtype=torch.int64))
sum([p.numel() for p in torch.nn.TransformerEncoderLayer(512, 8).parameters()])
[(name, t) for name, t in torch.nn.BatchNorm1d(3).state_dict().items()]
trained(torch.nn.Linear(3, 4), torch.optim.SGD, lr=0.1, momentum=0.9)
trained(torch.nn.LayerNorm(3), torch.optim.Adam)
trained(torch.nn.BatchNorm1d(3), torch.optim.AdamW)
(lambda m: (m(torch.empty(2, 3)).sum().backward(), torch.nn.utils.clip_grad_norm_(m.parameters(), 1.)))(torch.nn.Linear(3, 4))
torch.nn.Linear(3, 4).load_state_dict(torch.nn.Linear(3, 4).state_dict())
copy.deepcopy(torch.nn.Linear(3, 4)).weight
F.cross_entropy(torch.empty(4, 5), torch.empty(4, dtype=torch.int64)), F.dropout(torch.empty(3)), torch.empty(4, 4).sort()
torch.linalg.svd(torch.empty(4, 4)), torch.fft.fft(torch.empty(4)), torch.einsum('ij,kj->ik', torch.empty(2, 3), torch.empty(4, 3))
torch.multinomial(torch.empty(3, 3), 2), torch.bernoulli(torch.empty(3)), torch.poisson(torch.empty(2)), torch.normal(torch.empty(2), 1.)
torch.vmap(torch.dot)(torch.empty(2, 3), torch.empty(2, 3)), torch.func.grad(lambda x: x.sin().sum())(torch.empty(3))
torch.zeros(3).add_(1), torch.empty(3, 4).t_(), torch.empty(3).resize_(4, 5), torch.empty(3).set_(torch.empty(5))
torch.add(torch.empty(3), torch.empty(3), out=torch.empty(0)), torch.empty(2).copy_(torch.empty(1)), torch.div(3, 2)
torch.empty(4, 4)[torch.zeros(3, dtype=torch.int64)], torch.empty(4, 4)[torch.tensor(1)], torch.empty(4)[1:], [t for t in torch.empty(2, 2)]
written(torch.empty(2, 3), 1., torch.empty(3))
torch.ones_like(torch.empty(2, dtype=torch.int8)), torch.empty(2).new_zeros(3), torch.empty(2).new(3), torch.empty(2).double()
torch.empty(2, device='meta'), torch.empty(2).to('meta'), torch.empty(2, device='cuda'), torch.empty(2, device='cuda:1') * 2
torch.empty(2, device='cuda').device, torch.empty(2, device='cuda').cpu(), torch.empty(2, device='cuda').is_cuda, torch.empty(2).fake_device
torch.tensor(1.) + torch.empty(2, device='cuda'), torch.ones_like(torch.empty(2, device='cuda'), device='cpu')
torch.empty(2) + torch.empty(2, device='cuda')
torch.empty(2).cuda()
torch.empty(2).to('cuda')
torch.tensor(4.).item(), float(torch.tensor(2.)), (torch.tensor(3) + 1).item(), bool(torch.tensor(1) > 0), torch.tensor(1.).add_(1).item()
whole(torch.tensor(1)), whole(torch.tensor([1, 2])), whole(torch.tensor([1]) + 1), whole(torch.tensor([1]).resize_(2))
forgotten()
torch.empty(3).sum().item()
bool(torch.empty(1) > 0)
torch.empty(3).tolist()
torch.empty(3).numpy()
torch.empty(3)[torch.empty(3) > 0]
torch.empty(3).nonzero()
torch.masked_select(torch.empty(3), torch.empty(3) > 0)
torch.empty(4).data_ptr(), torch.empty(4).untyped_storage().nbytes(), torch.empty(4).untyped_storage().device
x + 1
torch.add(torch.nn.Parameter(x), torch.empty(3))
torch.autocast('cpu')(lambda: torch.empty(2, 2) @ torch.empty(2, 2))()
torch.utils.checkpoint.checkpoint(lambda a: a.sin(), torch.empty(3, requires_grad=True), use_reentrant=False)
torch._guards.detect_fake_mode() is mode, fake_tensor.is_fake(torch.empty(2)), fake_tensor.is_fake(x)
""".strip().splitlines()
#: What is done outside of one.
OUTSIDE = """
mode.from_tensor(x), mode.from_tensor(x) + 1, of(mode.from_tensor(x)), memo(x)
mode.from_tensor(x) + x
graded()
shared(x, x[1]), shared(x, x.t())
of(mode.from_tensor(torch.empty(2, 3, 4, 4).to(memory_format=torch.channels_last)))
of(mode.from_tensor(torch.ones(3, requires_grad=True))), of(mode.from_tensor(torch.ones(3, requires_grad=True)[1:]))
copied(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))).state_dict()
copied(torch.nn.Linear(3, 4))(mode.from_tensor(x))
torch.func.functional_call(real, dict(copied(real).state_dict()), (mode.from_tensor(x),))
copy.deepcopy(mode.from_tensor(torch.arange(3)))
fake_tensor.FakeTensor(mode, torch.ones(2), 'cpu')
fake_tensor.FakeTensor(mode, torch.ones(2, device='meta'), torch.device('cpu'))
mode.from_tensor(x).numpy()
meta_utils.MetaConverter()(x), meta_utils.MetaConverter()(3), meta_utils.MetaConverter()(torch.nn.Parameter(x))
torch._guards.detect_fake_mode([mode.from_tensor(x)]) is mode, torch._guards.detect_fake_mode([x])
[cls.__mro__[1].__name__ for cls in (fake_tensor.DynamicOutputShapeException, fake_tensor.UnsupportedFakeTensorException)]
""".strip().splitlines()
CODES = {f"in {i}": (True, code) for i, code in enumerate(INSIDE)} | {f"out {i}": (False, code) for i, code in enumerate(OUTSIDE)}


def outcome(torch: Any, case: str) -> Any:
    """What an expression gives, as text."""
    fake_tensor = importlib.import_module(f"{torch.__name__}._subclasses.fake_tensor")
    importlib.import_module(f"{torch.__name__}._guards")
    inside, code = CODES[case]
    mode = fake_tensor.FakeTensorMode()
    names: dict[str, Any] = {
        "torch": torch, "fake_tensor": fake_tensor, "mode": mode, "FakeTensorMode": fake_tensor.FakeTensorMode,
        "meta_utils": importlib.import_module(f"{torch.__name__}._subclasses.meta_utils")}
    exec(SETTING, names)
    names["real"] = torch.nn.Linear(3, 4)

    def told() -> str:
        if inside:
            with mode:
                return str(eval(code, names))
        return str(eval(code, names))

    return attempted(told)


TABLE = Table("fake", CODES, outcome)
