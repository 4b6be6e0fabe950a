"""F1 and Jaccard of supports against scikit-learn's and sets written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import f1_score, jaccard_score

from sparseauc_paper.supports import support_f1, support_jaccard

quick = settings(max_examples=150, deadline=None)

SUPPORT_METRICS = [support_f1, support_jaccard]
ORACLES = [f1_score, jaccard_score]

mask_pairs = st.integers(1, 12).flatmap(
    lambda d: st.tuples(*[st.lists(st.booleans(), min_size=d, max_size=d)] * 2)
)


@quick
@given(mask_pairs)
def test_supports_equal_scikit_learn_on_masks(masks):
    selected, relevant = map(np.array, masks)
    for metric, oracle in zip(SUPPORT_METRICS, ORACLES, strict=True):
        assert_allclose(metric(selected, relevant), oracle(relevant, selected, zero_division=0.0))


@quick
@given(mask_pairs)
def test_indices_masks_and_coefficients_say_the_same(masks):
    selected, relevant = map(np.array, masks)
    signs = np.where(np.arange(selected.size) % 2, -1e-9, 5.0)

    def forms(mask):
        return [mask, np.flatnonzero(mask), np.flatnonzero(mask)[::-1], mask * signs]

    for metric in SUPPORT_METRICS:
        values = {metric(s, r) for s in forms(selected) for r in forms(relevant)}
        values |= {metric((selected * signs)[None, :], relevant[None, :])}
        assert len(values) == 1


@quick
@given(mask_pairs)
def test_jaccard_follows_from_f1(masks):
    f1 = support_f1(*masks)
    assert_allclose(support_jaccard(*masks), f1 / (2 - f1))


def test_supports_by_hand():
    selected, relevant = [1, 5, 7], [5, 7, 8, 9]
    assert support_f1(selected, relevant) == 4 / 7
    assert support_jaccard(selected, relevant) == 2 / 5


@pytest.mark.parametrize("nothing", [[], np.zeros(4), np.zeros((1, 4)), np.zeros(4, dtype=bool)])
def test_nothing_over_nothing_is_zero(nothing):
    for metric in SUPPORT_METRICS:
        assert metric(nothing, [1, 2]) == 0.0
        assert metric([1, 2], nothing) == 0.0
        assert metric(nothing, nothing) == 0.0


@pytest.mark.parametrize(
    ("support", "message"),
    [
        ([3, 1, 3], " has the index 3 more than once.*0/1 mask as booleans"),
        ([0, 1, 0, 0], " has the index 0 more than once"),
        ([4, -2, 1], " has the negative index -2; columns count from 0"),
        ([0.5, np.nan, 0.0], " has a NaN coefficient in column 1"),
        (
            np.zeros((2, 3)),
            r" must be one-dimensional, or \(1, d\) as coef_ is; got shape \(2, 3\)",
        ),
        (3, r" must be one-dimensional.*got shape \(\)"),
        (["age", "weight"], " must hold integer indices, booleans or float .*, got dtype <U6"),
    ],
)
def test_bad_supports(support, message):
    for metric in SUPPORT_METRICS:
        with pytest.raises(ValueError, match="selected" + message):
            metric(support, [0, 1])
        with pytest.raises(ValueError, match="relevant" + message):
            metric([0, 1], support)


def test_supports_over_different_columns():
    with pytest.raises(ValueError, match="selected describes 3 columns and relevant 4"):
        support_f1([True, False, True], np.zeros(4))
    with pytest.raises(ValueError, match="selected has the index 5, outside the 4 columns of rel"):
        support_f1([1, 5], np.zeros(4))
    with pytest.raises(ValueError, match="relevant has the index 4, outside the 3 columns of sel"):
        support_f1([True, False, True], [0, 4])
