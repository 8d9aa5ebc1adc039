"""Files that a stranger has forged: whole and well signed, whatever they hold."""

import pytest
import skops.io

import noiseproof
from noiseproof.io import FileFormatError
from noiseproof.io.model import pack


def write_forged(model, path):
    """Write a model as `save` does, without its checks."""
    path.write_bytes(pack({}, skops.io.dumps(model)))


def refusal(model, tmp_path):
    """The sentence with which a forged model is refused."""
    path = tmp_path / "forged.npf"
    write_forged(model, path)
    with pytest.raises(FileFormatError) as caught:
        noiseproof.load(path)
    text = str(caught.value)
    assert "\n" not in text
    return text.removeprefix(f"{path} holds no model that can be read: ")
