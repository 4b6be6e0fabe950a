"""How well a support was found: F1 and the Jaccard index."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["support_f1", "support_jaccard"]


def support_f1(selected: ArrayLike, relevant: ArrayLike) -> float:
    """F1 score of a selection of columns, 2|S∩R| / (|S| + |R|).

    Parameters
    ----------
    selected, relevant : array-like
        Each a support, in any of three forms: integer column indices, a boolean mask, or a float
        coefficient vector, shape (d,) or (1, d), whose non-zeros are the support.

    Returns
    -------
    float
        Between 0 and 1; 0.0 when both supports are empty.

    Examples
    --------
    >>> support_f1([0.0, 1.5, -2.0, 0.3], relevant=[1, 2])
    0.8
    """
    common, n_selected, n_relevant = _overlap(selected, relevant)
    return 2 * common / max(n_selected + n_relevant, 1)


def support_jaccard(selected: ArrayLike, relevant: ArrayLike) -> float:
    """Jaccard index of two supports, |S∩R| / |S∪R|; parameters as for :func:`support_f1`.

    For a single pair of supports it is F1 / (2 − F1), so both rank solutions alike; their averages
    over several runs need not.
    """
    common, n_selected, n_relevant = _overlap(selected, relevant)
    return common / max(n_selected + n_relevant - common, 1)


def _overlap(selected: ArrayLike, relevant: ArrayLike) -> tuple[int, int, int]:
    """Sizes of the intersection and of each of two supports."""
    chosen, chosen_width = _support(selected, "selected")
    target, target_width = _support(relevant, "relevant")
    if chosen_width and target_width and chosen_width != target_width:
        raise ValueError(
            f"selected describes {chosen_width} columns and relevant {target_width}; "
            "masks and coefficient vectors must have the same length."
        )
    for indices, name, width, other in (
        (chosen, "selected", target_width, "relevant"),
        (target, "relevant", chosen_width, "selected"),
    ):
        if width and indices.size and indices.max() >= width:
            raise ValueError(
                f"{name} has the index {indices.max()}, outside the {width} columns of {other}."
            )
    common = np.intersect1d(chosen, target, assume_unique=True)
    return common.size, chosen.size, target.size


def _support(values: ArrayLike, name: str) -> tuple[NDArray[Any], int]:
    """Distinct column indices, and the number of columns, 0 where ``values`` does not tell it."""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[0] == 1:
        array = array[0]
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, or (1, d) as coef_ is; got shape {array.shape}."
        )
    # NumPy makes an empty list a float array; it names no columns, so it is a list of indices.
    if array.size == 0:
        return np.empty(0, dtype=np.intp), 0
    if array.dtype.kind in "bf":
        if np.isnan(array).any():
            raise ValueError(f"{name} has a NaN coefficient in column {np.isnan(array).argmax()}.")
        return np.flatnonzero(array), array.size
    if array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must hold integer indices, booleans or float coefficients, "
            f"got dtype {array.dtype}."
        )
    if array.min() < 0:
        raise ValueError(
            f"{name} has the negative index {array[array < 0][0]}; columns count from 0."
        )
    ordered = np.sort(array)
    for index in ordered[1:][ordered[1:] == ordered[:-1]][:1]:
        raise ValueError(
            f"{name} has the index {index} more than once. Integers are read as column indices: "
            "give a 0/1 mask as booleans, coefficients as floats."
        )
    return array, 0
