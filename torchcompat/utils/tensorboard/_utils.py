"""Pictures as arrays: figures, grids of pictures, the frames of videos, orders of dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure_to_image(figures: Figure | list[Figure], close: bool = True) -> np.ndarray:
    """The pixels of a figure of matplotlib's, uint8 [3, H, W]; of a list of them [N, 3, H, W]. `close` closes the figures."""
    import matplotlib.pyplot as plt
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    def pixels(figure: Figure) -> np.ndarray:
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        width, height = figure.canvas.get_width_height()
        rgba = np.frombuffer(canvas.buffer_rgba(), dtype=np.uint8).reshape(height, width, 4)
        if close:
            plt.close(figure)
        return np.moveaxis(rgba[:, :, :3], 2, 0)

    return np.stack([pixels(figure) for figure in figures]) if isinstance(figures, list) else pixels(figures)


def _prepare_video(V: np.ndarray) -> np.ndarray:
    """Videos [N, T, C, H, W] side by side in one, [T, rows * H, columns * W, C]; N is filled up with black to a power of two.

    uint8 becomes float32 from 0 to 1.
    """
    count, frames, channels, height, width = V.shape
    if V.dtype == np.uint8:
        V = V.astype(np.float32) / 255.0
    if count & (count - 1) or not count:
        black = np.zeros((2 ** count.bit_length() - count, frames, channels, height, width))
        V = np.concatenate((V, black), axis=0)
    rows = 2 ** ((count.bit_length() - 1) // 2)
    grid = V.reshape(rows, -1, frames, channels, height, width).transpose(2, 0, 4, 1, 5, 3)
    return grid.reshape(frames, rows * height, -1, channels)


def make_grid(I: np.ndarray, ncols: int = 8) -> np.ndarray:  # noqa: E741  # torch's name of it
    """Pictures [N, 1 or 3, H, W] in one, row by row: [3, rows * H, columns * W], at most `ncols` a row.

    Raises:
        AssertionError: it is no array, or has other dimensions.
    """
    if not isinstance(I, np.ndarray):
        raise AssertionError("plugin error, should pass numpy array here")
    if I.shape[1] == 1:
        I = np.concatenate([I, I, I], 1)  # noqa: E741
    if I.ndim != 4 or I.shape[1] != 3:
        raise AssertionError("Input should be a 4D numpy array with 3 channels")
    count, _, height, width = I.shape
    columns = min(count, ncols)
    rows = int(np.ceil(float(count) / columns))
    filled = np.zeros((rows * columns, 3, height, width), dtype=I.dtype)
    filled[:count] = I
    return filled.reshape(rows, columns, 3, height, width).transpose(2, 0, 3, 1, 4).reshape(3, rows * height, columns * width)


def convert_to_HWC(tensor: np.ndarray, input_format: str) -> np.ndarray:
    """A picture, or a batch of them as a grid, as [H, W, C]; `input_format` names its dimensions by the letters of "NCHW".

    Raises:
        AssertionError: a letter comes twice, or there are not as many letters as dimensions.
    """
    if len(set(input_format)) != len(input_format):
        raise AssertionError("You can not use the same dimension shorthand twice. " + " " * 12 + f"input_format: {input_format}")
    if len(tensor.shape) != len(input_format):
        raise AssertionError("size of input tensor and input format are different. " + " " * 8 +
                             f"tensor shape: {tensor.shape}, input_format: {input_format}")
    letters = {4: "NCHW", 3: "HWC", 2: "HW"}.get(len(input_format))
    if letters is None:
        return None  # type: ignore[return-value]  # as torch, whose callers fail then
    ordered = tensor.transpose([input_format.upper().find(letter) for letter in letters])
    if len(letters) == 4:
        return make_grid(ordered).transpose(1, 2, 0)
    if len(letters) == 2:
        return np.stack([ordered] * 3, 2)
    return np.concatenate([ordered] * 3, 2) if ordered.shape[2] == 1 else ordered
