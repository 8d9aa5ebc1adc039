"""The one place that knows versions: ours, and those our numbers depend on."""

from __future__ import annotations

__version__ = "1.0.0"

_PACKAGES = ("noiseproof", "scikit-learn", "numpy", "scipy", "numba")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that numbers depend on."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a source tree
            continue
    return found | {"Python": platform.python_version()}
