"""SciPy on tensors (`SCIPY_ARRAY_API`): special functions, transforms, clusters, statistics and tests,
signals, rotations, integrals, optimization."""

import os

os.environ["SCIPY_ARRAY_API"] = "1"

import torch
from scipy import cluster, constants, differentiate, fft, integrate, ndimage, optimize, signal, spatial, special, stats
from scipy.optimize import elementwise

PACKAGES = ("scipy",)


def data(rows: int = 8) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(rows, 4, dtype=torch.float64)


def specials() -> dict:
    x, y = data(), data().roll(1, 0)
    one = ("gammaln", "expit", "logit", "erf", "erfc", "i0", "i0e", "i1", "i1e", "log_ndtr", "ndtr", "ndtri", "entr", "sinc", "digamma",
           "log1p", "expm1",
           "log_expit", "exprel", "rgamma", "gamma", "j0", "y0", "k0", "ellipk", "exp2", "exp10", "cbrt")
    two = ("xlogy", "xlog1py", "rel_entr", "kl_div", "betaln", "gammainc", "gammaincc", "chdtr", "zeta")
    found: dict = {}
    for name in one:
        function = getattr(special, name)
        found[name] = function(x.sigmoid()) if name in ("logit", "ndtri", "ellipk") else function(
            x.abs() + 0.1 if name in ("y0", "k0", "gammaln") else x)
    found.update({name: getattr(special, name)(x.abs(), y.abs()) for name in two})
    return {**found, "logsumexp": special.logsumexp(x, axis=1), "weighted": special.logsumexp(x, axis=0, b=y.abs()),
            "softmax": special.softmax(x, axis=1),
            "log_softmax": special.log_softmax(x, axis=0), "betainc": special.betainc(x.abs(), y.abs(), torch.full_like(x, 0.4)),
            "stdtrit": special.stdtrit(x.abs() + 1, y.sigmoid()), "single": special.expit(x.float())}


def transforms() -> dict:
    x = data()
    names = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "rfft2", "fftn", "ifftn", "rfftn", "irfftn", "dct", "idct", "dst",
             "idst", "dctn", "dstn")
    found = {name: getattr(fft, name)(x) for name in names}
    return {**found, "types": [fft.dct(x, type=kind, norm="ortho") for kind in (1, 2, 3, 4)], "fht": fft.fht(x.abs(), 0.1, 1.0),
            "next": fft.next_fast_len(17),
            "shift": fft.fftshift(x), "freq": fft.fftfreq(5, xp=torch), "padded": fft.rfft(x.float(), n=12, axis=0), "ortho": fft.fft(x,
                                                                                                                                      norm="ortho")}


def clusters() -> dict:
    x = data()
    tree = cluster.hierarchy.linkage(x)
    centers, labels = cluster.vq.kmeans2(cluster.vq.whiten(x), 2, rng=0)
    return {"whiten": cluster.vq.whiten(x), "kmeans": list(cluster.vq.kmeans(x, 2, rng=0)), "centers": centers, "labels": labels,
            "vq": list(cluster.vq.vq(x, x[:3])),
            "linkage": [cluster.hierarchy.linkage(x, method=method) for method in ("single", "average", "ward", "centroid")],
            "flat": cluster.hierarchy.fcluster(tree, 2.0, criterion="distance"), "cophenet": cluster.hierarchy.cophenet(tree),
            "leaves": cluster.hierarchy.leaves_list(tree), "valid": cluster.hierarchy.is_valid_linkage(tree),
            "inconsistent": cluster.hierarchy.inconsistent(tree)}


def moments() -> dict:
    x = data()
    names = ("skew", "kurtosis", "sem", "variation", "gmean", "hmean", "circmean", "circvar", "circstd", "kstat")
    found = {name: getattr(stats, name)(x.abs(), axis=0) for name in names}
    return {**found, "zscore": stats.zscore(x), "moment": stats.moment(x, order=3), "entropy": stats.entropy(x.abs()),
            "differential": stats.differential_entropy(x),
            "pmean": stats.pmean(x.abs(), 2.5), "tmean": stats.tmean(x, (-1, 1)), "tvar": stats.tvar(x, (-2, 2)), "tmax": stats.tmax(x),
            "iqr": stats.gzscore(x.abs()),
            "described": list(stats.describe(x)), "boxcox": stats.boxcox_llf(0.3, x.abs()), "rank": stats.rankdata(x, axis=1),
            "quantile": stats.quantile(x, 0.3, axis=0),
            "L moments": stats.lmoment(x)}


def tests() -> dict:
    x, y = data(12), data(24)[12:]
    told = {"t": stats.ttest_1samp(x, 0.1), "t independent": stats.ttest_ind(x, y), "Welch": stats.ttest_ind(x, y, equal_var=False),
            "t paired": stats.ttest_rel(x, y),
            "pearson": stats.pearsonr(x, y, axis=0), "chi squared": stats.chisquare(x.abs(), x.abs().roll(1, 0) * 0 + x.abs().mean(0)),
            "bartlett": stats.bartlett(x, y),
            "power divergence": stats.power_divergence(x.abs(), x.abs().mean(0) + 0 * x, lambda_="neyman"),
            "combined": stats.combine_pvalues(x.sigmoid()),
            "normal": stats.normaltest(x), "skew": stats.skewtest(x), "kurtosis": stats.kurtosistest(x),
            "jarque-bera": stats.jarque_bera(x),
            "statistics": stats.ttest_ind_from_stats(x.mean(0), x.std(0), 12, y.mean(0), y.std(0), 12),
            "mann-whitney": stats.mannwhitneyu(x, y)}
    found = {name: [value.statistic, value.pvalue] for name, value in told.items()}
    interval = told["t"].confidence_interval(0.9)
    return {**found, "interval": [interval.low, interval.high], "false discoveries": stats.false_discovery_control(x.sigmoid())}


def signals() -> dict:
    x = data(32).T
    taps = torch.tensor([0.1, 0.2, 0.4, 0.2, 0.1], dtype=torch.float64)
    windows = {name: signal.windows.get_window(name, 9, xp=torch) for name in ("hann", "hamming", "blackman", "bartlett", "nuttall",
                                                                               "cosine", "boxcar")}
    b, a = torch.tensor([0.2, 0.3], dtype=torch.float64), torch.tensor([1.0, -0.4], dtype=torch.float64)
    return {**windows, "detrend": signal.detrend(x), "convolve": signal.convolve(x[0], taps), "fftconvolve": signal.fftconvolve(x,
                                                                                                                                taps[None],
                                                                                                                                axes=1),
            "oaconvolve": signal.oaconvolve(x, taps[None], axes=1), "correlate": signal.correlate(x[0], x[1], mode="same"),
            "hilbert": signal.hilbert(x),
            "savgol": signal.savgol_filter(x, 5, 2), "resample": signal.resample(x, 20, axis=1), "lfilter": signal.lfilter(b, a, x),
            "filtfilt": signal.filtfilt(b, a, x), "freqz": list(signal.freqz(b, a, worN=8)), "medfilt": signal.medfilt(x[0], 3),
            "lags": signal.correlation_lags(4, 3), "chirp": signal.chirp(x[0], 1, 1, 2),
            "sawtooth": signal.sawtooth(x[0]), "gausspulse": signal.gausspulse(x[0], fc=2)}


def others() -> dict:
    x = data()
    turn = spatial.transform.Rotation.from_quat(x)
    minimum = elementwise.find_minimum(lambda z, c: (z - c) ** 2, (x[0] - 2, x[0] + 0.5, x[0] + 3), args=(x[0],))
    root = elementwise.find_root(lambda z, c: z ** 3 - c, (torch.zeros(4, dtype=torch.float64), torch.full((4,), 3.0, dtype=torch.float64)),
                                 args=(x[0].abs(),))
    slope = differentiate.derivative(torch.sin, x[0])
    return {"matrices": turn.as_matrix(), "vectors": turn.as_rotvec(), "turned": turn.apply(x[:, :3]), "magnitude": turn.magnitude(),
            "inverse": turn.inv().as_quat(),
            "product": (turn * turn).as_quat(), "euler": turn.as_euler("xyz"), "trapezoid": integrate.trapezoid(x),
            "running": integrate.cumulative_trapezoid(x, axis=0),
            "simpson": integrate.simpson(x), "minimum": [minimum.x, minimum.f_x, minimum.nit], "root": [root.x, root.success],
            "slope": slope.df,
            "rosen": optimize.rosen(x), "rosen slope": optimize.rosen_der(x[0]), "rosen curvature": optimize.rosen_hess(x[0]),
            "converted": constants.convert_temperature(x, "Celsius", "Kelvin"), "integral": integrate.tanhsinh(torch.exp, x[0] - 2,
                                                                                                               x[0]).integral,
            "cubature": integrate.cubature(lambda z: (z ** 2).sum(-1), torch.zeros(2, dtype=torch.float64), torch.ones(2,
                                                                                                                       dtype=torch.float64)).estimate,
            "blurred": ndimage.gaussian_filter(x, 1.0), "labels": list(ndimage.label(x > 0))}


CASES = {"special functions": specials, "transforms": transforms, "clusters": clusters, "moments": moments, "tests": tests,
         "signals": signals, "others": others}
