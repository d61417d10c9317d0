"""Factors of a matrix by embeddings whose gradients are sparse."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
n_users, n_items, k = 30, 40, 5
U, I = torch.randn(n_users, k), torch.randn(n_items, k)
u = torch.randint(n_users, (600,))
i = torch.randint(n_items, (600,))
r = (U[u] * I[i]).sum(1) + 0.1 * torch.randn(600)


class MF(nn.Module):
    def __init__(self, sparse):
        super().__init__()
        self.u = nn.Embedding(n_users, k, sparse=sparse)
        self.i = nn.Embedding(n_items, k, sparse=sparse)
        self.ub = nn.Embedding(n_users, 1, sparse=sparse)
        self.ib = nn.Embedding(n_items, 1, sparse=sparse)
        for e in (self.u, self.i):
            nn.init.normal_(e.weight, std=0.1)
        for e in (self.ub, self.ib):
            nn.init.zeros_(e.weight)

    def forward(self, u, i):
        return (self.u(u) * self.i(i)).sum(1) + self.ub(u).squeeze() + self.ib(i).squeeze()


for sparse, O, kw in (
    (True, torch.optim.SparseAdam, {"lr": 0.05}),
    (True, torch.optim.Adagrad, {"lr": 0.3}),
    (True, torch.optim.SGD, {"lr": 2.0}),
    (False, torch.optim.Adam, {"lr": 0.05}),
):
    torch.manual_seed(1)
    m = MF(sparse)
    o = O(list(m.parameters()), **kw)
    print(o)
    for ep in range(4):
        t = 0
        for bu, bi, br in DataLoader(TensorDataset(u, i, r), 100, shuffle=True):
            l = nn.functional.mse_loss(m(bu, bi), br)
            o.zero_grad()
            l.backward()
            o.step()
            t += l.item() * len(bu)
        print(ep, f"{t / 600:.4f}")
    g = m.u.weight.grad
    print(type(o).__name__, g.layout, g.is_sparse, (g._nnz(), g.is_coalesced()) if g.is_sparse else None)
eb = nn.EmbeddingBag(10, 3, mode="mean", sparse=True)
print(eb(torch.tensor([1, 2, 4, 5, 4, 3]), torch.tensor([0, 2, 5])), eb)
e = nn.Embedding(10, 3, padding_idx=0, max_norm=1.0)
print(e(torch.tensor([[0, 2], [3, 4]])).norm(dim=-1))
print(nn.Embedding.from_pretrained(torch.eye(3)))
try:
    m = MF(True)
    torch.optim.Adam(m.parameters())
    m(u, i).sum().backward()
    torch.optim.Adam(m.parameters()).step()
except Exception as ex:
    print(type(ex).__name__, ex)
