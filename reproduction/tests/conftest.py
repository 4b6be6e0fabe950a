"""What all tests share; some of it is the library's, from the folder of its tests."""

import signal
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.append(str(Path(__file__).parents[2] / "tests"))
pytest_plugins = ["outside"]

# Kernels compile inside the first example: no deadline, and slow first draws are no
# failure.
settings.register_profile(
    "sparseauc",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
settings.load_profile("sparseauc")

# A shell starts background jobs with interrupts ignored, and the commands tested would
# inherit it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
