"""Rows as they arrive in production, and what a served model must make of them.

Each case has the rows, and either the table that stands for them (what the model must
be asked in the end) or the words with which they are refused. A way answers for a
served model; to test another way in, run `Way.check` over `CASES`.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from noiseproof import AverageOverMissing
from noiseproof.serving import Served
from noiseproof.tables import TableEncoder

ZONE = "Europe/Berlin"


class Answer(NamedTuple):
    """Probabilities of the classes, and the notes on the rows as (kind, columns)."""

    probabilities: Any
    notes: set[tuple[str, tuple[str, ...]]]


class Case(NamedTuple):
    """Rows that arrive."""

    rows: Any
    table: pd.DataFrame | None = None  # what they mean
    notes: frozenset[tuple[str, tuple[str, ...]]] = frozenset()
    refused: str = ""  # words of the sentence, if they are refused


def table(n: int = 120, seed: int = 0) -> pd.DataFrame:
    """Numbers with and without missing values, words, yes or no, times, durations."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(50, 10, n).round(1)})
    frame["visits"] = rng.integers(0, 9, n)
    frame["ward"] = pd.Series(rng.choice(["a", "b", "c"], n), dtype=object)
    frame["smoker"] = rng.random(n) < 0.5
    days = pd.to_datetime(["2024-01-01 08:00", "2024-07-01 20:00"]).as_unit("us")
    frame["shift"] = days.tz_localize(ZONE)[rng.integers(0, 2, n)]
    frame["height"] = rng.normal(170, 10, n).round()
    frame.loc[::3, "age"] = np.nan
    minutes = pd.to_timedelta(30 * rng.integers(0, 99, n), unit="min")
    frame["wait"] = minutes.as_unit("us")
    return frame


@functools.cache
def averaged() -> Served:
    """A served model that averages over missing values."""
    X, rng = table(), np.random.default_rng(1)
    score = (X["age"].fillna(50) - 50) / 10 + (X["ward"] == "a") + X["smoker"]
    y = np.where(score + rng.normal(size=len(X)) > 0.8, "ill", "well")
    inner = make_pipeline(TableEncoder(), SimpleImputer(), LogisticRegression())
    model = AverageOverMissing(inner, "donors", random_state=0).fit(X, y)
    return Served(model, X, target="diagnosis")


NEW = table(8, seed=2)
_FEW = NEW.astype(object).where(NEW.notna(), None)


def _cases() -> dict[str, Case]:
    new, texts = NEW, NEW.astype({"age": object, "visits": object})
    texts.loc[1, "age"], texts.loc[2, "visits"] = "high", "few"
    unread = new.astype({"visits": float})
    unread.loc[1, "age"] = unread.loc[2, "visits"] = np.nan
    unread_notes = {("unreadable", ("age",)), ("unreadable", ("visits",))}
    far = new.assign(visits=[9000, *new["visits"][1:]])
    return {
        "as trained": Case(new, new),
        "with the target": Case(new.assign(diagnosis="ill"), new),
        "absent": Case(
            new.drop(columns=["ward", "visits"]),
            new.assign(ward=None, visits=np.nan),
            frozenset({("absent", ("visits", "ward"))}),
        ),
        "reordered": Case(new[new.columns[::-1]], new),
        "extra": Case(
            new.assign(bed=3, name="x"), new, frozenset({("extra", ("bed", "name"))})
        ),
        "unreadable": Case(texts, unread, frozenset(unread_notes)),
        "numbers as text": Case(new.assign(visits=new["visits"].astype(str)), new),
        "unseen": Case(
            new.assign(ward=["z", 7, *new["ward"][2:]]),
            new.assign(ward=[None, None, *new["ward"][2:]]),
            frozenset({("unseen", ("ward",))}),
        ),
        "numbers where words were": Case(
            new.assign(ward=np.arange(8)),
            new.assign(ward=None),
            frozenset({("unseen", ("ward",))}),
        ),
        "out of range": Case(far, far, frozenset({("out of range", ("visits",))})),
        "mostly missing": Case(
            new.assign(visits=np.nan),
            new.assign(visits=np.nan),
            frozenset({("missing", ("visits",))}),
        ),
        **_forms(new),
        **_refused(new),
    }


def _forms(new: pd.DataFrame) -> dict[str, Case]:
    """The same rows in other containers and types."""
    stamps = [
        {**row, "shift": row["shift"].isoformat(), "wait": row["wait"].isoformat()}
        for row in _records(new)
    ]
    mask = _FEW.isna().to_numpy()
    local = new["shift"].dt.tz_localize(None)
    elsewhere = new["shift"].dt.tz_convert("America/New_York")
    some = [{k: v for k, v in row.items() if v is not None} for row in stamps]
    return {
        "records": Case(_records(new), new),
        "records of JSON": Case(stamps, new),
        "records without keys": Case(some, new),
        "one record": Case(_records(new)[1], new[1:2]),
        "columns": Case(new.to_dict("list"), new),
        "columns by label": Case(new.to_dict(), new),
        "a masked array": Case(np.ma.MaskedArray(_FEW.fillna(7), mask), new),
        "an Arrow table": Case(pa.Table.from_pandas(new), new),
        "seconds": Case(new.assign(wait=new["wait"].dt.total_seconds()), new),
        "columns of arrays": Case({n: c.to_numpy() for n, c in _FEW.items()}, new),
        "an array": Case(_FEW.to_numpy(), new),
        "lists": Case(_FEW.to_numpy().tolist(), new),
        "polars": Case(pl.from_pandas(new), new),
        "a lazy frame": Case(pl.from_pandas(new).lazy(), new),
        "nullable": Case(new.convert_dtypes(), new),
        "Arrow": Case(new.convert_dtypes(dtype_backend="pyarrow"), new),
        "categorical": Case(
            new.astype({"ward": "category", "visits": "category"}), new
        ),
        "another time zone": Case(new.assign(shift=elsewhere), new),
        "no time zone": Case(new.assign(shift=local), new),
        "nanoseconds": Case(
            new.assign(**{n: new[n].dt.as_unit("ns") for n in ("shift", "wait")}), new
        ),
        "a row of a frame": Case(new.iloc[1], new[1:2]),
    }


def _refused(new: pd.DataFrame) -> dict[str, Case]:
    """Rows that are not the table of the model."""
    votes = pd.DataFrame({f"V{j}": ["y", "n"] * 4 for j in range(16)})
    one = new[["age"]].assign(**votes)
    return {
        "another table": Case(votes, refused="none is there"),
        "hardly any column": Case(one, refused="only 1 is there"),
    }


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def as_frame(rows: Any) -> pd.DataFrame:
    """Rows of any form as a frame of pandas, to be written to a file."""
    if isinstance(rows, pl.DataFrame | pl.LazyFrame):
        return rows.lazy().collect().to_pandas()
    if isinstance(rows, pa.Table):
        return rows.to_pandas()
    if isinstance(rows, pd.DataFrame):
        return rows
    if isinstance(rows, pd.Series):
        rows = rows.to_dict()
    if isinstance(rows, dict) and not isinstance(
        next(iter(rows.values())), list | dict
    ):
        is_columns = hasattr(next(iter(rows.values())), "dtype")
        return pd.DataFrame(rows if is_columns else [rows])
    if isinstance(rows, list | np.ndarray) and not isinstance(rows[0], dict):
        return pd.DataFrame(rows, columns=NEW.columns)
    return pd.DataFrame(rows)


def as_records(rows: Any) -> list[dict[str, Any]]:
    """Rows of any form as records that JSON can hold."""
    return [
        {name: _plain(cell) for name, cell in row.items()}
        for row in _records(as_frame(rows))
    ]


def _plain(cell: Any) -> Any:
    if isinstance(cell, datetime.datetime):
        return cell.isoformat()
    if isinstance(cell, datetime.timedelta):
        return cell.total_seconds()
    return cell.item() if isinstance(cell, np.generic) else cell


CASES = _cases()


class Way:
    """Ask a served model in the library; other ways are compared with that."""

    close = 1e-12  # how close probabilities are to those of the bare model

    def __init__(self, served: Served):
        self.served = served

    def ask(self, rows: Any) -> Answer:
        """What comes back; an error's text is the sentence of a refusal."""
        return Answer(self.served.predict_proba(rows), self.notes(rows))

    def notes(self, rows: Any) -> set[tuple[str, tuple[str, ...]]]:
        """What the library notes on the rows."""
        return {(note.kind, tuple(note.columns)) for note in self.served.check(rows)}

    def sentence(self, sentence: str) -> str:
        """What this way says where the library says that sentence."""
        return sentence

    def check(self, case: Case) -> None:
        """The answers of the bare model for what the rows mean, or the sentence."""
        if case.refused:
            sentence = _sentence(Way(self.served).ask, case.rows)
            assert case.refused in sentence
            assert _sentence(self.ask, case.rows) == self.sentence(sentence)
            return
        found = self.ask(case.rows)
        columns = list(self.served.model.feature_names_in_)
        wanted = self.served.model.predict_proba(case.table[columns])
        np.testing.assert_allclose(
            found.probabilities, wanted, rtol=self.close, atol=self.close
        )
        assert found.notes == set(case.notes)


def _sentence(ask: Callable[[Any], Answer], rows: Any) -> str:
    try:
        ask(rows)
    except ValueError as error:
        return str(error)
    raise AssertionError("The rows were not refused.")
