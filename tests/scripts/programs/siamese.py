"""Losses that compare pairs and triplets of examples."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(6, 8)
centers = torch.randn(4, 8)


def sample(n):
    y = torch.randint(4, (n,))
    return centers[y] + 0.4 * torch.randn(n, 8), y


enc = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 4))
opt = torch.optim.NAdam(enc.parameters(), lr=0.01)
trip = nn.TripletMarginLoss(margin=1.0, p=2, swap=True)
cos = nn.CosineEmbeddingLoss(margin=0.2)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=2.0):
        super().__init__()
        self.margin = margin

    def forward(self, a, b, label):
        d = F.pairwise_distance(a, b, keepdim=True)
        return torch.mean((1 - label) * torch.pow(d, 2) + label * torch.pow(torch.clamp(self.margin - d, min=0.0), 2))


def nt_xent(a, b, t=0.5):
    z = F.normalize(torch.cat([a, b]), dim=1)
    sim = z @ z.T / t
    sim.fill_diagonal_(float("-inf"))
    n = len(a)
    return F.cross_entropy(sim, torch.cat([torch.arange(n, 2 * n), torch.arange(n)]))


con = ContrastiveLoss()
for i in range(20):
    a, ya = sample(16)
    b, yb = sample(16)
    c, yc = sample(16)
    za, zb, zc = map(enc, (a, b, c))
    lab = (ya != yb).float().unsqueeze(1)
    ls = [
        con(za, zb, lab),
        trip(za, zb, zc),
        cos(za, zb, torch.where(ya == yb, 1, -1)),
        nt_xent(za, enc(a + 0.1 * torch.randn_like(a))),
        F.margin_ranking_loss(F.cosine_similarity(za, zb), F.cosine_similarity(za, zc), torch.sign(torch.randn(16)), margin=0.1),
        nn.TripletMarginWithDistanceLoss(distance_function=lambda p, q: 1 - F.cosine_similarity(p, q))(za, zb, zc),
    ]
    loss = torch.stack(ls).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 4 == 0:
        print(i, [f"{l:.4f}" for l in ls], f"{loss.item():.5f}")
a, ya = sample(8)
d = torch.cdist(enc(a), enc(a))
print(d.topk(3, largest=False))
print((ya[d.argsort(1)[:, 1]] == ya).sum())
print(F.pdist(enc(a)).shape, torch.nn.functional.hinge_embedding_loss(d, torch.where(ya[:, None] == ya, 1.0, -1.0)))
