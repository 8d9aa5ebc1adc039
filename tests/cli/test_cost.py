"""`noiseproof cost` and `predict --worth` tell what the library tells."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import noiseproof
from noiseproof import AverageOverMissing
from noiseproof.evaluation import missing_cost, value_of_cells
from noiseproof.noise import Missing
from noiseproof.serving import Served


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A saved model, and tables of two days."""
    folder = tmp_path_factory.mktemp("cost")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1200, 3)), columns=["iron", "age", "dose"])
    y = np.where(X.iron - 0.5 * X.age + 0.3 * rng.normal(size=1200) > 0, "ill", "well")
    model = AverageOverMissing(LogisticRegression(), "donors", random_state=0)
    model.fit(X[:600], y[:600])
    served = Served(model, X[:600], target="state")
    noiseproof.save(served, folder / "model.npf", notes={"target": "state"})
    new = X[600:].reset_index(drop=True)
    for name, rate in (("monday", 0.1), ("tuesday", 0.6)):
        Missing(rate).sample(new, rng=0).to_csv(folder / f"{name}.csv", index=False)
    new.assign(state=y[600:]).to_csv(folder / "labelled.csv", index=False)
    days = [
        pd.read_csv(folder / f"{n}.csv").assign(day=n) for n in ("monday", "tuesday")
    ]
    pd.concat(days).to_csv(folder / "week.csv", index=False)
    (folder / "prices.json").write_text('{"iron": 10}', encoding="utf-8")
    (folder / "groups.json").write_text('{"blood": ["iron", "dose"]}', encoding="utf-8")
    return folder


def of_library(place, name, **options):
    served = noiseproof.load(place / "model.npf")
    rows = served.read(pd.read_csv(place / f"{name}.csv")).X
    return missing_cost(served.model, rows, **options)


def test_the_table_and_the_verdict(run, place):
    done = run("cost", place / "model.npf", place / "tuesday.csv")
    assert done.code == 0, done.err
    expected = of_library(place, "tuesday")
    assert done.out.splitlines()[-1] == expected.verdict
    lines = [line for line in done.out.splitlines() if line.startswith(" iron")]
    assert f"{expected.by_column['iron'].value:.4f}" in lines[0]
    assert "60%" in lines[0]
    assert done.out.splitlines()[0] == f"{expected._title()}."
    assert f"cost {expected.cost:.3f}" in done.out


def test_machines_get_all_of_it(run, place):
    words = ("--groups", place / "groups.json", "--costs", place / "prices.json")
    done = run("cost", place / "model.npf", place / "tuesday.csv", "--json", *words)
    (found,) = json.loads(done.out)
    expected = of_library(place, "tuesday", groups={"blood": ["iron", "dose"]})
    assert found["batch"] == "tuesday.csv"
    assert found["groups"]["blood"]["columns"] == ["iron", "dose"]
    assert found["cost"] == pytest.approx(expected.cost._asdict())
    assert found["columns"]["column"] == list(expected.by_column)
    assert found["columns"]["training"] == [0.0, 0.0, 0.0]
    assert found["groups"]["blood"]["value"] == pytest.approx(
        expected.by_group["blood"].value
    )
    iron = found["columns"]["column"].index("iron")
    assert found["columns"]["worth/price"][iron] == pytest.approx(
        expected.worth["iron"] / 10
    )


def test_the_exit_status_is_an_alarm(run, place):
    words = ("cost", place / "model.npf", place / "tuesday.csv", "--fail-above")
    cost = of_library(place, "tuesday").cost.value
    quiet, alarm = run(*words, f"{cost + 0.01}"), run(*words, f"{cost - 0.01}")
    assert (quiet.code, alarm.code) == (0, 3)
    assert "Alarm: missing values cost" in alarm.err


def test_several_tables_and_a_column_make_a_series(run, place):
    page = place / "cost.html"
    days = [place / f"{name}.csv" for name in ("monday", "tuesday")]
    done = run("cost", place / "model.npf", *days, "-o", page)
    assert done.code == 0, done.err
    assert "monday.csv" in done.out
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "<svg" in text
    assert of_library(place, "tuesday").verdict in text
    table = place / "cost.csv"
    done = run(
        "cost", place / "model.npf", place / "week.csv", "--by", "day", "-o", table
    )
    assert done.code == 0, done.err
    found = pd.read_csv(table)
    assert found["batch"].tolist() == ["monday", "tuesday"]
    for name, cost in zip(found["batch"], found["cost"], strict=True):
        assert cost == pytest.approx(of_library(place, name).cost.value)


def test_the_last_batch_is_the_one_with_the_largest_number(run, place):
    rows = pd.read_csv(place / "monday.csv").assign(day=np.arange(600) // 50 + 1)
    columns = ["iron", "age", "dose"]
    rows.loc[rows.day == 12, columns] = np.nan
    rows.to_csv(place / "days.csv", index=False)
    words = ("cost", place / "model.npf", place / "days.csv", "--by", "day")
    done = run(*words, "--fail-above", "0.2", "--json")
    assert done.code == 3
    found = json.loads(done.out)
    assert [one["batch"] for one in found] == [str(day) for day in range(1, 13)]
    assert found[-1]["columns"]["today"] == [1.0, 1.0, 1.0]
    rows["date"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rows.day // 7, "D")
    rows.to_parquet(place / "days.parquet")
    done = run(*words[:2], place / "days.parquet", "--by", "date", "--json")
    batches = [one["batch"] for one in json.loads(done.out)]
    assert batches == ["2024-01-01", "2024-01-02"]
    rows.day = rows.day.where(rows.index > 6)
    rows.to_csv(place / "days.csv", index=False)
    done = run(*words)
    assert done.code == 1
    assert "no label for 7 of 600 rows" in done.err
    assert "leave these rows out" in done.err


def test_prices_are_on_the_page(run, place):
    page = place / "priced.html"
    words = ("--costs", place / "prices.json", "-o")
    done = run("cost", place / "model.npf", place / "tuesday.csv", *words, page)
    assert done.code == 0, done.err
    worth = of_library(place, "tuesday").worth["iron"]
    text = page.read_text(encoding="utf-8")
    assert "<th>worth / price</th>" in text
    assert f"<td>iron</td><td>{worth:.3g}</td><td>10</td>" in text
    table = place / "priced.csv"
    done = run("cost", place / "model.npf", place / "tuesday.csv", *words, table)
    assert done.code == 0, done.err
    assert "worth/price" in pd.read_csv(table)
    table.unlink()
    week = ("cost", place / "model.npf", place / "week.csv", "--by", "day")
    done = run(*week, *words, table)
    assert done.code == 2
    assert "write an HTML page instead" in " ".join(done.err.split())
    assert not table.exists()


def test_labelled_rows_calibrate(run, place):
    done = run(
        *("cost", place / "model.npf", place / "tuesday.csv", "--json"),
        *("--calibration", place / "labelled.csv"),
    )
    (found,) = json.loads(done.out)
    rows = pd.read_csv(place / "labelled.csv")
    calibration = rows.drop(columns="state"), rows["state"]
    expected = of_library(place, "tuesday", calibration=calibration)
    assert found["score"] == pytest.approx(expected.score._asdict())


def test_predictions_name_the_most_valuable_cell(run, place):
    done = run(
        "predict", place / "model.npf", place / "tuesday.csv", "--worth", "--json"
    )
    found = json.loads(done.out)
    served = noiseproof.load(place / "model.npf")
    rows = served.read(pd.read_csv(place / "tuesday.csv")).X
    values = value_of_cells(served.model, rows)
    for i, (name, worth) in enumerate(
        zip(found["most_valuable"], found["worth"], strict=True)
    ):
        if np.isnan(values[i]).all():
            assert (name, worth) == ("", "")
        else:
            assert worth == pytest.approx(np.nanmax(values[i]))
            assert values[i, list(rows.columns).index(name)] == pytest.approx(worth)


def test_tables_of_the_same_name_are_told_by_their_paths(run, place, tmp_path):
    for folder in ("monday", "tuesday"):
        (tmp_path / folder).mkdir()
        rows = (place / f"{folder}.csv").read_bytes()
        (tmp_path / folder / "rows.csv").write_bytes(rows)
    paths = [str(tmp_path / name / "rows.csv") for name in ("monday", "tuesday")]
    done = run("cost", place / "model.npf", *paths, "--json")
    assert done.code == 0, done.err
    assert [one["batch"] for one in json.loads(done.out)] == paths


def test_what_cannot_work_is_said_in_a_sentence(run, place, tmp_path):
    model, table = place / "model.npf", place / "tuesday.csv"
    for words, sentence in (
        (("--by", "hour"), "has no column 'hour'"),
        (("--by", "iron"), "'iron' is also a column of the model; copy it"),
        (("--scoring", "r2"), "scoring must be 'accuracy' or 'log_loss'"),
        (("--costs", place / "groups.json"), '"iron": 12.5}, with positive prices'),
    ):
        done = run("cost", model, table, *words)
        assert done.code == 1
        assert sentence in done.err
    done = run("cost", model, table, table)
    assert done.code == 2
    assert "given twice" in done.err
    done = run("cost", model, table, "-o", tmp_path / "out.txt")
    assert done.code == 2
    assert "neither an HTML page nor a CSV file" in " ".join(done.err.split())
    assert not (tmp_path / "out.txt").exists()
    for price in ("NaN", "Infinity", "true", "-1", '"12"'):
        (tmp_path / "prices.json").write_text(f'{{"iron": {price}}}')
        done = run("cost", model, table, "--costs", tmp_path / "prices.json")
        assert done.code == 1
        assert "with positive prices" in done.err
    plain = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    noiseproof.save(plain, tmp_path / "plain.npf")
    pd.DataFrame({"a": [0.0, 1.0]}).to_csv(tmp_path / "a.csv", index=False)
    done = run("cost", tmp_path / "plain.npf", tmp_path / "a.csv")
    assert done.code == 1
    assert "does not average over missing values" in done.err
