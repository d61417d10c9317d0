"""Autocast, a gradient scaler and accumulated gradients."""

import warnings

import torch
import torch.nn as nn

warnings.simplefilter("always")
torch.manual_seed(0)
m = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))
o = torch.optim.AdamW(m.parameters(), lr=1e-2, weight_decay=0.05)
crit = nn.CrossEntropyLoss()
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3)
x, y = torch.randn(16, 3, 8, 8), torch.randint(5, (16,))
for i in range(8):
    o.zero_grad(set_to_none=True)
    with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
        out = m(x)
        loss = crit(out, y)
    if i == 0:
        print(out.dtype, loss.dtype, torch.is_autocast_enabled("cpu"), torch.is_autocast_cpu_enabled())
    scaler.scale(loss).backward()
    scaler.unscale_(o)
    n = torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    scaler.step(o)
    scaler.update()
    print(i, f"{loss.item():.3f} {n.item():.2f}", scaler.get_scale())
print(scaler.state_dict())
with torch.autocast("cpu", dtype=torch.bfloat16, enabled=False):
    print(m(x).dtype)
with torch.autocast("cpu"):
    a = torch.randn(3, 4)
    b = a @ a.T
    print(
        b.dtype,
        (b + 1).dtype,
        torch.softmax(b, 0).dtype,
        b.float().dtype,
        torch.mm(a, a.T).sum().dtype,
        torch.nn.functional.mse_loss(b, b).dtype,
    )
acc, K = 0, 4
o.zero_grad()
for i, (bx, by) in enumerate(zip(x.split(4), y.split(4))):
    l = crit(m(bx), by) / K
    l.backward()
    acc += l.item()
    if (i + 1) % K == 0:
        print("accumulated", f"{acc:.4f}", f"{nn.utils.get_total_norm([p.grad for p in m.parameters()]):.4f}")
        o.step()
        o.zero_grad()
s = torch.cuda.amp.GradScaler()
print(s.is_enabled(), s.get_scale())
with torch.cuda.amp.autocast():
    print((a @ a.T).dtype)
h = nn.Linear(4, 4).half()
print(h(torch.ones(1, 4).half()).dtype, h.weight.dtype, nn.Linear(2, 2).bfloat16().weight.data)
try:
    scaler.scale(torch.ones(2, dtype=torch.int32))
    scaler.unscale_(o)
except Exception as e:
    print(type(e).__name__, e)
