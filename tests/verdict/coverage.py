"""How often the test finds what is not there, and how often an interval holds the figure.

    python3 tests/verdict/coverage.py FOLDBACK FOLDER... --work FOLDER [-- OPTIONS OF COMPARE]

The bills of recorded sessions under the presets that `compare` takes by default are a population
of repositories. Samples of 6, 12 and 24 of them are drawn again and again. This script makes
intervals and p-values by itself, by the definitions of docs/definitions.md.

- *null*: in each repository drawn, the bills of preset and base change places by a coin. A
  difference that is found is none.
- *planted*: the preset costs a tenth less than the base, give or take what presets differ by.
- *coverage*: the share of the intervals that hold the ratio of the whole population.
"""

import collections
import itertools
import math
import random
import statistics

from halves import compared, prepared

DRAWS = 400
FLIPS = 1_000
EXACT = 12
# Student's t at 97.5 %, by degrees of freedom.
T = {5: 2.570582, 11: 2.200985, 23: 2.068658}


def interval(pairs):
    """The ratio of sums, and its interval: one cluster is left out at a time."""
    value, base = (sum(side) for side in zip(*pairs, strict=True))
    ratio, k = value / base, len(pairs)
    rest = [(value - a) / (base - b) for a, b in pairs]
    se = math.sqrt((k - 1) / k * sum((one - ratio) ** 2 for one in rest))
    return ratio, ratio - T[k - 1] * se, ratio + T[k - 1] * se


def test(pairs, rng):
    """The p-value of the sign-flip test."""
    differences = [a - b for a, b in pairs if abs(a - b) > 1e-12]
    if not differences:
        return 1.0
    observed = abs(sum(differences)) - 1e-9 * sum(map(abs, differences))
    if len(differences) <= EXACT:
        signs = itertools.product((1, -1), repeat=len(differences))
        sums = [abs(sum(map(float.__mul__, map(float, sign), differences))) for sign in signs]
        return sum(one >= observed for one in sums) / len(sums)
    drawn = 0
    for _ in range(FLIPS):
        bits = rng.getrandbits(len(differences))
        signed = (d if bits >> at & 1 else -d for at, d in enumerate(differences))
        drawn += abs(sum(signed)) >= observed
    return (drawn + 1) / (FLIPS + 1)


def population(program, parts, options):
    """By preset, the bills of each repository under it and under the base."""
    bills = collections.defaultdict(lambda: collections.defaultdict(lambda: [0.0, 0.0]))
    for part in parts:
        comparison = compared(program, [part], options)
        base = comparison["base"]
        if base is None:
            continue
        clusters = {session["cluster"] for session in comparison["corpus"]["sessions"]}
        cluster = clusters.pop() if len(clusters) == 1 else part.name
        for line in comparison["presets"]:
            ratio = line["metrics"]["net_ratio"]["value"]
            if line["kind"] == "strategy" and ratio is not None:
                paid = base["usd"] * base["sessions"]
                both = bills[line["preset"]][cluster]
                both[0] += ratio * paid
                both[1] += paid
    return {preset: [tuple(both) for both in of.values()] for preset, of in bills.items()}


def main():
    _, program, parts, options = prepared(__doc__)
    presets = population(program, parts.values(), options)
    rng = random.Random(1)
    print(
        "| repositories | null, p < .05 | planted, p < .05 | coverage | least, most of a preset |"
    )
    print("|---|---|---|---|---|")
    for k in (6, 12, 24):
        null, planted, held = [], [], []
        for bills in presets.values():
            acted = [(a, b) for a, b in bills if abs(a - b) > 1e-9]
            if len(acted) < 10:
                continue
            true = sum(a for a, _ in bills) / sum(b for _, b in bills)
            mean = sum(a for a, _ in acted) / sum(b for _, b in acted)
            nulls = plants = holds = 0
            for _ in range(DRAWS):
                drawn = [rng.choice(bills) for _ in range(k)]
                _, low, high = interval(drawn)
                holds += low <= true <= high
                acting = [rng.choice(acted) for _ in range(k)]
                swapped = [pair if rng.random() < 0.5 else pair[::-1] for pair in acting]
                nulls += test(swapped, rng) < 0.05
                plants += test([(a / mean * 0.9, b) for a, b in acting], rng) < 0.05
            null.append(nulls / DRAWS)
            planted.append(plants / DRAWS)
            held.append(holds / DRAWS)
        shares = [f"{statistics.mean(of):.1%}" for of in (null, planted, held)]
        print(f"| {k} | {' | '.join(shares)} | {min(held):.0%}, {max(held):.0%} |")


if __name__ == "__main__":
    main()
