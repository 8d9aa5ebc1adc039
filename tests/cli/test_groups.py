"""Training and proofs for sensors that fail as a whole."""

import json

import pandas as pd
import pytest
from commands import frame

import noiseproof
from noiseproof.cli.options import read_groups
from noiseproof.noise import Dropout

pytestmark = pytest.mark.whole

DATA = ("data.csv", "-t", "kind")
MODEL = ("model.npf", *DATA)
SENSORS = ("--groups", "sensors.json")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    frame(200, 0).drop(columns="amount").to_csv(tmp_path / "data.csv", index=False)
    sensors = {"arm": ["s0", "colour"], "leg": ["s1", "s2"]}
    (tmp_path / "sensors.json").write_text(json.dumps(sensors), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def do(run):
    """Give a command that must succeed; what it prints."""

    def give(*words):
        done = run(*words)
        assert done.code == 0, done.err
        return done.out

    return give


def last_step():
    return noiseproof.load("model.npf").model[-1]


@pytest.mark.parametrize(
    "options",
    [
        ("--noise", "0.2"),
        pytest.param(("--model", "robust-lp", "--budget", "1"), marks=pytest.mark.slow),
        pytest.param(
            ("--model", "robust-perceptron", "--budget", "1"), marks=pytest.mark.slow
        ),
        pytest.param(
            ("--model", "invariant-svc", "--attack", "deletion:1"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_train_for_groups_and_certify_them(do, options):
    do("train", *DATA, "-o", "model.npf", *SENSORS, *options)
    last = last_step()
    held = last.groups if hasattr(last, "groups") else None
    held = held or getattr(getattr(last, "attack", None), "groups", None)
    held = held or last.noise.groups
    # five numbers, and three colours that go with the first; the rest by column
    assert {name: len(own) for name, own in held.items()} == {
        "arm": 4, "leg": 2, "s3": 1, "s4": 1,
    }  # fmt: skip
    found = json.loads(do("certify", *MODEL, *SENSORS, "--json"))
    assert found["unit"] == "groups"
    assert len(found["rows"]["budget"]) == 200


def test_noise_keeps_its_rate(do):
    do("train", *DATA, "-o", "model.npf", *SENSORS, "--noise", "0.2")
    assert isinstance(last_step().noise, Dropout)
    assert last_step().noise.rate == 0.2


@pytest.mark.parametrize(
    ("options", "sensors", "sentence"),
    [
        (("--noise", "gaussian:0.2"), {"arm": ["s0"]}, "cannot be trained for groups"),
        ((), {"arm": ["s0"], "leg": ["s0"]}, "is in the groups 'arm' and 'leg'"),
        ((), {"arm": ["s9"]}, "The group 'arm' contains 's9', which is not a feat"),
        ((), {"arm": ["s0"], "leg": []}, "The group 'leg' has no features."),
        ((), {"arm": "s0"}, "must contain JSON such as"),
        ((), [["s0"]], "must contain JSON such as"),
    ],
)
def test_bad_groups(folder, run, options, sensors, sentence):
    (folder / "sensors.json").write_text(json.dumps(sensors), encoding="utf-8")
    done = run("train", *DATA, "-o", "model.npf", *SENSORS, *options)
    assert done.code != 0
    assert sentence in " ".join(done.err.replace("│", " ").split())


@pytest.mark.parametrize("text", ['{"arm": [', "", "[" * 100_000, '{"arm": {}}'])
def test_files_of_groups_that_are_not_what_they_should_be(text, tmp_path):
    path = tmp_path / "b.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"b\.json must contain JSON such as"):
        read_groups(path)


def test_tuning_for_outages_of_sensors(do, folder):
    """A word of one row is unknown to most folds, whose features so have others."""
    table = pd.read_csv(folder / "data.csv")
    table.loc[7, "colour"] = "aqua"
    table.to_csv(folder / "data.csv", index=False)
    options = ("--noise", "dropout", "--C", "1", "--tune", "delete-groups:0.5")
    printed = do("train", *DATA, "-o", "model.npf", *SENSORS, *options)
    assert "5-fold cross-validation, on clean rows and on rows" in printed
    assert "50% of groups replaced by zero" in printed
    noise = last_step().noise
    assert noise is None or len(noise.groups["arm"]) == 5
    options = ("--model", "robust-lp", "--C", "1", "--tune", "deletion:1")
    options += ("--folds", "2")
    do("train", *DATA, "-o", "model.npf", *SENSORS, *options)
    assert len(last_step().groups["arm"]) == 5


def test_evaluate_shows_outages_of_one_sensor_and_of_two(do):
    do("train", *DATA, "-o", "model.npf", *SENSORS, "--noise", "0.2")
    command = ("evaluate", *MODEL, *SENSORS, "--levels", "0,1")
    found = json.loads(do(*command, "--attack", "deletion", "--json"))["models"]
    assert set(found["model"]["cost"]) == {"arm", "leg"}
    assert set(found["model"]["pair_cost"]) == {"arm + leg"}
    certified = json.loads(do("certify", *command[1:], "--json"))["certified_accuracy"]
    assert found["model"]["mean"] == certified  # the worst sensor of each row
    printed = do(*command, "--noise", "missing-groups")
    assert "by share of groups missing" in printed
    assert "Change of accuracy with a pair of groups missing (NaN)" in printed


def test_votes_are_certified_by_column(do):
    do("train", *DATA, "-o", "model.npf", "--model", "partition-ensemble")
    assert len(last_step().groups["colour"]) == 3  # the colour has a say in one vote
    printed = do("certify", *MODEL)
    assert "It takes at least " in printed
    assert "if they go missing" in printed
    assert "exact" not in printed
    found = json.loads(do("certify", *MODEL, "--json"))
    assert found["median_deletion_budget"] >= found["median_budget"]
    both = found["certified_accuracy_missing"], found["certified_accuracy"]
    assert all(one >= other for one, other in zip(*both, strict=True))
