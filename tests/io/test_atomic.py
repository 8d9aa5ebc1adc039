"""A file is the old one or the new one, whatever happens."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import noiseproof
from noiseproof.io import atomic_write
from noiseproof.noise import Dropout


@pytest.mark.whole
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kill_during_save_a_hundred_times(tmp_path):
    script = Path(__file__).parents[1] / "helpers" / "crash.py"
    command = [sys.executable, "-W", "error", script, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    kills, versions, drafts = map(int, done.stdout.split())
    assert kills == 100
    assert versions > 1  # some saves had finished
    assert drafts > 0  # and others were cut off in the middle


def test_an_error_leaves_the_old_file_and_no_draft(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), atomic_write(path) as file:
        file.writelines([b"new", "no bytes"])
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_and_links_stay(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    with atomic_write(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_new_file_obeys_the_umask(tmp_path):
    (tmp_path / "plain").touch()
    with atomic_write(tmp_path / "new"):
        pass
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_devices_are_not_replaced():
    with atomic_write(os.devnull) as file:
        file.write(b"gone")
    assert not Path(os.devnull).is_file()


def test_bad_places_get_one_sentence(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"Cannot write m.npf: the folder .* does"
    ):
        noiseproof.save(Dropout(), tmp_path / "no" / "m.npf")
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        noiseproof.save(Dropout(), tmp_path)
    with pytest.raises(FileNotFoundError, match="nothing"):
        noiseproof.load(tmp_path / "nothing.npf")
