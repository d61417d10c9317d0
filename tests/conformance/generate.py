"""Makes random programs. Shapes are followed while a program is made, so that most steps fit; the others show how errors are worded."""

from __future__ import annotations

import math
import random
from typing import Any

from .programs import LAYOUTS, Program

SHAPES = ([], [3], [2, 3], [2, 3], [3, 3], [2, 1], [2, 2, 3], [2, 2, 2, 2], [1, 2, 2, 3])
Shape = list[int]


def broadcast(a: Shape, b: Shape) -> Shape | None:
    """The shape that two broadcast to, None where they do not."""
    n = max(len(a), len(b))
    x, y = [1] * (n - len(a)) + a, [1] * (n - len(b)) + b
    if any(p != q and 1 not in (p, q) for p, q in zip(x, y)):
        return None
    return [max(p, q) for p, q in zip(x, y)]


class Generator:
    """Makes one program from a source of random numbers."""

    UNARY = ("sin", "cos", "tanh", "sigmoid", "exp", "neg", "relu", "square", "clone", "contiguous", "abs", "double", "float", "positive")
    BINARY = ("add", "sub", "mul", "mul", "div", "maximum")
    COPYING = (*UNARY, *BINARY, "where", "sum", "mean", "cat", "stack", "mm", "matmul", "grad", "cumsum", "logsumexp", "amax", "pow")
    INPLACE_UNARY = ("fill_diagonal_", "sin_", "exp_", "tanh_", "sigmoid_", "neg_", "relu_", "square_", "zero_", "abs_", "cos_",
                     "sqrt_", "reciprocal_")
    INPLACE_BINARY = ("add_", "mul_", "sub_", "div_", "copy_")

    def __init__(self, source: random.Random) -> None:
        self.random = source
        self.shapes: dict[str, Shape] = {}
        self.leaves: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []
        self.memories: dict[str, int] = {}  # variables that share memory have the same number
        self.split: set[int] = set()        # memories with views made at once
        self.changed: set[int] = set()      # memories changed in place
        self.unwatched: set[int] = set()    # memories without history of which views were made under no_grad
        self.recorded: set[int] = set()     # memories that may require grad
        self.hooked: set[int] = set()       # memories of tensors with hooks
        self.loose: set[int] = set()        # memories changed without recording
        self.expanded: set[int] = set()     # memories with several elements in one place
        self.severed: set[str] = set()      # variables that share memory but no history
        self.hooks: list[int] = []
        self.no_grad = False

    def program(self) -> Program:
        """The program."""
        r = self.random
        for i in range(r.randint(1, 3)):
            shape = list(r.choice(SHAPES))
            name = f"${'abc'[i]}"
            self.leaves.append({"name": name, "shape": shape, "dtype": r.choice(("float32", "float32", "float64")),
                                "layout": r.choice(LAYOUTS), "grad": r.random() < 0.7, "seed": r.randint(0, 999)})
            self.shapes[name] = shape
            self.memories[name] = i
            if self.leaves[-1]["grad"]:
                self.recorded.add(i)
            if self.leaves[-1]["layout"] == "expanded":
                self.expanded.add(i)
        kinds = [(self.unary, 4), (self.binary, 5), (self.number, 3), (self.reduce, 2), (self.matrix, 1), (self.join, 1), (self.view, 9),
                 (self.several_views, 3), (self.change, 8), (self.assign, 3), (self.reshape_in_place, 1), (self.leafwise, 4),
                 (self.hook, 4), (self.backward, 5), (self.gradient, 2), (self.memory, 2), (self.grad_field, 2)]
        pool = [kind for kind, weight in kinds for _ in range(weight)]
        for _ in range(r.randint(3, 14)):
            if r.random() < 0.12:
                self.no_grad = not self.no_grad
            elif self.no_grad and r.random() < 0.3:
                self.no_grad = False
            r.choice(pool)()
        for _ in range(r.randint(0, 2)):
            self.no_grad = False
            self.backward()
        return {"watch": r.random() < 0.5, "leaves": self.leaves, "steps": self.steps}

    # -- helpers --------------------------------------------------------------------------------------------------

    def pick(self) -> str:
        """A variable, rather a recent one."""
        names = list(self.shapes)
        recent = int(min(self.random.expovariate(0.45), len(names) - 1))
        return names[-1 - recent] if self.random.random() < 0.7 else self.random.choice(names)

    def step(self, call: str, args: list[Any], shape: Shape | None = None, shapes: list[Shape] | None = None, **kwargs: Any) -> None:
        """Adds a step that returns one tensor of `shape`, or several of `shapes`, or nothing new."""
        step: dict[str, Any] = {"id": len(self.steps), "call": call, "args": args}
        name = f"$s{step['id']}"
        used = [self.memories.setdefault(x, len(self.memories)) for x in args if isinstance(x, str) and x in self.shapes]
        memory = used[0] if used else -1
        if call.endswith("_") or call in ("setitem", "zero_grad"):
            if self.no_grad or used and args[0] in self.severed:
                if memory in self.hooked | self.expanded:  # torch forgets hooks of views then, and the way that their gradients go
                    return
                self.loose.add(memory)
            if memory in self.unwatched | self.split - self.recorded and not self.no_grad and self.recorded.intersection(used[1:]):
                return
            if call in ("requires_grad_", "detach_"):
                if memory in self.changed | self.unwatched:
                    return
                self.recorded.add(memory)
            else:
                self.changed.add(memory)
        if call in ("hook", "node_hook", "node_prehook", "retain_grad"):
            if memory in self.loose:  # or is still to forget them, or crashes
                return
            self.hooked.add(memory)
        made = memory if call not in self.COPYING else len(self.steps) + 1000
        for each in (name, *[f"{name}.{i}" for i in range(len(shapes or ()))]):
            self.memories[each] = made
            if call in ("detach", "data") or used and args[0] in self.severed and made == memory:
                self.severed.add(each)
        if call in ("split", "unbind", "chunk"):
            self.split.add(memory)
        if self.no_grad and made == memory and (shape is not None or shapes) and call not in ("detach", "data"):
            if memory not in self.recorded or args[0] in self.severed:
                self.unwatched.add(memory)
        if not self.no_grad and any([self.memories.get(x) in self.recorded and x not in self.severed for x in args if isinstance(x, str)]):
            self.recorded.add(made)
        if kwargs:
            step["kwargs"] = kwargs
        if self.no_grad:
            step["no_grad"] = True
        self.steps.append(step)
        if shape is not None:
            self.shapes[name] = shape
        for i, each in enumerate(shapes or ()):
            self.shapes[f"{name}.{i}"] = each

    def partner(self, x: str, fits: bool = False) -> str | None:
        """A variable that broadcasts with `x`; to the shape of `x`, where `fits`."""
        shape = self.shapes[x]
        found = [y for y, s in self.shapes.items() if (both := broadcast(shape, s)) is not None and (not fits or both == shape)]
        return self.random.choice(found[-6:]) if found else None

    def dim(self, shape: Shape) -> int:
        """A dimension, counted from either end."""
        return self.random.randrange(-len(shape), len(shape))

    # -- operations -----------------------------------------------------------------------------------------------

    def unary(self) -> None:
        """A function of one tensor."""
        x = self.pick()
        self.step(self.random.choice(self.UNARY), [x], self.shapes[x])

    def number(self) -> None:
        """An operation with a number."""
        x = self.pick()
        call = self.random.choice(("mul", "add", "sub", "div", "pow"))
        self.step(call, [x, 2 if call == "pow" else self.random.choice((2, 0.5, -1.5, 3))], self.shapes[x])

    def binary(self) -> None:
        """A function of two tensors."""
        x = self.pick()
        y = self.partner(x)
        if y is not None:
            self.step(self.random.choice((*self.BINARY, "where")), [x, y], broadcast(self.shapes[x], self.shapes[y]))

    def reduce(self) -> None:
        """Sums and means."""
        x, r = self.pick(), self.random
        shape = self.shapes[x]
        call = r.choice(("sum", "mean", "sum", "amax", "cumsum", "logsumexp"))
        if not shape or r.random() < 0.4 and call in ("sum", "mean"):
            self.step("sum" if call not in ("sum", "mean") else call, [x], [])
            return
        dim = self.dim(shape)
        if call == "cumsum":
            self.step(call, [x, dim], shape)
            return
        keep = r.random() < 0.4
        left = [1 if i == dim % len(shape) else n for i,
                n in enumerate(shape)] if keep else [n for i, n in enumerate(shape) if i != dim % len(shape)]
        self.step(call, [x, dim, keep], left)

    def matrix(self) -> None:
        """Products of matrices."""
        pairs = [(x, y) for x, s in self.shapes.items() for y, t in self.shapes.items() if len(s) == len(t) == 2 and s[1] == t[0]]
        if pairs:
            x, y = self.random.choice(pairs)
            self.step(self.random.choice(("mm", "matmul")), [x, y], [self.shapes[x][0], self.shapes[y][1]])

    def join(self) -> None:
        """cat and stack."""
        x = self.pick()
        shape = self.shapes[x]
        y = self.random.choice([y for y, s in self.shapes.items() if s == shape])
        dim = self.random.randrange(len(shape)) if shape else 0
        if shape and self.random.random() < 0.6:
            self.step("cat", [x, y], [2 * n if i == dim else n for i, n in enumerate(shape)], dim=dim)
        else:
            self.step("stack", [x, y], [*shape[:dim], 2, *shape[dim:]], dim=dim)

    def view(self) -> None:
        """One view."""
        x, r = self.pick(), self.random
        shape = self.shapes[x]
        n = len(shape)
        kind = r.choice(("view", "reshape", "transpose", "permute", "unsqueeze", "squeeze", "expand", "narrow", "select", "getitem",
                         "getitem", "diagonal", "detach", "view_as", "flatten", "as_strided", "getitem_list", "movedim", "unfold"))
        if kind in ("view", "reshape"):
            sizes = r.choice(([math.prod(shape)], [*shape, 1], [1, *shape], shape[::-1], [math.prod(shape), 1]))
            self.step(kind, [x, sizes], sizes)
        elif kind == "unsqueeze":
            dim = r.randint(0, n)
            self.step(kind, [x, dim], [*shape[:dim], 1, *shape[dim:]])
        elif kind == "squeeze":
            self.step(kind, [x], [s for s in shape if s != 1])
        elif kind == "expand":
            sizes = [2, *shape] if r.random() < 0.6 else [3 if s == 1 else s for s in shape]
            self.step(kind, [x, sizes], sizes)
        elif kind == "detach":
            self.step(kind, [x], shape)
        elif kind == "flatten":
            self.step(kind, [x], [math.prod(shape)])
        elif kind == "view_as":
            y = r.choice([y for y, s in self.shapes.items() if math.prod(s) == math.prod(shape)])
            self.step(kind, [x, y], self.shapes[y])
        elif not n:
            self.step("getitem", [x, ["..."]], shape)
        elif kind in ("transpose", "movedim"):
            a, b = self.dim(shape), self.dim(shape)
            out = list(shape)
            if kind == "transpose":
                out[a], out[b] = out[b], out[a]
            else:
                out.insert(b % n, out.pop(a % n))
            self.step(kind, [x, a, b], out)
        elif kind == "permute":
            order = r.sample(range(n), n)
            self.step(kind, [x, order], [shape[i] for i in order])
        elif kind == "narrow":
            dim = self.dim(shape)
            start = r.randrange(shape[dim]) if shape[dim] else 0
            length = r.randint(1, max(1, shape[dim] - start))
            self.step(kind, [x, dim, start, length], [length if i == dim % n else s for i, s in enumerate(shape)])
        elif kind == "select":
            dim = self.dim(shape)
            self.step(kind, [x, dim, r.randrange(-1, max(shape[dim], 1))], [s for i, s in enumerate(shape) if i != dim % n])
        elif kind == "unfold":
            dim = n - 1
            if shape[dim] >= 2:
                self.step(kind, [x, dim, 2, 2], [*shape[:dim], shape[dim] // 2, 2])
        elif kind == "diagonal" and n >= 2:
            self.step(kind, [x], [*shape[2:], min(shape[0], shape[1])])
        elif kind == "as_strided":
            size = r.randint(1, 3)
            sizes, steps = ([size], [1]) if r.random() < 0.6 else ([2, size], [size, 1])
            self.step(kind, [x, sizes, steps], sizes)
        elif kind == "getitem_list":
            self.step("getitem", [x, [[0, -1]]], [2, *shape[1:]])
        else:
            index, out = self.index(shape)
            self.step("getitem", [x, index], out)

    def index(self, shape: Shape) -> tuple[list[Any], Shape]:
        """An index into a tensor of one dimension or more, and the shape of what it takes out."""
        r = self.random
        kind = r.randrange(5)
        if kind == 0:
            return [r.randrange(-1, max(shape[0], 1))], shape[1:]
        if kind == 1:
            return [{"slice": [0, None, 2]}], [(shape[0] + 1) // 2, *shape[1:]]
        if kind == 2:
            return ["...", 0], shape[:-1]
        if kind == 3:
            return [{"slice": [0, 1, None]}], [min(shape[0], 1), *shape[1:]]
        return ["...", {"slice": [0, 2, None]}], [*shape[:-1], min(shape[-1], 2)]

    def several_views(self) -> None:
        """unbind, split, chunk."""
        x, r = self.pick(), self.random
        shape = self.shapes[x]
        if not shape or not all(shape):
            return
        dim = r.randrange(len(shape))
        size = shape[dim]

        def piece(n: int) -> Shape:
            return [n if i == dim else s for i, s in enumerate(shape)]

        kind = r.choice(("unbind", "split", "chunk", "split_sizes"))
        if kind == "unbind":
            self.step(kind, [x, dim], shapes=[[s for i, s in enumerate(shape) if i != dim]] * size)
        elif kind == "split_sizes" and size > 1:
            self.step("split", [x, [1, size - 1], dim], shapes=[piece(1), piece(size - 1)])
        else:
            each = r.randint(1, 2) if kind != "chunk" else (size + 1) // 2
            pieces = [piece(min(each, size - i)) for i in range(0, size, each)]
            self.step(*(("chunk", [x, 2, dim]) if kind == "chunk" else ("split", [x, each, dim])), shapes=pieces)

    def change(self) -> None:
        """An in-place operation."""
        x, r = self.pick(), self.random
        kind = r.randrange(10)
        if kind < 3:
            call = r.choice(self.INPLACE_UNARY)
            self.step(call, [x, 2] if call == "fill_diagonal_" else [x])
        elif kind < 7:
            y = self.partner(x, fits=r.random() < 0.9)
            if y is not None:
                call = r.choice(self.INPLACE_BINARY)
                if call != "copy_" or x != y:
                    self.step(call, [x, y])
        elif kind < 9:
            self.step(r.choice(("add_", "mul_", "sub_", "div_", "fill_", "pow_")), [x, r.choice((2, 0.5, -1))])
        else:
            y, z = self.partner(x, fits=True), self.partner(x, fits=True)
            self.step(*r.choice((("addcmul_", [x, y, z]), ("clamp_", [x, -0.5, 0.5]), ("lerp_", [x, y, 0.25]))))

    def assign(self) -> None:
        """`x[index] = value`."""
        x, r = self.pick(), self.random
        shape = self.shapes[x]
        index, left = self.index(shape) if shape else (["..."], [])
        if shape and r.random() < 0.2:
            index, left = [[0, -1]], [2, *shape[1:]]
        found = [y for y, s in self.shapes.items() if y != x and broadcast(left, s) == left]
        self.step("setitem", [x, index, r.choice(found) if found and r.random() < 0.7 else 1.5])

    def reshape_in_place(self) -> None:
        """In-place changes of the shape alone."""
        x, r = self.pick(), self.random
        shape = self.shapes[x]
        if self.no_grad:
            return
        kind = r.choice(("transpose_", "unsqueeze_", "squeeze_", "t_"))
        if kind == "transpose_" and shape:
            a, b = self.dim(shape), self.dim(shape)
            self.step(kind, [x, a, b])
            shape = list(shape)
            shape[a], shape[b] = shape[b], shape[a]
            self.shapes[x] = shape
        elif kind == "unsqueeze_":
            self.step(kind, [x, 0])
            self.shapes[x] = [1, *shape]
        elif kind == "squeeze_":
            self.step(kind, [x])
            self.shapes[x] = [n for n in shape if n != 1]
        elif len(shape) <= 2:
            self.step("t_", [x])
            self.shapes[x] = shape[::-1]

    def leafwise(self) -> None:
        """What changes how a tensor takes part in autograd."""
        x, r = self.pick(), self.random
        kind = r.choice(("retain_grad", "retain_grad", "requires_grad_", "requires_grad_", "detach_", "detach", "clone"))
        if kind == "requires_grad_":
            self.step(kind, [x, r.random() < 0.75])
        elif kind in ("detach", "clone"):
            self.step(kind, [x], self.shapes[x])
        else:
            self.step(kind, [x])

    def hook(self) -> None:
        """Adds a hook, or takes one away."""
        x, r = self.pick(), self.random
        if self.hooks and r.random() < 0.12:
            self.step("remove_hook", [r.choice(self.hooks)])
            return
        self.hooks.append(len(self.steps))
        kind = r.choice(("hook", "hook", "hook", "post_accumulate", "node_hook", "node_prehook"))
        made = [y for y in self.shapes if y.startswith("$s")]
        if kind in ("node_hook", "node_prehook") and made:
            x = r.choice(made)
        if kind == "hook":
            how = r.choice(("look", "look", "double", "double", "transpose", "transpose", "wrong_shape" if r.random() < 0.3 else "look",
                            r.choice(("fails", "wrong_type")) if r.random() < 0.3 else "look"))
            self.step(kind, [x, how])
        else:
            self.step(kind, [r.choice([leaf["name"] for leaf in self.leaves]) if kind == "post_accumulate" and r.random() < 0.8 else x])

    def options(self) -> dict[str, Any]:
        """retain_graph and create_graph."""
        r = self.random
        found: dict[str, Any] = {}
        if r.random() < 0.45:
            found["retain_graph"] = True
        if r.random() < 0.2:
            found["create_graph"] = True
        return found

    def output(self) -> str:
        """Something to differentiate; a scalar, mostly."""
        x, r = self.pick(), self.random
        if self.shapes[x] and r.random() < 0.9:
            self.step("sum", [x], [])
            x = f"$s{len(self.steps) - 1}"
        return x

    def backward(self) -> None:
        """`backward`, with a gradient or without."""
        r = self.random
        x, options = self.pick() if r.random() < 0.25 else self.output(), self.options()
        if self.shapes[x] and r.random() < 0.8:
            same = [y for y, s in self.shapes.items() if s == self.shapes[x]]
            options["gradient"] = r.choice(same)
        if r.random() < 0.2:
            options["inputs"] = [r.choice(list(self.shapes)) for _ in range(r.randint(1, 2))]
        if r.random() < 0.1:
            self.step("backward_of", [[x, self.output()]], **{k: v for k, v in options.items() if k != "gradient"})
        else:
            self.step("backward", [x], **options)

    def gradient(self) -> None:
        """`torch.autograd.grad`."""
        r = self.random
        inputs = [r.choice(list(self.shapes)) for _ in range(r.randint(1, 2))]
        shapes = [self.shapes[x] for x in inputs]
        options = self.options()
        if r.random() < 0.7:
            options["allow_unused"] = True
        if r.random() < 0.2:
            options["materialize_grads"] = True
        self.step("grad", [[self.output()], inputs], shapes=shapes, **options)

    def memory(self) -> None:
        """`.data`, `set_`."""
        x, r = self.pick(), self.random
        kind = r.choice(("data", "data", "data", "set_data", "set_"))
        if kind == "data":
            self.step(kind, [x], self.shapes[x])
            return
        y = r.choice([y for y, s in self.shapes.items() if s == self.shapes[x]])
        if not self.no_grad or kind != "set_":  # which leaves torch's graph with another leaf
            self.step(kind, [x, y])

    def grad_field(self) -> None:
        """`.grad` as a value."""
        x, r = self.pick() if self.random.random() < 0.4 else self.random.choice(self.leaves)["name"], self.random
        kind = r.choice(("grad_of", "grad_of", "set_grad", "clear_grad", "zero_grad", "zero_grad"))
        if kind == "grad_of":
            self.step(kind, [x], self.shapes[x])
        elif kind == "clear_grad":
            self.step("set_grad", [x, None])
        elif kind == "set_grad":
            self.step(kind, [x, self.partner(x, fits=True)])
        else:
            self.step(kind, [x])


def generate(source: random.Random) -> Program:
    """A random program."""
    return Generator(source).program()
