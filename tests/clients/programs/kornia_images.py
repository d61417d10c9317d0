"""Pictures made differentiable: colours, filters, warps and cameras, thirty-eight random changes with their boxes, masks and points,
features matched between pictures, a homography found by descent, morphology, losses, metrics and gradients through all that."""

import kornia as K
import kornia.augmentation as A
import torch

PACKAGES = ("kornia",)


def picture(count: int = 2, size: int = 24, seed: int = 0) -> torch.Tensor:
    """Waves, with a little noise."""
    generator = torch.Generator().manual_seed(seed)
    rows, shift = torch.arange(size) / size * 9, torch.rand(count, 3, 1, 1, generator=generator) * 6
    waves = torch.sin(rows[:, None] + shift) * torch.cos(rows * 0.7 - shift)
    return (0.5 + 0.4 * waves + 0.05 * torch.randn(count, 3, size, size, generator=generator)).clamp(0, 1)


def with_gradient(call: object) -> list:
    x = picture().requires_grad_()
    y = call(x)
    y = y[0] if isinstance(y, (tuple, list)) else y
    return [y, torch.autograd.grad(y.square().sum(), x)[0] if y.requires_grad else None]


COLOURS = ("hsv", "hls", "lab", "luv", "ycbcr", "yuv", "xyz", "grayscale", "linear_rgb", "bgr", "rgb255")


def colours() -> dict:
    found = {name: with_gradient(lambda x: getattr(K.color, f"rgb_to_{name}")(x)) for name in COLOURS}
    for name in ("hsv", "hls", "lab", "luv", "ycbcr", "yuv", "xyz"):
        found[f"back from {name}"] = getattr(K.color, f"{name}_to_rgb")(getattr(K.color, f"rgb_to_{name}")(picture()))
    return found | {"sepia": K.color.sepia(picture()), "raw": K.color.raw_to_rgb(picture()[:, :1], K.color.CFA.BG),
                    "map": K.color.apply_colormap(
        picture()[:, :1], K.color.ColorMap("viridis", 16))}


FILTERS = {
    "gaussian": lambda x: K.filters.gaussian_blur2d(x, (5, 5), (1.5, 1.2)), "box": lambda x: K.filters.box_blur(x, (3, 3)),
    "median": lambda x: K.filters.median_blur(x, (3, 3)), "motion": lambda x: K.filters.motion_blur(x, 5, 35.0, 0.5),
    "bilateral": lambda x: K.filters.bilateral_blur(x, (3, 3), 0.1, (1.5, 1.5)), "guided": lambda x: K.filters.guided_blur(x, x, 3, 0.1),
    "sobel": K.filters.sobel, "laplacian": lambda x: K.filters.laplacian(x, 3), "gradient": K.filters.spatial_gradient, "canny": lambda x:
    K.filters.canny(x.detach())[1], "unsharp": lambda x: K.filters.unsharp_mask(x, (3, 3), (1.5, 1.5)),
    "pool": lambda x: K.filters.blur_pool2d(x, 3),
    "dexined": lambda x: K.filters.filter2d(x, torch.ones(1, 3, 3), normalized=True), "separable": lambda x: K.filters.filter2d_separable(
        x, torch.ones(1, 3), torch.ones(1, 5)), "dissolved": lambda x: K.filters.joint_bilateral_blur(x, x.flip(-1), (3, 3), 0.1,
            (1.5, 1.5)),
    "dog": lambda x: K.filters.in_range(x, (0.2,) * 3, (0.8,) * 3).float(), "max": lambda x: K.filters.max_blur_pool2d(x, 3)}

ENHANCED = {
    "brightness": lambda x: K.enhance.adjust_brightness(x, 0.2), "contrast": lambda x: K.enhance.adjust_contrast(x, 0.7),
    "gamma": lambda x: K.enhance.adjust_gamma(x, 2.2), "hue": lambda x: K.enhance.adjust_hue(x, 0.5),
    "saturation": lambda x: K.enhance.adjust_saturation(x, 1.5),
    "sharpness": lambda x: K.enhance.sharpness(x, 0.5), "posterize": lambda x: K.enhance.posterize(x.detach(), 3),
    "solarize": lambda x: K.enhance.solarize(x, 0.5),
    "equalize": lambda x: K.enhance.equalize(x.detach()), "clahe": lambda x: K.enhance.equalize_clahe(x, grid_size=(4, 4)),
    "zca": lambda x: K.enhance.zca_whiten(x.double().flatten(1).T[:32]),
    "jpeg": lambda x: K.enhance.jpeg_codec_differentiable(x[:, :, :16, :16], torch.tensor([50.0, 80.0])),
    "histogram": lambda x: K.enhance.image_histogram2d(x[:, 0], n_bins=16)[0],
    "normalize": lambda x: K.enhance.normalize(x, torch.tensor([0.5]), torch.tensor([0.2])),
    "linear": lambda x: K.enhance.linear_transform(x.flatten(1)[:, :8], torch.eye(8), torch.zeros(1, 8)),
    "min max": K.enhance.normalize_min_max}
WARPED = {
    "rotate": lambda x: K.geometry.rotate(x, torch.tensor([30.0, 60.0])),
    "translate": lambda x: K.geometry.translate(x, torch.tensor([[1.5, 2]]).expand(2, 2)),
    "scale": lambda x: K.geometry.scale(x, torch.tensor([1.5, 0.7])), "shear": lambda x: K.geometry.shear(x, torch.full((2, 2), 0.2)),
    "resize": lambda x: K.geometry.resize(x, (17, 30), antialias=True), "pyramid": lambda x: K.geometry.build_pyramid(x, 3)[2],
    "up": K.geometry.pyrup,
    "affine": lambda x: K.geometry.warp_affine(x, torch.tensor([[[1.0, 0.2, 1], [0, 0.9, 2]]]).expand(2, 2, 3), (20, 20)),
    "perspective": lambda x: K.geometry.warp_perspective(x, torch.tensor([[[1.0, 0.1, 1], [0, 1, 2], [0.001, 0, 1]]]).expand(2, 3, 3),
                                                         (20, 22)),
    "elastic": lambda x: K.geometry.elastic_transform2d(x, torch.linspace(-1, 1, 2 * 2 * 24 * 24).view(2, 2, 24, 24)),
    "remap": lambda x: K.geometry.remap(x, *(t.expand(2, 12, 12) for t in torch.meshgrid(torch.linspace(0, 20, 12),
        torch.linspace(3, 22, 12), indexing="xy"))),
    "crop": lambda x: K.geometry.crop_and_resize(x, torch.tensor([[[2.0, 2], [15, 2], [15, 12], [2, 12]]]).expand(2, 4, 2), (8, 8)),
    "undistort": lambda x: K.geometry.undistort_image(x, torch.tensor([[[20.0, 0, 12], [0, 20, 12], [0, 0, 1]]] * 2),
                                                      torch.full((2, 4), 0.05)),
    "spline": lambda x: K.geometry.transform.warp_image_tps(x, torch.rand(2, 4, 2, generator=torch.Generator().manual_seed(1)),
        torch.ones(2, 4, 2) * 0.1,
                                                            torch.eye(3, 2).expand(2, 3, 2))}
MORPHED = {name: lambda x, name=name: getattr(K.morphology, name)(x, torch.ones(3, 3)) for name in (
    "dilation", "erosion", "opening", "closing", "gradient", "top_hat", "bottom_hat")}


def numbers() -> list:
    generator = torch.Generator().manual_seed(2)
    points, angle = torch.rand(2, 8, 2, generator=generator), torch.rand(4, 3, generator=generator)
    other = points * 1.2 + 0.1 * points.flip(-1) + 0.2 * torch.rand(2, 8, 2, generator=generator)
    G = K.geometry
    turned = G.axis_angle_to_rotation_matrix(angle)
    quaternion = G.conversions.rotation_matrix_to_quaternion(turned)
    camera = torch.tensor([[[30.0, 0, 12], [0, 30, 12], [0, 0, 1]]]).expand(2, 3, 3)
    deep = torch.rand(2, 8, 3, generator=generator) + 1
    fundamental = G.epipolar.find_fundamental(points.double(), other.double(), torch.ones(2, 8).double())
    return [turned, quaternion.abs(), G.conversions.quaternion_to_axis_angle(quaternion),
            G.find_homography_dlt(points, other, torch.ones(2, 8)),
            G.project_points(deep, camera[:, None]), G.convert_points_to_homogeneous(points),
            G.get_perspective_transform(points[:, :4], other[:, :4]),
            G.epipolar.essential_from_fundamental(fundamental, camera.double(), camera.double()).abs(), fundamental.abs(),
            G.subpix.spatial_soft_argmax2d(picture()[:, :1]),
            G.subpix.dsnt.render_gaussian2d(torch.zeros(1, 2), torch.ones(1, 2), (5, 5)), G.bbox.bbox_to_mask(torch.tensor(
                [[[1.0, 1], [3, 1], [3, 2], [1, 2]]]), 6, 5), G.depth.depth_to_normals(picture(1)[:, :1] + 1, camera[:1]),
            G.liegroup.So3.exp(angle).matrix(), G.liegroup.Se3.exp(torch.cat([angle, angle.flip(0)], 1)).matrix()]


RANDOM = {
    "flip": A.RandomHorizontalFlip(p=1.0), "vertical": A.RandomVerticalFlip(p=1.0), "rotation": A.RandomRotation(40.0, p=1.0),
    "affine": A.RandomAffine(15.0, (0.1, 0.1), (0.8, 1.2), 10.0, p=1.0), "perspective": A.RandomPerspective(0.5, p=1.0),
    "crop": A.RandomCrop((16, 16)),
    "resized": A.RandomResizedCrop((16, 16)), "centre": A.CenterCrop(12), "pad": A.PadTo((30, 30)),
    "elastic": A.RandomElasticTransform(p=1.0),
    "spline": A.RandomThinPlateSpline(p=1.0), "fisheye": A.RandomFisheye(torch.tensor([-0.3, 0.3]), torch.tensor([-0.3, 0.3]),
        torch.tensor([0.9, 1.0]), p=1.0),
    "jitter": A.ColorJiggle(0.1, 0.1, 0.1, 0.1, p=1.0), "jitter of torchvision": A.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0),
    "grey": A.RandomGrayscale(p=1.0),
    "noise": A.RandomGaussianNoise(p=1.0), "erased": A.RandomErasing(p=1.0), "motion": A.RandomMotionBlur(3, 35.0, 0.5, p=1.0),
    "box": A.RandomBoxBlur(p=1.0),
    "gaussian": A.RandomGaussianBlur((3, 3), (0.1, 2.0), p=1.0), "median": A.RandomMedianBlur(p=1.0), "equalized": A.RandomEqualize(p=1.0),
    "posterized": A.RandomPosterize(p=1.0), "solarized": A.RandomSolarize(p=1.0), "sharp": A.RandomSharpness(p=1.0),
    "inverted": A.RandomInvert(p=1.0),
    "shuffled": A.RandomChannelShuffle(p=1.0), "planckian": A.RandomPlanckianJitter(p=1.0),
    "brightness": A.RandomBrightness((0.8, 1.2), p=1.0),
    "hue": A.RandomHue((-0.2, 0.2), p=1.0), "salt": A.RandomSaltAndPepperNoise(p=1.0), "rain": A.RandomRain((5, 8), (3, 4), (1, 2), p=1.0),
    "clahe": A.RandomClahe(p=1.0),
    "snow": A.RandomSnow(p=1.0), "plasma": A.RandomPlasmaBrightness(p=1.0), "mixed": A.RandomMixUpV2(p=1.0), "cut": A.RandomCutMixV2(p=1.0),
    "jigsaw": A.RandomJigsaw((2, 2), p=1.0), "shifted": A.RandomRGBShift(p=1.0)}


def at_random() -> dict:
    found = {}
    for name, change in RANDOM.items():
        torch.manual_seed(6)
        y = change(picture())
        found[name] = [y[0] if isinstance(y, tuple) else y, getattr(change, "transform_matrix", None) if name in ("rotation", "affine",
            "crop") else None]
    return found


def together() -> list:
    torch.manual_seed(3)
    changes = A.AugmentationSequential(A.RandomHorizontalFlip(p=0.5), A.RandomAffine(15.0, (0.1, 0.1), p=1.0),
                                       A.RandomPerspective(0.3, p=1.0), A.ColorJitter(
        0.1, 0.1, 0.1, 0.1, p=1.0), A.RandomErasing(p=0.5), data_keys=["input", "mask", "bbox_xyxy", "keypoints"], same_on_batch=False)
    x = picture()
    given = x, (x[:, :1] > 0.5).float(), torch.tensor([[[2.0, 3, 9, 12]], [[4, 4, 20, 21]]]), torch.tensor([[[3.0, 4], [8, 9]]] * 2)
    found = changes(*given)
    back = changes.inverse(*found)
    torch.manual_seed(4)
    chosen = A.ImageSequential(A.RandomInvert(p=1.0), A.RandomAffine(20.0, p=1.0), A.RandomGaussianBlur((3, 3), (0.5, 1.0), p=1.0),
                               random_apply=2)
    patches = A.PatchSequential(A.ColorJitter(0.1, 0.1, 0.1, 0.1, p=0.5), A.RandomPerspective(0.2, p=0.5), grid_size=(2, 2),
                                patchwise_apply=False)
    films = A.VideoSequential(A.RandomAffine(20.0, p=1.0), same_on_frame=True)
    auto = [kind(picture()) for kind in (A.auto.AutoAugment(), A.auto.RandAugment(2, 10), A.auto.TrivialAugment())]
    again = changes(*given, params=changes._params)[0]
    return [found, back, chosen(x), patches(x), films(x[:, None].expand(2, 3, 3, 24, 24)), auto, torch.equal(again, found[0])]


def features() -> list:
    x = picture(1, 48)[:, :1].contiguous()
    torch.manual_seed(0)
    F = K.feature
    frames, responses, patches = F.LocalFeature(F.ScaleSpaceDetector(20, resp_module=F.BlobHessian()),
                                                F.LAFDescriptor(F.SIFTDescriptor(16), patch_size=16))(x)
    other = patches + 0.01 * torch.randn_like(patches)
    distances, matched = F.match_snn(patches[0], other[0], 0.95)
    return [F.harris_response(x), F.gftt_response(x), F.hessian_response(x), responses, frames.shape, patches.norm(dim=-1), distances,
            matched,
            F.SIFTDescriptor(16)(x[:, :, :16, :16]), F.laf_to_boundary_points(frames[:, :2]).shape,
            K.geometry.ScalePyramid(2, 1.6, 8)(x)[0][0]]


def found_by_descent() -> list:
    torch.manual_seed(0)
    x = picture(1, 32)
    true = torch.tensor([[[1.0, 0.05, 0.03], [-0.04, 1.0, -0.02], [0.0, 0.01, 1.0]]])
    moved = K.geometry.transform.homography_warp(x, true, (32, 32))
    weight, losses = torch.eye(3)[None].requires_grad_(), []
    optimizer = torch.optim.Adam([weight], 0.01)
    for _ in range(8):
        loss = (K.geometry.transform.homography_warp(x, weight, (32, 32)) - moved).abs().mean() + K.losses.total_variation(
            K.geometry.transform.homography_warp(x, weight, (32, 32))).mean() * 1e-6
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    torch.manual_seed(0)
    registrator = K.geometry.ImageRegistrator("similarity", num_iterations=3, pyramid_levels=2)
    return [losses, weight, registrator.register(x, moved)]


def scores() -> list:
    x, y = picture(), picture(seed=5)
    generator = torch.Generator().manual_seed(1)
    logits, kinds = torch.randn(2, 3, 6, 6, generator=generator), torch.randint(0, 3, (2, 6, 6), generator=generator)
    L, found = K.losses, {}
    for name, call in {
        "dice": lambda z: L.dice_loss(z, kinds), "tversky": lambda z: L.tversky_loss(z, kinds, 0.5, 0.5), "focal": lambda z: L.focal_loss(
            z, kinds, 0.5, reduction="mean"), "lovasz": lambda z: L.lovasz_softmax_loss(z, kinds),
    }.items():
        z = logits.clone().requires_grad_()
        value = call(z)
        found[name] = [value, torch.autograd.grad(value, z)[0]]
    M = K.metrics
    return [found, L.ssim_loss(x, y, 5), L.psnr_loss(x, y, 1.0), L.total_variation(x), L.charbonnier_loss(
        x, y), L.geman_mcclure_loss(x, y), L.welsch_loss(x, y), L.js_div_loss_2d(x.softmax(-1), y.softmax(-1)),
        L.inverse_depth_smoothness_loss(x[:, :1], y), M.ssim(
        x, y, 5), M.mean_iou(kinds, kinds.flip(0), 3), M.confusion_matrix(kinds, kinds.flip(0), 3),
        M.accuracy(logits[:, :, 0, 0], kinds[:, 0, 0], (1, 2)), M.aepe(
        x.permute(0, 2, 3, 1)[..., :2], y.permute(0, 2, 3, 1)[..., :2])]


def boundaries() -> list:
    logits, kinds = torch.randn(2, 3, 6, 6, generator=torch.Generator().manual_seed(1)), torch.arange(72).view(2, 1, 6, 6) // 5 % 3
    logits.requires_grad_()
    loss = K.losses.HausdorffERLoss()(logits, kinds)
    return [loss, torch.autograd.grad(loss, logits)[0]]


def other_parts() -> list:
    x = picture()
    C = K.contrib
    torch.manual_seed(0)
    vit = C.VisionTransformer(image_size=24, patch_size=8, embed_dim=16, depth=1, num_heads=2) if hasattr(C,
        "VisionTransformer") else torch.nn.Identity()
    return [C.extract_tensor_patches(x, 8, 8), C.combine_tensor_patches(C.extract_tensor_patches(x, 8, 8), (24, 24), 8, 8),
            C.distance_transform(
        (x[:, :1] > 0.8).float()), C.connected_components((x[:, :1] > 0.5).float(), 20), C.histogram_matching(x, picture(seed=4)), vit(x),
            K.utils.create_meshgrid(3, 4), K.utils.tensor_to_image(x[0]), K.utils.image_to_tensor(K.utils.tensor_to_image(x[0])),
            K.utils.draw_rectangle(x.clone(), torch.tensor([[[2.0, 2, 9, 9]]] * 2)),
            K.utils.one_hot(torch.tensor([0, 2]), 3, "cpu", torch.float32)]


CASES = {"colours": colours, "filters": lambda: {name: with_gradient(call) for name, call in FILTERS.items()},
         "enhanced": lambda: {name: with_gradient(call) for name, call in ENHANCED.items()},
         "warped": lambda: {name: with_gradient(call) for name, call in WARPED.items()},
         "morphology": lambda: {name: with_gradient(call) for name, call in MORPHED.items()},
         "geometry": numbers, "random": at_random, "together": together, "features": features, "descent": found_by_descent,
         "scores": scores, "boundaries": boundaries,
         "other parts": other_parts}
