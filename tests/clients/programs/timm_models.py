"""Small models of twelve families trained for two steps; features, heads, frozen and shared parts; five of its optimizers and
schedules, mixed pictures, averaged weights, losses, transforms, positions resized, models saved and loaded."""

import random
import tempfile

import numpy as np
import timm
import torch
from PIL import Image
from timm import data, layers, loss, optim, scheduler, utils

PACKAGES = ("timm",)
SMALL = {"img_size": 32}
MODELS = {
    "resnet10t": {}, "vit_tiny_patch16_224": {**SMALL, "depth": 2}, "convnext_atto": {"depths": (1, 1, 1, 1), "dims": (8, 16, 16, 24)},
    "mobilenetv3_small_050": {}, "efficientnet_lite0": {}, "densenet121": {"growth_rate": 8, "block_config": (2, 2, 2, 2)},
    "swin_tiny_patch4_window7_224": {"img_size": 56, "depths": (2, 2), "embed_dim": 24, "num_heads": (2, 4)}, "ghostnet_050": {},
    "cait_xxs24_224": {**SMALL, "depth": 2, "embed_dim": 32, "num_heads": 2},
    "xcit_nano_12_p16_224": {**SMALL, "depth": 2, "embed_dim": 32},
    "beit_base_patch16_224": {**SMALL, "depth": 2, "embed_dim": 32, "num_heads": 2}, "eva02_tiny_patch14_224": {"img_size": 28, "depth": 2}}

SWAYED = ("efficientnet_lite0",)
"""Its norms of batches divide by the spread of four numbers, so that in float32 gradients on torch are a hundredth off those in double
precision; of float32 the loss of the first step is told."""


def images(size: int = 32, count: int = 4) -> torch.Tensor:
    return torch.randn(count, 3, size, size, generator=torch.Generator().manual_seed(1))


def trained(name: str) -> list:
    """Two steps in float32, the gradients' norm, and the scores after them; in double precision weights too, which rounding sways less."""
    found, size = [], MODELS[name].get("img_size", 64)
    for dtype in (torch.float32, torch.float64):
        torch.manual_seed(0)
        model = timm.create_model(name, num_classes=4, **MODELS[name]).to(dtype)
        optimizer, losses = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9), []
        for _ in range(2):
            now = torch.nn.functional.cross_entropy(model(images(size).to(dtype)), torch.arange(4))
            optimizer.zero_grad()
            now.backward()
            losses.append([now.item(), torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).item()])
            optimizer.step()
        found.append(losses[0][:1] if name in SWAYED and dtype == torch.float32 else losses)
    with torch.no_grad():
        return [*found, list(model.parameters())[::7], model.eval()(images(size).double()), sum(p.numel() for p in model.parameters())]


def features() -> list:
    torch.manual_seed(0)
    model = timm.create_model("resnet10t", features_only=True, out_indices=(1, 2, 3)).eval()
    vit = timm.create_model("vit_tiny_patch16_224", img_size=32, depth=3, num_classes=0).eval()
    with torch.no_grad():
        final, between = vit.forward_intermediates(images(), indices=[0, 2], norm=True)
        return [model.feature_info.channels(), model.feature_info.reduction(), model(images()), vit(images()), final, between,
                vit.forward_head(vit.forward_features(images()), pre_logits=True)]


def changed() -> list:
    torch.manual_seed(0)
    model = timm.create_model("vit_tiny_patch16_224", img_size=32, depth=2, num_classes=4, drop_path_rate=0.2, drop_rate=0.1)
    model.set_grad_checkpointing()
    now = model(images()).sum()
    now.backward()
    gradient = model.patch_embed.proj.weight.grad.clone()
    model.reset_classifier(7, "avg")
    utils.freeze(model, "blocks.0")
    groups = optim.param_groups_layer_decay(model, 0.05, layer_decay=0.7)
    wide = layers.resample_abs_pos_embed(model.pos_embed, (4, 4))
    with tempfile.TemporaryDirectory() as folder:
        torch.save(model.state_dict(), f"{folder}/m.pth")
        again = timm.create_model("vit_tiny_patch16_224", img_size=32, depth=2, num_classes=7, checkpoint_path=f"{folder}/m.pth").eval()
    return [now.item(), gradient, model(images()).shape, [[g["lr_scale"], len(g["params"]), g["weight_decay"]] for g in groups], wide,
            again(images()).detach(), [n for n, p in model.named_parameters() if not p.requires_grad]]


def optimized() -> dict:
    found = {}
    for name in ("adamw", "lamb", "lion", "nadamw", "adabelief", "adan", "lookahead_sgd", "madgrad", "rmsproptf", "adafactor", "lars",
                 "muon", "mars"):
        torch.manual_seed(0)
        model = timm.create_model("test_vit", num_classes=4, img_size=32)
        optimizer = optim.create_optimizer_v2(model, name, lr=1e-3, weight_decay=0.05, filter_bias_and_bn=True)
        found[name] = []
        for _ in range(3):
            now = torch.nn.functional.cross_entropy(model(images()), torch.arange(4))
            optimizer.zero_grad()
            now.backward()
            optimizer.step()
            found[name].append(now.item())
    return found


def scheduled() -> dict:
    found = {}
    for kind, more in {"CosineLR": {"t_initial": 10, "cycle_limit": 2}, "StepLR": {"decay_t": 3}, "TanhLR": {"t_initial": 10},
                       "PolyLR": {"t_initial": 10}, "MultiStepLR": {"decay_t": [2, 5]}, "PlateauLR": {"patience_t": 1}}.items():
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 0.1)
        schedule = getattr(scheduler, f"{kind}Scheduler")(optimizer, warmup_t=2, warmup_lr_init=1e-3, **more)
        found[kind] = []
        for epoch in range(12):
            schedule.step(epoch, 1.0)
            found[kind].append(optimizer.param_groups[0]["lr"])
    return found


def mixed() -> list:
    np.random.seed(0), torch.manual_seed(0)
    mix = data.Mixup(0.8, 1.0, label_smoothing=0.1, num_classes=4)
    found = [mix(images(count=4), torch.arange(4)) for _ in range(3)]
    model = timm.create_model("test_vit", num_classes=4, img_size=32)
    average, optimizer, losses = utils.ModelEmaV3(model, 0.5), torch.optim.AdamW(model.parameters(), 1e-3), []
    for step, (x, y) in enumerate(found):
        now = loss.SoftTargetCrossEntropy()(model(x), y)
        optimizer.zero_grad()
        now.backward()
        utils.dispatch_clip_grad(model.parameters(), 0.02, mode="agc")
        optimizer.step()
        average.update(model, step)
        losses.append(now.item())
    x, y = torch.randn(5, 4), torch.arange(5) % 4
    other = [loss.LabelSmoothingCrossEntropy(0.1)(x, y), loss.BinaryCrossEntropy(0.1)(x, y),
             loss.AsymmetricLossMultiLabel()(x, torch.eye(5, 4)), utils.accuracy(x, y, (1, 2))]
    return [found, losses, average.module(images()).detach(), other]


def transformed() -> list:
    picture = Image.fromarray((np.arange(48 * 40 * 3) * 7 % 251).reshape(48, 40, 3).astype("uint8"))
    found = []
    for options in ({}, {"is_training": True, "auto_augment": "rand-m9-mstd0.5-inc1", "re_prob": 1.0, "color_jitter": 0.4},
                    {"is_training": True, "auto_augment": "original", "hflip": 1.0}, {"crop_mode": "border", "crop_pct": 1.0}):
        torch.manual_seed(3), np.random.seed(3)

        random.seed(3)
        found.append(data.create_transform(32, **options)(picture))
    return [found, data.resolve_data_config({}, model=timm.create_model("test_vit"))]


def listed() -> list:
    return [len(timm.list_models()), timm.list_models("resnet1*"), timm.is_model("vit_tiny_patch16_224"),
            sorted(timm.get_pretrained_cfg("resnet10t").to_dict())[:10], repr(timm.create_model("test_vit", img_size=32)).splitlines()[:20]]


CASES = {**{name: lambda name=name: trained(name) for name in MODELS}, "features": features, "changed": changed, "optimizers": optimized,
         "schedules": scheduled, "mixed pictures": mixed, "transforms": transformed, "listed": listed}
