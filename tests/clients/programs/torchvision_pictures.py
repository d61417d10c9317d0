"""Pictures: both generations of transforms on tensors, pictures, boxes and masks, at random and not; data sets and their loaders; eight
networks of classes, segments and films trained for two steps; features; drawing, grids, files; detectors, with keypoints and masks."""

import tempfile
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torchvision import datasets, models, ops, tv_tensors, utils
from torchvision import transforms as v1
from torchvision.models import feature_extraction
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

PACKAGES = ("torchvision",)


def picture() -> torch.Tensor:
    return (torch.arange(3 * 40 * 48) * 7 % 251).reshape(3, 40, 48).to(torch.uint8)


def tried(steps: dict, x: object) -> dict:
    found = {}
    for name, step in steps.items():
        torch.manual_seed(4)
        found[name] = step(x)
        if isinstance(found[name], Image.Image):
            found[name] = [found[name].size, found[name].mode, torch.from_numpy(np.array(found[name]))]
    return found


OLD = {
    "resize": v1.Resize((20, 30)), "nearest": v1.Resize(17, v1.InterpolationMode.NEAREST),
    "bicubic": v1.Resize(60, v1.InterpolationMode.BICUBIC),
    "centre": v1.CenterCrop(50), "five": v1.FiveCrop(16), "ten": v1.TenCrop(12), "pad": v1.Pad((2, 3), padding_mode="reflect"),
    "crop": v1.RandomCrop(32, 4), "resized crop": v1.RandomResizedCrop(24), "flip": v1.RandomHorizontalFlip(1.0),
    "grey": v1.RandomGrayscale(1.0),
    "jitter": v1.ColorJitter(0.4, 0.4, 0.4, 0.2), "rotation": v1.RandomRotation(30, v1.InterpolationMode.BILINEAR, expand=True),
    "affine": v1.RandomAffine(20, (0.1, 0.2), (0.8, 1.2), 10), "perspective": v1.RandomPerspective(0.5, 1.0),
    "elastic": v1.ElasticTransform(20.0), "blur": v1.GaussianBlur(5, (0.5, 1.5)), "invert": v1.RandomInvert(1.0),
    "posterize": v1.RandomPosterize(3, 1.0), "solarize": v1.RandomSolarize(100, 1.0), "sharpness": v1.RandomAdjustSharpness(2.0, 1.0),
    "contrast": v1.RandomAutocontrast(1.0), "equalize": v1.RandomEqualize(1.0), "auto": v1.AutoAugment(), "rand": v1.RandAugment(3),
    "trivial": v1.TrivialAugmentWide(), "mix": v1.AugMix(), "float": v1.Compose([v1.ConvertImageDtype(torch.float32), v1.Normalize(
        [0.5] * 3, [0.2] * 3), v1.RandomErasing(1.0)])}


def old() -> list:
    shown = Image.fromarray(picture().permute(1, 2, 0).numpy())
    of_pictures = {name: step for name, step in OLD.items() if name not in ("float", "elastic", "ten", "five")}
    return [tried(OLD, picture()), tried(of_pictures | {"as a tensor": v1.ToTensor()}, shown),
            v1.ToPILImage()(torch.linspace(0, 1, 48).view(3, 4, 4)).getpixel((1, 2)), str(v1.Compose([OLD["affine"], OLD["jitter"]]))]


NEW = {
    "ssd": v2.Compose([v2.RandomPhotometricDistort(p=1.0), v2.RandomZoomOut(fill=3, p=1.0), v2.RandomIoUCrop(),
                       v2.RandomHorizontalFlip(1.0),
                       v2.SanitizeBoundingBoxes(), v2.ToDtype(torch.float32, scale=True)]),
    "affine": v2.RandomAffine(20, (0.1, 0.2), (0.8, 1.2), 10), "perspective": v2.RandomPerspective(0.4, 1.0),
    "rotation": v2.RandomRotation(40, expand=True),
    "elastic": v2.ElasticTransform(20.0), "resize": v2.Resize(20, antialias=True), "short": v2.RandomShortestSize([16, 24], 40),
    "scale": v2.ScaleJitter((32, 32)), "crop": v2.RandomCrop(30, pad_if_needed=True), "resized crop": v2.RandomResizedCrop(20),
    "vertical": v2.RandomVerticalFlip(1.0), "channels": v2.RandomChannelPermutation(),
    "choice": v2.RandomChoice([v2.Pad(2), v2.CenterCrop(20)]),
    "order": v2.RandomOrder([v2.Pad(3), v2.GaussianBlur(3)]), "apply": v2.RandomApply([v2.Grayscale(3)], 0.9)}


def new() -> list:
    boxes = tv_tensors.BoundingBoxes([[2, 3, 20, 30], [5, 5, 40, 35]], format="XYXY", canvas_size=(40, 48), dtype=torch.float32)
    given = {"image": tv_tensors.Image(picture()), "boxes": boxes, "mask": tv_tensors.Mask(picture()[:2] > 120),
             "labels": torch.tensor([1, 2]),
             "note": "kept", "film": tv_tensors.Video(picture().expand(2, 3, 40, 48))}
    found = {}
    for name, step in NEW.items():
        torch.manual_seed(7)
        out = step(given if name != "ssd" else {key: value for key, value in given.items() if key != "film"})
        found[name] = {key: [type(value).__name__, value] for key, value in out.items()}
    torch.manual_seed(1)
    batch, labels = torch.rand(4, 3, 8, 8), torch.tensor([0, 1, 2, 0])
    return [found, v2.MixUp(num_classes=3)(batch, labels), v2.CutMix(num_classes=3)(batch, labels), F.convert_bounding_box_format(
        boxes, new_format=tv_tensors.BoundingBoxFormat.CXCYWH), repr(boxes), type(boxes + 1).__name__, type(tv_tensors.wrap(
            boxes + 1, like=boxes)).__name__, type(given["image"].float()).__name__, v2.GaussianNoise()(batch),
        F.to_image(np.ones((4, 5, 3), np.uint8)).shape, v2.UniformTemporalSubsample(1)(given["film"]).shape]


def loaded() -> list:
    torch.manual_seed(0)
    step = v1.Compose([v1.PILToTensor(), v2.ToDtype(torch.float32, scale=True)])
    fake = datasets.FakeData(10, (3, 8, 8), 4, step)
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("cats", "dogs"):
            Path(folder, kind).mkdir()
            for i in range(3):
                Image.fromarray(picture().permute(1, 2, 0).numpy()[i:i + 16, :20]).save(f"{folder}/{kind}/{i}.png")
        kept = datasets.ImageFolder(folder, step)
        batches = [[x, y] for x, y in torch.utils.data.DataLoader(kept, 2, shuffle=True, generator=torch.Generator().manual_seed(1))]
    return [[[x, y] for x, y in torch.utils.data.DataLoader(fake, 4)], kept.classes, kept.class_to_idx, batches, repr(fake).splitlines()]


NETWORKS = {
    "resnet18": lambda: models.resnet18(num_classes=4), "mobilenet_v3": lambda: models.mobilenet_v3_small(num_classes=4),
    "shufflenet": lambda: models.shufflenet_v2_x0_5(num_classes=4), "densenet": lambda: models.DenseNet(8, (2, 2, 2, 2), 16, num_classes=4),
    "vit": lambda: models.VisionTransformer(32, 16, 2, 2, 16, 32, num_classes=4),
    "swin": lambda: models.SwinTransformer([4, 4], 16, [1, 1], [2, 4], [4, 4], num_classes=4),
    "convnext": lambda: models.ConvNeXt([models.convnext.CNBlockConfig(8, 16, 1), models.convnext.CNBlockConfig(16, None, 1)],
                                        num_classes=4),
    "maxvit": lambda: models.MaxVit((32, 32), 8, 4, [8, 16], [1, 1], 8, 0.1, num_classes=4)}


SWAYED = ("resnet18", "shufflenet")
"""Their norms of batches divide by the spread of four numbers, so that in float32 gradients on torch are up to a hundredth off those in
double precision; of float32 the loss of the first step is told."""


def trained(name: str) -> list:
    """Losses and the gradients' norm in float32 and in double precision, and there some of the weights."""
    found, generator = [], torch.Generator().manual_seed(1)
    x = torch.randn(4, 3, 32, 32, generator=generator)
    for dtype in (torch.float32, torch.float64):
        torch.manual_seed(0)
        model = NETWORKS[name]().to(dtype)
        optimizer, losses = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9), []
        for _ in range(2):
            loss = torch.nn.functional.cross_entropy(model(x.to(dtype)), torch.arange(4))
            optimizer.zero_grad()
            loss.backward()
            losses.append([loss.item(), torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).item()])
            optimizer.step()
        found.append(losses[0][:1] if name in SWAYED and dtype == torch.float32 else losses)
    return [*found, list(model.parameters())[::9], model.eval()(x.double()).detach()]


def dense() -> list:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 32, 32)
    found = []
    for model in (models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=3),):
        out = model(x)["out"]
        torch.nn.functional.cross_entropy(out, torch.arange(2)[:, None, None].expand(2, 32, 32)).backward()
        found.append([out, next(model.parameters()).grad])
    film = models.video.VideoResNet(models.video.resnet.BasicBlock, [models.video.resnet.Conv2Plus1D] * 4, [1, 1, 1, 1],
                                    models.video.resnet.R2Plus1dStem, 3).double()
    y = film(torch.randn(2, 3, 4, 16, 16).double())  # its norms divide by the spread of two numbers, which magnifies rounding 100,000 times
    y.square().sum().backward()
    return [found, y, next(film.parameters()).grad]


def features() -> list:
    torch.manual_seed(0)
    model = models.resnet18(num_classes=4).eval()
    names = feature_extraction.get_graph_node_names(model)
    part = feature_extraction.create_feature_extractor(model, {"layer1": "a", "layer3.0.relu": "b"})
    pyramid = ops.FeaturePyramidNetwork([64, 256], 8)
    found = part(torch.randn(1, 3, 32, 32))
    return [names[0][:12], found, pyramid(found), models.list_models(include="resnet*"), models._utils.IntermediateLayerGetter(
        model, {"layer2": "x"})(torch.ones(1, 3, 32, 32)), models.ResNet18_Weights.DEFAULT.transforms()(picture())]


def drawn() -> list:
    boxes, x = torch.tensor([[2, 2, 12, 14], [8, 6, 30, 24]]), picture()
    points = torch.tensor([[[4, 4], [20, 10], [9, 30]]])
    with tempfile.TemporaryDirectory() as folder:
        utils.save_image(x.float() / 255, f"{folder}/a.png")
        kept = torch.from_numpy(np.array(Image.open(f"{folder}/a.png")))
    return [utils.make_grid(x[None].float().repeat(5, 1, 1, 1), 3, normalize=True, scale_each=True, pad_value=0.5), kept,
            utils.draw_bounding_boxes(x, boxes, colors=["red", "blue"], width=2),
            utils.draw_segmentation_masks(x, x > 200, 0.5, ["red", "blue", "green"]),
            utils.draw_keypoints(x, points, connectivity=[(0, 1), (1, 2)]),
            utils.flow_to_image(torch.randn(2, 8, 8, generator=torch.Generator(
            ).manual_seed(0)))]


def regions() -> list:
    torch.manual_seed(0)
    boxes = torch.rand(6, 4) * 10
    boxes[:, 2:] += boxes[:, :2]
    logits = torch.randn(6, 3, requires_grad=True)
    focal = ops.sigmoid_focal_loss(logits, torch.eye(6, 3), reduction="mean")
    focal.backward()
    torch.manual_seed(1)
    dropped = [ops.drop_block2d(torch.ones(1, 2, 8, 8), 0.2, 3), ops.StochasticDepth(0.5, "row")(torch.ones(6, 2))]
    return [ops.box_iou(boxes, boxes), ops.generalized_box_iou(boxes, boxes), ops.distance_box_iou_loss(boxes, boxes + 1),
            ops.complete_box_iou_loss(
        boxes, boxes + 1), focal, logits.grad, dropped, ops.masks_to_boxes(torch.eye(6).bool()[None]),
        ops.box_convert(boxes, "xyxy", "cxcywh"),
            ops.clip_boxes_to_image(boxes, (8, 9)), ops.remove_small_boxes(boxes, 4.0), ops.SqueezeExcitation(4, 2)(torch.ones(1, 4, 3, 3)),
            ops.MLP(3, [4, 2], torch.nn.LayerNorm)(torch.ones(2, 3)), ops.MultiScaleRoIAlign(["0"], 3, 2)({"0": torch.ones(1, 2, 16, 16)}, [
                boxes], [(16, 16)])]


def detected(name: str) -> list:
    torch.manual_seed(0)
    body = models.detection.backbone_utils.resnet_fpn_backbone(backbone_name="resnet18", weights=None, trainable_layers=5)
    model = {"retina": models.detection.RetinaNet, "fcos": models.detection.FCOS, "masks": models.detection.MaskRCNN,
             "keypoints": lambda *given, **more:
             models.detection.KeypointRCNN(*given, **more, num_keypoints=4)}[name](body, 3, min_size=64, max_size=64)
    images = [torch.rand(3, 64, 64, generator=torch.Generator().manual_seed(i)) for i in range(2)]
    target = {"boxes": torch.tensor([[4.0, 4, 30, 30], [20.0, 10, 60, 50]]), "labels": torch.tensor([1, 2 if name != "keypoints" else 1])}
    if name == "masks":
        target["masks"] = (torch.arange(2 * 64 * 64).view(2, 64, 64) % 5 == 0).to(torch.uint8)
    if name == "keypoints":
        target["keypoints"] = torch.cat([torch.rand(2, 4, 2, generator=torch.Generator().manual_seed(3)) * 20 + 10, torch.ones(2, 4, 1)],
                                        -1)
    losses = model(images, [target] * 2)
    sum(losses.values()).backward()
    # In double precision, since torch's sum of a million squares in float32 is off in its fourth digit.
    norm = torch.stack([p.grad.double().norm() for p in model.parameters() if p.grad is not None]).norm()
    found = model.eval()(images)
    return [losses, norm, [{key: value[:5].detach() for key, value in one.items()} for one in found]]


CASES = {"transforms": old, "transforms of the second kind": new, "data sets": loaded,
         **{name: lambda name=name: trained(name) for name in NETWORKS},
         "dense": dense, "features": features, "drawn": drawn, "regions": regions,
         **{f"detector: {name}": lambda name=name: detected(name) for name in ("retina", "masks", "keypoints")}}
