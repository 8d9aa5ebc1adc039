"""Options that several commands share, and the little grammar `name:level`."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Annotated, Any

import typer

Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Table: CSV, TSV, Parquet, svmlight or NPZ; - reads standard input.",
    ),
]
_JUDGED = (
    "written by `noiseproof train` or `noiseproof.save`; or your own: model.skops, "
    "model.onnx, or module:name, which is imported and, if a function, called."
)
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model written by `noiseproof train`.")
]
AnyModel = Annotated[Path, typer.Argument(metavar="MODEL", help=f"Model {_JUDGED}")]
Models = Annotated[
    list[Path], typer.Argument(metavar="MODEL", help=f"Models {_JUDGED}")
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        help="Column to predict, by name or position (-1 is the last). svmlight and "
        "NPZ files contain their own.",
    ),
]
AttackOption = Annotated[
    str | None,
    typer.Option(
        help="Worst case instead of random noise: deletion, scaling, norm-ball, ..."
    ),
]
Levels = Annotated[
    str | None, typer.Option(help="Levels to try, such as 0,0.1,0.5.", metavar="LIST")
]
Repeats = Annotated[int, typer.Option(min=1, help="Random draws per level.")]
Seed = Annotated[int, typer.Option(help="Seed of the random numbers.")]
Json = Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")]
_COLUMNS = "Columns"
Drop = Annotated[
    list[str] | None,
    typer.Option(
        help="Column to leave out; may be repeated.", rich_help_panel=_COLUMNS
    ),
]
Coerce = Annotated[
    list[str] | None,
    typer.Option(
        help="Column that holds numbers except in some cells: 1,5 and $1,234 are read, "
        "and <0.5, n/a or -999 are missing; may be repeated.",
        rich_help_panel=_COLUMNS,
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        help="Column whose numbers are codes; may be repeated.",
        rich_help_panel=_COLUMNS,
    ),
]
Task = Annotated[
    str | None,
    typer.Option(
        metavar="TASK",
        help="classification or regression. The default depends on the target: numbers "
        "are a quantity if they have fractions, or if more than 20, and more than a "
        "tenth of the rows, differ.",
        rich_help_panel=_COLUMNS,
    ),
]
NFeatures = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of features of an svmlight file, if it mentions fewer.",
        rich_help_panel=_COLUMNS,
    ),
]
GroupsOption = Annotated[
    Path | None,
    typer.Option(
        "--groups",
        help=r"Columns that fail together: JSON {sensor: \[columns]} or CSV lines "
        "sensor,column.",
    ),
]


def parse_noise(text: str) -> tuple[Any, bool]:
    """A dropout rate, "auto", rates by name, or a noise object from `gaussian:0.1`.

    And whether its level is given, as it is not in `auto` or `gaussian`.
    """
    from noiseproof.noise import NOISES, as_noise

    if text == "auto":
        return "auto", False
    if "=" in text or text.endswith(".json"):
        return _read_rates(text), True
    name, level = _split(text)
    if name == "none":
        return 0.0, True
    if name == "" and level is not None:
        noise = as_noise(level)
    elif name in NOISES:
        noise = NOISES[name]() if level is None else NOISES[name]().at(level)
    else:
        raise typer.BadParameter(
            f"--noise {text}: use a dropout rate, auto, none, or one of "
            f"{', '.join(NOISES)} with a level, such as gaussian:0.1."
        )
    noise.check()
    return level if name == "" else noise, level is not None


def _read_rates(text: str) -> dict[str, float]:
    """Rates by column, from `a=0.5,b=0.1` or from a JSON file."""
    try:
        if text.endswith(".json"):
            pairs = json.loads(Path(text).read_text(encoding="utf-8")).items()
        else:
            pairs = [word.rsplit("=", 1) for word in text.split(",")]
        rates = {str(name).strip(): float(rate) for name, rate in pairs}
    except (ValueError, TypeError, AttributeError):
        raise typer.BadParameter(
            f"--noise {text}: rates by column are given as age=0.5,iron=0.1, or as a "
            'JSON file with {"age": 0.5, ...}.'
        ) from None
    wrong = [name for name, rate in rates.items() if not 0 <= rate < 1]
    if wrong:
        raise typer.BadParameter(f"--noise: the rate of {wrong[0]} must be in [0, 1).")
    return rates


def parse_attack(text: str) -> Any:
    """An attack by its name or a word of it, such as `deletion` or `deletion:5`."""
    from noiseproof.attacks import ATTACKS

    name, level = _split(text)
    found = [key for key in ATTACKS if name == key] or [
        key for key in ATTACKS if f"-{name}-" in f"-{key}-"
    ]
    if len(found) != 1:
        raise typer.BadParameter(
            f"The attack {text} is unknown: use one of {', '.join(ATTACKS)}."
        )
    attack = ATTACKS[found[0]]()
    return attack if level is None else attack.at(level)


def parse_perturbation(text: str) -> tuple[Any, float | None]:
    """What happens to features, and its level if one is given: `delete:0.5`."""
    from noiseproof.attacks import ATTACKS
    from noiseproof.evaluation import PERTURBATIONS
    from noiseproof.noise import NOISES

    name, level = _split(text)
    plain = name.replace("-", "_")
    if plain in PERTURBATIONS:
        return plain, level
    if name in NOISES:
        return NOISES[name](), level
    if not any(name in (key, *key.split("-")) for key in ATTACKS):
        raise typer.BadParameter(
            f"{text} is unknown: use one of "
            f"{', '.join([*PERTURBATIONS, *NOISES, *ATTACKS])}, with a level after a "
            "colon, such as delete:0.5."
        )
    return parse_attack(name), level


def parse_happening(text: str) -> tuple[Any, float]:
    """What happens to features, with its level: `delete:0.5`."""
    perturb, level = parse_perturbation(text)
    if level is None:
        raise typer.BadParameter(f"{text} needs a level, such as {text}:0.5.")
    return perturb, level


def name_of(happening: tuple[Any, float]) -> str:
    """What happens and its level as they are written: `delete:0.5`."""
    perturb, level = happening
    what = perturb if isinstance(perturb, str) else type(perturb).__name__
    return f"{what}:{level:g}"


def parse_levels(text: str) -> list[float]:
    """Numbers from `0,0.1,0.5`."""
    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"--levels {text}: use numbers with commas between, such as 0,0.1,0.5."
        ) from None
    return [int(number) if number.is_integer() else number for number in numbers]


def judging(groups: Path | None, folds: int, seed: int, json: bool) -> dict[str, Any]:
    """What `train` and `recommend` of the library have to know in common."""
    return {
        "groups": read_groups(groups),
        "cv": folds,
        "random_state": seed,
        "progress": False if json else None,
    }


def read_groups(path: Path | None) -> dict[str, list[str]] | None:
    """Columns of each sensor, from JSON or CSV lines `sensor,column`, if there are."""
    if path is None:
        return None
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        groups = json.loads(text)
        good = isinstance(groups, dict) and all(
            isinstance(part, list) for part in groups.values()
        )
    else:
        lines = [line for line in csv.reader(text.splitlines()) if line]
        good = all(len(line) == 2 for line in lines)
        groups = {}
        for sensor, column in lines if good else []:
            groups.setdefault(sensor.strip(), []).append(column.strip())
    if not good or not groups:
        raise ValueError(
            f'{path} must hold JSON like {{"sensor": ["column", ...]}} or CSV lines '
            "like sensor,column."
        )
    return groups


def _split(text: str) -> tuple[str, float | None]:
    """Name and level from `name:level`, `name` or `level`."""
    name, colon, level = text.strip().lower().rpartition(":")
    try:
        return name, float(level)
    except ValueError:
        if colon:
            raise typer.BadParameter(f"{text}: {level!r} is not a number.") from None
        return level, None
