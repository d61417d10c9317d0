"""A gradient watched on its way back, and clipped: through equal steps it grows like a power.

    $ python examples/clip_and_watch.py
    on the way back: 2.0 4.0 8.0 16.0 32.0 64.0
    arrived: norm 115.38, clipped to 1.00
    limited on the way: 2.0 4.0 6.0 6.0 6.0 6.0 arrived: 3.0
"""

import math
from collections.abc import Callable

from autograd_tape import F, GradManager, TensorRef

STEPS = 6


def chain(w: TensorRef, x: TensorRef, hook: Callable[[TensorRef], TensorRef | None]) -> TensorRef:
    """x * w ** STEPS, with the hook on all that is on the way."""
    for _ in range(STEPS):
        x.register_hook(hook)
        x = w * x
    return x


def main() -> None:
    seen: list[float] = []
    w, x = [TensorRef.of(value, requires_grad=True) for value in (2.0, 0.5)]
    chain(w, x, lambda gradient: seen.append(gradient.item())).backward()
    print("on the way back:", *seen)
    assert seen == [2.0 ** (step + 1) for step in range(STEPS)]

    # What has arrived is clipped as one vector: its direction stays.
    manager = GradManager()
    slope = w.grad.item() / x.grad.item()
    norm = manager.clip_grad_norm([w, x], max_norm=1.0)
    clipped = math.hypot(w.grad.item(), x.grad.item())
    print(f"arrived: norm {norm:.2f}, clipped to {clipped:.2f}")
    assert math.isclose(norm, math.hypot(STEPS * 2.0 ** (STEPS - 1) * 0.5, 2.0**STEPS))
    assert math.isclose(clipped, 1.0, rel_tol=1e-6) and math.isclose(w.grad.item() / x.grad.item(), slope)

    # What a hook returns goes on in the place of what it was given: no step grows beyond 3.
    seen.clear()
    w, x = [TensorRef.of(value, requires_grad=True) for value in (2.0, 0.5)]

    def limit(gradient: TensorRef) -> TensorRef:
        seen.append(gradient.item())
        return F.clamp(gradient, max=3.0)

    chain(w, x, limit).backward()
    print("limited on the way:", *seen, "arrived:", x.grad.item())
    assert x.grad.item() == 3.0 and max(seen) == 6.0


if __name__ == "__main__":
    main()
