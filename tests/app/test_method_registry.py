import subprocess
import sys

import numpy as np
import pytest
from sklearn.svm import l1_min_c

from sparseauc_app.methods import all_methods, l1_logistic

RNG = np.random.default_rng(0)
Y = np.arange(60) % 3 == 0
X = RNG.normal(size=(60, 50)) + np.outer(Y, np.arange(50) < 2)


def test_l1_logistic_regression_sets_coefficients_to_zero():
    """An L2 penalty leaves none at zero, and an L1 penalty all of them just below l1_min_c."""
    assert np.count_nonzero(l1_logistic(0.1).fit(X, Y).coef_) < 10
    weights = np.where(Y, 60 / (2 * Y.sum()), 60 / (2 * (~Y).sum()))
    threshold = (
        np.abs(X.T @ (weights * np.where(Y, 1, -1))).max() / 2
    )  # the gradient at zero
    assert not l1_logistic(0.99 * (1 / threshold)).fit(X, Y).coef_.any()
    assert l1_logistic(10 * l1_min_c(X, Y, loss="log")).fit(X, Y).coef_.any()


@pytest.mark.parametrize("d", [1, 6, 30, 1000])
def test_only_the_number_of_columns_is_limited_by_that_of_the_table(d):
    for method in all_methods().values():
        feasible = method.feasible_grid(d)
        for parameter, values in method.grid.items():
            expected = [v for v in values if parameter != "k" or v <= d]
            assert feasible[parameter] == expected
            assert expected


def test_parameters_exist_and_every_method_can_be_made():
    for method in all_methods().values():
        model = method.make()
        for parameter, values in method.grid.items():
            model.set_params(**{parameter: values[0]})


def test_the_grid_of_a_peer_is_that_of_logspace():
    np.testing.assert_allclose(
        all_methods()["l1-logistic"].grid["C"], np.logspace(-2, 2, 12)
    )


def test_the_registry_costs_no_import_of_scikit_learn():
    code = (
        "import sys, sparseauc_app.methods; "
        "print([name for name in ('sklearn', 'numba', 'numpy') if name in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
