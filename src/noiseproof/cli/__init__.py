"""The command line: `noiseproof demo | train | predict | evaluate | certify | ...`.

One file per command. Everything heavy is imported inside the commands, so that
`noiseproof --help` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit.

    The exit status is 0 for success, 1 for bad data or a bad model, 2 for bad usage.
    """
    try:
        from noiseproof.cli.app import run
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("noiseproof"):
            raise
        sys.exit(
            "The command line of noiseproof needs more packages: "
            "pip install 'noiseproof[cli]'."
        )
    run(list(sys.argv[1:] if arguments is None else arguments))
