"""`noiseproof info`: the contents of a model file."""

from __future__ import annotations

from typing import Any

from noiseproof.cli.options import Json, Model

_KINDS = {
    "number": "numbers",
    "category": "text",
    "text": "text",
    "boolean": "yes or no",
    "time": "times",
    "duration": "durations",
}


def info(model: Model, json: Json = False) -> None:
    """Show what a model file contains: the model, its columns and its training.

    The line "cost if missing" lists the columns whose absence hurts most: how much
    less sure a classifier gets (mean probability of its prediction), or how far the
    predictions of a regressor move (root mean square).

    \b
    Example:
      noiseproof info model.npf
    """
    from noiseproof.cli.files import open_model
    from noiseproof.cli.output import listed, say, show_json
    from noiseproof.io import kept_rows, treatment_of

    saved = open_model(model, foreign=False)
    training, kept = saved.notes.get("training", {}), kept_rows(saved.model)
    facts: dict[str, Any] = {
        "file": str(model),
        "bytes": model.stat().st_size if model.is_file() else None,
        "model": training.get("described") or " ".join(repr(saved.model).split()),
        "target": saved.notes.get("target"),
        "classes": listed(getattr(saved.model, "classes_", ()), 6),
        "trained on": f"{training['rows']:,} rows" if "rows" in training else None,
        "missing values": treatment_of(saved.model),
        "training rows": f"saved in the file ({kept})" if kept else "none in the file",
        **_columns(saved.served),
        **_scores(training),
    }
    facts = {name: fact for name, fact in facts.items() if fact not in (None, "")}
    if json:
        contract = {} if saved.served is None else saved.served.contract()
        show_json(facts | {"contract": contract, "notes": saved.notes})
        return
    width = max(map(len, facts)) + 1
    for name, fact in facts.items():
        say(f"{name + ':':{width}} {fact:,}" if isinstance(fact, int) else
            f"{name + ':':{width}} {fact}")  # fmt: skip


def _columns(served: Any) -> dict[str, Any]:
    """The columns of the training table, by kind, and their missing values."""
    from noiseproof.cli.output import listed

    columns = [] if served is None else served.columns
    kinds: dict[str, list[str]] = {}
    for column in columns:
        kinds.setdefault(_KINDS[column.kind], []).append(column.name)
    often = [(c.missing_rate, c.name) for c in columns if c.missing_rate]
    costly = [(c.absence_cost, c.name) for c in columns if (c.absence_cost or 0) > 0]
    rates = [f"{name} {share:.0%}" for share, name in often]
    costs = [f"{name} {cost:.3g}" for cost, name in sorted(costly, reverse=True)]
    return {
        **{kind: listed(names, 6) for kind, names in kinds.items()},
        "missing in training": listed(rates, 6),
        "cost if missing": listed(costs, 6),
    }


def _scores(training: dict[str, Any]) -> dict[str, Any]:
    """The scores that cross-validation found in training."""
    name = {"r2": "R²"}.get(str(training.get("scoring")), "accuracy")
    found = training.get("judged") or {}
    if "clean" in found:
        clean, perturbed = (
            found[part]["this model"] for part in ("clean", "perturbed")
        )
    elif "clean_score" in training:
        clean, perturbed = training["clean_score"], training["tuned_score"]
        found = {"expected": training.get("expected", training["tuned_for"])}
    else:
        return {}
    return {
        f"{name}, clean": f"{clean:.3f} in cross-validation",
        f"{name}, perturbed": f"{perturbed:.3f} under {found['expected']}",
    }
