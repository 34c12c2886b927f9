"""KeySets of reads and deletes -> a WHERE condition with its values."""

from __future__ import annotations

from typing import Any

from lab_helpers.sandbox.spanner.codec import Decoder, decoder, type_of_column
from lab_helpers.sandbox.spanner.errors import invalid
from lab_helpers.sandbox.spanner.schema import KeyPart, Table, quote, quoted

Condition = tuple[str, list[Any]]  # with "?" for each value


def condition(table: Table, key: tuple[KeyPart, ...], key_set: Any) -> Condition:
    """`key_set` over the columns of `key` (the primary key, or that of an index)."""
    if key_set.all_:
        return "TRUE", []
    readers = [decoder(type_of_column(table.column(part.column).type)) for part in key]
    parts = []
    if key_set.keys:
        parts.append(_points(table, key, readers, key_set.keys))
    parts += [_range(key, readers, each) for each in key_set.ranges]
    if not parts:
        return "FALSE", []
    text = " OR ".join(f"({sql})" for sql, _ in parts)
    return text, [value for _, values in parts for value in values]


def order(key: tuple[KeyPart, ...]) -> str:
    """Spanner's order of a key: NULL is smaller than every value."""
    return ", ".join(
        f"{quote(part.column)} " + ("DESC NULLS LAST" if part.descending else "ASC NULLS FIRST")
        for part in key
    )


def _decode(readers: list[Decoder], values: Any) -> list[Any]:
    if len(values.values) > len(readers):
        raise invalid(
            f"A key has {len(values.values)} values, but the table or index is keyed by "
            f"{len(readers)} columns."
        )
    return [read(value) for read, value in zip(readers, values.values, strict=False)]


def _points(table: Table, key: tuple[KeyPart, ...], readers: list[Decoder], keys: Any) -> Condition:
    decoded = [_decode(readers, values) for values in keys]
    width = len(decoded[0])
    if any(len(values) != width for values in decoded):
        raise invalid("The keys of a key set must all have the same number of values.")
    names = [part.column for part in key[:width]]
    if len(decoded) == 1:  # equality with constants finds its row by the index
        return " AND ".join(f"{quote(name)} IS NOT DISTINCT FROM ?" for name in names) if any(
            value is None for value in decoded[0]
        ) else " AND ".join(f"{quote(name)} = ?" for name in names), decoded[0]
    types = [table.column(name).type.duckdb for name in names]
    unnested = ", ".join(f"unnest(CAST(? AS {kind}[]))" for kind in types)
    lists = [list(column) for column in zip(*decoded, strict=True)]
    return f"({quoted(names)}) IN (SELECT {unnested})", lists


_BOUNDS = (
    # field, comparison in key order, and whether equality of all given parts is inside
    ("start_closed", ">", True),
    ("start_open", ">", False),
    ("end_closed", "<", True),
    ("end_open", "<", False),
)
_FLIPPED = {">": "<", "<": ">"}


def _range(key: tuple[KeyPart, ...], readers: list[Decoder], each: Any) -> Condition:
    texts, values = [], []
    for field, comparison, inclusive in _BOUNDS:
        if each.HasField(field):
            bound = _decode(readers, getattr(each, field))
            text, used = _bound(key, bound, comparison, inclusive)
            texts.append(f"({text})")
            values += used
    return " AND ".join(texts) or "TRUE", values


def _bound(
    key: tuple[KeyPart, ...], bound: list[Any], comparison: str, inclusive: bool
) -> Condition:
    """Lexicographic comparison, column by column, because columns may be descending."""
    if not bound:
        return ("TRUE" if inclusive else "FALSE"), []
    alternatives, values = [], []
    for depth, part in enumerate(key[: len(bound)]):
        equal = [f"{quote(before.column)} = ?" for before in key[:depth]]
        sign = _FLIPPED[comparison] if part.descending else comparison
        alternatives.append(" AND ".join([*equal, f"{quote(part.column)} {sign} ?"]))
        values += bound[: depth + 1]
    if inclusive:
        alternatives.append(" AND ".join(f"{quote(p.column)} = ?" for p in key[: len(bound)]))
        values += bound
    return " OR ".join(f"({text})" for text in alternatives), values
