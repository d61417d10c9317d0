"""torch.quasirandom: points that fill a cube more evenly than random ones do."""

from __future__ import annotations


import torchcompat as torch

from ._calls.absent import absences as _absences
from torchcompat._tensor import Tensor
from autograd_tape.dtypes import DType

_absences(__name__)


class SobolEngine:
    """A Sobol sequence of points in the unit cube of `dimension` dimensions, drawn from the first point on.

    Args:
        dimension: from 1 to 21,201.
        scramble: whether to shuffle the digits of all points, which keeps them as even, and makes them random (Owen, 1998).
        seed: of that; torch's default generator draws where it is None.

    Raises:
        ValueError: there are no direction numbers for so many dimensions.

    >>> import torchcompat as torch
    >>> torch.quasirandom.SobolEngine(2).draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.sobolstate = torch.zeros(dimension, self.MAXBIT, dtype=torch.int64, device="cpu")
        torch._sobol_engine_initialize_state_(self.sobolstate, dimension)
        self.shift = torch.zeros(dimension, dtype=torch.int64, device="cpu")
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2 ** self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """The next `n` points (n, dimension), float32 or float64; by default of the default dtype. `out` gets their shape and values."""
        dtype = torch.get_default_dtype() if dtype is None else dtype
        if self.num_generated:
            points = self._after(n, self.num_generated - 1, dtype)
        else:  # torch converts the first point alone to dtypes in which it draws no others
            points = self._first_point.to(dtype)
            if n != 1:
                points = torch.cat([points, self._after(n - 1, 0, dtype)], -2)
        self.num_generated += n
        return points if out is None else out.resize_as_(points).copy_(points)

    def _after(self, n: int, number: int, dtype: DType) -> Tensor:
        """The `n` points after the one of that number, which was the last."""
        points: Tensor
        points, self.quasi = torch._sobol_engine_draw(self.quasi, n, self.sobolstate, self.dimension, number, dtype=dtype)
        return points

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """The next 2 ** m points.

        Raises:
            ValueError: all points drawn are then not a power of two of them, and not evenly spread.
        """
        n = 2 ** m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points have been "
                             f"previously generated, then: n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                             "'SobolEngine.draw()' instead.")
        return self.draw(n, out, dtype)

    def reset(self) -> SobolEngine:
        """Goes back to the first point."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leaves out `n` points, in no more time than one takes."""
        first = not self.num_generated
        torch._sobol_engine_ff_(self.quasi, n - 1 if first else n, self.sobolstate, self.dimension, 0 if first else self.num_generated - 1)
        self.num_generated += n
        return self

    def _scramble(self) -> None:
        """Draws a shift and a lower triangular matrix of bits for each dimension, and applies the matrices."""
        generator = None if self.seed is None else torch.Generator().manual_seed(self.seed)
        bits, size = self.MAXBIT, (self.dimension, self.MAXBIT)
        self.shift = torch.mv(torch.randint(2, size, device="cpu", generator=generator), 2 ** torch.arange(bits, device="cpu"))
        matrices = torch.randint(2, (*size, bits), device="cpu", generator=generator).tril()
        torch._sobol_engine_scramble_(self.sobolstate, matrices, self.dimension)

    def __repr__(self) -> str:
        said = [f"dimension={self.dimension}", *(["scramble=True"] if self.scramble else [])]
        said += [] if self.seed is None else [f"seed={self.seed}"]
        return f"{type(self).__name__}({', '.join(said)})"
