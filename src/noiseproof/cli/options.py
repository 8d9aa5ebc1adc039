"""Options that several commands share, and the notation `name:level`."""

from __future__ import annotations

import csv
import json
import math
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Table to read: CSV, TSV, Parquet, svmlight or NPZ. Use - for standard "
        "input.",
    ),
]
_JUDGED = (
    "saved by `noiseproof train` or `noiseproof.save`, or one of your own: "
    "model.skops, model.onnx, or module:name, which is imported (and called, if it is "
    "a function)."
)
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model saved by `noiseproof train`.")
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
        "NPZ files contain their own target.",
    ),
]
AttackOption = Annotated[
    str | None,
    typer.Option(
        help="Attack to evaluate, or to certify against: deletion, scaling, "
        "norm-ball, ..."
    ),
]
Levels = Annotated[
    str | None,
    typer.Option(help="Levels to try, separated by commas: 0,0.1,0.5.", metavar="LIST"),
]
Repeats = Annotated[int, typer.Option(min=1, help="Number of random draws per level.")]
Seed = Annotated[int, typer.Option(help="Seed of the random number generator.")]
Json = Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")]
_COLUMNS = "Columns"
Drop = Annotated[
    list[str] | None,
    typer.Option(
        help="Column to leave out. Can be repeated.", rich_help_panel=_COLUMNS
    ),
]
Coerce = Annotated[
    list[str] | None,
    typer.Option(
        help="Column of numbers with some text in it. Entries such as 1,5 and $1,234 "
        "are read as numbers; <0.5, n/a and -999 become missing values. Can be "
        "repeated.",
        rich_help_panel=_COLUMNS,
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        help="Column whose numbers are codes of categories. Can be repeated.",
        rich_help_panel=_COLUMNS,
    ),
]
Task = Annotated[
    str | None,
    typer.Option(
        metavar="TASK",
        help="classification or regression. By default it depends on the target: "
        "numbers are a quantity if they have fractions, if more than 100 of them are "
        "distinct, or if more than 20 are and these are more than a tenth of the rows.",
        rich_help_panel=_COLUMNS,
    ),
]
NFeatures = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of features of an svmlight file, if the last ones do not occur "
        "in it.",
        rich_help_panel=_COLUMNS,
    ),
]
GroupsOption = Annotated[
    Path | None,
    typer.Option(
        "--groups",
        help=r"File that lists columns which fail together: JSON {sensor: \[columns]}, "
        "or CSV lines sensor,column.",
    ),
]

ToleranceOption = Annotated[
    str | None,
    typer.Option(
        "--tolerance",
        metavar="NUMBER",
        help="For regression: how far a prediction may be from the target and still "
        "count as correct. A number, or a percentage of the target such as 15%.",
    ),
]

_SHORT = {"columns": "missing_columns"}
_BELOW_ONE = math.nextafter(1.0, 0.0)


def parse_noise(text: str) -> tuple[Any, bool]:
    """Parse a dropout rate, "auto", rates by name, or a noise such as `gaussian:0.1`.

    Also returns whether the text gives a level, which `auto` and `gaussian` do not.
    """
    from noiseproof.noise import NOISES, as_noise

    if text == "auto":
        return "auto", False
    if "=" in text or text.endswith(".json"):
        return _read_rates(text, f"--noise {text}"), True
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


def _read_rates(text: str, where: str, most: float = _BELOW_ONE) -> dict[str, float]:
    """Parse rates by column, from `a=0.5,b=0.1` or from a JSON file."""
    try:
        if text.endswith(".json"):
            pairs = json.loads(Path(text).read_text(encoding="utf-8")).items()
        else:
            pairs = [word.rsplit("=", 1) for word in text.split(",")]
        rates = {str(name).strip(): float(rate) for name, rate in pairs}
    except (ValueError, TypeError, AttributeError):
        raise typer.BadParameter(
            f"{where}: give rates by column as age=0.5,iron=0.1, or in a JSON file "
            'such as {"age": 0.5, ...}.'
        ) from None
    wrong = [name for name, rate in rates.items() if not 0 <= rate <= most]
    if wrong:
        end = "1]" if most == 1 else "1)"
        raise typer.BadParameter(
            f"{where}: the rate of {wrong[0]} must be in [0, {end}."
        )
    return rates


def parse_attack(text: str) -> Any:
    """Parse an attack: its name or a word of it, such as `deletion` or `deletion:5`."""
    from noiseproof.attacks import ATTACKS

    name, level = _split(text)
    found = [key for key in ATTACKS if name == key] or [
        key for key in ATTACKS if f"-{name}-" in f"-{key}-"
    ]
    if len(found) != 1:
        raise typer.BadParameter(
            f"Unknown attack {text}: use one of {', '.join(ATTACKS)}."
        )
    attack = ATTACKS[found[0]]()
    return attack if level is None else attack.at(level)


def parse_perturbation(text: str) -> tuple[Any, float | None]:
    """Parse a perturbation and its level, if there is one: `delete:0.5`.

    Missing values can also be described as `missing:iron=0.5,age=0.1`,
    `like:today.csv` and `columns:iron,age`.
    """
    from noiseproof.attacks import ATTACKS
    from noiseproof.evaluation import PERTURBATIONS
    from noiseproof.noise import NOISES

    found = _parse_missing(text)
    if found is not None:
        return found, found.own_level
    name, level = _split(text)
    plain = _SHORT.get(name, name.replace("-", "_"))
    if plain in PERTURBATIONS:
        return plain, level
    if name in NOISES:
        return NOISES[name](), level
    if not any(name in (key, *key.split("-")) for key in ATTACKS):
        raise typer.BadParameter(
            f"Unknown perturbation {text}: use one of "
            f"{', '.join([*PERTURBATIONS, 'like', *NOISES, *ATTACKS])}, with a level "
            "after a colon, such as delete:0.5."
        )
    return parse_attack(name), level


def _parse_missing(text: str) -> Any:
    """Parse missing values described by columns or by a table; else return None."""
    from noiseproof.evaluation import MissingColumns
    from noiseproof.noise import Missing, Outages

    name, _, rest = text.strip().partition(":")
    name = name.lower()
    if name == "like":
        return _patterns_of(rest)
    by_rates: dict[str, Any] = {"outages": Outages, "missing": Missing}
    by_rates |= {how: partial(Missing, mechanism=how) for how in ("mar", "mnar")}
    if name in by_rates and ("=" in rest or rest.endswith(".json")):
        return by_rates[name](_read_rates(rest, text, most=1.0))
    if _SHORT.get(name, name) == "missing_columns" and rest and not _is_number(rest):
        return MissingColumns([column.strip() for column in rest.split(",")])
    return None


def _patterns_of(path: str) -> Any:
    """The patterns of missing values in a table."""
    from noiseproof.cli.files import read_data
    from noiseproof.noise import MissingLike

    if not path:
        raise typer.BadParameter("like needs a table: write like:today.csv.")
    X = read_data(Path(path), None).X
    if not hasattr(X, "isna"):
        raise typer.BadParameter(f"like:{path}: the columns of the table need names.")
    gone = X.isna()
    if not gone.to_numpy().any():
        raise typer.BadParameter(f"like:{path}: the table has no missing values.")
    return MissingLike(gone)


def parse_happening(text: str) -> tuple[Any, float]:
    """Parse a perturbation that must have a level: `delete:0.5`."""
    perturb, level = parse_perturbation(text)
    if level is None:
        raise typer.BadParameter(f"{text} needs a level, such as {text}:0.5.")
    return perturb, level


def name_of(happening: tuple[Any, float]) -> str:
    """Write a perturbation and its level as a user would: `delete:0.5`."""
    perturb, level = happening
    what = perturb if isinstance(perturb, str) else type(perturb).__name__
    return f"{what}:{level:g}"


def parse_levels(text: str) -> list[float]:
    """Parse numbers from `0,0.1,0.5`."""
    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"--levels {text}: use numbers separated by commas, such as 0,0.1,0.5."
        ) from None
    return [int(number) if number.is_integer() else number for number in numbers]


def parse_tolerance(text: str | None, y: Any) -> Any:
    """Parse a tolerance: `2.5`, or `15%` of the target of each row."""
    import numpy as np

    if text is None:
        return None
    word, per_cent, rest = text.strip().partition("%")
    try:
        number = float(word)
    except ValueError:
        number = -1.0
    if rest or not 0 <= number < float("inf"):
        raise typer.BadParameter(
            f"--tolerance {text}: use a number that is not negative, or a percentage "
            "such as 15%."
        )
    if not per_cent:
        return number
    if y is None:
        raise typer.BadParameter(f"--tolerance {text} needs the target: use --target.")
    return number / 100 * np.abs(np.asarray(y, dtype=np.float64))


def judging(groups: Path | None, folds: int, seed: int, json: bool) -> dict[str, Any]:
    """Arguments that `train` and `recommend` of the library have in common."""
    return {
        "groups": read_groups(groups),
        "cv": folds,
        "random_state": seed,
        "progress": False if json else None,
    }


def read_groups(path: Path | None) -> dict[str, list[str]] | None:
    """Read the columns of each sensor, from JSON or from CSV lines `sensor,column`."""
    if path is None:
        return None
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        groups = None
        with suppress(ValueError, RecursionError):  # no JSON
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
            f'{path} must contain JSON such as {{"sensor": ["column", ...]}}, or CSV '
            "lines such as sensor,column."
        )
    return groups


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _split(text: str) -> tuple[str, float | None]:
    """Split `name:level`, `name` or `level` into name and level."""
    name, colon, level = text.strip().lower().rpartition(":")
    try:
        return name, float(level)
    except ValueError:
        if colon:
            raise typer.BadParameter(f"{text}: {level!r} is not a number.") from None
        return level, None
