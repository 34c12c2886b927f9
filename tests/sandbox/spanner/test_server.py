"""Starting and stopping in this process."""

from __future__ import annotations

import pytest
from google.api_core import exceptions

from lab_helpers.sandbox.spanner import SpannerServer
from tests.sandbox.spanner.conftest import Sandbox, make_instance, rows


def test_a_stopped_server_can_be_started_again_on_its_folder(tmp_path):
    server = SpannerServer(tmp_path)
    for expected in ([[1]], [[2]]):
        port = server.start()
        instance = make_instance(Sandbox(None, port, tmp_path).client())
        database = instance.database(
            "again", ddl_statements=["CREATE TABLE t (a INT64) PRIMARY KEY(a)"]
        )
        if not database.exists():
            database.create().result(10)
        with database.batch() as batch:
            batch.insert("t", ["a"], [(expected[0][0],)])
        assert rows(database, "SELECT COUNT(*) FROM t") == expected
        server.stop()


def test_a_taken_port_is_an_error_in_plain_words(tmp_path):
    first, second = SpannerServer(tmp_path / "a"), SpannerServer(tmp_path / "b")
    port = first.start()
    with pytest.raises(OSError, match=f"Port {port} of 127.0.0.1 is taken"):
        second.start(port)
    first.stop()
    assert second.start(port) == port
    second.stop()


def test_two_servers_do_not_share_a_folder(tmp_path):
    first, second = SpannerServer(tmp_path), SpannerServer(tmp_path)
    first.start()
    with pytest.raises(OSError, match="is in use by another Spanner sandbox"):
        second.start()
    first.stop()
    second.start()
    second.stop()


def test_a_damaged_list_of_databases_is_said(tmp_path):
    (tmp_path / "instances.json").write_text("{ not json")
    with pytest.raises(OSError, match="is damaged"):
        SpannerServer(tmp_path).start()


def test_a_request_that_is_too_big_is_refused_in_words(tmp_path):
    server = SpannerServer(tmp_path)
    database = make_instance(Sandbox(None, server.start(), tmp_path).client()).database(
        "big", ddl_statements=["CREATE TABLE t (a INT64, v STRING(MAX)) PRIMARY KEY(a)"]
    )
    database.create().result(10)
    with (
        pytest.raises(exceptions.InvalidArgument, match="Send the rows in several commits"),
        database.batch() as batch,
    ):
        batch.insert("t", ["a", "v"], [(n, "x" * 10_500_000) for n in range(10)])
    server.stop()
