"""Encodings by their definitions: slow, and the oracles of the tests beside it."""

import numpy as np


def spline(x, knots):
    """C(x) of a restricted cubic spline with three knots, by its truncated cubes."""
    first, middle, last = knots

    def cube(offset):
        return max(offset, 0.0) ** 3

    total = []
    for one in x:
        terms = (
            cube(one - first)
            - cube(one - middle) * (last - first) / (last - middle)
            + cube(one - last) * (middle - first) / (last - middle)
        )
        total.append(terms / (last - first) ** 2)
    return np.array(total)


def curve_basis(x, train):
    """A number within the range of training rows, and what a line cannot say of its spline."""
    knots = np.quantile(train, (0.1, 0.5, 0.9), method="inverted_cdf")
    within = np.clip(x, train.min(), train.max())
    slope = np.polyfit(train, spline(train, knots), 1)[0]
    return np.column_stack(
        [within, spline(within, knots) - slope * (within - knots[1])]
    )


def repeated(values, weight):
    """A table in which a row of weight 2 stands twice."""
    return np.repeat(values, weight, axis=0)
