"""The command line: `odrpo COMMAND --help` tells what each does."""

import sys
from importlib.metadata import version

import tyro
from rich.console import Console
from rich.markup import escape

from odrpo.cli.evaluate import evaluate_model
from odrpo.cli.options import registry
from odrpo.cli.report import make_report
from odrpo.cli.reproduce import reproduce
from odrpo.cli.solve import solve_file
from odrpo.cli.train import resume_run, train_policy
from odrpo.config_checks import OF_STABLE_BASELINES

app = tyro.extras.SubcommandApp()
app.command(name="train")(train_policy)
app.command(name="resume")(resume_run)
app.command(name="evaluate")(evaluate_model)
app.command(name="reproduce")(reproduce)
app.command(name="report")(make_report)
app.command(name="solve")(solve_file)


def main() -> None:
    """Run the command line; what the user can mend is said in one line."""
    if sys.argv[1:] == ["--version"]:
        print(f"odrpo {version('odrpo')}")
        return
    try:
        _check_names(sys.argv[1:])
        app.cli(
            prog="odrpo",
            description="Exact trust-region policy optimisation.",
            registry=registry,
        )
    except KeyboardInterrupt:
        Console(stderr=True).print("stopped")
        sys.exit(130)
    except (ValueError, OSError, FloatingPointError) as error:
        text = str(error)
        if isinstance(error, OSError) and error.filename is not None:
            text = f"{error.filename}: {error.strerror}"
        # It may quote a file, which must not command the terminal.
        text = "".join(c if c.isprintable() or c == "\n" else "?" for c in text)
        Console(stderr=True).print(f"[bold red]error:[/] {escape(text)}", highlight=False)
        sys.exit(2)


def _check_names(words: list[str]) -> None:
    """Settings by the names of Stable-Baselines3 get the hint that they get in Python."""
    for word in words:
        name = word.removeprefix("--").partition("=")[0].replace("-", "_")
        if word.startswith("--") and name in OF_STABLE_BASELINES:
            raise ValueError(f"{word}: there is no such option; {OF_STABLE_BASELINES[name]}")
