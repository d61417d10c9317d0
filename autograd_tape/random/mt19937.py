"""The Mersenne Twister word stream, in torch's order and with torch's 5056-byte state.

NumPy's `RandomState` produces the words (its stream is frozen by NumPy's own compatibility promise, and its seeding of
32-bit seeds is torch's).  It is kept at a block boundary: 624 finished words are served from a block by slicing, so a
small draw costs a slice, and a large one goes straight to the bulk generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..locks import fork_safe
from . import kernels

N = 624
LENT = 1 << 18  # the most words that a stream keeps memory for
DEALT = 8, 256  # arrays that numbers are cut into ahead, at first and at most
Words = npt.NDArray[np.uint32]

# The layout of torch's CPU generator state: the legacy TH structure with its 64-bit words, then the float sample.
STATE = np.dtype(
    {
        "names": ["seed", "left", "seeded", "next", "state", "normal_x", "normal_y", "normal_rho", "normal_is_valid",
                  "next_float", "next_float_is_valid"],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", (N,)), "<f8", "<f8", "<f8", "<i4", "<f4", "u1"],
        "offsets": [0, 8, 12, 16, 24, 5016, 5024, 5032, 5040, 5048, 5052],
        "itemsize": 5056,
    }
)  # fmt: skip


class Way(NamedTuple):
    """How words become numbers: each is made of as many words, and of words in groups of one size, whatever came before."""

    make: Callable[[Words], npt.NDArray[np.generic]]  # which may overwrite the words
    words: int
    group: int
    fill: Callable[[MT19937, npt.NDArray[Any]], None] | None = None  # makes many of them in memory in rows, by machine code


class Given:
    """Words that were drawn before, as a stream."""

    def __init__(self, words: Words) -> None:
        self._words, self._at = words, 0

    def words(self, count: int) -> Words:
        """The next `count` words, of which there must be as many."""
        start = self._at
        self._at = start + count
        return self._words[start : start + count]

    def take(self, count: int) -> Words:
        """The same in memory of their own."""
        return self.words(count).copy()

    lent = words


class MT19937:
    """A stream of 32-bit words, seeded by the low 32 bits of a seed.

    >>> MT19937(5489).words(2).tolist()
    [3499211612, 581869302]
    """

    __slots__ = ("_before", "_bits", "_block", "_cut", "_fresh", "_lent", "_marked", "_most", "_own", "_seed", "_source", "after", "ahead",
                 "ahead_at", "dealt", "next", "way")

    def __init__(self, seed: int) -> None:
        self._source: np.random.RandomState | None = None  # NumPy's, of `_bits`, made when first asked for (see `_stream`)
        self._own: Words | None = None      # the key, once compiled code makes the words; NumPy's is then left behind
        self._lent = np.empty(0, np.uint32)  # what `lent` writes to
        self._marked = False                # between `mark` and `rewind`
        self._before: Words | None = None   # the key that the first new block since then was made of
        self.way: Way | None = None         # in which numbers were last `drawn`,
        self.after = N                      # where that ended,
        self.ahead: npt.NDArray[np.generic] = np.empty(0)  # the numbers that it made of those words, and of some that come after,
        self.ahead_at = 0                   # and how many of these were drawn
        self.dealt: dict[Any, Iterator[npt.NDArray[Any]]] = {}  # arrays of what is ahead; see `deal`
        self._cut = 0, 0, 0                 # how many there were, and the numbers and words of each,
        self._most = DEALT[0]               # and how many there are to be next time
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Restart the stream; like torch, only the low 32 bits matter."""
        self.settle()
        self._seed: int | None = seed & 0xFFFFFFFF  # which NumPy's has not been told yet
        self._own = self.way = None
        self._block: Words | None = None
        self.next = N
        self._fresh = True

    def words(self, count: int) -> Words:
        """The next `count` words.  The result may be a slice of the block: read it, do not write it."""
        if self.dealt:
            self.settle()
        start = self.next
        end = start + count
        if end <= N:
            found = self._block[start:end] if count else np.empty(0, np.uint32)  # type: ignore[index]  # filled where words are left
            self.next = end  # after what refuses a size of 2.0
            return found
        return self.take(count)

    def ahead_of(self, count: int, fewer: bool = False) -> Words | None:
        """The next `count` words, to be looked at, if the block has them, or `fewer`; who uses some adds their number to `next`."""
        if self.dealt:
            self.settle()
        end = self.next + count
        if fewer and end > N:
            end = N
        return self._block[self.next : end] if end <= N and self._block is not None else None

    def lent(self, count: int) -> Words:
        """The next `count` words, to be read before anything else is asked for: in memory that is lent again, if they are not very many."""
        if count > LENT:
            return self.take(count)
        if count <= N and (words := self.ahead_of(count)) is not None:
            self.next += count
            return words
        if self._lent.size < count:
            self._lent = np.empty(count, np.uint32)
        return self.take(count, self._lent[:count])

    def take(self, count: int, memory: Words | None = None) -> Words:
        """The next `count` words in memory of their own, or in what is given."""
        if self.dealt:
            self.settle()
        out = np.empty(count, np.uint32) if memory is None else memory
        left = N - self.next
        if count <= left:
            if count:
                out[:] = self._block[self.next : self.next + count]  # type: ignore[index]  # filled where words are left
                self.next += count
            return out
        if self._marked and self._before is None:
            self._before = self._key()
        if fast := kernels.load(count):
            if self._own is None:
                self._own = self._key()
            last = np.empty(N, np.uint32)
            fast.stream(self._own, last if self._block is None else self._block, left, out, last)
        else:
            self._stream()
            if left:
                out[:left] = self._block[self.next :]  # type: ignore[index]
            whole = left + (count - left) // N * N
            if whole > left:
                out[left:whole] = self._bits.random_raw(whole - left)
            if whole < count:
                last = self._bits.random_raw(N).astype(np.uint32)
                out[whole:] = last[: count - whole]
            else:
                last = out[-N:].copy()
        self._block, self._fresh, self.after = last, False, -1  # `next` may come to where it was, in another block
        self.next = (count - left) % N or N
        return out

    def drawn(self, count: int, way: Way) -> npt.NDArray[np.generic]:
        """The next `count` numbers of a way, which are whole groups of its; to be read, not written.

        Where such draws follow one another, the words up to the end of the block become numbers at once, `ahead`: for a few of them that
        costs as much as for all. What is there of them is for who asks to take, from `ahead_at` on, as long as `next` is `after`.
        """
        block, start = self._block, self.next
        again, self.way = start == self.after and way is self.way, way
        end = start + count * way.words
        if end <= N and block is not None:
            self.next = self.after = end
            if not again:
                self.ahead = way.make(block[start:end].copy())
            else:
                self.ahead = way.make(block[start : start + (N - start) // way.group * way.group].copy())
        else:
            words = self.take(count * way.words)  # what is left, and of a new block
            self.after = self.next
            if again and self._block is not None:
                rest = (N - self.next) // way.group * way.group
                words = np.concatenate((words, self._block[self.next : self.next + rest]))
            self.ahead = way.make(words)
        self.ahead_at = count
        return self.ahead[:count]

    def deal(self, key: Any, shape: tuple[int, ...], way: Way) -> None:
        """Cuts the next numbers of those ahead into arrays of a shape. Whoever wants such asks `dealt` for `key`, and takes one in a step
        that no other thread comes into, without a lock; where none is left, nor to be had, all goes as before."""
        count = math.prod(shape)
        pieces = min((self.ahead.size - self.ahead_at) // count, self._most) if shape and count else 0
        if pieces > 1:
            self._cut = pieces, count, count * way.words
            self.dealt.clear()
            self.dealt[key] = iter(list(self.ahead[self.ahead_at : self.ahead_at + pieces * count].reshape(pieces, *shape)))

    def settle(self) -> None:
        """Ends what `deal` began: the stream stands behind what was taken. What looks at it, or goes on, does so first."""
        for pieces in self.dealt.values():
            cut, count, words = self._cut
            left = len(list(pieces))  # and nobody takes another one
            taken, self._most = cut - left, DEALT[0] if left else min(2 * self._most, DEALT[1])
            self.ahead_at += taken * count
            self.next = self.after = self.next + taken * words
        self.dealt.clear()

    def attempt(self, count: int, take: Callable[[Words], bool]) -> bool:
        """Has something take the next `count` words, or none of them where it says that it cannot."""
        if (words := self.ahead_of(count)) is not None:
            if done := take(words):
                self.next += count
            return done
        mark = self.mark()
        if done := take(self.take(count)):
            self._marked, self._before = False, None
        else:
            self.rewind(mark, 0)
        return done

    def mark(self) -> tuple[Words | None, int, bool]:
        """The place in the stream, for `rewind`."""
        self.settle()
        self._marked, self._before = True, None
        return self._block, self.next, self._fresh

    def rewind(self, mark: tuple[Words | None, int, bool], used: int) -> None:
        """Go back to `mark`, then `used` words ahead."""
        self._block, self.next, self._fresh = mark
        self.way = None
        self._marked = False
        if self._before is not None:
            self._set_key(self._before)
            self._before = None
        self.words(used)

    def _stream(self) -> np.random.RandomState:
        """NumPy's stream. It is made here, since the newer of its versions import their random numbers when somebody wants some."""
        source = self._source
        if source is None:
            self._bits = np.random.MT19937(0)
            fork_safe(self._bits.lock)  # NumPy's own, which it holds while words are made
            source = self._source = np.random.RandomState(self._bits)
        if self._seed is not None:
            source.seed(self._seed)
            self._seed = None
        return source

    def _key(self) -> Words:
        if self._own is not None:
            return self._own.copy()
        return self._stream().get_state(legacy=True)[1].astype(np.uint32)  # type: ignore[index]  # the legacy form is a tuple

    def _set_key(self, key: Words) -> None:
        if self._own is not None:
            self._own = key
        else:
            self._stream().set_state(("MT19937", key, N, 0, 0.0))

    def export(self, seed: int, cached: float | None) -> npt.NDArray[np.uint8]:
        """The whole state as torch's bytes; `cached` is the waiting second sample of the Box-Muller pair."""
        self.settle()
        record = np.zeros((), STATE)
        record["seed"] = seed
        record["left"] = N + 1 - self.next
        record["seeded"] = 1
        record["next"] = 0 if self._fresh else self.next
        record["state"] = self._key()
        if cached is not None:
            record["normal_y"], record["normal_is_valid"] = cached, 1
        return np.frombuffer(record.tobytes(), np.uint8).copy()

    def restore(self, state: npt.NDArray[np.uint8]) -> tuple[int, float | None]:
        """Take over a state exported here or by torch; answers the seed and the cached sample."""
        self.settle()
        record = np.frombuffer(state.tobytes(), STATE)[0]
        left, following = int(record["left"]), int(record["next"])
        if record["seeded"] != 1 or not 0 < left <= N or following > N or (left > 1 and left + following != N + 1):
            raise RuntimeError("Invalid mt19937 state")
        key = record["state"].astype(np.uint32)
        self._set_key(key)
        self.way = None
        self.next = N if left == 1 else following
        self._fresh = left == 1 and following == 0
        self._block = None if self.next == N else _temper(key)
        return int(record["seed"]), float(record["normal_y"]) if record["normal_is_valid"] else None


def _temper(key: Words) -> Words:
    y = key ^ (key >> np.uint32(11))
    y = y ^ ((y << np.uint32(7)) & np.uint32(0x9D2C5680))
    y = y ^ ((y << np.uint32(15)) & np.uint32(0xEFC60000))
    return y ^ (y >> np.uint32(18))
