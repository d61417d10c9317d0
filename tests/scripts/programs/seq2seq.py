"""Reversing sequences: packed GRUs, attention, teacher forcing."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

random.seed(0)
torch.manual_seed(0)
SOS, EOS, PAD = 0, 1, 2
V = 14


class Encoder(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.embedding = nn.Embedding(V, h, padding_idx=PAD)
        self.gru = nn.GRU(h, h, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(2 * h, h)

    def forward(self, src, lengths):
        packed = pack_padded_sequence(self.embedding(src), lengths.cpu(), batch_first=True, enforce_sorted=False)
        out, h = self.gru(packed)
        out, l = pad_packed_sequence(out, batch_first=True, padding_value=0.0)
        return out, torch.tanh(self.fc(torch.cat((h[-2], h[-1]), dim=1)))


class BahdanauAttention(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.Wa = nn.Linear(h, h)
        self.Ua = nn.Linear(2 * h, h)
        self.Va = nn.Linear(h, 1)

    def forward(self, query, keys, mask):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys))).squeeze(2).unsqueeze(1)
        scores = scores.masked_fill(~mask.unsqueeze(1), float("-inf"))
        weights = F.softmax(scores, dim=-1)
        return torch.bmm(weights, keys), weights


class Decoder(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.embedding = nn.Embedding(V, h)
        self.attention = BahdanauAttention(h)
        self.cell = nn.GRUCell(3 * h, h)
        self.out = nn.Linear(h, V)
        self.dropout = nn.Dropout(0.1)

    def forward(self, enc, h, mask, target=None, steps=8):
        x = torch.full((enc.size(0),), SOS, dtype=torch.long)
        outs, atts = [], []
        for i in range(steps):
            e = self.dropout(self.embedding(x))
            c, w = self.attention(h.unsqueeze(1), enc, mask)
            h = self.cell(torch.cat((e, c.squeeze(1)), dim=1), h)
            o = self.out(h)
            outs.append(o)
            atts.append(w)
            if target is not None and random.random() < 0.5:
                x = target[:, i]
            else:
                _, top = o.topk(1)
                x = top.squeeze(-1).detach()
        return F.log_softmax(torch.stack(outs, 1), -1), torch.cat(atts, dim=1)


def batch(n=32):
    xs = [torch.randint(3, V, (random.randint(3, 7),)) for _ in range(n)]
    src = pad_sequence(xs, batch_first=True, padding_value=PAD)
    tgt = pad_sequence([torch.cat([x.flip(0), torch.tensor([EOS])]) for x in xs], batch_first=True, padding_value=PAD)
    return src, torch.tensor([len(x) for x in xs]), tgt


enc, dec = Encoder(24), Decoder(24)
eo, do = optim.Adam(enc.parameters(), lr=0.005), optim.Adam(dec.parameters(), lr=0.005)
crit = nn.NLLLoss(ignore_index=PAD)
for step in range(1, 17):
    src, l, tgt = batch()
    eo.zero_grad()
    do.zero_grad()
    out, h = enc(src, l)
    logp, att = dec(out, h, src[:, : out.size(1)] != PAD, tgt, tgt.size(1))
    loss = crit(logp.reshape(-1, V), tgt.reshape(-1))
    loss.backward()
    gn = nn.utils.clip_grad_norm_(list(enc.parameters()) + list(dec.parameters()), 1.0)
    eo.step()
    do.step()
    if step % 4 == 0:
        print(step, f"{loss.item():.4f} {gn:.4f}", (logp.argmax(-1) == tgt)[tgt != PAD].float().mean())
enc.eval()
dec.eval()
with torch.no_grad():
    src, l, tgt = batch(3)
    out, h = enc(src, l)
    logp, att = dec(out, h, src != PAD, steps=tgt.size(1))
torch.set_printoptions(precision=3, linewidth=100, sci_mode=False)
print(logp.argmax(-1))
print(att[0])
print(tgt)
