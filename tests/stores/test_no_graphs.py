"""A BigQuery that refuses graphs, and one whose fresh rows cannot be deleted."""

import contextlib
import json
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from google.api_core.exceptions import BadRequest

from lab_helpers.config import bigquery_client
from lab_helpers.plain_sql import of_lineage
from lab_helpers.provision import install, reset
from lab_helpers.stores.lineage import TABLES, LineageStore

REFUSAL = "Graph queries need a reservation of edition ENTERPRISE."


@contextlib.contextmanager
def refusing(upstream):
    """A proxy before the local BigQuery that answers 400 to whatever names a graph."""

    class Proxy(BaseHTTPRequestHandler):
        def answer(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if b"GRAPH" in body:
                errors = [{"reason": "invalidQuery", "message": REFUSAL}]
                error = {"code": 400, "message": REFUSAL, "errors": errors}
                return self.send(400, json.dumps({"error": error}).encode())
            headers = {"Content-Type": self.headers.get("Content-Type") or "application/json"}
            request = urllib.request.Request(
                upstream + self.path, body or None, headers, method=self.command
            )
            try:
                with urllib.request.urlopen(request) as found:
                    self.send(found.status, found.read())
            except urllib.error.HTTPError as error:
                self.send(error.code, error.read())

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

        def send(self, status, body):
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def without_graphs(lab):
    """The lab's trail as a project without a reservation has it."""
    import os

    with refusing(os.environ["BIGQUERY_EMULATOR_HOST"]) as url:
        client = bigquery_client(lab.config, url)
        before, store = lab.trail, LineageStore(client, lab.config.dataset, plain=of_lineage)
        lab.__dict__["trail"] = store
        yield before
        lab.__dict__["trail"] = before
        client.close()


async def refund(lab, session):
    await lab.refund.turn("Please refund my order ORD-90124.", "A", session=session)
    return await lab.refund.turn("Yes.", "A", confirmed=True, session=session)


async def test_a_refused_graph_query_gives_the_same_rows_and_says_so(lab, without_graphs):
    done = await refund(lab, "plain")
    for name in ("counts", "step_latency", "blocking_terms"):
        table = lab.query(name)
        assert table.rows == without_graphs.ask(name)
        assert "plain SQL" in table.caption and REFUSAL in table.caption
    assert len(lab.lineage(done.trace_id).rows) == 5


def test_a_mistake_in_a_query_is_still_told(lab, without_graphs):
    text = f"GRAPH `{lab.config.dataset}.ActionLineageGraph` MATCH (n:Nobody) RETURN n.x AS x"
    with pytest.raises(BadRequest):
        lab.trail.query(text)
    assert lab.trail_gql("SELECT 1 AS one").caption == ""


def test_provisioning_goes_on_where_the_graph_is_refused(lab, without_graphs):
    import dataclasses

    cloud = dataclasses.replace(lab.config, backend="cloud")
    with pytest.raises(install.NotHere, match=r"plain SQL gives the same rows \(Graph queries"):
        install._lineage_graph(lab.trail.client, cloud)
    with pytest.raises(BadRequest):
        install._lineage_graph(lab.trail.client, lab.config)


@pytest.fixture
def streaming(lab):
    """The lab's trail with the cloud's kind of reset."""
    before = lab.trail
    lab.__dict__["trail"] = LineageStore(before.client, before.dataset, plain=of_lineage)
    yield before
    lab.__dict__["trail"] = before
    lab.reset_all()


async def test_a_reset_leaves_fresh_rows_in_place_and_out_of_sight(lab, streaming):
    lab.reset_all()
    await refund(lab, "before")
    held = streaming.counts()
    result = reset.reset_all(lab.operations, lab.trail, settled_only=True)
    assert result.lineage_rows_removed == sum(held.values())
    assert streaming.counts() == held
    assert lab.trail.counts() == dict.fromkeys(TABLES, 0)
    assert lab.trail.ask("counts") == [] and lab.trail.ask("turn_map") == []
    assert [r["count"] for r in lab.standing().rows] == [0, 0, 0, 0]
    kept = lab.operations.state("reset_at")
    assert kept == lab.trail.since.isoformat()

    after = await refund(lab, "after")
    assert list(lab.trail.counts().values()) == [2, 10, 2, 2]
    assert len(lab.lineage(after.trace_id).rows) == 5
    assert streaming.counts() != lab.trail.counts()


async def test_rows_that_have_settled_are_deleted(lab, streaming):
    lab.reset_all()
    await refund(lab, "settled")
    for table, moment in (("agent_sessions", "started_at"), ("agent_actions", "created_at")):
        streaming.query(
            f"UPDATE `{streaming.dataset}.{table}` SET {moment} ="
            f" TIMESTAMP_SUB({moment}, INTERVAL 2 HOUR) WHERE true"
        )
    lab.trail.clear(settled_only=True)
    assert list(streaming.counts().values()) == [0, 10, 2, 0]
