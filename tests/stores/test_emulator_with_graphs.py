"""An emulator that takes CREATE PROPERTY GRAPH (from 1.5.51) is asked in GQL itself.

No newer emulator is at hand, so the lab's own Spanner plays it, at an address of its own: the lab
finds out by asking for the graph, never by a version.
"""

import pytest

from lab_helpers import sandbox
from lab_helpers.lab import Lab
from lab_helpers.plain_sql import of_operations
from lab_helpers.sandbox.spanner import SpannerServer
from lab_helpers.stores import schema
from lab_helpers.stores.operations import NO_GRAPHS
from lab_helpers.stores.personas import all_personas
from tests.conftest import pointed_back

QUESTION = schema.gql("operations/customer_orders")
PERSON = {"user_id": all_personas()["A"].user_id}


@pytest.fixture(scope="module")
def newer(tmp_path_factory):
    home = tmp_path_factory.mktemp("newer").resolve()
    server = SpannerServer(home / "emulator")
    address = f"127.0.0.1:{server.start()}"
    lab = None
    with pointed_back():
        try:
            env = {"LAB_HOME": str(home), "SPANNER_EMULATOR_HOST": address}
            lab = Lab.open(env=env, quiet=True)
            lab.provision(progress=None)
            yield lab
        finally:
            if lab is not None:
                lab.close()
            sandbox.stop(home)
            server.stop()


@pytest.fixture
def sent(newer, monkeypatch):
    """The texts of the queries that leave for the emulator."""
    from google.cloud.spanner_v1.snapshot import Snapshot

    texts, execute = [], Snapshot.execute_sql

    def noting(self, sql, *args, **kwargs):
        texts.append(sql)
        return execute(self, sql, *args, **kwargs)

    monkeypatch.setattr(Snapshot, "execute_sql", noting)
    return texts


def test_the_graph_made_there_is_asked_itself(newer, sent):
    assert newer.config.emulator and newer.operations.state("graph") != NO_GRAPHS
    assert newer.operations.query(QUESTION, PERSON)
    assert sent[-1] == QUESTION


def test_where_the_graph_was_refused_plain_sql_brings_the_same_rows(newer, sent):
    asked_in_gql = newer.operations.query(QUESTION, PERSON)
    made = newer.operations.state("graph")
    newer.operations.remember("graph", NO_GRAPHS)
    try:
        assert newer.operations.query(QUESTION, PERSON) == asked_in_gql
    finally:
        newer.operations.remember("graph", made)
    assert sent[-1] == of_operations(QUESTION) != QUESTION


async def test_a_refund_is_committed_there(newer):
    ask = newer.refund.turn
    await ask("Please refund my order ORD-90124.", "A", session="newer")
    done = await ask("Yes.", "A", confirmed=True, session="newer")
    assert (done.decision_status, len(newer.operations.refunds())) == ("APPROVED", 1)
