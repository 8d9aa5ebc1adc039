"""Training and proofs for sensors that fail as a whole."""

import json

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
