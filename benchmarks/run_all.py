"""Run every benchmark in a process of its own; each writes its table to benchmarks/results/."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
NO_BENCHMARKS = (
    "common.py", "default_fit.py", "peer_methods.py", "peer_tables.py", "points_peer.py",
    Path(__file__).name,
)  # fmt: skip


def main():
    failed = []
    for script in sorted(HERE.glob("*.py")):
        if script.name in NO_BENCHMARKS:
            continue
        print(f"== {script.name}", flush=True)
        if subprocess.run([sys.executable, script]).returncode:
            failed.append(script.name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
