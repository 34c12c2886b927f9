"""The checks of notebook 06, the concierge."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lab_helpers.checks.result import Condition

if TYPE_CHECKING:
    from lab_helpers.lab import Lab


def _steps_run(lab: Lab, action_type: str) -> set[str]:
    """Names of the steps of turns that ended in this action."""
    rows = lab.trail.query(
        f"SELECT DISTINCT n.node_name AS name FROM `{lab.config.dataset}.workflow_nodes` AS n"
        f" JOIN `{lab.config.dataset}.agent_actions` AS a ON a.trace_id = n.trace_id"
        " WHERE a.action_type = @action_type",
        {"action_type": action_type},
    )
    return {row["name"] for row in rows}


def from_rows(lab: Lab, _: Any) -> Iterable[Condition]:
    kept = lab.operations.query("SELECT COUNT(*) AS n FROM response_cache")[0]["n"]
    found = lab.operations.query(
        "SELECT COUNT(*) AS n FROM search_metrics WHERE grounded_answer_mode != 'nothing_fits'"
    )[0]["n"]
    ran = _steps_run(lab, "ANSWER_FROM_ROWS")
    yield found > 0, "Spanner: a search found rows", "ask for something to wake you up"
    yield kept > 0, "Spanner: the answer is in the response cache", "no answer is kept: ask again"
    yield (
        {"response_cache", "intent_classifier", "search_products_by_vector"} <= ran,
        "BigQuery: cache, classifier and search left their steps",
        "the trail lacks the steps: `await lab.concierge.settled()`, then check again",
    )


def in_context(lab: Lab, _: Any) -> Iterable[Condition]:
    yield (
        "find_stores_with_product" in _steps_run(lab, "ANSWER_FROM_ROWS"),
        "BigQuery: a stock question was answered from rows",
        "after a recommendation, ask 'is that in stock?'",
    )


def nothing_invented(lab: Lab, _: Any) -> Iterable[Condition]:
    menu = {row["name"] for row in lab.operations.query("SELECT name FROM menu_products")}
    kept = lab.operations.query("SELECT model, answer, product_names FROM response_cache")
    told = {name for row in kept for name in row["product_names"]}
    yield (
        any(row["model"] != "template" for row in kept),
        "Spanner: an answer given with a model is kept",
        "ask a concierge that has a model (task 4)",
    )
    yield told <= menu, "every product told is on the menu", f"not on the menu: {told - menu}"
    yield (
        not any("Unicorn" in row["answer"] for row in kept),
        "the invented drink is in no answer",
        "an answer speaks of the invented drink",
    )


# What the exercise's idiom must stand for: no example may repeat it.
UNTAUGHT = ("captain, the tank is empty", "running on an empty tank over here")


def idiom(lab: Lab, answer: Any) -> Iterable[Condition]:
    from lab_helpers.agents.concierge import wording
    from lab_helpers.agents.concierge.classifier import PRODUCT_RAG

    given = [text for text in answer if isinstance(text, str)] if isinstance(answer, list) else []
    repeated = {wording.plain(t) for t in given} & {wording.plain(t) for t in UNTAUGHT}
    heard = lab.concierge.taught(PRODUCT_RAG, given) if given and not repeated else None
    yield (
        heard is not None,
        "examples of your own, none of them the sentence that is asked",
        "not yet: give a list of three or more short sentences, other than the ones asked",
    )
    for text in UNTAUGHT:
        yield (
            heard is not None and heard.classify(text).label == PRODUCT_RAG,
            f"understood: {text!r}",
            f"not yet understood: {text!r}",
        )
