"""The operations of torchvision's compiled library, for when that is to be loaded: it is made for torch's own and cannot be.

Regions are rows (image, x1, y1, x2, y2) of `rois`, cut into bins of which each gives one number per channel. Where a bin's number is a
weighted sum of pixels (`roi_align`, the kinds of position-sensitive pooling), `_aligned` and `_averaged` say which and how much, to
the backward operations, too. torchvision itself registers gradients, tensors without data, and autocast.

Sources: K. He et al. 2017 (Mask R-CNN) for `roi_align`; R. Girshick 2015 (Fast R-CNN) for `roi_pool`; J. Dai et al. 2016 (R-FCN) for the
position-sensitive ones; X. Zhu et al. 2018 (Deformable ConvNets v2) for `deform_conv2d`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from autograd_tape.annotations import Fn
from autograd_tape.dtypes import SCALAR_TYPE_NAMES
import torchcompat as torch
from .._tensor import Tensor
from .libraries import Library

Shape = tuple[int, int, int, int]


class _Bins(NamedTuple):
    """What one region's bins are made of: `rows` @ plane @ `columns`.T of the part of a plane that begins at `top` and `left`."""

    region: int
    image: int
    top: int
    left: int
    rows: np.ndarray
    columns: np.ndarray
    places: int


def _checked(kernel: str, input: Tensor, rois: Tensor, text: str = "rois must have shape as Tensor[K, 5]") -> None:
    if rois.size(1) != 5:
        raise RuntimeError(text)
    _same_type(kernel, "input", input, rois)
    _floating(kernel, input)
    input.size(3)
    images = rois[:, 0]
    if len(rois) and not bool(((images >= 0) & (images < input.size(0))).all()):
        raise IndexError(f"{kernel}: a region is of an image that is not there, of {input.size(0)}")


def _floating(kernel: str, input: Tensor) -> None:
    if input.dtype not in (torch.float16, torch.float32, torch.float64):
        raise NotImplementedError(f'"{kernel}" not implemented for \'{SCALAR_TYPE_NAMES[input.dtype.name]}\'')


def _same_type(kernel: str, name: str, first: Tensor, rois: Tensor) -> None:
    if first.dtype is not rois.dtype:
        raise RuntimeError(f"Expected tensor for argument #1 '{name}' to have the same type as tensor for argument #2 'rois'; but type "
                           f"{first.type()} does not equal {rois.type()} (while checking arguments for {kernel})")


def _rows(rois: Tensor) -> np.ndarray:
    """The regions as NumPy has them, of float32 at least."""
    rows: np.ndarray = rois.detach().numpy()
    return rows if rows.dtype != np.float16 else rows.astype(np.float32)


def _shares(at: np.ndarray, size: int) -> tuple[int, np.ndarray]:
    """Means along an axis over places (bins, places), each between two pixels: (the first pixel, the shares (bins, pixels from there)).
    Nothing is at places more than a pixel outside."""
    n, k = at.shape
    inside = (at >= -1) & (at <= size)
    at = np.clip(np.nan_to_num(at), 0, size - 1)
    low = at.astype(np.int64)
    part = at - low.astype(at.dtype)
    first, last = (int(low.min()), int(low.max())) if low.size else (0, 0)
    shares = np.zeros((n, last + 2 - first), at.dtype)
    bins = np.arange(n)[:, None]
    np.add.at(shares, (bins, low - first), np.where(inside, 1 - part, 0))
    np.add.at(shares, (bins, low - first + 1), np.where(inside, part, 0))
    return first, shares[:, :size - first] / at.dtype.type(max(k, 1))


def _aligned(rois: np.ndarray, plane: Sequence[int], scale: float, bins: tuple[int, int], ratio: int, offset: float,
             least: float | None) -> Iterator[_Bins]:
    """Bins that are means over a grid of places, which are means along one axis, and then along the other."""
    T = rois.dtype.type
    for region, row in enumerate(rois):
        found, places = [], 1
        for axis in (0, 1):
            start, end = (value * T(scale) - T(offset) for value in row[[2, 4] if axis == 0 else [1, 3]])
            extent = end - start if least is None else max(end - start, T(least))
            n, size = bins[axis], extent / T(bins[axis])
            grid = max(ratio if ratio > 0 else int(np.ceil(extent / T(n))), 0)
            at = start + np.arange(n, dtype=T)[:, None] * size + (np.arange(grid, dtype=T) + T(0.5)) * (size / T(max(grid, 1)))
            found.append(_shares(at.astype(T), plane[axis]))
            places *= grid
        (top, rows), (left, columns) = found
        yield _Bins(region, int(row[0]), top, left, rows, columns, places)


def _rounded(row: np.ndarray, plane: Sequence[int], scale: float, bins: tuple[int, int], whole: bool,
             less: int = 0) -> list[tuple[int, int, int, int]]:
    """The pixels (y from, y to, x from, x to) of bins of a region with whole corners, cut at the plane's edges, or `less` before its end.
    It includes the pixels of its far corner where it is `whole`."""
    T, axes = row.dtype.type, []
    for axis in (0, 1):
        corners = row[[2, 4] if axis == 0 else [1, 3]] * T(scale)
        first, last = (np.floor(np.abs(corners) + T(0.5)) * np.sign(corners)).astype(np.int64)  # halves away from zero
        size, limit = T(max(last - first + whole, 1)) / T(bins[axis]), plane[axis] - less
        steps = np.arange(bins[axis] + 1, dtype=T) * size
        starts, ends = (np.clip(edge.astype(np.int64) + first, 0, limit) for edge in (np.floor(steps[:-1]), np.ceil(steps[1:])))
        axes.append([(int(a), int(b)) for a, b in zip(starts, ends)])
    return [(*y, *x) for y in axes[0] for x in axes[1]]


def _averaged(rois: np.ndarray, plane: Sequence[int], scale: float, bins: tuple[int, int],
              less: int) -> Iterator[tuple[int, int, int, np.ndarray]]:
    """(region, image, bin, its pixels) of bins that are means of whole pixels."""
    for region, row in enumerate(rois):
        for k, (top, bottom, left, right) in enumerate(_rounded(row, plane, scale, bins, False, less)):
            rows, columns = np.arange(top, bottom), np.arange(left, right)
            yield region, int(row[0]), k, (rows[:, None] * plane[1] + columns).reshape(-1)


def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The boxes that are kept, best first: those that no better one covers by more than a part of what both cover.

    Args:
        dets: (n, 4) corners.
        scores: (n,).
    """
    if dets.dim() != 2:
        raise RuntimeError(f"boxes should be a 2d tensor, got {dets.dim()}D")
    if dets.size(1) != 4:
        raise RuntimeError(f"boxes should have 4 elements in dimension 1, got {dets.size(1)}")
    if scores.dim() != 1:
        raise RuntimeError(f"scores should be a 1d tensor, got {scores.dim()}D")
    if dets.size(0) != scores.size(0):
        raise RuntimeError("boxes and scores should have same number of elements in dimension 0, got "
                           f"{dets.size(0)} and {scores.size(0)}")
    if dets.dtype is not scores.dtype:
        raise RuntimeError("dets should have the same type as scores")
    if not len(dets):
        return torch.empty(0, dtype=torch.int64)
    if dets.dtype not in (torch.float32, torch.float64):
        raise NotImplementedError(f'"nms_kernel" not implemented for \'{SCALAR_TYPE_NAMES[dets.dtype.name]}\'')
    order: np.ndarray = scores.detach().sort(stable=True, descending=True).indices.numpy()
    x1, y1, x2, y2 = np.ascontiguousarray(dets.detach().numpy()[order].T)
    area, left, kept = (x2 - x1) * (y2 - y1), np.ones(len(order), bool), []
    for k in range(len(order)):
        if left[k]:
            kept.append(k)
            common = (np.maximum(np.minimum(x2[k], x2[k + 1:]) - np.maximum(x1[k], x1[k + 1:]), 0)
                      * np.maximum(np.minimum(y2[k], y2[k + 1:]) - np.maximum(y1[k], y1[k + 1:]), 0))
            with np.errstate(invalid="ignore", divide="ignore"):
                part = common / (area[k] + area[k + 1:] - common)
            left[k + 1:] &= ~(part.astype(np.float64) > iou_threshold)
    return torch.from_numpy(order[kept])


def _spread(shape: Shape, bins: Iterator[_Bins], grad: Tensor) -> Tensor:
    """The gradient of weighted sums of pixels: of each pixel what the bins got of it."""
    found = torch.zeros(shape, dtype=grad.dtype)
    planes, grads = found.numpy(), grad.detach().numpy()
    for part in bins:
        bottom, right = part.top + part.rows.shape[1], part.left + part.columns.shape[1]
        planes[part.image, :, part.top:bottom, part.left:right] += part.rows.T @ grads[part.region] @ part.columns
    return found


def roi_align(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int,
              aligned: bool) -> Tensor:
    """(K, C, pooled_height, pooled_width): means over places of each bin, each between four pixels."""
    _checked("roi_align_forward_kernel", input, rois)
    result = input.new_empty((len(rois), input.size(1), pooled_height, pooled_width))
    planes, found = input.detach().numpy(), result.numpy()
    for part in _aligned(_rows(rois), input.shape[2:], spatial_scale, (pooled_height, pooled_width), sampling_ratio, 0.5 * aligned,
                         None if aligned else 1.0):
        bottom, right = part.top + part.rows.shape[1], part.left + part.columns.shape[1]
        found[part.region] = part.rows @ planes[part.image, :, part.top:bottom, part.left:right] @ part.columns.T
    return result


def _roi_align_backward(grad: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, batch_size: int,
                        channels: int, height: int, width: int, sampling_ratio: int, aligned: bool) -> Tensor:
    """The gradient of `roi_align`."""
    _same_type("roi_align_backward_kernel", "grad", grad, rois)
    return _spread((batch_size, channels, height, width),
                   _aligned(_rows(rois), (height, width), spatial_scale, (pooled_height, pooled_width), sampling_ratio, 0.5 * aligned,
                            None if aligned else 1.0), grad)


def roi_pool(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int) -> tuple[Tensor, Tensor]:
    """(the greatest pixel of each bin, 0 of an empty one; which it is, -1 of an empty one)."""
    _checked("roi_pool_forward_kernel", input, rois, "Tensor rois should have shape as Tensor[K, 5]")
    shape = (len(rois), input.size(1), pooled_height, pooled_width)
    result, index = input.new_zeros(shape), torch.full(shape, -1, dtype=torch.int32)
    planes, width = input.detach().numpy(), input.size(3)
    values, at = result.view(*shape[:2], -1).numpy(), index.view(*shape[:2], -1).numpy()
    for region, row in enumerate(_rows(rois)):
        windows = _rounded(row, input.shape[2:], spatial_scale, (pooled_height, pooled_width), True)
        for k, (top, bottom, left, right) in enumerate(windows):
            if bottom > top and right > left:
                window = planes[int(row[0]), :, top:bottom, left:right].reshape(shape[1], -1)
                best = window.argmax(-1)
                values[region, :, k] = window[np.arange(shape[1]), best]
                at[region, :, k] = (top + best // (right - left)) * width + left + best % (right - left)
    return result, index


def _roi_pool_backward(grad: Tensor, rois: Tensor, argmax: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int,
                       batch_size: int, channels: int, height: int, width: int) -> Tensor:
    """The gradient of `roi_pool`: IndexError where `argmax` is no pixel."""
    _same_type("roi_pool_backward_kernel", "grad", grad, rois)
    found = torch.zeros((batch_size, channels, height * width + 1), dtype=grad.dtype)  # the last is that of empty bins
    at = torch.where(argmax < 0, height * width, argmax).long().reshape(*grad.shape[:2], -1)
    for region, image in enumerate(rois[:, 0].long().tolist()):
        found[image].scatter_add_(1, at[region], grad[region].detach().reshape(channels, -1))
    return found[..., :-1].reshape(batch_size, channels, height, width)


def _own_channels(input: Tensor, pooled_height: int, pooled_width: int) -> tuple[int, Tensor]:
    """(how many channels come out, which of the input's each bin of each is made of): each bin has its own."""
    if input.size(1) % (pooled_height * pooled_width):
        raise RuntimeError("input channels must be a multiple of pooling height * pooling width")
    out = input.size(1) // (pooled_height * pooled_width)
    return out, torch.arange(input.size(1), dtype=torch.int32).view(out, pooled_height, pooled_width)


def ps_roi_align(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int,
                 sampling_ratio: int) -> tuple[Tensor, Tensor]:
    """(as `roi_align`, but each bin of channels of its own, which channel that is)."""
    _checked("ps_roi_align_forward_kernel", input, rois, "Tensor rois should have shape as Tensor[K, 5]")
    out, mapping = _own_channels(input, pooled_height, pooled_width)
    whole = roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, True)
    for part in _aligned(_rows(rois), input.shape[2:], spatial_scale, (pooled_height, pooled_width), sampling_ratio, 0.5, None):
        if not part.places:
            whole[part.region] = torch.nan  # the mean of no places
    return _of_their_channels(whole, out), mapping.expand(len(rois), -1, -1, -1).contiguous()


def _of_their_channels(whole: Tensor, out: int) -> Tensor:
    """Of bins of all channels (K, out * bins, h, w) each bin of its own."""
    k, _, height, width = whole.shape
    return whole.view(k, out, height * width, height * width).diagonal(dim1=2, dim2=3).reshape(k, out, height, width)


def _ps_roi_align_backward(grad: Tensor, rois: Tensor, channel_mapping: Tensor, spatial_scale: float, pooled_height: int,
                           pooled_width: int, sampling_ratio: int, batch_size: int, channels: int, height: int, width: int) -> Tensor:
    """The gradient of `ps_roi_align`."""
    k, out, n = len(rois), channels // (pooled_height * pooled_width), pooled_height * pooled_width
    whole = torch.diag_embed(grad.detach().reshape(k, out, n)).reshape(k, channels, pooled_height, pooled_width)
    return _roi_align_backward(whole, rois, spatial_scale, pooled_height, pooled_width, batch_size, channels, height, width,
                               sampling_ratio, True)


def ps_roi_pool(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int) -> tuple[Tensor, Tensor]:
    """(means of the pixels of each bin in channels of its own, 0 of an empty one; which channel that is)."""
    _checked("ps_roi_pool_forward_kernel", input, rois, "Tensor rois should have shape as Tensor[K, 5]")
    out, mapping = _own_channels(input, pooled_height, pooled_width)
    bins = (pooled_height, pooled_width)
    result = input.new_zeros((len(rois), out, *bins))
    planes = input.detach().reshape(input.size(0), out, pooled_height * pooled_width, -1).numpy()
    found = result.view(len(rois), out, -1).numpy()
    for region, image, k, pixels in _averaged(_rows(rois), input.shape[2:], spatial_scale, bins, 1):
        if len(pixels):
            found[region, :, k] = planes[image, :, k][:, pixels].sum(-1) / len(pixels)
    return result, mapping.expand(len(rois), -1, -1, -1).contiguous()


def _ps_roi_pool_backward(grad: Tensor, rois: Tensor, channel_mapping: Tensor, spatial_scale: float, pooled_height: int,
                          pooled_width: int, batch_size: int, channels: int, height: int, width: int) -> Tensor:
    """The gradient of `ps_roi_pool`, which leaves out the last row and column of pixels; as in torchvision, this does not."""
    _same_type("ps_roi_pool_backward_kernel", "grad", grad, rois)
    out, n = channels // (pooled_height * pooled_width), pooled_height * pooled_width
    found, grads = torch.zeros((batch_size, channels, height, width), dtype=grad.dtype), grad.detach().reshape(-1, out, n).numpy()
    planes = found.view(batch_size, out, n, -1).numpy()
    for region, image, k, pixels in _averaged(_rows(rois), (height, width), spatial_scale, (pooled_height, pooled_width), 0):
        if len(pixels):
            planes[image, :, k][:, pixels] += (grads[region, :, k] / len(pixels))[:, None]
    return found


def deform_conv2d(input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, stride_h: int, stride_w: int, pad_h: int,
                  pad_w: int, dilation_h: int, dilation_w: int, groups: int, offset_groups: int, use_mask: bool) -> Tensor:
    """A convolution whose window's places are moved by `offset` (N, 2 * offset_groups * kh * kw, oh, ow) and weighed by `mask`.

    Raises:
        RuntimeError: the shapes do not go together.
    """
    if input.dim() != 4:
        raise RuntimeError("Expected input_c.ndimension() == 4 to be true, but got false.  (Could this error message be improved?  If so, "
                           "please report an enhancement request to PyTorch.)")
    (n, c, height, width), (out, per, kh, kw) = input.shape, weight.shape
    oh, ow = ((size + 2 * pad - dilation * (k - 1) - 1) // stride + 1 for size, pad, dilation, k, stride in
              ((height, pad_h, dilation_h, kh, stride_h), (width, pad_w, dilation_w, kw, stride_w)))
    if c != per * groups or out % groups or c % offset_groups:
        raise RuntimeError(f"deform_conv2d: {c} channels, {per} of them per group, {groups} groups, {offset_groups} groups of offsets and "
                           f"{out} channels of results do not go together")
    if offset.size(1) != offset_groups * 2 * kh * kw:
        raise RuntimeError(f"offset.shape[1] is not valid: got: {offset.size(1)} expected: {offset_groups * 2 * kh * kw}")
    if use_mask and mask.size(1) != offset_groups * kh * kw:
        raise RuntimeError(f"mask.shape[1] is not valid: got: {mask.size(1)} expected: {offset_groups * kh * kw}")
    if tuple(offset.shape[2:]) != (oh, ow):
        raise RuntimeError(f"offset output dims: ({offset.size(2)}, {offset.size(3)}) - computed output dims: ({oh}, {ow})")
    if use_mask and tuple(mask.shape[2:]) != (oh, ow):
        raise RuntimeError(f"mask output dims: ({mask.size(2)}, {mask.size(3)}) - computed output dims: ({oh}, {ow})")
    moved = offset.view(n, offset_groups, kh * kw, 2, oh, ow)
    taps = torch.arange(kh * kw)
    starts = [first.view(-1, 1, 1) * d - pad + torch.arange(size).view(shape) * stride for first, d, pad, size, stride, shape in (
        (taps // kw, dilation_h, pad_h, oh, stride_h, (1, -1, 1)), (taps % kw, dilation_w, pad_w, ow, stride_w, (1, 1, -1)))]
    y, x = (moved[:, :, :, axis] + starts[axis].to(offset.dtype) for axis in (0, 1))  # (n, offset_groups, taps, oh, ow)
    planes = input.view(n, offset_groups, c // offset_groups, height * width)
    columns: Any = 0
    for dy in (0, 1):
        for dx in (0, 1):
            row, column = y.detach().floor() + dy, x.detach().floor() + dx
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width) & (y > -1) & (y < height) & (x > -1) & (x < width)
            share = (1 - (y - row).abs()) * (1 - (x - column).abs()) * inside
            at = torch.where(inside, row * width + column, 0).long().flatten(2)[:, :, None].expand(-1, -1, planes.size(2), -1)
            columns = columns + planes.gather(3, at) * share.flatten(2)[:, :, None]
    if use_mask:
        columns = columns * mask.reshape(n, offset_groups, 1, -1)
    columns = columns.reshape(n, groups, per * kh * kw, oh * ow)
    return (weight.view(groups, out // groups, -1) @ columns).reshape(n, out, oh, ow) + bias.view(1, -1, 1, 1)


def _deform_conv2d_backward(grad: Tensor, input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor,
                            *options: Any) -> tuple[Tensor, ...]:
    """The gradients of `deform_conv2d` by its five tensors."""
    given = [t.detach().requires_grad_() for t in (input, weight, offset, mask, bias)]
    convolve: Fn = deform_conv2d
    with torch.enable_grad():
        found = torch.autograd.grad(convolve(*given, *options), given, grad, allow_unused=True)
    return tuple([torch.zeros_like(t) if g is None else g for t, g in zip(given, found)])


_OF_REGIONS = "Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_OF_GRADS = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_MAPPED = "Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_MOVED = ("Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, "
          "SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask")
SCHEMAS: dict[Fn, str] = {
    nms: "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    roi_align: f"(Tensor input, {_OF_REGIONS}, int sampling_ratio, bool aligned) -> Tensor",
    _roi_align_backward: f"(Tensor grad, {_OF_REGIONS}, {_OF_GRADS}, int sampling_ratio, bool aligned) -> Tensor",
    roi_pool: f"(Tensor input, {_OF_REGIONS}) -> (Tensor, Tensor)",
    _roi_pool_backward: f"(Tensor grad, Tensor rois, Tensor argmax, {_OF_REGIONS.removeprefix('Tensor rois, ')}, {_OF_GRADS}) -> Tensor",
    ps_roi_align: f"(Tensor input, {_OF_REGIONS}, int sampling_ratio) -> (Tensor, Tensor)",
    _ps_roi_align_backward: f"({_MAPPED}, int sampling_ratio, {_OF_GRADS}) -> Tensor",
    ps_roi_pool: f"(Tensor input, {_OF_REGIONS}) -> (Tensor, Tensor)",
    _ps_roi_pool_backward: f"({_MAPPED}, {_OF_GRADS}) -> Tensor",
    deform_conv2d: f"({_MOVED}) -> Tensor",
    _deform_conv2d_backward: f"(Tensor grad, {_MOVED}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
}
"""What carries out an operation, and its arguments."""


def define() -> Library:
    """Defines the operations; those on quantized tensors, which there are none of, without what carries them out."""
    library = Library("torchvision", "DEF")
    for function, schema in SCHEMAS.items():
        library.impl(library.define(function.__name__ + schema), function, "CPU")
    library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    library.define("qroi_align(Tensor input, Tensor rois, float input_scale, int input_zero_point, float rois_scale, int rois_zero_point, "
                   "float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor")
    library.impl(library.define("_cuda_version() -> int"), lambda: -1, "CompositeExplicitAutograd")
    return library
