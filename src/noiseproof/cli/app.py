"""The application with all its commands, and the handling of errors."""

from __future__ import annotations

import sys
import warnings
from contextlib import redirect_stdout
from inspect import cleandoc
from typing import Annotated, Any

import typer

from noiseproof import __version__
from noiseproof.cli.certify import certify
from noiseproof.cli.cost import cost
from noiseproof.cli.demo import demo
from noiseproof.cli.evaluate import evaluate
from noiseproof.cli.info import info
from noiseproof.cli.output import note
from noiseproof.cli.predict import predict
from noiseproof.cli.recommend import recommend
from noiseproof.cli.report import report
from noiseproof.cli.reproduce import reproduce
from noiseproof.cli.serve import serve
from noiseproof.cli.train import train

_COMMANDS = (
    *(demo, recommend, train, info, predict, serve),
    *(evaluate, certify, cost, report, reproduce),
)

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",  # options in panels, and the examples keep their lines
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _flowing(text: str | None) -> str:
    """The help of a command, whose paragraphs are broken where the terminal ends.

    Paragraphs that begin with \\b, such as examples, keep their lines.
    """
    parts = cleandoc(text or "").split("\n\n")
    return "\n\n".join(
        part if part.startswith("\b") else " ".join(part.split()) for part in parts
    )


for _command in _COMMANDS:
    app.command(
        no_args_is_help=_command not in (demo, reproduce),
        help=_flowing(_command.__doc__),
    )(_command)


def _version(wanted: bool) -> None:
    """Print the version and exit."""
    if wanted:
        typer.echo(f"noiseproof {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Show the version and exit.",
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback if an error occurs.")
    ] = False,
) -> None:
    """Models that keep working when features go missing, get noisy or are attacked.

    \b
    See what it does on built-in data:
      noiseproof demo
    Train a model for data with missing values, and see how far it holds:
      noiseproof train data.csv --target y -o model.npf --tune missing:0.3
      noiseproof evaluate model.npf test.csv --target y
      noiseproof certify model.npf test.csv --target y
      noiseproof predict model.npf new.csv -o out.csv
      noiseproof cost model.npf new.csv

    Tables are CSV, TSV, Parquet, svmlight or NPZ files. An empty field is a
    missing value.

    \b
    Exit status:
      0  success
      1  something is wrong with the data or the model
      2  something is wrong with the command line
      3  missing values cost more than `cost --fail-above` allows
    """


def run(arguments: list[str]) -> None:
    """Run one command, and print an error as one sentence on the error stream."""
    debug = "--debug" in arguments  # anywhere, as people append it
    arguments = [word for word in arguments if word != "--debug"]
    # the stream of results comes back however a command has turned it
    with warnings.catch_warnings(), redirect_stdout(sys.stdout):
        warnings.simplefilter("default")
        warnings.showwarning = _once()
        try:
            app(arguments, prog_name="noiseproof")
        except Exception as error:
            if debug:
                raise
            note(f"Error: {_sentence(error)}")
            sys.exit(1)


def _once() -> Any:
    """Show each warning as a note, and only once."""
    shown = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in shown:
            shown.add(str(message))
            note(f"Note: {message}")

    return show


def _sentence(error: Exception) -> str:
    """The message of an error, in one line."""
    if isinstance(error, ModuleNotFoundError) and "noiseproof" not in str(error):
        return f"{error}: pip install 'noiseproof[cli]'."
    lines = str(error).strip().splitlines()
    return " ".join(line.strip() for line in lines) or type(error).__name__
