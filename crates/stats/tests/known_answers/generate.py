#!/usr/bin/env python3
"""Writes the known answers that tests/it/known_answers.rs reads, from implementations independent of the crate.

Needs NumPy, SciPy and diptest (`pip install numpy scipy diptest`); `python3 generate.py` rewrites every JSON file beside it.
All data come from fixed seeds. The versions used are recorded in versions.json.
"""

import itertools
import json
import pathlib
from fractions import Fraction
from math import factorial

import diptest
import numpy as np
import scipy
from scipy import optimize, stats

HERE = pathlib.Path(__file__).parent
RNG = np.random.default_rng(20240229)


def write(name, value):
    (HERE / f"{name}.json").write_text(json.dumps(value, indent=1) + "\n")


SAMPLES = {
    "normal": RNG.normal(100, 5, 37),
    "lognormal": RNG.lognormal(0, 1.5, 101),
    "ties": RNG.integers(0, 6, 40).astype(float),
    "far_from_zero": 1e9 + RNG.normal(0, 1, 50),
    "two": np.array([3.0, 4.5]),
    "negative": RNG.normal(-7, 2, 12),
}


def autoregressive(n, phi):
    series = [0.0]
    for noise in RNG.normal(0, 1, n - 1):
        series.append(phi * series[-1] + noise)
    return np.array(series) + 50


def lag1(x):
    d = x - x.mean()
    return float((d[:-1] * d[1:]).sum() / (d * d).sum())


def quantiles():
    probabilities = [0, 0.01, 0.1, 0.25, 1 / 3, 0.5, 0.75, 0.9, 0.99, 0.999, 1]
    write("quantiles", [
        {"values": x.tolist(), "probabilities": probabilities,
         "expected": np.quantile(x, probabilities, method="linear").tolist()}
        for x in SAMPLES.values()])


def moments():
    write("moments", [
        {"values": x.tolist(), "mean": float(x.mean()), "variance": float(x.var(ddof=1)),
         "coefficient_of_variation": float(x.std(ddof=1) / abs(x.mean()))}
        for x in SAMPLES.values()])


def student_t():
    degrees = [0.5, 1, 2, 3, 4.7, 10, 29, 30, 100, 1000, 1e6, 1e8]
    probabilities = [1e-12, 1e-6, 0.001, 0.005, 0.025, 0.3, 0.5, 0.7, 0.9, 0.975, 0.995]
    statistics = [-30, -2, -0.1, 0, 1e-5, 0.5, 1, 2.5, 6, 40]
    write("student_t", {
        "quantiles": [{"probability": p, "degrees": v, "expected": float(stats.t.ppf(p, v))}
                      for v in degrees for p in probabilities],
        "upper_tails": [{"statistic": t, "degrees": v, "expected": float(stats.t.sf(t, v))}
                        for v in degrees for t in statistics]})


def intervals():
    student = []
    for x in SAMPLES.values():
        for level in (0.9, 0.95, 0.99):
            low, high = stats.t.interval(level, len(x) - 1, loc=x.mean(), scale=stats.sem(x))
            student.append({"values": x.tolist(), "level": level, "low": low, "high": high})
    batches = []
    for n, k in ((400, 20), (403, 10), (64, 8)):
        x = autoregressive(n, 0.6)
        length = n // k
        means = x[n - k * length:].reshape(k, length).mean(axis=1)
        low, high = stats.t.interval(0.95, k - 1, loc=means.mean(), scale=stats.sem(means))
        batches.append({"series": x.tolist(), "batch_count": k, "mean": float(means.mean()),
                        "low": low, "high": high, "lag1": lag1(means)})
    bootstraps = []
    for name in ("normal", "lognormal", "negative"):
        x = SAMPLES[name]
        for statistic in ("mean", "median"):
            found = stats.bootstrap((x,), getattr(np, statistic), n_resamples=200_000, method="percentile",
                                    confidence_level=0.95, rng=np.random.default_rng(5), batch=20_000)
            bootstraps.append({"values": x.tolist(), "statistic": statistic,
                               "low": float(found.confidence_interval.low),
                               "high": float(found.confidence_interval.high),
                               "standard_error": float(found.standard_error)})
    write("intervals", {"student": student, "batches": batches, "bootstraps": bootstraps})


def mser():
    cases = []
    for n, rise in ((200, 20), (503, 60), (150, 70), (97, 1)):
        x = 100 - 60 * np.exp(-np.arange(n) / rise) + RNG.normal(0, 3, n)
        k = n // 5
        z = x[:k * 5].reshape(k, 5).mean(axis=1)
        scores = [((z[d:] - z[d:].mean()) ** 2).sum() / (k - d) ** 2 for d in range(k // 2 + 1)]
        best = int(np.argmin(scores))
        cases.append({"series": x.tolist(), "dropped_count": 5 * best, "too_short": best == k // 2})
    write("mser", cases)


def steady():
    cases = []
    for spread, slope in ((1, 0), (8, 0), (1, 1.5), (2, 3), (0.5, -2.4)):
        y = 100 + slope * np.arange(5) + RNG.normal(0, spread, 5)
        fitted = np.polyval(np.polyfit(np.arange(5), y, 1), np.arange(5))
        cases.append({"rounds": y.tolist(), "range_ratio": float((y.max() - y.min()) / y.mean()),
                      "drift_ratio": float((fitted.max() - fitted.min()) / y.mean())})
    write("steady", cases)


def autocorrelation():
    cases = []
    for n, phi in ((50, 0.0), (200, 0.8), (500, 0.3), (60, -0.5)):
        x = autoregressive(n, phi)
        r = lag1(x)
        cases.append({"series": x.tolist(), "lag1": r,
                      "effective_count": float(np.clip(n * (1 - r) / (1 + r), 1, n))})
    write("autocorrelation", cases)


def regression():
    cases = []
    for n, offset in ((3, 0), (12, 0), (40, 1e6)):
        x = offset + np.sort(RNG.uniform(0, 10, n))
        y = 3 - 0.7 * x + RNG.normal(0, 1, n)
        fit = stats.linregress(x, y)
        half = stats.t.ppf(0.975, n - 2) * fit.stderr
        cases.append({"x": x.tolist(), "y": y.tolist(), "intercept": fit.intercept, "slope": fit.slope,
                      "intercept_se": fit.intercept_stderr, "slope_se": fit.stderr, "r_squared": fit.rvalue ** 2,
                      "slope_low": fit.slope - half, "slope_high": fit.slope + half})
    weighted = []
    for n in (5, 30):
        x = RNG.uniform(1, 20, n)
        y = 1 + 2 * x + RNG.normal(0, 1, n) * x
        (slope, intercept), covariance = np.polyfit(x, y, 1, w=1 / x, cov=True)
        weighted.append({"x": x.tolist(), "y": y.tolist(), "intercept": intercept, "slope": slope,
                         "intercept_se": covariance[1, 1] ** 0.5, "slope_se": covariance[0, 0] ** 0.5})
    write("regression", {"plain": cases, "weighted_by_inverse_square_of_x": weighted})


def hockney():
    cases = []
    for latency, rate, noise in ((2e-4, 1.2e8, 0.05), (3e-6, 5e9, 0.02), (5e-3, 1e7, 0.1)):
        b = np.repeat([512.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0], 3)
        t = (latency + b / rate) * np.exp(RNG.normal(0, noise, b.size))
        # Sizes are scaled to about 1 before the fit, so that NumPy's normal equations are well conditioned.
        unit = 65536.0
        (slope, intercept), covariance = np.polyfit(b / unit, t, 1, w=1 / t, cov=True)
        factor = stats.t.ppf(0.975, b.size - 2)
        slope_half, latency_half = factor * covariance[0, 0] ** 0.5, factor * covariance[1, 1] ** 0.5
        cases.append({"block_bytes": b.tolist(), "elapsed_s": t.tolist(), "latency_s": intercept,
                      "latency_low": intercept - latency_half, "latency_high": intercept + latency_half,
                      "rate": unit / slope, "rate_low": unit / (slope + slope_half),
                      "rate_high": unit / (slope - slope_half), "n_half": intercept * unit / slope})
        n_half = intercept / slope
        half = factor * (covariance[1, 1] + n_half ** 2 * covariance[0, 0]
                         - 2 * n_half * covariance[0, 1]) ** 0.5 / slope
        cases[-1].update({"n_half_low": (n_half - half) * unit, "n_half_high": (n_half + half) * unit})
    write("hockney", cases)


def convolution(queues, delay, most):
    """Rates and queue lengths of a product-form network, by Buzen's convolution in exact fractions."""
    g = [delay ** n / factorial(n) for n in range(most + 1)]
    for demand in queues:
        for n in range(1, most + 1):
            g[n] += demand * g[n - 1]
    rates = [g[n - 1] / g[n] for n in range(1, most + 1)]
    lengths = [[sum(demand ** j * g[n - j] for j in range(1, n + 1)) / g[n] for demand in queues]
               for n in range(1, most + 1)]
    return rates, lengths


def mva():
    cases = []
    for queues, delays, think, servers in (
            (["1/10", "3/10", "1/5"], [], "0", []),
            (["1/100", "1/100"], ["1/20"], "1/2", []),
            (["1/8"], ["1/3"], "1", [["1/2", 4], ["1/4", 2]]),
            (["1/7", "1/7", "1/7", "1/7"], [], "2", [["3/5", 1]])):
        plain = [Fraction(d) for d in queues]
        several = [(Fraction(d), m) for d, m in servers]
        # Seidmann: a queue of D/m and a delay of D(m-1)/m.
        all_queues = plain + [d / m for d, m in several]
        all_delay = Fraction(think) + sum(map(Fraction, delays)) + sum((d * (m - 1) / m for d, m in several), Fraction(0))
        rates, lengths = convolution(all_queues, all_delay, 30)
        full = []
        for x, row in zip(rates, lengths):
            extra = [Fraction(0)] * len(plain) + [x * d * (m - 1) / m for d, m in several]
            full.append([float(a + b) for a, b in zip(row, extra)])
        cases.append({"queues": [float(Fraction(d)) for d in queues], "delays": [float(Fraction(d)) for d in delays],
                      "servers": [[float(d), m] for d, m in several], "think_s": float(Fraction(think)),
                      "rates": [float(x) for x in rates], "queue_lens": full})
    write("mva", cases)


def logistic():
    cases = []
    for n, weights, penalty in ((60, [1.5], 0.0), (200, [1.0, -2.0, 0.5], 1.0), (400, [0.3] * 8, 0.1), (30, [9.0, 9.0], 0.5)):
        x = RNG.normal(0, 1, (n, len(weights)))
        outcome = RNG.uniform(size=n) < 1 / (1 + np.exp(-(0.4 + x @ np.array(weights))))
        design = np.column_stack([np.ones(n), x])
        ridge = np.diag([0.0] + [penalty] * len(weights))
        sign = np.where(outcome, 1.0, -1.0)

        def loss(w):
            return np.logaddexp(0, -sign * (design @ w)).sum() + 0.5 * w @ ridge @ w

        def gradient(w):
            return design.T @ (1 / (1 + np.exp(-design @ w)) - outcome) + ridge @ w

        start = optimize.minimize(loss, np.zeros(len(weights) + 1), jac=gradient, method="BFGS").x
        found = optimize.root(gradient, start, tol=1e-13)
        assert np.abs(gradient(found.x)).max() < 1e-9
        cases.append({"features": x.tolist(), "outcomes": outcome.tolist(), "penalty": penalty,
                      "intercept": found.x[0], "weights": found.x[1:].tolist()})
    write("logistic", cases)


def reliability():
    p = RNG.uniform(0, 1, 300)
    outcome = RNG.uniform(size=300) < p ** 1.5
    edges = np.linspace(0, 1, 11)
    which = np.clip(np.digitize(p, edges) - 1, 0, 9)
    write("reliability", {
        "probabilities": p.tolist(), "outcomes": outcome.tolist(), "brier": float(((p - outcome) ** 2).mean()),
        "bins": [{"count": int((which == i).sum()), "mean_predicted": float(p[which == i].mean()),
                  "observed_share": float(outcome[which == i].mean())} for i in range(10)]})


def goodness():
    """Its own generator: the data of the other files stay as they are."""
    rng = np.random.default_rng(20261121)
    tests = []
    for n in (5, 8, 20, 50, 200, 2000):
        for name, x, law in (("exponential", rng.exponential(2.5, n), stats.expon(scale=2.5)),
                             ("exponential", rng.exponential(2.0, n), stats.expon(scale=2.5)),
                             ("uniform", rng.uniform(3, 7, n), stats.uniform(3, 4)),
                             ("uniform", 3 + 4 * rng.beta(1.1, 1, n), stats.uniform(3, 4))):
            found = stats.kstest(x, law.cdf, mode="exact")
            tests.append({"law": name, "values": x.tolist(), "statistic": float(found.statistic),
                          "p_value": float(found.pvalue)})
    tails = [{"statistic": float(x), "degrees": float(v), "expected": float(stats.chi2.sf(x, v))}
             for v in (0.5, 1, 2, 3.3, 10, 99, 1000, 1e5) for x in (1e-3, 0.5, v / 2, v, v + 3 * (2 * v) ** 0.5, 2 * v + 30)]
    counts = []
    for n, sample in ((30, rng.poisson(20, 30)), (200, rng.poisson(7, 200)), (100, np.full(100, 12) + np.arange(100) % 2),
                      (80, rng.negative_binomial(5, 0.2, 80))):
        index = sample.var(ddof=1) / sample.mean()
        above = stats.chi2.sf((n - 1) * index, n - 1)
        counts.append({"counts": sample.tolist(), "statistic": float(index),
                       "p_value": float(2 * min(above, stats.chi2.cdf((n - 1) * index, n - 1)))})
    write("goodness", {"kolmogorov_smirnov": tests, "chi_square_upper_tails": tails, "dispersion": counts,
                       "normal": [{"probability": p, "quantile": float(stats.norm.ppf(p)),
                                   "upper_tail": float(stats.norm.sf(stats.norm.ppf(p)))}
                                  for p in (1e-9, 1e-4, 0.005, 0.025, 0.2, 0.6, 0.9, 0.975, 0.995, 0.9999)]})


def hockney_errors():
    """Absolute weights: the errors of the points are known, `cov="unscaled"` takes them at their word."""
    rng = np.random.default_rng(7)
    cases = []
    for latency, rate in ((2e-4, 1.2e8), (8e-6, 5e9), (1e-3, 4e7)):
        b = np.array([512.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0])
        error = rng.uniform(0.012, 0.06, b.size)
        t = (latency + b / rate) * (1 + error * rng.normal(0, 1, b.size))
        unit = 65536.0
        w = 1 / (error * t)
        (slope, intercept), covariance = np.polyfit(b / unit, t, 1, w=w, cov="unscaled")
        chi2 = float(((w * (t - intercept - slope * b / unit)) ** 2).sum())
        p = stats.chi2.sf(chi2, b.size - 2)
        assert p >= 0.05, "pick data that fit: below, the residuals decide"
        z, n_half = stats.norm.ppf(0.975), intercept / slope
        n_half_half = z * (covariance[1, 1] + n_half ** 2 * covariance[0, 0]
                           - 2 * n_half * covariance[0, 1]) ** 0.5 / slope
        cases.append({"block_bytes": b.tolist(), "elapsed_s": t.tolist(), "relative_error": error.tolist(),
                      "latency_s": intercept, "rate": unit / slope, "lack_of_fit": float(p),
                      "latency_half": z * covariance[1, 1] ** 0.5, "n_half_half": n_half_half * unit})
    write("hockney_errors", cases)


def mixture():
    rng = np.random.default_rng(11)
    samples = [rng.uniform(0, 1, 20), rng.normal(0, 1, 50), rng.lognormal(0, 1, 200), rng.exponential(1, 500),
               np.concatenate([rng.normal(0, 1, 60), rng.normal(4, 1, 40)]),
               np.concatenate([rng.normal(0, 1, 100), rng.normal(3, 1, 100)]),
               np.concatenate([rng.normal(0, 1, 100), rng.normal(2.5, 1, 60)]),
               np.concatenate([rng.normal(0, 1, 190), rng.normal(9, 1, 10)]), rng.beta(0.5, 0.5, 40), rng.uniform(0, 1, 9)]
    dips = []
    for x in samples:
        dip, p = diptest.diptest(x)
        dips.append({"values": x.tolist(), "dip": float(dip), "p_value": float(p)})

    def mode_count(x, h):
        grid = np.linspace(x.min() - 0.1 * np.ptp(x), x.max() + 0.1 * np.ptp(x), 2000)
        density = stats.gaussian_kde(x, bw_method=h / x.std(ddof=1))(grid)
        rises = np.diff(density) > 0
        return 1 + int(((~rises[:-1]) & rises[1:]).sum())

    critical = []
    for x in samples[4:8]:
        found = []
        for k in (1, 2, 3):
            low, high = np.ptp(x) / 100, np.ptp(x)
            if mode_count(x, low) <= k:
                found.append(float(low))
                continue
            for _ in range(24):
                middle = (low * high) ** 0.5
                low, high = (low, middle) if mode_count(x, middle) <= k else (middle, high)
            found.append(float(high))
        critical.append({"values": x.tolist(), "bandwidths": found})
    write("mixture", {"dips": dips, "critical_bandwidths": critical})


def block_bootstrap():
    """Politis and White (2004), corrected 2009, for the circular bootstrap; written from the paper."""
    rng = np.random.default_rng(13)
    cases = []
    for n, phi in ((30, 0.3), (100, 0.0), (200, 0.5), (500, 0.8), (1000, 0.95)):
        x = np.zeros(n)
        for i, e in enumerate(rng.normal(0, 1, n)):
            x[i] = phi * x[i - 1] + e if i else e
        d = x - x.mean()
        run = max(5, int(np.ceil(np.sqrt(np.log10(n)))))
        most = min(int(np.ceil(np.sqrt(n))) + run, n - 2)
        covariance = np.array([(d[:n - k] * d[k:]).sum() / n for k in range(most + 1)])
        matters = np.abs(covariance[1:] / covariance[0]) > 2 * np.sqrt(np.log10(n) / n)
        quiet = [m for m in range(len(matters) - run + 1) if not matters[m:m + run].any()]
        m_hat = max(quiet[0] if quiet else int(np.flatnonzero(matters)[-1]) + 1, 1)
        M = min(2 * m_hat, most)
        lags = np.arange(-M, M + 1)
        window = np.clip(2 * (1 - np.abs(lags) / M), 0, 1)
        G = (window * np.abs(lags) * covariance[np.abs(lags)]).sum()
        g0 = (window * covariance[np.abs(lags)]).sum()
        length = (2 * G ** 2 / (4 / 3 * g0 ** 2)) ** (1 / 3) * n ** (1 / 3)
        cases.append({"series": x.tolist(), "length": float(np.clip(length, 1, np.ceil(min(3 * n ** 0.5, n / 3))))})
    write("block_bootstrap", cases)


def prediction():
    """One more observation at x: the covariance of numpy.polyfit, unscaled, and the residual variance of the weights."""
    rng = np.random.default_rng(29)
    cases = []
    for n, level in ((3, 0.95), (8, 0.99), (30, 0.95)):
        x = rng.uniform(1, 1e6, n)
        y = (2 + 3e-5 * x) * rng.normal(1, 0.1, n)
        coefficients, unscaled = np.polyfit(x, y, 1, w=1 / y, cov="unscaled")
        residual = (((y - np.polyval(coefficients, x)) / y) ** 2).sum() / (n - 2)
        for at in (0.5, 3e5, 4e6):
            promised = float(np.polyval(coefficients, at))
            row = np.array([at, 1.0])
            half = stats.t.ppf(0.5 + level / 2, n - 2) * (residual * (promised ** 2 + row @ unscaled @ row)) ** 0.5
            cases.append({"x": x.tolist(), "y": y.tolist(), "level": level, "at": at, "weight": 1 / promised ** 2,
                          "low": float(promised - half), "high": float(promised + half)})
    write("prediction", cases)


def ratio():
    """The delta method as it stands: gradient of mean(y) / mean(x), covariance matrix of the means."""
    rng = np.random.default_rng(31)
    cases = []
    for n, level, spread in ((2, 0.95, 0.3), (3, 0.95, 0.02), (5, 0.99, 0.5), (40, 0.9, 0.1)):
        under = 2.3 * rng.lognormal(0, spread, n)
        for over in (np.full(n, 50_331_648.0), 5e7 * rng.lognormal(0, spread, n)):
            gradient = np.array([1 / under.mean(), -over.mean() / under.mean() ** 2])
            error = (gradient @ np.cov(over, under) @ gradient / n) ** 0.5
            low, high = stats.t.interval(level, n - 1, loc=over.sum() / under.sum(), scale=error)
            cases.append({"over": over.tolist(), "under": under.tolist(), "level": level, "low": float(low),
                          "high": float(high)})
    write("ratio", cases)


def unequal_errors():
    """Plain least squares under errors of unequal variance, by matrices: H D H' with H = (X'X)^-1 X' and D of 1 / weights."""
    rng = np.random.default_rng(37)
    cases = []
    for n, noise in ((3, 0.1), (9, 0.1), (9, 0.3), (40, 0.02)):
        x = 48 * 2 ** 20 / np.geomspace(4096, 32, n)
        y = (1.6 + 2.9e-5 * x) * rng.lognormal(0, noise, n)
        # Scaled to about 1, so that NumPy's matrices are well conditioned.
        unit = 1e5
        design = np.column_stack((x / unit, np.ones(n)))
        hat = np.linalg.inv(design.T @ design) @ design.T
        slope, intercept = hat @ y
        weighted = np.polyfit(x / unit, y, 1, w=1 / y)
        residual = (((y - np.polyval(weighted, x / unit)) / y) ** 2).sum() / (n - 2)
        covariance = residual * hat @ np.diag(y ** 2) @ hat.T
        half = stats.t.ppf(0.975, n - 2) * covariance[0, 0] ** 0.5
        cases.append({"x": x.tolist(), "y": y.tolist(), "intercept": float(intercept), "slope": float(slope / unit),
                      "intercept_se": float(covariance[1, 1] ** 0.5), "slope_se": float(covariance[0, 0] ** 0.5 / unit),
                      "slope_low": float((slope - half) / unit), "slope_high": float((slope + half) / unit)})
    write("unequal_errors", cases)


def log_ratio():
    """Welch's t test on logarithms, sectioned quantiles, and Holm's adjustment by its definition."""
    rng = np.random.default_rng(41)
    ratios, sections, families = [], [], []
    for n, m, spread in ((3, 3, 0.02), (3, 12, 0.2), (10, 4, 0.05), (30, 30, 0.01), (2, 9, 0.3)):
        for shift in (0.0, 0.04, 0.5):
            under = rng.lognormal(3, spread, n)
            over = rng.lognormal(3 + shift, spread / 2, m)
            test = stats.ttest_ind(np.log(over), np.log(under), equal_var=False)
            interval = test.confidence_interval(0.95)
            margin = 0.03
            gap = np.log(over).mean() - np.log(under).mean()
            edge = np.copysign(np.log1p(margin), gap)
            beyond = 1.0
            if abs(gap) > abs(edge):
                beyond = stats.ttest_ind(np.log(over) - edge, np.log(under), equal_var=False).pvalue
            ratios.append({"over": over.tolist(), "under": under.tolist(), "ratio": float(np.exp(gap)), "margin": margin,
                           "low": float(np.exp(interval.low)), "high": float(np.exp(interval.high)),
                           "p": float(beyond)})
    for k, size, q in ((10, 200, 0.5), (5, 1000, 0.99), (30, 40, 0.9)):
        series = rng.lognormal(0, 1, k * size)
        parts = np.quantile(series.reshape(k, size), q, axis=1)
        whole = np.quantile(series, q)
        error = np.sqrt(((parts - whole) ** 2).sum() / (k * (k - 1))) / whole
        sections.append({"whole": float(whole), "parts": parts.tolist(), "relative_error": float(error),
                         "degrees_of_freedom": k - 1})
    for m in (1, 2, 7, 40):
        p = rng.uniform(0, 1, m) ** 3
        p[: m // 3] = p[0]
        order = np.argsort(p, kind="stable")
        adjusted = np.empty(m)
        for i in range(m):
            adjusted[order[i]] = min(1.0, max((m - j) * p[order[j]] for j in range(i + 1)))
        families.append({"p": p.tolist(), "adjusted": adjusted.tolist()})
    write("log_ratio", {"ratios": ratios, "sections": sections, "families": families})


def steady_window():
    """Rounds of a device that slows down or speeds up until SNIA's rule holds: its window's mean and Student interval."""
    rng = np.random.default_rng(20251122)
    cases = []
    for first, last, pace, noise in ((44e6, 63e6, 0.12, 0.02), (46e6, 39.8e6, 0.5, 0.05), (400e6, 100e6, 0.6, 0.01),
                                     (90e6, 91e6, 1.0, 0.02)):
        rounds = []
        while True:
            level = last + (first - last) * np.exp(-pace * len(rounds))
            # Whole operations of 4 KiB in ten seconds, as a record has them.
            rounds.append(int(level * (1 + rng.normal(0, noise)) * 10 / 4096))
            if len(rounds) < 5:
                continue
            y = np.array(rounds[-5:]) * 4096 / 10
            line = stats.linregress(np.arange(5), y)
            if np.ptp(y) <= 0.20 * y.mean() and abs(line.slope) * 4 <= 0.10 * y.mean():
                break
        low, high = stats.t.interval(0.95, 4, loc=y.mean(), scale=stats.sem(y))
        cases.append({"op_counts": rounds, "rate_bytes_per_s": float(y.mean()), "low": float(low), "high": float(high)})
    write("steady_window", cases)


def scaling():
    """Laws of a rate over clients: least squares of logarithms, from many starts, with bounds at 0."""
    rng = np.random.default_rng(20261125)
    published = {
        # Gunther's data of SPEC SDM91 and of a ray tracer, as in R's package usl.
        "specsdm91": ([1, 18, 36, 72, 108, 144, 216], [64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2]),
        "raytracer": ([1, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64], [20, 78, 130, 170, 190, 200, 210, 230, 260, 280, 310]),
    }
    n = np.array([1, 2, 4, 8, 16, 32, 64], float)
    drawn = {
        "ceiling": (n, np.minimum(90e6 * n, 420e6) * np.exp(rng.normal(0, 0.03, len(n)))),
        "amdahl": (n, 1e3 * n / (1 + 0.08 * (n - 1)) * np.exp(rng.normal(0, 0.03, len(n)))),
        "linear": (n, 7.0 * n * np.exp(rng.normal(0, 0.03, len(n)))),
        "falling": (n[:6], 50 * n[:6] / (1 + 0.2 * (n[:6] - 1) + 0.05 * n[:6] * (n[:6] - 1)) * np.exp(rng.normal(0, 0.03, 6))),
        "level": (n[2:], 12.0 * np.exp(rng.normal(0, 0.02, 5))),
    }

    def usl(p, c):
        return p[0] * c / (1 + p[1] * (c - 1) + p[2] * c * (c - 1))

    laws = {
        "usl": (3, usl, [(0, np.inf), (0, np.inf), (0, np.inf)]),
        "serial": (2, lambda p, c: usl([p[0], p[1], 0.0], c), [(0, np.inf), (0, np.inf)]),
    }
    cases = []
    for name, (clients, rates) in {**published, **drawn}.items():
        c, x = np.asarray(clients, float), np.asarray(rates, float)
        first = x[0] / c[0]
        case = {"name": name, "clients": c.tolist(), "rates": x.tolist(), "laws": {}}
        for law, (count, rate, bounds) in laws.items():
            best = None
            for start in itertools.product([first, 0.5 * first, 2 * first], [1e-6, 1e-3, 0.05, 0.5], [1e-8, 1e-5, 1e-3, 0.05]):
                begin = np.array(start[:count])
                unit = np.array([first, 1.0, 1.0][:count])
                found = optimize.least_squares(lambda p: np.log(rate(p * unit, c)) - np.log(x), begin / unit,
                                               bounds=([0.0] * count, [np.inf] * count), xtol=1e-15, ftol=1e-15, gtol=1e-15)
                if best is None or found.cost < best.cost:
                    best = found
            parameters = (best.x * unit).tolist()
            case["laws"][law] = {"parameters": parameters, "rss": float(2 * best.cost)}
        # The corner anywhere: for each place of it the two logarithms are a linear problem.
        best = (np.inf, None)
        for corner in np.exp(np.linspace(np.log(c[0]), np.log(c[-1]), 40001)):
            # ln X = g + ln min(N, corner): one mean.
            shape = np.log(np.minimum(c, corner))
            g = (np.log(x) - shape).mean()
            rss = ((np.log(x) - shape - g) ** 2).sum()
            if rss < best[0]:
                best = (rss, [float(np.exp(g)), float(np.exp(g) * corner)])
        case["laws"]["min"] = {"parameters": best[1], "rss": float(best[0])}
        for law, fit in case["laws"].items():
            k, m = len(fit["parameters"]) + 1, len(c)
            fit["aicc"] = m * np.log(fit["rss"] / m) + 2 * k + (2 * k * (k + 1) / (m - k - 1) if m > k + 1 else np.nan)
            if not np.isfinite(fit["aicc"]):
                fit["aicc"] = None
        cases.append(case)
    write("scaling", cases)


if __name__ == "__main__":
    for make in (quantiles, moments, student_t, intervals, mser, steady, autocorrelation, regression, hockney,
                 mva, logistic, reliability, goodness,
                 hockney_errors, mixture, block_bootstrap, prediction, ratio,
                 unequal_errors, log_ratio, steady_window, scaling):
        make()
    write("versions", {"numpy": np.__version__, "scipy": scipy.__version__, "diptest": diptest.__version__})
