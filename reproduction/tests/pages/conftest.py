"""The example report."""

import pytest
from example_report import example_report

from sparseauc_paper.pages import Report


@pytest.fixture
def report() -> Report:
    return example_report()
