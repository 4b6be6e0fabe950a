"""How well a list of columns was found: F1 and the Jaccard index."""

import numpy as np

from .arrays import Indices


def support_f1(selected: Indices, relevant: Indices) -> float:
    """F1 score of a list of columns, 2|S∩R| / (|S| + |R|); 0 where both are empty.

    Examples
    --------
    >>> support_f1(np.array([1, 5, 7]), np.array([5, 7, 8, 9])) == 4 / 7
    True
    """
    common = np.intersect1d(selected, relevant).size
    return 2 * common / max(selected.size + relevant.size, 1)


def support_jaccard(selected: Indices, relevant: Indices) -> float:
    """Jaccard index of two lists, |S∩R| / |S∪R|: F1 / (2 − F1) for a single pair of lists."""
    common = np.intersect1d(selected, relevant).size
    return common / max(selected.size + relevant.size - common, 1)
