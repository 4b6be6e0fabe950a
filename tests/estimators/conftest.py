"""What the tests of estimators share."""

import pandas as pd
import pytest

from sparseauc.datasets import make_outbreak


@pytest.fixture(scope="module")
def outbreak():
    return make_outbreak(n=600, d=40, k=5, mu=1.0, r=0.1, random_state=0)


@pytest.fixture
def frame(outbreak):
    return pd.DataFrame(outbreak.X, columns=[f"gene{j}" for j in range(40)])
