"""How a wheel is built: by hatchling, with kernels compiled for the Python and Numba at hand.

The hook compiles; the functions above it say what must be installed for that. They are
those of hatchling but one: an editable installation compiles nothing, so it waits for
no Numba.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from hatchling import build
from hatchling.build import *  # noqa: F403  a backend has all of hatchling's functions
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SHIPS_KERNELS = not os.environ.get("SPARSEAUC_NO_SHIPPED_KERNELS")


def get_requires_for_build_wheel(config_settings=None):
    """Ask for what fits need, besides what hatchling needs."""
    needed = build.get_requires_for_build_wheel(config_settings)
    return [*needed, "numba", "pandas", "scikit-learn"] if SHIPS_KERNELS else needed


class CompiledKernels(BuildHookInterface):
    """Compiles kernels into a folder of the wheel, which stays one for all systems."""

    def initialize(self, version, build_data):
        self.folder = None
        if version == "editable" or not SHIPS_KERNELS:
            return
        self.folder = tempfile.mkdtemp(prefix="sparseauc-kernels-")
        command = [sys.executable, Path(self.root, "compile_kernels.py"), self.folder]
        try:
            subprocess.run(command, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            self.app.display_warning(f"The wheel carries no compiled kernels: {error}")
        else:
            build_data["force_include"][f"{self.folder}/sparseauc"] = (
                "sparseauc/kernels"
            )

    def finalize(self, version, build_data, artifact_path):
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
