"""What is taken out of a statement so that DuckDB can run it, and what is remembered."""

import pytest

from lab_helpers.sandbox.bigquery.keys import strip_keys


@pytest.mark.parametrize(
    ("sql", "left", "keys"),
    [
        (
            "CREATE TABLE d.t (id INT64, n STRING, PRIMARY KEY (id, n) NOT ENFORCED)",
            "CREATE TABLE d.t (id INT64, n STRING)",
            {"d.t": ["id", "n"]},
        ),
        (
            "CREATE TABLE `p.d.t` (id INT64 NOT NULL PRIMARY KEY NOT ENFORCED)",
            "CREATE TABLE `p.d.t` (id INT64 NOT NULL)",
            {"p.d.t": ["id"]},
        ),
        (
            "CREATE TABLE d.t (a INT64, CONSTRAINT f FOREIGN KEY (a) REFERENCES d.u (b) "
            "NOT ENFORCED)",
            "CREATE TABLE d.t (a INT64)",
            {},
        ),
        (
            "CREATE TABLE d.a (x INT64, PRIMARY KEY (x) NOT ENFORCED); SELECT 1",
            "CREATE TABLE d.a (x INT64); SELECT 1",
            {"d.a": ["x"]},
        ),
        ("ALTER TABLE d.t ADD PRIMARY KEY (x) NOT ENFORCED", "", {"d.t": ["x"]}),
        ("ALTER TABLE d.t ADD CONSTRAINT k PRIMARY KEY (x) NOT ENFORCED", "", {"d.t": ["x"]}),
    ],
)
def test_unenforced_keys_are_taken_out_and_remembered(
    sql: str, left: str, keys: dict[str, list[str]]
) -> None:
    stripped = strip_keys(sql)

    assert stripped is not None
    assert (stripped.sql, stripped.keys) == (left, keys)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE d.t (id INT64)",
        "INSERT INTO d.t VALUES ('not enforced')",
        "SELECT 1 -- NOT ENFORCED",
        "CREATE TABLE d.t (id INT64, PRIMARY KEY (id) NOT ENFORCED",
    ],
    ids=["no key", "in a string", "in a comment", "cannot be read"],
)
def test_everything_else_is_left_as_it_is(sql: str) -> None:
    assert strip_keys(sql) is None
