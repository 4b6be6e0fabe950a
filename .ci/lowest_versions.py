"""Print the lowest version of each dependency that pyproject.toml allows, as constraints of pip."""

import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())[
    "project"
]
needs = project["dependencies"] + project["optional-dependencies"]["test"]
print(*(need.replace(">=", "==") for need in needs if "[" not in need), sep="\n")
