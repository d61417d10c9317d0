"""Graph convolution and attention by indices."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)


class GCNConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(i, o))
        self.bias = nn.Parameter(torch.zeros(o))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, ei):
        n = x.size(0)
        ei = torch.cat([ei, torch.arange(n).expand(2, n)], 1)
        row, col = ei
        deg = torch.zeros(n).scatter_add_(0, col, torch.ones(ei.size(1)))
        dinv = deg.pow(-0.5)
        dinv[dinv == float("inf")] = 0
        norm = dinv[row] * dinv[col]
        h = x @ self.weight
        return torch.zeros_like(h).index_add_(0, col, norm.unsqueeze(-1) * h[row]) + self.bias

    def extra_repr(self):
        return f"{self.weight.shape[0]} -> {self.weight.shape[1]}"


class GAT(nn.Module):
    def __init__(self, i, o, heads=2):
        super().__init__()
        self.lin = nn.Linear(i, o * heads, bias=False)
        self.a = nn.Parameter(torch.randn(2, heads, o) * 0.1)
        self.h, self.o = heads, o

    def forward(self, x, ei):
        r, c = ei
        h = self.lin(x).view(-1, self.h, self.o)
        e = F.leaky_relu((h * self.a[0]).sum(-1)[r] + (h * self.a[1]).sum(-1)[c], 0.2)
        mx = torch.full((x.size(0), self.h), float("-inf")).scatter_reduce(0, c[:, None].expand_as(e), e, "amax", include_self=True)
        e = torch.exp(e - mx[c])
        s = torch.zeros(x.size(0), self.h).index_add(0, c, e)
        return torch.zeros(x.size(0), self.h, self.o).index_add(0, c, (e / s[c]).unsqueeze(-1) * h[r]).flatten(1)


n = 40
y = torch.arange(n) % 4
p = torch.where(y[:, None] == y[None, :], 0.35, 0.03)
A = torch.bernoulli(p).triu(1)
A = A + A.T
ei = A.nonzero().t().contiguous()
x = F.one_hot(y, 4).float() * 0.5 + torch.randn(n, 4) * 0.7
print(ei.shape, ei.is_contiguous(), A.sum(1)[:8])
tr = torch.zeros(n, dtype=torch.bool)
tr[torch.randperm(n)[:12]] = True


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = GCNConv(4, 16)
        self.c2 = GAT(16, 8)
        self.c3 = GCNConv(16, 4)

    def forward(self, x, ei):
        x = F.dropout(F.elu(self.c1(x, ei)), 0.3, self.training)
        return self.c3(F.elu(self.c2(x, ei)), ei)


m = Net()
print(m)
o = torch.optim.RMSprop(
    [{"params": m.c1.parameters(), "weight_decay": 5e-4}, {"params": [*m.c2.parameters(), *m.c3.parameters()]}], lr=0.01
)
for e in range(1, 41):
    m.train()
    o.zero_grad(set_to_none=True)
    loss = F.cross_entropy(m(x, ei)[tr], y[tr])
    loss.backward()
    o.step()
    if e % 10 == 0:
        m.eval()
        with torch.inference_mode():
            pr = m(x, ei).argmax(1)
        print(e, round(loss.item(), 4), (pr[~tr] == y[~tr]).float().mean().item())
S = torch.sparse_coo_tensor(ei, torch.ones(ei.size(1)), (n, n)).coalesce()
print(torch.sparse.mm(S, x)[:2], (S @ x - A @ x).abs().max() < 1e-5, S)
pool = torch.zeros(4, 4).scatter_reduce_(0, y[:, None].expand(n, 4), x, reduce="mean", include_self=False)
print(pool)
