"""Which operations the oracle records, under their names in torch's operator database, and how each is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DTYPES = ("float32", "float64", "int64", "bool")

FAMILIES: dict[str, str] = {
    "pointwise": """
        abs acos acosh add addcdiv addcmul angle asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not
        bitwise_or bitwise_right_shift bitwise_xor ceil clamp clamp_max clamp_min copysign cos cosh deg2rad digamma
        div.no_rounding_mode div.trunc_rounding div.floor_rounding erf erfc erfinv exp exp2 expm1 float_power floor
        floor_divide fmax fmin fmod frac frexp gcd heaviside hypot i0 lcm ldexp lerp lgamma log log10 log1p log2
        logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit max.binary maximum min.binary minimum
        mul nan_to_num neg nextafter polygamma.polygamma_n_1 positive pow rad2deg reciprocal remainder round
        round.decimals_0 round.decimals_3 round.decimals_neg_3 rsqrt rsub sgn sigmoid sign signbit sin sinc sinh sqrt
        square sub tan tanh true_divide trunc xlogy __radd__ __rand__ __rdiv__ __rmod__ __rmul__ __ror__ __rpow__
        __rsub__ __rxor__ special.entr special.erfcx special.i0e special.i1 special.i1e special.log_ndtr special.ndtr
        special.ndtri special.xlog1py
    """,
    "comparison": """
        allclose eq equal ge gt isclose isfinite isin isinf isnan isneginf isposinf isreal le lt ne
    """,
    "reductions": """
        all amax amin aminmax any argmax argmin count_nonzero cummax cummin cumprod cumsum dist kthvalue
        linalg.matrix_norm linalg.norm linalg.vector_norm logcumsumexp logsumexp max.reduction_no_dim
        max.reduction_with_dim mean median min.reduction_no_dim min.reduction_with_dim mode nanmean nanmedian
        nanquantile nansum norm norm.fro norm.inf prod quantile std std.unbiased std_mean std_mean.unbiased sum trace
        var var.unbiased var_mean var_mean.unbiased
    """,
    "sorting": """
        argsort bincount bucketize histc msort searchsorted sort topk unique unique_consecutive
    """,
    "linalg": """
        __rmatmul__ addbmm addmm addmm.decomposed addmv addr baddbmm block_diag bmm cartesian_prod cdist combinations
        cholesky_inverse cholesky_solve corrcoef cov cross dot einsum inner kron linalg.cholesky linalg.cross linalg.det
        linalg.eigvals linalg.inv linalg.lstsq linalg.lu linalg.lu_factor linalg.lu_factor_ex linalg.lu_solve
        linalg.matrix_power linalg.multi_dot linalg.slogdet linalg.solve linalg.tensorinv linalg.tensorsolve linalg.vander
        linalg.vecdot lu lu_solve lu_unpack matmul matrix_exp mm mv outer tensordot vdot
    """,
    "fourier": """
        fft.fft fft.fft2 fft.fftn fft.fftshift fft.hfft fft.hfft2 fft.hfftn fft.ifft fft.ifft2 fft.ifftn fft.ifftshift
        fft.ihfft fft.ihfft2 fft.ihfftn fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn
        signal.windows.bartlett signal.windows.blackman signal.windows.cosine signal.windows.exponential
        signal.windows.gaussian signal.windows.general_cosine signal.windows.general_hamming signal.windows.hamming
        signal.windows.hann signal.windows.kaiser signal.windows.nuttall stft
    """,
    "copies": """
        _chunk_cat _segment_reduce.lengths _segment_reduce.offsets _unsafe_masked_index _unsafe_masked_index_put_accumulate
        alias_copy as_strided_copy diagonal_copy expand_copy gradient hash_tensor histogram histogramdd
        narrow_copy nonzero_static permute_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy
        unfold_copy unsqueeze_copy view_copy
    """,
    "views": """
        T mT as_strided atleast_1d atleast_2d atleast_3d broadcast_tensors broadcast_to chunk
        clone contiguous diagonal dsplit expand expand_as flatten hsplit movedim narrow permute ravel reshape reshape_as
        select split split.list_args split_with_sizes squeeze squeeze.multiple sum_to_size t tensor_split transpose
        unbind unflatten unfold unsqueeze view view_as vsplit
    """,
    "shape": """
        cat column_stack constant_pad_nd cumulative_trapezoid diag diag_embed diagflat diff dstack flip fliplr flipud
        hstack meshgrid.list_of_tensors meshgrid.variadic_tensors nn.functional.pad.circular
        nn.functional.pad.constant nn.functional.pad.reflect nn.functional.pad.replicate renorm repeat
        repeat_interleave roll rot90 stack tile trapezoid tril tril_indices triu triu_indices vstack
    """,
    "indexing": """
        __getitem__ argwhere diagonal_scatter fill gather index_add index_copy index_fill index_put index_reduce.amax
        index_reduce.amin index_reduce.mean index_reduce.prod index_select masked_fill masked_scatter masked_select
        nonzero put scatter scatter_add scatter_reduce.amax scatter_reduce.amin scatter_reduce.mean
        scatter_reduce.prod scatter_reduce.sum select_scatter slice_scatter take take_along_dim where
    """,
    "creation": """
        arange bool double empty empty_like eye float full full_like half int item linspace long logspace new_empty
        new_full new_ones new_zeros ones ones_like rand_like randn randn_like scalar_tensor to zeros zeros_like
    """,
    "softmax_and_losses": """
        log_softmax log_softmax.with_dtype softmax softmax.with_dtype nn.functional.softmin
        nn.functional.binary_cross_entropy nn.functional.binary_cross_entropy_with_logits
        nn.functional.cosine_embedding_loss nn.functional.cross_entropy nn.functional.ctc_loss
        nn.functional.gaussian_nll_loss nn.functional.hinge_embedding_loss nn.functional.huber_loss
        nn.functional.kl_div nn.functional.l1_loss nn.functional.margin_ranking_loss nn.functional.mse_loss
        nn.functional.multi_margin_loss nn.functional.multilabel_margin_loss
        nn.functional.multilabel_soft_margin_loss nn.functional.nll_loss nn.functional.poisson_nll_loss
        nn.functional.smooth_l1_loss nn.functional.soft_margin_loss nn.functional.triplet_margin_loss
    """,
    "normalisation": """
        nn.functional.batch_norm nn.functional.cosine_similarity nn.functional.group_norm nn.functional.instance_norm
        nn.functional.layer_norm nn.functional.local_response_norm nn.functional.normalize
        nn.functional.pairwise_distance nn.functional.pdist nn.functional.rms_norm
    """,
    "convolution": """
        nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d nn.functional.conv_transpose1d
        nn.functional.conv_transpose2d nn.functional.conv_transpose3d nn.functional.unfold
        nn.functional.channel_shuffle nn.functional.pixel_shuffle nn.functional.pixel_unshuffle
    """,
    "pooling": """
        nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool2d nn.functional.adaptive_avg_pool3d
        nn.functional.adaptive_max_pool1d nn.functional.adaptive_max_pool2d nn.functional.avg_pool1d
        nn.functional.avg_pool2d nn.functional.avg_pool3d nn.functional.grid_sample nn.functional.interpolate.area
        nn.functional.interpolate.bicubic nn.functional.interpolate.bilinear nn.functional.interpolate.linear
        nn.functional.interpolate.nearest nn.functional.interpolate.nearest-exact
        nn.functional.interpolate.trilinear nn.functional.max_pool1d nn.functional.max_pool2d
        nn.functional.max_pool3d
    """,
    "layers": """
        nn.functional.bilinear nn.functional.embedding nn.functional.embedding_bag nn.functional.linear
        nn.functional.one_hot nn.functional.scaled_dot_product_attention
    """,
    "activations": """
        nn.functional.celu nn.functional.elu nn.functional.gelu nn.functional.glu nn.functional.hardshrink
        nn.functional.hardsigmoid nn.functional.hardswish nn.functional.hardtanh nn.functional.leaky_relu
        nn.functional.logsigmoid nn.functional.mish nn.functional.prelu nn.functional.relu nn.functional.relu6
        nn.functional.selu nn.functional.silu nn.functional.softplus nn.functional.softshrink nn.functional.softsign
        nn.functional.tanhshrink nn.functional.threshold
    """,
}
OPERATIONS: dict[str, str] = {name: family for family, names in FAMILIES.items() for name in names.split()}

# Their values are unspecified or random: only shape, dtype, strides and requires_grad are compared.
METADATA_ONLY = frozenset({"empty", "empty_like", "new_empty", "rand_like", "randn", "randn_like"})

# Where the database's arguments are not those of the public function.
ADAPTERS: dict[str, Callable[..., Any]] = {
    "einsum": lambda torch, tensors, equation: torch.einsum(equation, tensors),
    "where": lambda torch, self, condition, other: torch.where(condition, self, other),
    "nn.functional.embedding": lambda torch, weight, indices, **kwargs: torch.nn.functional.embedding(
        indices, weight, **kwargs
    ),
    "nn.functional.embedding_bag": lambda torch, weight, indices, **kwargs: torch.nn.functional.embedding_bag(
        indices, weight, **kwargs
    ),
    "polygamma.polygamma_n_1": lambda torch, self, n: torch.polygamma(n, self),
    "fft.ifft": lambda torch, self, *args, **kwargs: torch.fft.ifft(self, *args, **kwargs).resolve_conj(),
    "fft.ihfft": lambda torch, self, *args, **kwargs: torch.fft.ihfft(self, *args, **kwargs).resolve_conj(),
    **dict.fromkeys(["_segment_reduce.lengths", "_segment_reduce.offsets"],
                    lambda torch, *args, **kwargs: torch.segment_reduce(*args, **kwargs)),
    "T": lambda torch, self: self.T,
    "mT": lambda torch, self: self.mT,
}
# Attributes that a name needs beyond the function itself, for the adapters above.
ADAPTED_NAMES = {"_segment_reduce.lengths": "segment_reduce", "_segment_reduce.offsets": "segment_reduce",
                 "T": "Tensor.T", "mT": "Tensor.mT"}


class Missing(LookupError):
    """The library has no function or method of this name."""


def attribute(root: Any, path: str) -> Any:
    """The attribute at a dotted path; raises :class:`Missing` if a step does not exist."""
    for step in path.split("."):
        # every class answers to __ror__, as `int | None` does; only what instances have counts
        if isinstance(root, type) and not any(step in vars(base) for base in root.__mro__):
            raise Missing(path)
        try:
            root = getattr(root, step)
        except AttributeError:
            raise Missing(path) from None
    return root


def public_name(operation: str) -> str:
    """The name without the database's variant.

    >>> public_name("nn.functional.pad.reflect"), public_name("special.i1"), public_name("max.binary")
    ('nn.functional.pad', 'special.i1', 'max')
    """
    steps = operation.split(".")
    depth = {"nn": 3, "special": 2, "linalg": 2, "fft": 2, "masked": 2, "signal": 3}.get(steps[0], 1)
    return ".".join(steps[:depth])


def resolve(torch: Any, operation: str) -> Callable[..., Any]:
    """The callable for an operation: a function under ``torch`` or, failing that, a method of ``torch.Tensor``."""
    name = public_name(operation)
    if operation in ADAPTERS:
        attribute(torch, ADAPTED_NAMES.get(operation, name))
        adapter = ADAPTERS[operation]
        return lambda *args, **kwargs: adapter(torch, *args, **kwargs)
    # torch.float is a dtype
    methods_first = name in ("bfloat16", "bool", "cdouble", "cfloat", "chalf", "double", "float", "half", "int", "long", "short", "to")
    if not methods_first:
        try:
            return attribute(torch, name)  # type: ignore[no-any-return]  # whatever torch has
        except Missing:
            pass  # an operation may be a method only
    method = attribute(torch, "Tensor." + name)
    return lambda self, *args, **kwargs: method(self, *args, **kwargs)
