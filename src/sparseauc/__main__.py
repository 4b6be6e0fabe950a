"""``python -m sparseauc`` is the command ``sparseauc``."""

from .cli import app

if __name__ == "__main__":
    app(prog_name="sparseauc")
