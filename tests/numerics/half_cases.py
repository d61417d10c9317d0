"""Every operation that adds up elements of half precision, over 5,000 ones: what it gives and what gradients it has.

5,000 is beyond what half precision counts to in steps of one (256 in bfloat16, 2,048 in float16), so that a sum which is rounded after
each step stands still there, and one that is rounded once is right to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

N = 5000
Case = Callable[[Any, Any], list[Any]]
CASES: dict[str, Case] = {}


def case(name: str, /, *leaves: Any, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers `function(torch, *leaves)`; each leaf is a shape, filled with ones that require grad."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(torch: Any, dtype: Any, fill: Any = None) -> list[Any]:
            made = [(torch.ones(shape, dtype=dtype) if fill is None else fill(shape, dtype)).requires_grad_() for shape in leaves]
            result = function(torch, *made, **options)
            outputs = list(result) if isinstance(result, (tuple, list)) else [result]
            outputs = [t for t in outputs if t.dtype.is_floating_point]
            backward = [t for t in outputs if t.requires_grad]
            if backward:
                torch.autograd.backward(backward, [torch.ones_like(t) for t in backward])
            return [t.detach() for t in outputs] + [leaf.grad for leaf in made if leaf.grad is not None]

        assert name not in CASES
        CASES[name] = run
        return function

    return register


def zeros(torch: Any, like: Any, *shape: int) -> Any:
    return torch.zeros(shape, dtype=like.dtype)


def index(torch: Any, n: int = N, value: int = 0) -> Any:
    return torch.full((n,), value, dtype=torch.int64)


# -- reductions, over all elements, rows and columns ----------------------------------------------------------------------

for _name in ("sum", "mean", "nansum", "nanmean", "prod", "logsumexp", "norm", "var", "std", "cumsum", "cumprod", "logcumsumexp", "softmax",
              "log_softmax", "amax", "amin", "max", "median", "count_nonzero"):
    for _where, _shape, _dim in (("rows", (2, N), 1), ("columns", (N, 3), 0), ("middle", (2, N, 2), 1)):
        case(f"{_name} of {_where}", _shape, name=_name, dim=_dim)(
            lambda torch, x, name, dim: getattr(torch, name)(x, dim=dim))
for _name in ("sum", "mean", "nansum", "nanmean", "prod", "norm", "var", "std", "amax", "amin", "max"):
    case(f"{_name} of all", (N,), name=_name)(lambda torch, x, name: getattr(torch, name)(x))
    case(f"{_name} of all, transposed", (50, 100), name=_name)(lambda torch, x, name: getattr(torch, name)(x.t()))
for _p in (0, 1, 2, 3, 0.5, float("inf")):
    case(f"vector_norm {_p}", (N,), p=_p)(lambda torch, x, p: torch.linalg.vector_norm(x, p))
    case(f"vector_norm {_p} of columns", (N, 3), p=_p)(lambda torch, x, p: torch.linalg.vector_norm(x, p, 0))
case("var_mean", (N, 3))(lambda torch, x: torch.var_mean(x, 0))
case("std_mean", (3, N))(lambda torch, x: torch.std_mean(x, 1))
case("sum_to_size", (N, 3))(lambda torch, x: x.sum_to_size(1, 3))
case("trace", (N // 10, N // 10))(lambda torch, x: torch.trace(x))
case("dot", (N,), (N,))(lambda torch, x, y: torch.dot(x, y))
case("vdot", (N,), (N,))(lambda torch, x, y: torch.vdot(x, y))
case("inner", (2, N), (3, N))(lambda torch, x, y: torch.inner(x, y))
case("vecdot", (2, N), (2, N))(lambda torch, x, y: torch.linalg.vecdot(x, y))
case("mv", (2, N), (N,))(lambda torch, x, y: torch.mv(x, y))
case("mm", (2, N), (N, 3))(lambda torch, x, y: torch.mm(x, y))
case("mm backward", (N, 2), (2, 3))(lambda torch, x, y: torch.mm(x, y))
case("bmm", (2, 2, N), (2, N, 3))(lambda torch, x, y: torch.bmm(x, y))
case("baddbmm", (1, 1), (2, 40, 30), (2, 30, 60))(lambda torch, c, x, y: torch.baddbmm(c.expand(2, 40, 60), x, y))
case("addmm", (3,), (N, 2), (2, 3))(lambda torch, c, x, y: torch.addmm(c, x, y))
case("addmv", (1,), (N, 2), (2,))(lambda torch, c, x, y: torch.addmv(c, x, y))
case("addbmm", (2, 3), (N, 2, 1), (N, 1, 3))(lambda torch, c, x, y: torch.addbmm(c, x, y))
case("addr", (1, 1), (50,), (100,))(lambda torch, c, x, y: torch.addr(c, x, y))
case("outer", (N,), (3,))(lambda torch, x, y: torch.outer(x, y))
case("matmul broadcast", (50, 100, 2), (2, 3))(lambda torch, x, y: torch.matmul(x, y))
case("matmul stacks", (N, 2, 2), (1, 2, 3))(lambda torch, x, y: torch.matmul(x, y))
case("einsum ij->i", (2, N))(lambda torch, x: torch.einsum("ij->i", x))
case("einsum ij->j", (N, 2))(lambda torch, x: torch.einsum("ij->j", x))
case("einsum ij,jk", (2, N), (N, 3))(lambda torch, x, y: torch.einsum("ij,jk->ik", x, y))
case("einsum bij,ij", (N, 2, 3), (2, 3))(lambda torch, x, y: torch.einsum("bij,ij->bi", x, y))
case("tensordot", (50, 100), (50, 100))(lambda torch, x, y: torch.tensordot(x, y, 2))
case("kron", (1, 1), (50, 100))(lambda torch, x, y: torch.kron(x, y))
case("trapezoid", (2, N))(lambda torch, x: torch.trapezoid(x))
case("trapezoid x", (2, N), (N,))(lambda torch, y, x: torch.trapezoid(y, x))
case("cumulative_trapezoid", (2, N))(lambda torch, x: torch.cumulative_trapezoid(x))
case("cov", (2, N))(lambda torch, x: torch.cov(x))
case("cdist", (1, N), (1, N))(lambda torch, x, y: torch.norm(x - y * 2, dim=1))
case("renorm", (2, N))(lambda torch, x: torch.renorm(x, 2, 0, 1.0))
case("dist", (N,), (1,))(lambda torch, x, y: torch.dist(x, y * 2, 2))

# -- gradients of broadcasting --------------------------------------------------------------------------------------------

for _name in ("add", "sub", "mul", "div", "maximum", "minimum", "atan2", "hypot", "pow", "fmod", "remainder", "copysign", "fmax", "fmin",
              "logaddexp", "logaddexp2", "xlogy", "heaviside", "lerp", "nextafter", "ldexp", "float_power"):
    if _name in ("heaviside", "nextafter", "lerp"):
        continue
    case(f"{_name} with one", (N,), (1,), name=_name)(lambda torch, x, y, name: getattr(torch, name)(x, y))
    case(f"{_name} with a column", (2, N), (2, 1), name=_name)(lambda torch, x, y, name: getattr(torch, name)(x, y))
    case(f"{_name} with a row", (50, 100, 3), (3,), name=_name)(lambda torch, x, y, name: getattr(torch, name)(x, y))
case("rsub", (N,), ())(lambda torch, x, y: torch.rsub(x, y))
case("addcmul", (1,), (N,), (1,))(lambda torch, a, b, c: torch.addcmul(a, b, c))
case("addcdiv", (1,), (N,), (1,))(lambda torch, a, b, c: torch.addcdiv(a, b, c))
case("lerp", (N,), (1,), ())(lambda torch, a, b, w: torch.lerp(a, b, w))
case("where", (1,), (N,))(lambda torch, a, b: torch.where(torch.ones(N, dtype=torch.bool), a, b))
case("clamp", (N,), (1,))(lambda torch, x, low: torch.clamp(x * 0, low))
case("masked_fill", (1,), ())(lambda torch, x, v: x.expand(N).masked_fill(torch.arange(N) >= 0, v))
case("fill", (N,), ())(lambda torch, x, v: torch.fill(x, v))
case("copy_", (N,), (1,))(lambda torch, x, v: (x * 1).copy_(v))
case("setitem", (N,), ())(lambda torch, x, v: (x * 1).index_put((torch.arange(N),), v))
case("slice set", (N,), ())(lambda torch, x, v: torch.slice_scatter(x, v.expand(N - 1), 0, 0, N - 1))
case("expand", (1, 3))(lambda torch, x: x.expand(N, 3))
case("expand of 0-dim", ())(lambda torch, x: x.expand(N))
case("broadcast_to", (3, 1))(lambda torch, x: torch.broadcast_to(x, (3, N)))
case("expand 3", (2, 1, 3))(lambda torch, x: x.expand(2, N, 3))
case("repeat", (3,))(lambda torch, x: x.repeat(N, 1))
case("tile", (3,))(lambda torch, x: torch.tile(x, (N,)))
case("repeat_interleave", (3,))(lambda torch, x: torch.repeat_interleave(x, N))
case("repeat_interleave tensor", (2,))(lambda torch, x: torch.repeat_interleave(x, torch.tensor([N, 3])))
case("meshgrid", (2,), (N,))(lambda torch, x, y: torch.meshgrid(x, y, indexing="ij"))
case("cartesian_prod", (2,), (N,))(lambda torch, x, y: torch.cartesian_prod(x, y))
case("as_strided", (3,))(lambda torch, x: torch.as_strided(x, (N, 3), (0, 1)))
case("as_strided overlap", (N + 2,))(lambda torch, x: torch.as_strided(x, (N, 3), (1, 1)))
case("unfold overlap", (N + 300,))(lambda torch, x: x.unfold(0, 301, 1))
case("fancy index", (3,))(lambda torch, x: x[index(torch, value=1)])
case("fancy index rows", (3, 2))(lambda torch, x: x[index(torch, value=1)])
case("gather", (3, 2))(lambda torch, x: torch.gather(x, 0, index(torch).reshape(N // 2, 2)))
case("gather rows", (2, 3))(lambda torch, x: torch.gather(x, 1, index(torch, 2 * N).reshape(2, N)))
case("take", (3,))(lambda torch, x: torch.take(x, index(torch)))
case("take_along_dim", (3, 2))(lambda torch, x: torch.take_along_dim(x, index(torch).reshape(N // 2, 2), 0))
case("index_select", (3, 2))(lambda torch, x: torch.index_select(x, 0, index(torch)))
case("index_select columns", (2, 3))(lambda torch, x: torch.index_select(x, 1, index(torch)))
case("index_select of one", (3,))(lambda torch, x: torch.index_select(x, 0, index(torch)))
case("embedding", (3, 4))(lambda torch, x: torch.nn.functional.embedding(index(torch), x))
case("embedding by frequency", (3, 4))(lambda torch, x: torch.nn.functional.embedding(index(torch), x, scale_grad_by_freq=True))
for _mode in ("sum", "mean", "max"):
    case(f"embedding_bag {_mode}", (3, 4), mode=_mode)(
        lambda torch, x, mode: torch.nn.functional.embedding_bag(index(torch).reshape(2, N // 2), x, mode=mode))

# -- forward accumulation -------------------------------------------------------------------------------------------------

case("scatter_add", (3,), (N,))(lambda torch, x, s: torch.scatter_add(x, 0, index(torch), s))
case("scatter_add rows", (3, 2), (N, 2))(lambda torch, x, s: torch.scatter_add(x, 0, index(torch, 2 * N).reshape(N, 2), s))
case("scatter_add columns", (2, 3), (2, N))(lambda torch, x, s: torch.scatter_add(x, 1, index(torch, 2 * N).reshape(2, N), s))
for _mode in ("sum", "mean", "prod", "amax", "amin"):
    for _self in (True, False):
        case(f"scatter_reduce {_mode} {_self}", (3,), (N,), mode=_mode, own=_self)(
            lambda torch, x, s, mode, own: torch.scatter_reduce(x, 0, index(torch), s, mode, include_self=own))
        if _mode != "sum":
            case(f"index_reduce {_mode} {_self}", (3, 2), (N, 2), mode=_mode, own=_self)(
                lambda torch, x, s, mode, own: torch.index_reduce(x, 0, index(torch), s, mode, include_self=own))
case("scatter value", (3,), (N,))(lambda torch, x, s: torch.scatter(x, 0, index(torch), s))
case("index_add", (3,), (N,))(lambda torch, x, s: torch.index_add(x, 0, index(torch), s))
case("index_add rows", (3, 2), (N, 2))(lambda torch, x, s: torch.index_add(x, 0, index(torch), s))
case("index_add columns", (2, 3), (2, N))(lambda torch, x, s: torch.index_add(x, 1, index(torch), s))
case("index_add alpha", (3, 2), (N, 2))(lambda torch, x, s: torch.index_add(x, 0, index(torch), s, alpha=2))
case("index_put accumulate", (3,), (N,))(lambda torch, x, s: torch.index_put(x, (index(torch),), s, accumulate=True))
case("index_put accumulate rows", (3, 2), (N, 2))(lambda torch, x, s: torch.index_put(x, (index(torch),), s, accumulate=True))
case("index_put accumulate one", (3,), ())(lambda torch, x, s: torch.index_put(x, (index(torch),), s, accumulate=True))
case("index_fill", (N, 2), ())(lambda torch, x, s: torch.index_fill(x, 0, torch.arange(N), s))
case("put_ accumulate", (3,), (N,))(lambda torch, x, s: (x * 1).put_(index(torch), s, accumulate=True))
case("bincount weights", (N,))(lambda torch, w: torch.bincount(index(torch), w.detach()))
case("histc", (N,))(lambda torch, x: torch.histc(x.detach(), 3, 0, 2))

# -- neural networks ------------------------------------------------------------------------------------------------------


def functional(name: str, /, *leaves: Any, case_name: str | None = None, **options: Any) -> None:
    def run(torch: Any, *made: Any) -> Any:
        return getattr(torch.nn.functional, name)(*made, **options)

    case(case_name or name, *leaves)(run)


functional("linear", (N, 2), (3, 2), (3,))
functional("linear", (50, 100, 2), (3, 2), (3,), case_name="linear of 3-dim input")
functional("linear", (2, N), (3, N), (3,), case_name="linear, long")
functional("bilinear", (N, 2), (N, 2), (3, 2, 2), (3,))
functional("prelu", (N, 3), (3,))
functional("prelu", (N,), (1,), case_name="prelu with one weight")
functional("conv1d", (2, 3, N), (4, 3, 3), (4,))
functional("conv1d", (N, 1, 3), (2, 1, 3), (2,), case_name="conv1d, many samples")
functional("conv2d", (2, 3, 50, 50), (4, 3, 3, 3), (4,))
functional("conv2d", (2, 4, 50, 50), (4, 2, 3, 3), (4,), case_name="conv2d, groups", groups=2)
functional("conv2d", (2, 4, 50, 50), (4, 1, 3, 3), (4,), case_name="conv2d, depthwise", groups=4)
functional("conv3d", (2, 2, 14, 14, 14), (3, 2, 2, 2, 2), (3,))
functional("conv_transpose1d", (2, 3, N), (3, 4, 3), (4,))
functional("conv_transpose2d", (2, 3, 50, 50), (3, 4, 3, 3), (4,))
functional("conv_transpose2d", (2, 3, 50, 50), (3, 4, 3, 3), (4,), case_name="conv_transpose2d, stride", stride=2)
functional("layer_norm", (N, 4), case_name="layer_norm plain", normalized_shape=(4,))
case("layer_norm", (N, 4), (4,), (4,))(lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (4,), w, b))
case("layer_norm long", (2, N), (N,), (N,))(lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (N,), w, b))
case("rms_norm", (N, 4), (4,))(lambda torch, x, w: torch.nn.functional.rms_norm(x, (4,), w))
case("rms_norm long", (2, N), (N,))(lambda torch, x, w: torch.nn.functional.rms_norm(x, (N,), w))
case("group_norm", (50, 4, 100), (4,), (4,))(lambda torch, x, w, b: torch.nn.functional.group_norm(x, 2, w, b))
case("batch_norm", (N, 3), (3,), (3,))(lambda torch, x, w, b: torch.nn.functional.batch_norm(x, None, None, w, b, True))
case("batch_norm images", (10, 3, 500), (3,), (3,))(lambda torch, x, w, b: torch.nn.functional.batch_norm(x, None, None, w, b, True))
case("instance_norm", (2, 3, N), (3,), (3,))(lambda torch, x, w, b: torch.nn.functional.instance_norm(x, weight=w, bias=b))
case("normalize", (2, N))(lambda torch, x: torch.nn.functional.normalize(x, dim=1))
case("cosine_similarity", (2, N), (2, N))(lambda torch, x, y: torch.nn.functional.cosine_similarity(x, y))
case("pairwise_distance", (2, N), (2, N))(lambda torch, x, y: torch.nn.functional.pairwise_distance(x, y * 2))
functional("avg_pool1d", (2, 2, N), case_name="avg_pool1d", kernel_size=N // 2)
functional("avg_pool1d", (2, 2, N), case_name="avg_pool1d overlap", kernel_size=600, stride=1)
functional("avg_pool2d", (1, 2, 70, 70), case_name="avg_pool2d", kernel_size=70)
functional("avg_pool2d", (1, 1, 60, 60), case_name="avg_pool2d overlap", kernel_size=30, stride=1)
functional("adaptive_avg_pool1d", (2, 2, N), case_name="adaptive_avg_pool1d", output_size=1)
functional("adaptive_avg_pool2d", (2, 2, 70, 70), case_name="adaptive_avg_pool2d", output_size=1)
functional("adaptive_avg_pool2d", (2, 2, 70, 70), case_name="adaptive_avg_pool2d 3", output_size=3)
functional("lp_pool1d", (1, 2, N), case_name="lp_pool1d", norm_type=2, kernel_size=N)
functional("max_pool1d", (1, 1, N), case_name="max_pool1d overlap", kernel_size=600, stride=1)
functional("max_pool2d", (1, 1, 60, 60), case_name="max_pool2d overlap", kernel_size=30, stride=1)
functional("unfold", (1, 1, 60, 60), case_name="unfold", kernel_size=30)
functional("fold", (1, 900, 961), case_name="fold", output_size=(60, 60), kernel_size=30)
for _mode in ("nearest", "linear"):
    functional("interpolate", (1, 2, 2), case_name=f"interpolate {_mode} 1d", size=N, mode=_mode)
for _mode in ("nearest", "bilinear", "bicubic", "area", "nearest-exact"):
    functional("interpolate", (1, 2, 2, 2), case_name=f"interpolate {_mode} 2d", size=(70, 70), mode=_mode)
functional("interpolate", (1, 2, N), case_name="interpolate area down", size=1, mode="area")
for _mode in ("replicate", "reflect", "circular"):
    functional("pad", (1, 1, 3), case_name=f"pad {_mode}", pad=(2, 2), mode=_mode)
functional("pad", (1, 1, 3), case_name="pad replicate far", pad=(N, 0), mode="replicate")
functional("softmax", (2, N), dim=1, case_name="softmax row")
for _name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "soft_margin_loss", "binary_cross_entropy_with_logits",
              "hinge_embedding_loss", "poisson_nll_loss"):
    for _reduction in ("sum", "mean"):
        case(f"{_name} {_reduction}", (N,), (N,), name=_name, reduction=_reduction)(
            lambda torch, x, y, name, reduction: getattr(torch.nn.functional, name)(x * 3, y.detach(), reduction=reduction))
for _reduction in ("sum", "mean"):
    case(f"binary_cross_entropy {_reduction}", (N,), reduction=_reduction)(
        lambda torch, x, reduction: torch.nn.functional.binary_cross_entropy(x * 0.5, x.detach(), reduction=reduction))
    case(f"cross_entropy {_reduction}", (N, 3), reduction=_reduction)(
        lambda torch, x, reduction: torch.nn.functional.cross_entropy(x, index(torch), reduction=reduction))
    case(f"nll_loss {_reduction}", (N, 3), (3,), reduction=_reduction)(
        lambda torch, x, w, reduction: torch.nn.functional.nll_loss(x, index(torch), w.detach(), reduction=reduction))
    case(f"cross_entropy probabilities {_reduction}", (N, 3), reduction=_reduction)(
        lambda torch, x, reduction: torch.nn.functional.cross_entropy(x, x.detach(), reduction=reduction))
    case(f"cross_entropy smoothed {_reduction}", (3, N), reduction=_reduction)(
        lambda torch, x, reduction: torch.nn.functional.cross_entropy(x, index(torch, 3), label_smoothing=0.1, reduction=reduction))
    case(f"margin_ranking_loss {_reduction}", (N,), (N,), reduction=_reduction)(
        lambda torch, x, y, reduction: torch.nn.functional.margin_ranking_loss(x, y, torch.ones_like(x), margin=1.0, reduction=reduction))
    case(f"triplet_margin_loss {_reduction}", (N, 2), (N, 2), (N, 2), reduction=_reduction)(
        lambda torch, a, p, n, reduction: torch.nn.functional.triplet_margin_loss(a, p, n, reduction=reduction))
    case(f"gaussian_nll_loss {_reduction}", (N,), (N,), (N,), reduction=_reduction)(
        lambda torch, x, y, v, reduction: torch.nn.functional.gaussian_nll_loss(x, y * 2, v, reduction=reduction))
case("scaled_dot_product_attention", (1, 2, 4), (1, N, 4), (1, N, 4))(
    lambda torch, q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v))
case("scaled_dot_product_attention, long queries", (1, N, 4), (1, 2, 4), (1, 2, 4))(
    lambda torch, q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v))
case("diag_embed", (N,))(lambda torch, x: torch.diagonal(torch.diag_embed(x[:50])).sum())
case("grid_sample", (1, 1, 2, 2))(
    lambda torch, x: torch.nn.functional.grid_sample(x, torch.zeros(1, 70, 70, 2, dtype=x.dtype), align_corners=True))
case("weight_norm", (3, N), (3, 1))(lambda torch, v, g: v * (g / torch.norm(v, 2, 1, True)))

# -- gradients of several users of one tensor are added in its own dtype, one after another ---------------------------------

ONE_BY_ONE = ("many users", "many views", "accumulated", "unfold overlap")


@case("many users", ())
def many_users(torch: Any, x: Any) -> Any:
    return [x * 1 for _ in range(600)]


@case("many views", (3,))
def many_views(torch: Any, x: Any) -> Any:
    return [x[:2] for _ in range(600)]


@case("twice", (N,), (1,))
def twice(torch: Any, x: Any, y: Any) -> Any:
    return x * y + y


@case("accumulated", (1,))
def accumulated(torch: Any, x: Any) -> Any:
    for _ in range(600):
        (x * 1).sum().backward()
    return x * 1
