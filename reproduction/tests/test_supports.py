"""F1 and Jaccard of lists of columns against scikit-learn's."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import f1_score, jaccard_score

from sparseauc_paper.supports import support_f1, support_jaccard

masks = st.integers(1, 12).flatmap(
    lambda d: st.tuples(*[st.lists(st.booleans(), min_size=d, max_size=d)] * 2)
)


@given(masks)
def test_supports_equal_scikit_learn(masks):
    selected, relevant = map(np.array, masks)
    lists = [np.flatnonzero(mask) for mask in (selected, relevant)]
    for metric, oracle in ((support_f1, f1_score), (support_jaccard, jaccard_score)):
        assert_allclose(metric(*lists), oracle(relevant, selected, zero_division=0.0))
    f1 = support_f1(*lists)
    assert_allclose(support_jaccard(*lists), f1 / (2 - f1))


def test_supports_by_hand():
    selected, relevant = np.array([1, 5, 7]), np.array([5, 7, 8, 9])
    assert support_f1(selected, relevant) == 4 / 7
    assert support_jaccard(selected, relevant) == 2 / 5
