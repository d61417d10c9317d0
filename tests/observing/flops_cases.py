"""Multiplications and additions, by module and operation: programs of one line."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from tests.recording import Table, attempted

PROGRAMS = """
counted(lambda: F.linear(x, w, b).sum().backward())
counted(lambda: F.linear(x.detach(), w, b).sum().backward())
counted(lambda: F.conv2d(im, k, stride=2).sum().backward())
counted(lambda: F.conv2d(im.detach(), k, stride=2, padding=1).sum().backward())
counted(lambda: F.conv2d(im, k[:, :2], groups=2, dilation=2))
counted(lambda: F.conv2d(im, k[:, :2], groups=2).sum().backward())
counted(lambda: F.conv1d(im[0], k[:, 0].repeat(1, 2, 1)).sum().backward())
counted(lambda: F.conv_transpose2d(im, k.transpose(0, 1), stride=2).sum().backward())
counted(lambda: F.conv_transpose2d(im, k[:4], padding=1, output_padding=0))
counted(lambda: F.scaled_dot_product_attention(q, q, q))
counted(lambda: F.scaled_dot_product_attention(q, q, q).sum().backward())
counted(lambda: t.bmm(q[0], q[0].mT).sum().backward())
counted(lambda: (q @ q.mT).sum().backward())
counted(lambda: t.einsum("bhic,bhjc->bhij", q, q))
counted(lambda: t.baddbmm(t.ones(2, 3, 3), q[0], q[0].mT).sum().backward())
counted(lambda: t.tensordot(x, w, ([1], [1])))
counted(lambda: (w.mv(t.ones(4)), t.dot(b, b), t.addmv(b, w, t.ones(4)), t.outer(b, b), x + x, x.relu(), x.sum()))
counted(lambda: t.nn.MultiheadAttention(4, 2)(*[t.ones(3, 1, 4)] * 3)[0].sum().backward())
counted(lambda: net(t.ones(2, 1, 4, 4)).sum().backward())
counted(lambda: net(t.ones(2, 1, 4, 4, requires_grad=True)).sum().backward())
counted(lambda: t.utils.checkpoint.checkpoint(net, t.ones(2, 1, 4, 4, requires_grad=True), use_reentrant=False).sum().backward())
counted(lambda: t.no_grad()(net)(t.ones(2, 1, 4, 4)))
counted(lambda: (x + x, x.relu()), custom_mapping={t.ops.aten.add: lambda *a, out_shape=None, **k: 7 * len(out_shape)})
[counted(lambda: x @ x.T, mods=net), counted(lambda: None)]
twice()
tracked(lambda: net(t.ones(2, 1, 4, 4)).sum().backward())
(C.mm_flop(t.ones(2, 3), t.ones(3, 4)), C.bmm_flop((1, 2, 3), (1, 3, 4)), C.conv_flop_count([1, 2, 6, 6], [4, 2, 3, 3], [1, 4, 4, 4]))
C.conv_flop_count([1, 2, 6, 6], [2, 4, 3, 3], [1, 4, 8, 8], transposed=True)
C.mm_flop((2, 3), (4, 5))
C.bmm_flop((2, 3, 4), (1, 4, 5))
C.bmm_flop((2, 3, 4), (2, 5, 5))
C.mm_flop((0, 3), (3, 5))
C.sdpa_flop_count((1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 6))
C.sdpa_flop_count((1, 3, 3, 4), (1, 2, 5, 4), (1, 2, 5, 6))
C.sdpa_flop_count((1, 3, 3, 4), (1, 3, 5, 4), (1, 2, 5, 6))
C.register_flop_formula(3)(lambda x: x)
C.register_flop_formula(t.ops.aten.mm)(lambda x: x)
[C.get_suffix_str(n) for n in (0, 9, 12345, 10 ** 9, 10 ** 30)]
[C.convert_num_with_suffix(1234567, s) for s in C.suffixes], C.convert_to_percent_str(1, 3), C.convert_to_percent_str(1, 0)
C.convolution_backward if False else C.conv_backward_flop((3, 8, 4, 4), (3, 4, 6, 6), (8, 4, 3, 3), *[None] * 7)
"""


def outcome(torch: Any, program: str) -> Any:
    """What a program gives, or the error."""
    C, T = [importlib.import_module(f"{torch.__name__}.utils.{m}") for m in ("flop_counter", "module_tracker")]
    importlib.import_module(f"{torch.__name__}.utils.checkpoint")

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.c, self.r = torch.nn.Conv2d(1, 2, 3), torch.nn.GRU(2, 2)
            self.s = torch.nn.Sequential(torch.nn.Linear(8, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))

        def forward(self, x: Any) -> Any:
            return self.r(self.s(torch.relu(self.c(x)).flatten(1))[None])[0]

    def told(mode: Any) -> Any:
        return [mode.get_total_flops(), {k: {str(op): n for op, n in sorted(v.items(), key=lambda item: str(item[0]))}
                                         for k, v in sorted(mode.get_flop_counts().items())}]

    def counted(function: Any, **options: Any) -> Any:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with C.FlopCounterMode(display=False, **options) as mode:
                function()
        return [*told(mode), [str(w.message) for w in warned]]

    def twice() -> Any:
        mode = C.FlopCounterMode(display=False)
        found = []
        for _ in range(2):
            with mode:
                x @ x.T
            found.append(told(mode))
        return found

    def tracked(function: Any) -> Any:
        tracker, seen = T.ModuleTracker(), []
        hooks = [m.register_forward_hook(lambda *a: seen.append((sorted(tracker.parents), tracker.is_bw))) for m in net.modules()]
        with tracker:
            function()
        [h.remove() for h in hooks]
        return [seen, sorted(tracker.parents)]

    net, ones = Net(), torch.ones
    x, w, b, q, im, k = [ones(*s, requires_grad=True) for s in ((3, 4), (5, 4), (5,), (2, 2, 3, 4), (3, 4, 6, 6), (8, 4, 3, 3))]
    here = {"t": torch, "F": torch.nn.functional, "C": C, "net": net, "x": x, "w": w, "b": b, "q": q, "im": im, "k": k, "counted": counted,
            "twice": twice, "tracked": tracked}
    return attempted(lambda: eval(program, here))


TABLE = Table("flops", PROGRAMS.strip().splitlines(), outcome)
