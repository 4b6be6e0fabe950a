"""What the JSON card says in words, in plain Python."""

import math


def effect_by_words(term, value):
    """Effect of a number, or of a text, or of None for a missing or unknown one; None if none."""
    of = term["encoding"]
    missing = value is None or (of["kind"] == "levels" and value not in of["levels"])
    if missing and term["required"]:
        return None
    if of["kind"] == "line":
        return of["coef"][0] * (of["missing"] if missing else value)
    if of["kind"] == "curve":
        return _curve(of, of["knots"][1] if missing else value)
    if of["kind"] == "steps":
        number = of["missing"] if missing else value
        return of["coef"][sum(number > cut for cut in of["cuts"])]
    place = of["taken_as"][-1 if missing else of["levels"].index(value)]
    if place == of["against"]:
        return 0.0
    before = of["against"] >= 0 and place > of["against"]
    return of["coef"][place - before]


def _curve(of, x):
    low = -math.inf if of["low"] is None else of["low"]
    high = math.inf if of["high"] is None else of["high"]
    x = min(max(x, low), high)
    a, b = of["coef"]
    t1, t2, t3 = of["knots"]
    if not t1 < t2 < t3:
        return a * x
    q = (t3 - t1) / (t3 - t2)

    def p(z):
        return max(z, 0.0) ** 3

    C = (p(x - t1) - q * p(x - t2) + (q - 1) * p(x - t3)) / (t3 - t1) ** 2
    return a * x + b * (C - of["tilt"] * (x - t2))
