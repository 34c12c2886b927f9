"""GoogleSQL's public graph cases, where their folder lies beside the checkout.

The rules of comparison: arrays and rows without a promised order compare as multisets, numbers to
nine decimals, JSON by content, timestamps in UTC. A case whose graph needs a type that neither
Spanner nor BigQuery has is outside.
"""

from __future__ import annotations

import datetime
import decimal
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from lab_helpers.sandbox.gql import GqlError, Unsupported, build_graph, lower, parse_graph_ddl
from tests.sandbox.gql.conftest import DuckTables

FOLDER = Path(__file__).resolve().parents[4] / "shared" / "gql"
CASES = FOLDER / "cases.json"
PASS_RATE = 0.95

pytestmark = pytest.mark.skipif(not CASES.exists(), reason="the public case set is not here")

DUCKDB_TYPES = {
    "INT64": "BIGINT",
    "STRING": "VARCHAR",
    "DOUBLE": "DOUBLE",
    "FLOAT": "FLOAT",
    "BOOL": "BOOLEAN",
    "TIMESTAMP": "TIMESTAMPTZ",
    "DATE": "DATE",
    "JSON": "JSON",
    "NUMERIC": "DECIMAL(38, 9)",
    "BYTES": "BLOB",
}


def column_type(written) -> str:
    """The DuckDB type; KeyError for one that the services lack."""
    if isinstance(written, list):
        return column_type(written[1] or "STRING") + "[]"
    return DUCKDB_TYPES[written]


def stored(value, written):
    if isinstance(value, dict):
        kind, inner = next(iter(value.items()))
        return {"json": json.dumps, "float": float, "unordered": list}[kind](inner)
    if written == "TIMESTAMP" and isinstance(value, str):
        return moment(value)
    return value


def moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(re.sub(r"([+-]\d\d)$", r"\1:00", text))


class Fixture:
    def __init__(self, definition: dict):
        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'America/Los_Angeles'")
        self.tables = DuckTables(self.connection)
        self.graphs, self.outside = {}, set()
        for name, table in definition["tables"].items():
            self._create(name, table)
        for name, ddl in definition["graphs"].items():
            try:
                self.graphs[name] = build_graph(parse_graph_ddl(ddl), self.tables)
            except GqlError:
                self.outside.add(name)

    def _create(self, name: str, table: dict) -> None:
        kept = [i for i, (_, t) in enumerate(table["columns"]) if self._known(t)]
        columns = [table["columns"][i] for i in kept]
        written = ", ".join(f'"{c}" {column_type(t)}' for c, t in columns)
        self.connection.execute(f'CREATE TABLE "{name}" ({written})')
        marks = ", ".join("?" for _ in columns)
        for row in table["rows"]:
            values = [stored(row[i], t) for i, (_, t) in zip(kept, columns, strict=True)]
            self.connection.execute(f'INSERT INTO "{name}" VALUES ({marks})', values)

    @staticmethod
    def _known(written) -> bool:
        try:
            return bool(column_type(written))
        except KeyError:
            return False

    def rows(self, query: str, parameters: dict) -> list[list]:
        sql = lower(query, self.graphs, self.tables).tree.sql("duckdb")
        used = {n: v for n, v in parameters.items() if re.search(rf"\${n}\b", sql)}
        cursor = self.connection.execute(sql, used or None)
        kinds = [str(d[1]) for d in cursor.description]
        return [
            [
                {"json": json.loads(v)} if k == "JSON" and v is not None else v
                for v, k in zip(row, kinds, strict=True)
            ]
            for row in cursor.fetchall()
        ]


def parameters_of(case: dict) -> dict:
    found = {}
    for part in re.split(r',\s*(?![^\[]*\])(?![^"]*"\s*as)', case["params"] or ""):
        match = re.match(r"(.*) as (\w+)$", part.strip())
        if match:
            text = re.sub(r"ARRAY<\w+>", "", match[1].replace("'", '"'))
            found[match[2]] = json.loads(
                text.lower() if text.upper() in ("NULL", "TRUE", "FALSE") else text
            )
    return found


def normal(value):
    if isinstance(value, dict) and "unordered" in value:
        return "any order", tuple(sorted(map(normal, value["unordered"]), key=repr))
    if isinstance(value, dict) and "json" in value:
        return "json", json.dumps(value["json"], sort_keys=True)
    if isinstance(value, dict) and "float" in value:
        return normal(float(value["float"]))
    if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d.*\+00$", value):
        return normal(moment(value))
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float | decimal.Decimal):
        return "nan" if math.isnan(value) else round(float(value), 9)
    if isinstance(value, list | tuple):
        return tuple(map(normal, value))
    return value


def agrees(got, wanted) -> bool:
    if isinstance(wanted, tuple) and wanted[:1] == ("any order",):
        return isinstance(got, tuple) and tuple(sorted(got, key=repr)) == wanted[1]
    if isinstance(wanted, tuple) and isinstance(got, tuple):
        return len(got) == len(wanted) and all(map(agrees, got, wanted))
    return repr(got) == repr(wanted)


def same_rows(got, wanted, ordered: bool) -> bool:
    rows, expected = normal(got), list(normal(wanted))
    if len(rows) != len(expected):
        return False
    if ordered:
        return all(map(agrees, rows, expected))
    for row in rows:
        place = next((i for i, e in enumerate(expected) if agrees(row, e)), None)
        if place is None:
            return False
        expected.pop(place)
    return True


def verdict(fixture: Fixture, case: dict) -> tuple[str, str]:
    wanted = case["expect"]
    try:
        rows = fixture.rows(case["sql"], parameters_of(case))
    except Unsupported as error:
        place = error.line is not None and "not supported" in error.message
        return ("refused" if place else "refused without a place"), str(error)
    except (GqlError, duckdb.Error) as error:
        return ("pass" if "error" in wanted else "failed"), str(error)
    if "error" in wanted:
        return "wrong", f"gave {rows}, wanted the error {wanted['error']}"
    if same_rows(rows, wanted["rows"], bool(wanted["ordered"])):
        return "pass", ""
    if case["nondeterministic"]:
        return "skipped", ""
    return "wrong", f"gave {rows}, wanted {wanted['rows']}"


def public_cases(data: dict) -> Iterator[tuple[Fixture, dict]]:
    """The cases that these services can be asked, each with its tables and graphs."""
    fixtures = {name: Fixture(f) for name, f in data["fixtures"].items()}
    for case in data["cases"]:
        if not case["expect"] or "dml" in case["expect"] or case.get("needs_proto"):
            continue
        if "googlesql_test." in json.dumps(case["expect"]):  # shows a protocol buffer's name
            continue
        fixture = fixtures[case["fixture"]]
        if not any(re.search(rf"\b{g}\b", case["sql"], re.I) for g in fixture.outside):
            yield fixture, case


def test_public_cases(capsys):
    found: dict[str, list[str]] = {}
    for fixture, case in public_cases(json.loads(CASES.read_text())):
        result, why = verdict(fixture, case)
        found.setdefault(result, []).append(f"{case['id']}: {why[:300]}")
    counts = Counter({k: len(v) for k, v in found.items()})
    bad = [x for k in ("wrong", "failed", "refused without a place") for x in found.get(k, [])]
    judged = counts["pass"] + counts["refused"] + len(bad)
    with capsys.disabled():
        print(
            f"\nGQL cases: {judged} judged, {counts['pass']} as expected, "
            f"{counts['refused']} refused by name and place, {len(bad)} wrong"
        )
    assert not bad, "\n".join(bad)
    assert judged > 250
    assert counts["pass"] >= PASS_RATE * judged, "\n".join(found["refused"])
