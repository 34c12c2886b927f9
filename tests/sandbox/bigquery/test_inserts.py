"""Streaming inserts: the short way for plain columns stores what bqemulator's own way stores."""

import datetime as dt

import pytest
from google.api_core.exceptions import BadRequest, NotFound
from google.cloud import bigquery

from lab_helpers.sandbox.bigquery import inserts

TYPES = ("STRING", "INTEGER", "FLOAT", "BOOLEAN", "TIMESTAMP")
PLAIN = [bigquery.SchemaField(kind.lower(), kind) for kind in TYPES]
# One column that is not plain sends every row of its table bqemulator's way.
OTHER = bigquery.SchemaField("other", "DATE")
NIGHT = dt.datetime(2026, 5, 1, 23, 59, 59, 999999, tzinfo=dt.UTC)

STORED = [
    ({}, (None,) * 5),
    ({"string": "a 'quoted' \\ ñ 退款 \U0001f44d", "integer": 7}, None),
    ({"string": "", "integer": -(2**63), "float": 0.1}, None),
    ({"integer": "42", "float": "1.5", "boolean": "true"}, (None, 42, 1.5, True, None)),
    ({"string": 5, "boolean": 0}, ("5", None, None, False, None)),
    ({"timestamp": NIGHT.isoformat()}, (None, None, None, None, NIGHT)),
    ({"timestamp": "2026-05-01 23:59:59.999999 UTC"}, (None, None, None, None, NIGHT)),
    ({"timestamp": "2026-05-01T23:59:59.999999Z"}, (None, None, None, None, NIGHT)),
    ({"string": "known", "unknown": 1}, ("known", None, None, None, None)),
]


@pytest.fixture
def made(client, dataset):
    def table(name, *more):
        return client.create_table(bigquery.Table(f"{client.project}.{dataset}.{name}", more))

    return table


@pytest.fixture
def taken(monkeypatch):
    """What the short way answered, request by request; None where it passed."""
    answers, answer = [], inserts.Inserts.answer

    async def noted(self, method, path, body):
        found = await answer(self, method, path, body)
        if path.endswith("/insertAll"):
            answers.append(found)
        return found

    monkeypatch.setattr(inserts.Inserts, "answer", noted)
    return answers


@pytest.mark.parametrize(("row", "expected"), STORED)
def test_both_ways_store_the_same(client, dataset, ask, made, taken, row, expected):
    tables = made("short", *PLAIN), made("long", *PLAIN, OTHER)
    for table in tables:
        assert client.insert_rows_json(table, [row], ignore_unknown_values=True) == []
    short, long = (ask(f"SELECT {', '.join(TYPES)} FROM {{d}}.{t}") for t in ("short", "long"))
    assert short == long
    assert expected is None or short == [expected]
    assert [bool(a) for a in taken] == [True, False]


def test_many_rows_go_the_long_way_and_all_arrive(client, ask, made, taken):
    table = made("t", *PLAIN)
    for n in (inserts._MOST_ROWS, inserts._MOST_ROWS + 1):
        assert client.insert_rows_json(table, [{"integer": i} for i in range(n)]) == []
    assert [bool(a) for a in taken] == [True, False]
    assert ask("SELECT COUNT(*) FROM {d}.t") == [(2 * inserts._MOST_ROWS + 1,)]


@pytest.mark.parametrize("bad", [{"integer": "seven"}, {"float": "x"}, {"timestamp": "soon"}])
def test_a_row_that_does_not_fit_is_an_error_and_stores_nothing(client, ask, made, bad):
    table = made("t", *PLAIN)
    with pytest.raises(BadRequest):
        client.insert_rows_json(table, [{"integer": 1}, bad])
    assert ask("SELECT COUNT(*) FROM {d}.t") == [(0,)]


def test_a_required_column_is_required(client, dataset, ask):
    ask("CREATE TABLE {d}.t (id STRING NOT NULL, integer INT64)")
    table = client.get_table(f"{client.project}.{dataset}.t")
    with pytest.raises(BadRequest, match="NOT NULL"):
        client.insert_rows_json(table, [{"integer": 1}])
    assert ask("SELECT COUNT(*) FROM {d}.t") == [(0,)]


def test_a_table_that_is_not_there_is_not_found(client, dataset):
    with pytest.raises(NotFound):
        client.insert_rows_json(f"{client.project}.{dataset}.none", [{"id": "a"}])


def test_the_rows_are_counted_when_the_table_is_asked_for(client, made):
    table = made("t", *PLAIN)
    client.insert_rows_json(table, [{"integer": 1}, {"integer": 2}])
    assert client.get_table(table).num_rows == 2
