"""Intervals of the ratio of two sides of runs, by integration of the t density: for crates/analysis/src/compare/sides.rs."""
import math


def quantile(p, v):
    c = math.exp(math.lgamma((v + 1) / 2) - math.lgamma(v / 2)) / math.sqrt(v * math.pi)
    density = lambda t: c * (1 + t * t / v) ** (-(v + 1) / 2)

    def below(x, n=4000):
        h = x / n
        inner = sum((4 if i % 2 else 2) * density(i * h) for i in range(1, n))
        return 0.5 + (density(0) + density(x) + inner) * h / 3

    low, high = 0.0, 50.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < p else (low, middle)
    return low


def squares(values):
    logs = [math.log(value) for value in values]
    mean = sum(logs) / len(logs)
    return mean, sum((x - mean) ** 2 for x in logs), len(logs)


def interval(a, b, variance, degrees):
    difference = squares(b)[0] - squares(a)[0]
    half = quantile(0.975, degrees) * math.sqrt(variance)
    print([round(math.exp(difference + sign * half), 6) for sign in (-1, 0, 1)], round(degrees, 6))


A, B, NOISE = [1.00, 1.02, 0.99], [1.05, 1.06, 1.045], [1.0, 1.01, 0.99, 1.02, 0.98]
parts = [s / (n - 1) / n for _, s, n in (squares(A), squares(B))]
interval(A, B, sum(parts), sum(parts) ** 2 / (parts[0] ** 2 / 2 + parts[1] ** 2 / 2))  # Welch
s, n = squares(NOISE)[1:]
interval(A[:1], B[:1], 2 * s / (n - 1), n - 1)  # single runs, the noise record alone
both = squares(A[:2])[1] + squares(NOISE)[1]
interval(A[:2], B[:1], both / 5 * (1 / 2 + 1), 5)  # two runs against one: pooled with the noise record
interval(A[:1], B[:1], 2 * 0.45**2, 29)  # single runs, assumed
