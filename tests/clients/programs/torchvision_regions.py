"""Boxes without those that others cover, pooling of regions, deformable convolutions and their gradients; a detector trained for a step."""

import torch
from torchvision import ops
from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn

PACKAGES = ("torchvision",)
REGIONS = torch.tensor([[0, 1.0, 1, 9, 9], [1, 2, 3, 12, 14.5], [0, -4, -4, 30, 30], [1, 5, 5, 5.2, 5.1], [0, 100, 100, 120, 120]])


def kept() -> list:
    torch.manual_seed(0)
    boxes, scores = torch.rand(60, 4) * 10, torch.rand(60).round(decimals=1)
    boxes[:, 2:] += boxes[:, :2]
    return [[ops.nms(boxes, scores, part).tolist() for part in (0.1, 0.3, 0.7)],
            ops.batched_nms(boxes.double(), scores.double(), torch.arange(60) % 3, 0.3).tolist()]


def pooled() -> dict:
    found = {}
    for name, pool in {
        "roi_align": lambda x: ops.roi_align(x, REGIONS, (3, 2), 0.5, 2, True), "as many as fit": lambda x: ops.roi_align(x, REGIONS, 3),
        "roi_pool": lambda x: ops.roi_pool(x, REGIONS, 3, 0.5), "ps_roi_align": lambda x: ops.ps_roi_align(x, REGIONS, 2, 0.5, 2),
        "ps_roi_pool": lambda x: ops.ps_roi_pool(x, REGIONS, 2),
    }.items():
        torch.manual_seed(0)
        x = torch.randn(2, 8, 14, 16, requires_grad=True)
        y = pool(x)
        found[name] = [y, torch.autograd.grad(y.square().sum(), x)[0]]
    return found


def deformed() -> list:
    torch.manual_seed(0)
    given = [torch.randn(2, 4, 7, 9), 2 * torch.randn(2, 36, 7, 9), torch.randn(6, 2, 3, 3), torch.randn(6), torch.rand(2, 18, 7, 9)]
    x, offset, weight, bias, mask = [t.requires_grad_() for t in given]
    y = ops.deform_conv2d(x, offset, weight, bias, padding=1, mask=mask)
    return [y, *torch.autograd.grad(y.square().sum(), given)]


def refused() -> list:
    found = []
    for call in (lambda: ops.nms(torch.rand(4), torch.rand(4), 0.5), lambda: ops.nms(torch.rand(4, 5), torch.rand(4), 0.5),
                 lambda: ops.roi_align(torch.rand(1, 4, 6, 6).double(), REGIONS[:1], 2),
                 lambda: ops.ps_roi_pool(torch.rand(1, 3, 6, 6), REGIONS[:1], 2)):
        try:
            call()
        except RuntimeError as error:
            found.append(str(error).split("\n")[0])
    return found


def detector() -> list:
    torch.manual_seed(0)
    model = fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=3, min_size=64, max_size=64)
    images, targets = [torch.rand(3, 64, 64)] * 2, [{"boxes": torch.tensor([[4.0, 4, 30, 30]]), "labels": torch.tensor([1])}] * 2
    losses = model(images, targets)
    sum(losses.values()).backward()
    return [losses, model.roi_heads.box_predictor.cls_score.weight.grad]


CASES = {"kept": kept, "pooled": pooled, "deformed": deformed, "refused": refused, "detector": detector}
