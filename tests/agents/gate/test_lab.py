"""The gate as a notebook meets it: lab.gate, its tables, and the checks of notebook 05."""

import json

import pytest

from lab_helpers.agents import verdict
from lab_helpers.errors import LabError


async def test_a_lab_set_up_before_the_gate_gets_its_tables(lab):
    lab.__dict__.pop("gate", None)
    lab.operations.database.update_ddl(
        ["DROP INDEX gate_ledger_by_entry", "DROP TABLE gate_ledger", "DROP TABLE gate_pool"]
    ).result(60)
    lab.operations.database.run_in_transaction(
        lambda t: (
            list(t.execute_sql("SELECT 1")),
            t.execute_update("DELETE FROM lab_state WHERE name IN ('ddl-gate', 'gate_head')"),
        )
    )
    run = await lab.gate.run(seed=1)
    assert run.releases == 3
    assert lab.gate.verify().entries == 9


async def test_the_checks_follow_what_the_stores_hold(lab):
    lab.reset_all()
    names = ("05-door", "05-recall", "05-tried")
    assert not any(lab.check(name).done for name in names)
    await lab.gate.run(seed=1)
    assert lab.check("05-door").done and not lab.check("05-recall").done
    await lab.gate.run(seed=1, recall=False)
    assert lab.check("05-recall").done and not lab.check("05-tried").done
    await lab.gate.run(adversarial=True)
    assert lab.check("05-tried").done


def shipped_once(reply, draft):
    try:
        said = json.loads(reply)
    except (TypeError, ValueError):
        return True
    return bool(said.get("released"))


def repaired(reply, draft):
    try:
        said = json.loads(reply)
    except (TypeError, ValueError):
        return False
    return isinstance(said, dict) and said.get("draft") == draft and said.get("released") is True


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        (None, 0),
        ("parse", 0),
        (shipped_once, 1),
        (lambda reply, draft: False, 1),
        (lambda reply, draft: True, 1),
        (lambda reply, draft: "released" in reply, 1),
        (repaired, 2),
        (lambda reply, draft: verdict.parse(reply, draft).released, 2),
    ],
)
def test_the_exercise_wants_a_door_that_opens_once(lab, answer, score):
    assert lab.check("05-repaired", answer).score == score


def test_the_gate_needs_the_stores(tmp_path):
    from lab_helpers.config import LabConfig
    from lab_helpers.lab import Lab

    class Unprovisioned(Lab):
        def is_provisioned(self):
            return False

    with pytest.raises(LabError):
        _ = Unprovisioned(LabConfig(home=tmp_path)).gate
