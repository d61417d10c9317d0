"""Medical volumes: twelve networks trained for three steps, their losses and measures; transforms of arrays and dictionaries, at random,
undone and lazy; tensors that know where they lie; sliding windows, caches, engines that train and evaluate, blocks, diffusion."""

import tempfile
from pathlib import Path

import monai

import torch
from monai import data, inferers, losses, metrics, transforms
from monai.networks import blocks, nets

PACKAGES = ("monai",)
CLOSE = 1e-4
NETWORKS = {
    "unet": lambda: nets.UNet(2, 1, 2, (4, 8, 16), (2, 2), num_res_units=1),
    "unet in three": lambda: nets.UNet(3, 1, 2, (4, 8), (2,), norm="batch"),
    "basic": lambda: nets.BasicUNet(2, 1, 2, (4, 4, 8, 8, 8, 4)),
    "attention": lambda: nets.AttentionUnet(2, 1, 2, (4, 8), (2,)), "segres": lambda: nets.SegResNet(2, 8, 1, 2),
    "dyn": lambda: nets.DynUNet(
        2, 1, 2, [3, 3, 3], [1, 2, 2], [2, 2], filters=[4, 8, 8]), "unetr": lambda: nets.UNETR(1, 2, (32, 32), 4, 24, 32, 2,
            spatial_dims=2),
    "coder": lambda: nets.AutoEncoder(2, 1, 2, (4, 8), (2, 2))}
CLASSES = {
    "densenet": lambda: nets.DenseNet(2, 1, 3, 8, 4, (2, 2)), "resnet": lambda: nets.ResNet("basic", [1, 1, 1, 1], [4, 8, 8, 16], 2, 1,
        num_classes=3),
    "vit": lambda: nets.ViT(1, (32, 32), (8, 8), 16, 32, 2, 2, "conv", classification=True, num_classes=3, spatial_dims=2),
    "efficientnet": lambda: nets.EfficientNetBN("efficientnet-b0", False, spatial_dims=2, in_channels=1, num_classes=3)}


def volumes(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed))


def trained(name: str) -> list:
    """In float32 losses; in double precision the weights too."""
    found, classes = [], name in CLASSES
    # The norms of batches in its forty layers magnify rounding, the more the fewer numbers they are of: with two pictures of 32 x 32
    # torch's third loss in double precision is 6.9 or 15.1, by the last bit of the pictures.
    deep = name == "efficientnet"
    shape = (8, 1, 64, 64) if deep else (2, 1, 16, 16, 16) if "three" in name else (2, 1, 32, 32)
    kinds = torch.arange(shape[0]) % 3 if deep else torch.tensor([0, 2]) if classes else (volumes(*shape, seed=1) > 0.5).long()
    for dtype in (torch.float64,) if deep else (torch.float32, torch.float64):
        torch.manual_seed(0)
        model = (CLASSES | NETWORKS)[name]().to(dtype)
        optimizer, told = torch.optim.SGD(model.parameters(), 1e-2, momentum=0.9), []
        loss_of = torch.nn.CrossEntropyLoss() if classes else losses.DiceCELoss(to_onehot_y=True, softmax=True)
        for _ in range(3):
            scores = model(volumes(*shape).to(dtype))
            scores = scores[0] if isinstance(scores, (list, tuple)) else scores
            loss = loss_of(scores, kinds)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            told.append(loss.item())
        found.append(told)
    return [*found, [p.detach() for p in model.parameters()][::5], scores.detach()]


LOSSES = {
    "dice": losses.DiceLoss(sigmoid=True, squared_pred=True), "general": losses.GeneralizedDiceLoss(sigmoid=True),
    "focal": losses.FocalLoss(gamma=1.5), "both":
    losses.DiceFocalLoss(sigmoid=True), "tversky": losses.TverskyLoss(sigmoid=True), "hausdorff": losses.HausdorffDTLoss(sigmoid=True),
    "contour": losses.SSIMLoss(2), "local": losses.LocalNormalizedCrossCorrelationLoss(2), "mutual": losses.GlobalMutualInformationLoss(),
    "bending": losses.BendingEnergyLoss(), "unified": losses.AsymmetricUnifiedFocalLoss(), "cldice": losses.SoftDiceclDiceLoss(),
    "spectral": losses.JukeboxLoss(2),
    "contrast": losses.BarlowTwinsLoss()}


def lost() -> dict:
    found = {}
    for name, loss in LOSSES.items():
        x, y = volumes(2, 2, 12, 12).requires_grad_(), (volumes(2, 2, 12, 12, seed=1) > 0.5).float()
        given = (x,) if name == "bending" else (x.flatten(1), y.flatten(1)) if name == "contrast" else (x, y)
        value = loss(*given)
        found[name] = [value, torch.autograd.grad(value.sum(), x)[0]]
    return found


def measured() -> dict:
    x, y = (volumes(3, 2, 12, 12) > 0.5).float(), (volumes(3, 2, 12, 12, seed=1) > 0.5).float()
    found = {}
    for measure in (metrics.DiceMetric(reduction="mean_batch"), metrics.HausdorffDistanceMetric(percentile=95), metrics.MeanIoU(),
                    metrics.SurfaceDistanceMetric(),
                    metrics.SurfaceDiceMetric([1.0]), metrics.GeneralizedDiceScore(), metrics.ConfusionMatrixMetric(metric_name="f1 score"),
                    metrics.RMSEMetric(),
                    metrics.PSNRMetric(1.0), metrics.SSIMMetric(2, win_size=5), metrics.MAEMetric()):
        measure(x, y)
        value = measure.aggregate()
        found[type(measure).__name__] = value[0] if isinstance(value, (list, tuple)) else value
    scores = torch.rand(8, 2, generator=torch.Generator().manual_seed(0))
    area = metrics.ROCAUCMetric()
    area(list(scores), list(torch.eye(2)[torch.arange(8) % 2]))
    return found | {"roc": area.aggregate(), "fid": metrics.FIDMetric()(volumes(20, 6), volumes(20, 6, seed=1)),
                    "mmd": metrics.MMDMetric()(x, y)}


STEPS = {
    "flip": transforms.RandFlip(1.0, 0), "turn": transforms.RandRotate90(1.0), "rotate": transforms.RandRotate(0.5, prob=1.0),
    "zoom": transforms.RandZoom(1.0, 0.7, 1.3),
    "affine": transforms.RandAffine(1.0, 0.3, 0.1, 2.0, 0.1, padding_mode="zeros"),
    "elastic": transforms.Rand2DElastic((8, 8), (1, 2), prob=1.0, padding_mode="zeros"),
    "noise": transforms.RandGaussianNoise(1.0), "smooth": transforms.RandGaussianSmooth(prob=1.0),
    "sharpen": transforms.RandGaussianSharpen(prob=1.0),
    "contrast": transforms.RandAdjustContrast(1.0), "bias": transforms.RandBiasField(prob=1.0), "gibbs": transforms.RandGibbsNoise(1.0),
    "spike": transforms.RandKSpaceSpikeNoise(1.0),
    "crop": transforms.RandSpatialCrop((12, 12), random_size=False), "samples": transforms.RandSpatialCropSamples((8, 8), 3,
        random_size=False), "histogram":
    transforms.RandHistogramShift(prob=1.0), "dropout": transforms.RandCoarseDropout(2, 4, prob=1.0),
    "distort": transforms.RandGridDistortion(prob=1.0), "rician":
    transforms.RandRicianNoise(1.0), "shift": transforms.RandShiftIntensity(0.3, prob=1.0),
    "std": transforms.RandStdShiftIntensity(0.3, 1.0), "smooth field": transforms.RandSmoothFieldAdjustContrast((20, 18), (4, 4), prob=1.0),
    "resize": transforms.Resize((15, 16)),
    "spacing": transforms.Spacing((1.5, 2.0)),
    "pad": transforms.SpatialPad((24, 24), mode="reflect"),
    "divide": transforms.DivisiblePad(7), "foreground": transforms.CropForeground(
        lambda x: x > 0.95), "normal": transforms.NormalizeIntensity(nonzero=True),
        "range": transforms.ScaleIntensityRangePercentiles(5, 95, 0, 1, clip=True), "median":
    transforms.MedianSmooth(1), "savitzky": transforms.SavitzkyGolaySmooth(5, 2), "hilbert": transforms.DetectEnvelope(),
    "sobel": transforms.SobelGradients(), "fft": transforms.GibbsNoise(0.5),
    "grid": transforms.GridPatch((8, 8)), "holes": transforms.FillHoles(), "largest": transforms.KeepLargestConnectedComponent(),
    "edges": transforms.LabelToContour(), "discrete":
    transforms.AsDiscrete(threshold=0.5), "map": transforms.DistanceTransformEDT()}


def stepped() -> dict:
    found = {}
    for name, step in STEPS.items():
        x = data.MetaTensor(volumes(1, 20, 18), affine=torch.diag(torch.tensor([1.0, 1.5, 1, 1])))
        if isinstance(step, transforms.Randomizable):
            step.set_random_state(3)
        if name in ("holes", "largest", "edges", "map"):
            x = (x > 0.4).float()
        y = step(x)
        y = torch.stack(list(y)) if isinstance(y, list) else y
        found[name] = [type(y).__name__, torch.as_tensor(y), getattr(y, "affine", None)]
    return found


def by_names() -> list:
    monai.utils.set_determinism(5)
    steps = transforms.Compose([
        transforms.EnsureChannelFirstd(["image", "label"], channel_dim="no_channel"), transforms.ScaleIntensityd("image"),
        transforms.Spacingd(["image", "label"], (1.2, 0.8), mode=(
            "bilinear", "nearest")), transforms.RandAffined(["image", "label"], None, 1.0, 0.3, mode=("bilinear", "nearest"),
                padding_mode="zeros"), transforms.RandCropByPosNegLabeld(
                ["image", "label"], "label", (12, 12), num_samples=2), transforms.RandFlipd(["image", "label"], 0.5),
                transforms.AsDiscreted("label", to_onehot=2)])
    steps.set_random_state(1)
    given = {"image": data.MetaTensor(volumes(20, 18), affine=torch.eye(3)),
             "label": data.MetaTensor((volumes(20, 18) > 0.6).float(), affine=torch.eye(3))}
    found = steps(given)
    lazy = transforms.Compose([transforms.EnsureChannelFirst(channel_dim="no_channel"), transforms.Rotate(0.3),
                               transforms.Resize((16, 16))], lazy=True)
    whole = transforms.Compose([transforms.EnsureChannelFirst(channel_dim="no_channel"), transforms.Rotate(0.3),
                                transforms.Resize((16, 16))])
    turned = whole(given["image"])
    return [[{key: [value, value.affine] for key, value in row.items()} for row in found], lazy(given["image"]), turned,
            whole.inverse(turned).shape, [
        op["class"] for op in turned.applied_operations]]


def placed() -> list:
    x = data.MetaTensor(volumes(1, 6, 6), affine=torch.eye(4), meta={"name": "a"})
    return [type(x + 1).__name__, (x * 2).meta["name"], x[0].shape, torch.stack([x, x]).affine.shape, type(x.as_tensor()).__name__,
            x.mean().item(), repr(x.pixdim), type(
        torch.nn.functional.conv2d(x, torch.ones(1, 1, 3, 3))).__name__,
        data.decollate_batch(data.list_data_collate([{"i": x}, {"i": x}]))[1]["i"].meta["name"], x.clone().affine, type(
        torch.cat([x, x])).__name__, x.numpy().sum(), x.to(torch.float64).dtype, list(data.MetaTensor(x.unsqueeze(0)).shape)]


def windowed() -> list:
    torch.manual_seed(0)
    model, x = NETWORKS["unet"]().eval(), volumes(1, 1, 40, 36)
    with torch.no_grad():
        found = [inferers.sliding_window_inference(x, (16, 16), 3, model, overlap, mode) for overlap,
                 mode in ((0.25, "constant"), (0.5, "gaussian"))]
        found.append(inferers.SliceInferer(spatial_dim=2, roi_size=(16, 16))(volumes(1, 1, 20, 20, 3), model))
        found.append(inferers.PatchInferer(inferers.SlidingWindowSplitter((20, 12)), inferers.AvgMerger)(x, model))
    classes = CLASSES["resnet"]()
    cam = monai.visualize.GradCAM(classes, "layer2")(volumes(1, 1, 32, 32))
    return [found, cam, monai.visualize.OcclusionSensitivity(classes.eval(), 8, activate=False)(volumes(1, 1, 32, 32))[0]]


def looped() -> list:
    monai.utils.set_determinism(2)
    rows = [{"image": volumes(1, 16, 16, seed=i), "label": (volumes(1, 16, 16, seed=i) > 0.6).float()} for i in range(8)]
    steps = transforms.Compose([transforms.ScaleIntensityd("image"), transforms.RandRotate90d(["image", "label"], 0.5),
                                transforms.ToTensord(["image", "label"])])
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for build in (data.Dataset, lambda d, t: data.CacheDataset(d, t, progress=False), lambda d, t: data.PersistentDataset(d, t, folder),
                      lambda d, t: data.SmartCacheDataset(
                d, t, 0.5, 4, progress=False)):
            monai.utils.set_determinism(2)
            torch.manual_seed(2)
            model = nets.UNet(2, 1, 1, (4, 8), (2,))
            optimizer, score = monai.optimizers.Novograd(model.parameters(), 1e-2), metrics.DiceMetric()
            for batch in data.DataLoader(build(rows, steps), batch_size=4, shuffle=True):
                loss = losses.DiceLoss(sigmoid=True)(model(batch["image"]), batch["label"])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                found.append(loss.item())
                score(model(batch["image"]) > 0, batch["label"])
            found.append(score.aggregate().item())
        files = len(list(Path(folder).iterdir()))
    rates = monai.optimizers.WarmupCosineSchedule(torch.optim.SGD(model.parameters(), 0.1), 2, 10)
    return [found, files, [rates.step() or rates.get_last_lr()[0] for _ in range(6)],
            [list(part) for part in data.partition_dataset(list(range(7)), [2, 1], shuffle=True)]]


def parts() -> list:
    torch.manual_seed(0)
    x = volumes(2, 4, 8, 8)
    layers = {"residual": blocks.ResidualUnit(2, 4, 6), "squeeze": blocks.ChannelSELayer(2, 4),
              "convolution": blocks.Convolution(2, 4, 4, adn_ordering="NDA", dropout=0.1),
              "upsample": blocks.UpSample(2, 4, 4, 2, mode="pixelshuffle"), "self": blocks.TransformerBlock(4, 8, 2), "warp": blocks.Warp(),
              "aspp": blocks.SimpleASPP(2, 4, 4),
              "mlp": blocks.MLPBlock(4, 8)}
    found = {}
    for name, layer in layers.items():
        given = (x.flatten(2).transpose(1, 2),) if name in ("self", "mlp") else (x, 0.5 * volumes(2, 2, 8, 8)) if name == "warp" else (x,)
        found[name] = layer(*given)
    near = monai.networks.layers
    smooth = near.GaussianFilter(2, 1.5)(x), near.HilbertTransform(2)(x), near.SavitzkyGolayFilter(3, 2)(x)
    return [found, smooth, monai.networks.one_hot(torch.tensor([[[0, 2]]]), 3), monai.networks.utils.pixelshuffle(x, 2, 2)]


def diffused() -> list:
    torch.manual_seed(0)
    model = nets.DiffusionModelUNet(2, 1, 1, (1, 1), (4, 8), (False, True), num_head_channels=4, norm_num_groups=4)
    scheduler, optimizer, told = monai.networks.schedulers.DDPMScheduler(20), torch.optim.SGD(model.parameters(), 1e-2), []
    way = inferers.DiffusionInferer(scheduler)
    for _ in range(3):
        noise = torch.randn(2, 1, 8, 8)
        loss = torch.nn.functional.mse_loss(way(volumes(2, 1, 8, 8), model, noise, torch.randint(0, 20, (2,))), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        told.append(loss.item())
    scheduler.set_timesteps(5)
    drawn = way.sample(torch.randn(1, 1, 8, 8), model, scheduler, verbose=False)
    coder = nets.AutoencoderKL(2, 1, 1, (1, 1), (4, 4), (False, False), 2, 4)
    with torch.no_grad():
        return [told, drawn.detach(), coder(volumes(1, 1, 16, 16))]


CASES = {**{name: lambda name=name: trained(name) for name in NETWORKS | CLASSES}, "losses": lost, "measures": measured,
         "transforms": stepped,
         "by names": by_names, "where tensors lie": placed, "windows": windowed, "data sets": looped, "parts": parts, "diffusion": diffused}
