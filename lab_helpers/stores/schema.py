"""The SQL and GQL of the lab, read from data/ddl and data/gql: one copy each, shown as it runs."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from typing import Any

from lab_helpers.config import DATA

_COMMENT = re.compile(r"^\s*--.*$", re.M)


@functools.cache
def text(path: str) -> str:
    """The file `data/<path>` as text. Raises FileNotFoundError."""
    return (DATA / path).read_text(encoding="utf-8")


def document(path: str) -> Any:
    """The JSON file `data/<path>`, parsed anew (the caller may change it)."""
    return json.loads(text(path))


def gql(name: str, dataset: str = "") -> str:
    """The query `data/gql/<name>.gql`, with `{dataset}` filled in for BigQuery."""
    return text(f"gql/{name}.gql").replace("{dataset}", dataset)


def ddl(name: str, dataset: str = "") -> list[str]:
    """The statements of `data/ddl/<name>.sql`, in order, without comments and semicolons."""
    body = _COMMENT.sub("", text(f"ddl/{name}.sql")).replace("{dataset}", dataset)
    return [part.strip() for part in body.split(";") if part.strip()]


def fingerprint(*names: str) -> str:
    """A short hash of DDL files: equal hashes mean there is nothing to change."""
    return hashlib.sha256("\0".join(text(f"ddl/{n}.sql") for n in names).encode()).hexdigest()[:16]
