"""Training and proofs for sensors that fail as a whole."""

import json

import pandas as pd
import pytest
from commands import frame, shell

import noiseproof
from noiseproof.noise import Dropout


@pytest.fixture
def folder(tmp_path):
    frame(200, 0).drop(columns="amount").to_csv(tmp_path / "data.csv", index=False)
    sensors = {"arm": ["s0", "colour"], "leg": ["s1", "s2"]}
    (tmp_path / "sensors.json").write_text(json.dumps(sensors))
    return tmp_path


def _train(folder, *options):
    return shell(
        *("train", "data.csv", "-t", "kind", "-o", "model.npf"),
        *("--groups", "sensors.json", *options),
        cwd=folder,
    )


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
def test_train_for_groups_and_certify_them(folder, options):
    done = _train(folder, *options)
    assert done.code == 0, done.err
    last = noiseproof.load(folder / "model.npf")[-1]
    held = last.groups if hasattr(last, "groups") else None
    held = held or getattr(getattr(last, "attack", None), "groups", None)
    held = held or last.noise.groups
    # five numbers, and three colours that go with the first; the rest by column
    assert {name: len(own) for name, own in held.items()} == {
        "arm": 4, "leg": 2, "s3": 1, "s4": 1,
    }  # fmt: skip
    done = shell(
        *("certify", "model.npf", "data.csv", "-t", "kind"),
        *("--groups", "sensors.json", "--json"),
        cwd=folder,
    )
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["unit"] == "groups"
    assert len(found["rows"]["budget"]) == 200


def test_noise_keeps_its_rate(folder):
    assert _train(folder, "--noise", "0.2").code == 0
    noise = noiseproof.load(folder / "model.npf")[-1].noise
    assert isinstance(noise, Dropout)
    assert noise.rate == 0.2


def test_bad_groups(folder):
    done = _train(folder, "--noise", "gaussian:0.2")
    assert done.code != 0
    assert "cannot train for --groups" in done.err.replace("\n", " ")
    (folder / "sensors.json").write_text('{"arm": ["s0"], "leg": ["s0"]}')
    done = _train(folder, "--noise", "0.2")
    assert done.code != 0
    assert "is in the groups 'arm' and 'leg'" in done.err


def test_tuning_for_outages_of_sensors(folder):
    """A word of one row is unknown to most folds, whose features so have others."""
    table = pd.read_csv(folder / "data.csv")
    table.loc[7, "colour"] = "aqua"
    table.to_csv(folder / "data.csv", index=False)
    done = _train(folder, "--noise", "dropout", "--C", "1", "--tune", "delete-groups:1")
    assert done.code == 0, done.err
    assert "Damaged by delete_groups:1, in cross-validation" in done.out
    last = noiseproof.load(folder / "model.npf")[-1]
    assert last.noise is None or len(last.noise.groups["arm"]) == 5


def test_evaluate_shows_outages_of_one_sensor_and_of_two(folder):
    _train(folder, "--noise", "0.2")
    command = ("evaluate", "model.npf", "data.csv", "-t", "kind")
    command += ("--groups", "sensors.json", "--levels", "0,1")
    done = shell(*command, "--attack", "deletion", "--json", cwd=folder)
    assert done.code == 0, done.err
    found = json.loads(done.out)["models"]["model"]
    assert set(found["cost"]) == {"arm", "leg"}
    assert set(found["pair_cost"]) == {"arm + leg"}
    certified = shell("certify", *command[1:], "--json", cwd=folder)
    expected = json.loads(certified.out)["certified_accuracy"]
    assert found["mean"] == expected  # the worst sensor of each row
    done = shell(*command, "--noise", "delete-groups", cwd=folder)
    assert "Change of it with a pair of groups deleted (read as zero)" in done.out
    assert "by share of groups deleted" in done.out


def test_votes_are_certified_by_column(folder):
    options = ("data.csv", "-t", "kind")
    done = shell(
        *("train", *options, "-o", "model.npf", "--model", "partition-ensemble"),
        cwd=folder,
    )
    assert done.code == 0, done.err
    model = noiseproof.load(folder / "model.npf")[-1]
    assert len(model.groups["colour"]) == 3  # one vote at most hangs on the colour
    done = shell("certify", "model.npf", *options, cwd=folder)
    assert "It takes at least " in done.out
    assert "if they go missing" in done.out
    assert "exact" not in done.out
    found = json.loads(
        shell("certify", "model.npf", *options, "--json", cwd=folder).out
    )
    assert found["median_deletion_budget"] >= found["median_budget"]
    both = found["certified_accuracy_missing"], found["certified_accuracy"]
    assert all(one >= other for one, other in zip(*both, strict=True))
