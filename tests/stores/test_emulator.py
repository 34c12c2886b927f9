"""The same lab on Google's Spanner emulator: same rows, same decisions as in the sandbox."""

from pathlib import Path

import pytest

from lab_helpers import sandbox
from lab_helpers.config import DATA
from lab_helpers.errors import LabError
from lab_helpers.lab import Lab
from lab_helpers.stores import schema
from lab_helpers.stores.catalog import from_document
from lab_helpers.stores.personas import all_personas
from tests.conftest import pointed_back
from tests.stores import emulator

HERE = emulator.binary()
needs_emulator = pytest.mark.skipif(HERE is None, reason="no emulator: set EMULATOR to its binary")
QUESTIONS = sorted(p.stem for p in Path(DATA / "gql" / "operations").glob("*.gql"))


@pytest.fixture(scope="module")
def emulated(provisioned, tmp_path_factory):
    home = tmp_path_factory.mktemp("emulated").resolve()
    with pointed_back():
        with emulator.running() as address:
            env = {"LAB_HOME": str(home), "SPANNER_EMULATOR_HOST": address}
            lab = Lab.open(env=env, quiet=True)
            lab.provision(progress=None)
            yield lab
            lab.close()
        sandbox.stop(home)


def unordered(rows):
    """Rows whose lists of names are in order: nothing orders what STRING_AGG joins."""
    lists = {"product_names", "distribution_center_names", "categories"}
    moments = {"created_at"}
    return [
        {k: sorted(v.split(", ")) if k in lists else v for k, v in row.items() if k not in moments}
        for row in rows
    ]


@needs_emulator
@pytest.mark.parametrize("name", [q for q in QUESTIONS if q != "refund_map"])
def test_every_question_has_the_rows_of_the_sandbox(emulated, lab, name):
    emulated.reset_orders()
    text = schema.gql(f"operations/{name}")
    contract = {k: v for k, v in from_document().items() if f"@{k}" in text}
    for person in all_personas().values():
        for number in [o["order_id"] for o in person.orders] + [90477]:
            params = {"user_id": person.user_id, "target_order_id": number, **contract}
            params = {k: v for k, v in params.items() if f"@{k}" in text}
            rows = emulated.operations.query(text, params)
            assert unordered(rows) == unordered(lab.operations.query(text, params))


@needs_emulator
def test_the_stores_hold_the_same_number_of_rows(emulated, tmp_path):
    # A sandbox of its own: other tests add customers to the shared one.
    home = tmp_path.resolve()
    fresh = Lab.open(env={"LAB_HOME": str(home)}, quiet=True)
    fresh.provision(progress=None)
    try:
        assert emulated.table_counts("Spanner").rows == fresh.table_counts("Spanner").rows
    finally:
        fresh.close()
        sandbox.stop(home)


@needs_emulator
def test_provisioning_says_what_the_emulator_lacks_and_repeats_no_ddl(emulated, monkeypatch):
    said = []
    database = type(emulated.operations.database)
    monkeypatch.setattr(database, "update_ddl", lambda *a, **k: said.append(a))
    again = emulated.provision(progress=None)
    assert (said, again.changed) == ([], False)
    if emulated.operations.state("graph") == "none here":
        assert "plain SQL gives the same rows" in repr(again)


@needs_emulator
async def test_a_refund_is_decided_committed_and_reset(emulated):
    emulated.reset_all()
    ask = emulated.refund.turn

    async def outcome(number, persona):
        await ask(f"Please refund my order ORD-{number}.", persona, session=f"e{number}")
        done = await ask("Yes.", persona, confirmed=True, session=f"e{number}")
        return done.decision_status, done.failure_code

    assert await outcome(90124, "A") == ("APPROVED", None)
    assert await outcome(90124, "A") == ("DENIED", "ALREADY_RETURNED")
    assert await outcome(90131, "A") == ("DENIED", "RETURN_WINDOW_EXPIRED")
    assert await outcome(90477, "B") == ("DENIED", "MAX_REFUNDS_EXCEEDED")
    assert await outcome(90910, "C") == ("APPROVED", None)
    assert emulated.reset_all().orders_put_back == 2
    assert emulated.operations.refunds() == []


@needs_emulator
async def test_the_gate_keeps_its_ledger_there(emulated):
    emulated.reset_all()
    await emulated.gate.run(seed=1)
    assert emulated.gate.verify().intact


def test_an_emulator_that_is_not_there_is_said_to_be(lab_home, provisioned):
    env = {"LAB_HOME": str(lab_home), "LAB_SPANNER": "emulator"}
    with pytest.raises(LabError) as caught:
        Lab.open(env={**env, "SPANNER_EMULATOR_HOST": "127.0.0.1:9"}, quiet=True)
    assert "does not answer at 127.0.0.1:9" in caught.value.what
    assert "gcloud emulators spanner start" in caught.value.next
