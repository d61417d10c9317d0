"""Operations on each element: arithmetic, comparisons, activations, and casts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from autograd_tape.dtypes import DType, bool_, float32, float64, int64

from ..._making.conversion import result_type
from ..._making.creation import scalar_tensor
from .._graph import Graph, Made, Operand, Val, refuse
from .._table import ROWS, row

NODES = {
    "abs": "Abs", "neg": "Neg", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin",
    "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh",
    "sigmoid": "Sigmoid", "tanh": "Tanh", "erf": "Erf", "sign": "Sign", "reciprocal": "Reciprocal", "softsign": "Softsign",
}
"""Operations that are one node of ONNX."""
FORMULAS: dict[str, Callable[[Graph, Val], Val]] = {
    "relu": lambda g, x: g.op("Relu", x) if x.dtype.is_floating_point else g.op("Max", x, 0),
    "expm1": lambda g, x: g.op("Exp", x) - 1,
    "exp2": lambda g, x: g.op("Exp", x * math.log(2)),
    "log1p": lambda g, x: g.op("Log", x + 1),
    "log2": lambda g, x: g.op("Log", x) / math.log(2),
    "log10": lambda g, x: g.op("Log", x) / math.log(10),
    "rsqrt": lambda g, x: 1 / g.op("Sqrt", x),
    "square": lambda g, x: x * x,
    "erfc": lambda g, x: 1 - g.op("Erf", x),
    "trunc": lambda g, x: _trunc(g, x),
    "frac": lambda g, x: x - _trunc(g, x),
    "ceil": lambda g, x: g.op("Ceil", x) if x.dtype.is_floating_point else x,
    "floor": lambda g, x: g.op("Floor", x) if x.dtype.is_floating_point else x,
    "silu": lambda g, x: x * g.op("Sigmoid", x),
    "mish": lambda g, x: x * g.op("Tanh", g.op("Softplus", x)),
    "logsigmoid": lambda g, x: -g.op("Softplus", -x),
    "log_sigmoid": lambda g, x: -g.op("Softplus", -x),
    "tanhshrink": lambda g, x: x - g.op("Tanh", x),
    "hardswish": lambda g, x: x * _hardsigmoid(g, x),
    "hardsigmoid": lambda g, x: _hardsigmoid(g, x),
    "relu6": lambda g, x: g.op("Clip", x, g.const(0, x.dtype), g.const(6, x.dtype)),
    "selu": lambda g, x: g.op("Selu", x, alpha=1.6732632423543772, gamma=1.0507009873554805),
    "sinc": lambda g, x: _sinc(g, x * math.pi),
    "signbit": lambda g, x: (x < 0) | (1 / x < 0) if x.dtype.is_floating_point else x < 0,
    "positive": lambda g, x: x,
    "sgn": lambda g, x: g.op("Sign", x),
    "deg2rad": lambda g, x: x * (math.pi / 180),
    "rad2deg": lambda g, x: x * (180 / math.pi),
    "isfinite": lambda g, x: ~(g.op("IsInf", x, dtype=bool_) | g.op("IsNaN", x, dtype=bool_)) if x.dtype.is_floating_point else x.equals(x),
    "isnan": lambda g, x: g.op("IsNaN", x, dtype=bool_) if x.dtype.is_floating_point else ~x.equals(x),
    "isinf": lambda g, x: g.op("IsInf", x, dtype=bool_) if x.dtype.is_floating_point else ~x.equals(x),
    "isposinf": lambda g, x: g.op("IsInf", x, detect_negative=0, dtype=bool_) if x.dtype.is_floating_point else ~x.equals(x),
    "isneginf": lambda g, x: g.op("IsInf", x, detect_positive=0, dtype=bool_) if x.dtype.is_floating_point else ~x.equals(x),
    "logical_not": lambda g, x: ~x.to(bool_),
    "bitwise_not": lambda g, x: ~x if x.dtype is bool_ else _bits(g, "BitwiseNot", x),
    "clone": lambda g, x: g.op("Identity", x),
    "contiguous": lambda g, x: x,
    "detach": lambda g, x: x,
    "alias": lambda g, x: x,
}
"""Operations of one tensor, in formulas."""
_KEEP = frozenset(["signbit", "logical_not", "bitwise_not", "isfinite", "isnan", "isinf", "isposinf", "isneginf"])
"""Of these, those whose argument stays in its dtype."""


def _of_one(name: str) -> Callable[[Graph, Val], Val]:
    formula = FORMULAS.get(name)

    def function(g: Graph, input: Val) -> Val:
        x = input if name in _KEEP else input.to(g.out[0].dtype)
        return g.op(NODES[name], x) if formula is None else formula(g, x)

    return function


for _name in (*NODES, *FORMULAS):
    _first = {"detach": "self"}.get(_name, "input")
    ROWS[_name] = _of_one(_name), frozenset([_first])


def _trunc(g: Graph, x: Val) -> Val:
    return g.op("Sign", x) * g.op("Floor", g.op("Abs", x)) if x.dtype.is_floating_point else x


def _sinc(g: Graph, x: Val) -> Val:
    whole = g.op("Where", x.equals(0), g.const(1, x.dtype), x, dtype=x.dtype)
    return g.op("Where", x.equals(0), whole, g.op("Sin", whole) / whole, dtype=x.dtype)


def _hardsigmoid(g: Graph, x: Val) -> Val:
    return g.op("HardSigmoid", x, alpha=1 / 6, beta=0.5)


def _bits(g: Graph, op: str, *args: Any) -> Val:
    g.needs(18, f"aten::{op}")
    made: Val = g.op(op, *args)
    return made


def promoted(*operands: Any) -> DType:
    """The dtype that operands, Vals and numbers, are brought to."""
    shown = [scalar_tensor(0, dtype=x.dtype).expand((1,) * len(x.shape)) if isinstance(x, Val) and x.shape else
             scalar_tensor(0, dtype=x.dtype) if isinstance(x, Val) else x for x in operands]
    found = shown[0]
    dtype: DType = result_type(found, shown[1]) if len(shown) > 1 else found.dtype
    return dtype


# -- arithmetic -------------------------------------------------------------------------------------------------------------------------


@row("add", "sub", "rsub", "rsub_scaled")
def add(g: Graph, input: Operand, other: Operand, alpha: Operand = 1) -> Val:
    x, y = [g.scalar(v, g.out[0].dtype) for v in (input, other)]
    if g.step.name.startswith("rsub"):
        x, y = y, x
        if alpha != 1:
            y = y * alpha
    elif alpha != 1:
        y = y * alpha
    if g.out[0].dtype is bool_:
        return x | y
    return x + y if g.step.name == "add" else x - y


@row("mul")
def mul(g: Graph, input: Operand, other: Operand) -> Val:
    x, y = [g.scalar(v, g.out[0].dtype) for v in (input, other)]
    return x & y if x.dtype is bool_ else x * y


@row("div", "div_floor", "div_trunc", "floor_divide")
def div(g: Graph, input: Operand, other: Operand, rounding_mode: str | None = None) -> Val:
    x, y = [g.scalar(v, g.out[0].dtype) for v in (input, other)]
    mode = {"div": rounding_mode, "div_trunc": "trunc"}.get(g.step.name, "floor")
    if mode is None:
        return x / y
    if x.dtype.is_floating_point:
        return g.op("Floor", x / y) if mode == "floor" else _trunc(g, x / y)
    if mode == "trunc":
        return x / y
    return (x - g.op("Mod", x, y)) / y


@row("remainder", "fmod")
def remainder(g: Graph, input: Operand, other: Operand) -> Val:
    x, y = [g.scalar(v, g.out[0].dtype) for v in (input, other)]
    if g.step.name == "fmod":
        return g.op("Mod", x, y, fmod=1)
    return x - g.op("Floor", x / y) * y if x.dtype.is_floating_point else g.op("Mod", x, y)


@row("pow", "float_power")
def power(g: Graph, input: Operand, exponent: Operand) -> Val:
    dtype = g.out[0].dtype
    if isinstance(input, Val) and not isinstance(exponent, Val) and exponent == 2:
        return input.to(dtype) * input.to(dtype)
    if isinstance(input, Val) and not isinstance(exponent, Val) and exponent == 0.5:
        return g.op("Sqrt", input.to(dtype))
    return g.op("Pow", g.scalar(input, dtype), g.scalar(exponent, dtype))


@row("maximum", "minimum", "fmax", "fmin")
def maximum(g: Graph, input: Operand, other: Operand) -> Val:
    x, y = [g.scalar(v, g.out[0].dtype) for v in (input, other)]
    return g.op("Max" if "max" in g.step.name else "Min", x, y)


@row("atan2")
def atan2(g: Graph, input: Operand, other: Operand) -> Val:
    y, x = [g.scalar(v, g.out[0].dtype) for v in (input, other)]
    zero = g.const(0, x.dtype)
    half = g.op("Where", y < 0, g.const(-math.pi, x.dtype), g.const(math.pi, x.dtype))
    upright = g.op("Where", y < 0, g.const(-math.pi / 2, x.dtype), g.op("Where", y > 0, g.const(math.pi / 2, x.dtype), zero))
    safe = g.op("Where", x.equals(0), g.const(1, x.dtype), x, dtype=x.dtype)
    slope = g.op("Atan", y / safe)
    return g.op("Where", x.equals(0), upright, g.op("Where", x < 0, slope + half, slope, dtype=x.dtype), dtype=x.dtype)


@row("eq", "ne", "lt", "le", "gt", "ge")
def compare(g: Graph, input: Operand, other: Operand) -> Val:
    dtype = promoted(input, other) if isinstance(input, Val) else promoted(other, input)
    name = g.step.name
    if dtype is bool_ and name not in ("eq", "ne"):
        dtype = int64
    x, y = [g.scalar(v, dtype) for v in (input, other)]
    if name in ("eq", "ne"):
        return x.equals(y) if name == "eq" else ~x.equals(y)
    return {"lt": x.__lt__, "le": x.__le__, "gt": x.__gt__, "ge": x.__ge__}[name](y)


@row("logical_and", "logical_or", "logical_xor")
def logical(g: Graph, input: Val, other: Operand) -> Val:
    return g.op({"and": "And", "or": "Or", "xor": "Xor"}[g.step.name[8:]], g.scalar(input, bool_), g.scalar(other, bool_))


@row("bitwise_and", "bitwise_or", "bitwise_xor")
def bitwise(g: Graph, input: Operand, other: Operand) -> Val:
    x, y = [g.scalar(v, g.out[0].dtype) for v in (input, other)]
    name = {"and": "And", "or": "Or", "xor": "Xor"}[g.step.name[8:]]
    return g.op(name, x, y) if x.dtype is bool_ else _bits(g, f"Bitwise{name}", x, y)


@row("bitwise_left_shift", "bitwise_right_shift")
def shift(g: Graph, input: Operand, other: Operand) -> Val:
    x, y = [g.scalar(v, g.out[0].dtype) for v in (input, other)]
    factor = g.op("Pow", g.const(2, x.dtype), y)
    return x * factor if "left" in g.step.name else (x - g.op("Mod", x, factor)) / factor


@row("where")
def where(g: Graph, condition: Val, input: Operand | None = None, other: Operand | None = None) -> Made:
    if input is None or other is None:  # the places of what is not zero
        found = g.op("NonZero", condition, dtype=int64)
        return [g.op("Gather", found, g.const(i, int64), axis=0) for i in range(condition.rank)]
    dtype = g.out[0].dtype
    made: Val = g.op("Where", condition.to(bool_), g.scalar(input, dtype), g.scalar(other, dtype), dtype=dtype)
    return made


@row("masked_fill")
def masked_fill(g: Graph, input: Val, mask: Val, value: Operand) -> Val:
    made: Val = g.op("Where", mask.to(bool_), g.scalar(value, input.dtype), input, dtype=input.dtype)
    return made


@row("clamp", "clamp_min", "clamp_max", "clamp_tensor", "clamp_min_tensor", "clamp_max_tensor")
def clamp(g: Graph, input: Val, min: Operand | None = None, max: Operand | None = None) -> Val:
    x = input.to(g.out[0].dtype)
    if min is not None:
        x = g.op("Max", x, g.scalar(min, x.dtype))
    return x if max is None else g.op("Min", x, g.scalar(max, x.dtype))


@row("lerp")
def lerp(g: Graph, input: Val, end: Val, weight: Operand) -> Val:
    return input + (end - input) * weight


@row("addcmul", "addcdiv")
def addcmul(g: Graph, input: Val, tensor1: Val, tensor2: Val, value: Operand = 1) -> Val:
    x, a, b = [t.to(g.out[0].dtype) for t in (input, tensor1, tensor2)]
    return x + (a * b if g.step.name == "addcmul" else a / b) * value


@row("xlogy")
def xlogy(g: Graph, input: Operand, other: Operand) -> Val:
    x, y = [g.scalar(v, g.out[0].dtype) for v in (input, other)]
    return g.op("Where", x.equals(0), g.const(0, x.dtype), x * g.op("Log", y), dtype=x.dtype)


@row("hypot", "logaddexp", "logaddexp2", "heaviside", "ldexp", "copysign", "xlog1py")
def of_two(g: Graph, input: Operand, other: Operand | None = None, values: Operand | None = None) -> Val:
    x, y = [g.scalar(v, g.out[0].dtype) for v in (input, values if other is None else other)]
    match g.step.name:
        case "hypot":
            return g.op("Sqrt", x * x + y * y)
        case "heaviside":
            return g.op("Where", x.equals(0), y, (x > 0).to(x.dtype), dtype=x.dtype)
        case "ldexp":
            return x * g.op("Pow", g.const(2, x.dtype), y)
        case "copysign":
            return g.op("Where", y < 0, -g.op("Abs", x), g.op("Abs", x), dtype=x.dtype)
        case "xlog1py":
            return g.op("Where", x.equals(0), g.const(0, x.dtype), x * g.op("Log", y + 1), dtype=x.dtype)
    unit = math.log(2) if g.step.name == "logaddexp2" else 1.0
    most = g.op("Max", x, y)
    return most + g.op("Log", g.op("Exp", g.op("Abs", x - y) * -unit) + 1) / unit


@row("isclose")
def isclose(g: Graph, input: Val, other: Val, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Val:
    x, y = [v.to(float64) for v in (input, other)]
    near = (g.op("Abs", x - y) <= g.op("Abs", y) * rtol + atol) & ~g.op("IsInf", y, dtype=bool_) | x.equals(y)
    return near | g.op("IsNaN", x, dtype=bool_) & g.op("IsNaN", y, dtype=bool_) if equal_nan else near


@row("rrelu_with_noise")
def rrelu(g: Graph, input: Val, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Val:
    if training:
        raise refuse("rrelu in training has no translation")
    return g.op("LeakyRelu", input, alpha=(lower + upper) / 2)


@row("cast")
def cast(g: Graph, input: Val, dtype: DType) -> Val:
    return input.to(g.out[0].dtype)


@row("cast_like")
def cast_like(g: Graph, input: Val, like: Val) -> Val:
    return input.to(g.out[0].dtype)


@row("transfer")
def transfer(g: Graph, input: Val, dtype: DType | None = None) -> Val:
    return input.to(g.out[0].dtype)


@row("round")
def rounded(g: Graph, input: Val, decimals: int = 0) -> Val:
    if not input.dtype.is_floating_point:
        return input
    return g.op("Round", input * 10.0 ** decimals) / 10.0 ** decimals if decimals else g.op("Round", input)


@row("nan_to_num")
def nan_to_num(g: Graph, input: Val, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Val:
    import ml_dtypes

    if not input.dtype.is_floating_point:
        return input
    limits = ml_dtypes.finfo(input.dtype.np)
    x = g.op("Where", g.op("IsNaN", input, dtype=bool_), g.const(nan or 0, input.dtype), input, dtype=input.dtype)
    high, low = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf
    x = g.op("Where", g.op("IsInf", x, detect_negative=0, dtype=bool_), g.const(high, x.dtype), x, dtype=input.dtype)
    return g.op("Where", g.op("IsInf", x, detect_positive=0, dtype=bool_), g.const(low, x.dtype), x, dtype=input.dtype)


@row("logit")
def logit(g: Graph, input: Val, eps: float | None = None) -> Val:
    x = input.to(g.out[0].dtype)
    if eps is not None:
        x = g.op("Clip", x, g.const(eps, x.dtype), g.const(1 - eps, x.dtype))
    return g.op("Log", x / (1 - x))


# -- activations ------------------------------------------------------------------------------------------------------------------------


@row("gelu")
def gelu(g: Graph, input: Val, approximate: str = "none") -> Val:
    if g.opset >= 20:
        return g.op("Gelu", input, approximate=approximate)
    if approximate == "tanh":
        return input * 0.5 * (g.op("Tanh", (input + input * input * input * 0.044715) * math.sqrt(2 / math.pi)) + 1)
    return input * 0.5 * (g.op("Erf", input * math.sqrt(0.5)) + 1)


@row("leaky_relu")
def leaky_relu(g: Graph, input: Val, negative_slope: float = 0.01) -> Val:
    return g.op("LeakyRelu", input, alpha=float(negative_slope))


@row("elu", "celu")
def elu(g: Graph, input: Val, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Val:
    if g.step.name == "celu":
        return g.op("Celu", input, alpha=float(alpha)) if input.dtype is float32 else g.op("Max", input, 0) + g.op(
            "Min", (g.op("Exp", input / alpha) - 1) * alpha, 0)
    x = g.op("Elu", input * input_scale if input_scale != 1 else input, alpha=float(alpha))
    return x * scale if scale != 1 else x


@row("softplus")
def softplus(g: Graph, input: Val, beta: float = 1, threshold: float = 20) -> Val:
    scaled = input * beta if beta != 1 else input
    soft = g.op("Softplus", scaled)
    return g.op("Where", scaled > threshold, input, soft / beta if beta != 1 else soft, dtype=input.dtype)


@row("hardtanh")
def hardtanh(g: Graph, input: Val, min_val: float = -1.0, max_val: float = 1.0) -> Val:
    return g.op("Clip", input, g.const(min_val, input.dtype), g.const(max_val, input.dtype))


@row("threshold")
def threshold(g: Graph, input: Val, threshold: float, value: float) -> Val:
    return g.op("Where", input > threshold, input, g.const(value, input.dtype), dtype=input.dtype)


@row("softshrink", "hardshrink")
def shrink(g: Graph, input: Val, lambd: float = 0.5) -> Val:
    bias = float(lambd) if g.step.name == "softshrink" else 0.0
    return g.op("Shrink", input, bias=bias, lambd=float(lambd))


@row("_prelu_kernel")
def prelu(g: Graph, input: Val, weight: Val) -> Val:
    return g.op("PRelu", input, weight)


@row("glu")
def glu(g: Graph, input: Val, dim: int = -1) -> Val:
    a, b = g.op("Split", input, outputs=2, axis=dim, num_outputs=2 if g.opset >= 18 else None)
    return a * g.op("Sigmoid", b)


@row("softmax", "log_softmax", "nn_functional_softmax", "nn_functional_log_softmax", "softmin", "_softmax", "_log_softmax",
     "_safe_softmax")
def softmax(g: Graph, input: Val, dim: int | None = None, dtype: DType | None = None) -> Val:
    if dim is None:
        dim = 0 if input.rank in (0, 1, 3) else 1
    x = input.to(g.out[0].dtype)
    if not input.rank:
        return g.op("Softmax", g.op("Reshape", x, [1])) if False else x * 0 + (0 if "log" in g.step.name else 1)
    made = g.op("LogSoftmax" if "log" in g.step.name else "Softmax", -x if g.step.name == "softmin" else x, axis=dim)
    if g.step.name == "_safe_softmax":
        return g.op("Where", g.op("IsNaN", made, dtype=bool_), g.const(0, x.dtype), made, dtype=x.dtype)
    return made


@row("nn_functional_dropout", "dropout", "nn_functional_alpha_dropout", "nn_functional_feature_alpha_dropout", "nn_functional_dropout1d",
     "nn_functional_dropout2d", "nn_functional_dropout3d", random=True)
def dropout(g: Graph, input: Val, p: float = 0.5, training: bool = True, train: bool | None = None) -> Val:
    active = training if train is None else train
    if not active or p == 0:
        return input
    if not g.step.name.endswith("dropout") or "alpha" in g.step.name:
        raise refuse(f"{g.step.known_as} in training has no translation")
    return g.op("Dropout", input, g.const(p, float32), g.const(True, bool_))
