"""Timing and tables of the library's benchmarks, with results beside these."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "benchmarks"))

import common

common.HERE = HERE
