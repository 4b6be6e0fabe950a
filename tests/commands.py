"""The command, run in this process."""

from typer.testing import CliRunner

from sparseauc_app.cli import app


def run(*arguments, **options):
    return CliRunner().invoke(app, [*map(str, arguments)], **options)


def run_to_end(*arguments, code=0):
    """Run, and check the exit code."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    return result
