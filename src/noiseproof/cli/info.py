"""`noiseproof info`: what is in a model file."""

from __future__ import annotations

from typing import Any

from noiseproof.cli.options import Json, Model


def info(model: Model, json: Json = False) -> None:
    """Show what a model file contains: the model, its columns and its training.

    \b
    Example:
      noiseproof info model.npf
    """
    from noiseproof.cli.files import open_model
    from noiseproof.cli.output import listed, say, show_json

    saved = open_model(model, foreign=False)
    training = saved.notes.get("training", {})
    facts: dict[str, Any] = {
        "file": str(model),
        "bytes": model.stat().st_size if model.is_file() else None,
        "model": training.get("described") or " ".join(repr(saved.model).split()),
        "target": saved.notes.get("target"),
        "classes": listed(getattr(saved.model, "classes_", ()), 6),
        "trained on": f"{training['rows']:,} rows" if "rows" in training else None,
        **_columns(saved.encoder),
        **_scores(training),
    }
    facts = {name: fact for name, fact in facts.items() if fact not in (None, "")}
    if json:
        show_json(facts | {"notes": saved.notes})
        return
    width = max(map(len, facts)) + 1
    for name, fact in facts.items():
        say(f"{name + ':':{width}} {fact:,}" if isinstance(fact, int) else
            f"{name + ':':{width}} {fact}")  # fmt: skip


def _columns(encoder: Any) -> dict[str, Any]:
    """The columns that it wants, by kind."""
    from noiseproof.cli.output import listed

    if encoder is None or not hasattr(encoder, "feature_names_in_"):
        return {}
    idle = set(encoder.text_columns_) | set(encoder.empty_columns_)
    numbers = [name for name in encoder.feature_names_in_ if name not in idle]
    often = [f"{n} {share:.0%}" for n, share in encoder.missing_rates_ if share > 0]
    return {
        "numbers": listed(numbers, 6),
        "text": listed(encoder.text_columns_, 6),
        "missing in training": listed(often, 6),
    }


def _scores(training: dict[str, Any]) -> dict[str, Any]:
    """What cross-validation has found."""
    name = {"r2": "R²"}.get(str(training.get("scoring")), "accuracy")
    found = training.get("judged") or {}
    if "clean" in found:
        clean, damaged = (found[part]["this model"] for part in ("clean", "damaged"))
    elif "clean_score" in training:
        clean, damaged = training["clean_score"], training["tuned_score"]
        found = {"expected": training.get("expected", training["tuned_for"])}
    else:
        return {}
    return {
        f"{name}, clean": f"{clean:.3f} in cross-validation",
        f"{name}, damaged": f"{damaged:.3f} under {found['expected']}",
    }
