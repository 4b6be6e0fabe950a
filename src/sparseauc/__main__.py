"""``python -m sparseauc`` is the command ``sparseauc``."""

import sys


def main() -> None:
    """Run the command; an interrupt ends it without a traceback, while it is imported too."""
    try:
        from .cli import app

        app(prog_name="sparseauc")
    except KeyboardInterrupt:
        print("Error: interrupted, nothing was written", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
