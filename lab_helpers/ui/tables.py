"""Rows as a table: the same text and HTML for the same rows, always."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lab_helpers.config import DATA
from lab_helpers.errors import LabError
from lab_helpers.stores import schema
from lab_helpers.ui.style import esc, page
from lab_helpers.ui.words import order_name

if TYPE_CHECKING:
    import pandas

    from lab_helpers.stores.operations import Order
    from lab_helpers.stores.personas import Persona

TABLE = """
.soa table.soa-table{border-collapse:collapse;margin:4px 0;font-size:13px;border:0}
.soa table.soa-table caption{caption-side:top;text-align:left;font-weight:600;
color:var(--soa-fg);padding:0 0 4px}
.soa table.soa-table th,.soa table.soa-table td{text-align:left;vertical-align:top;
padding:4px 16px 4px 0;border:0;border-bottom:1px solid var(--soa-line);background:none;
color:var(--soa-fg);max-width:60ch;overflow-wrap:break-word;word-break:normal;white-space:normal}
.soa table.soa-table th{color:var(--soa-muted);font-weight:600}
.soa table.soa-table .soa-num{text-align:right;font-variant-numeric:tabular-nums;
white-space:nowrap}
.soa table.soa-table .soa-text{min-width:20ch}
.soa table.soa-table tr{background:none}
"""

NOTHING = "–"
_WIDEST = 60
_SENTENCE = 30
_NUMBER = re.compile(r"-?\$?[\d,]+(\.\d+)?")


class Table:
    """Rows with a caption. Iterable, indexable, with `.rows` as given and `.frame` for pandas."""

    def __init__(
        self, rows: Sequence[Mapping[str, Any]], caption: str = "", empty: str = "no rows"
    ) -> None:
        self.rows = [dict(row) for row in rows]
        self.caption, self.empty = caption, empty

    @property
    def columns(self) -> list[str]:
        """Every column that any row has, in the order they are met."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    @property
    def frame(self) -> pandas.DataFrame:
        """The rows as a new pandas DataFrame."""
        import pandas  # late: it takes most of a second, and a table needs none of it

        return pandas.DataFrame(self.rows, columns=self.columns)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: Any) -> Any:
        return self.rows[at]

    def _cells(self) -> list[list[str]]:
        return [[cell(row.get(name)) for name in self.columns] for row in self.rows]

    def __repr__(self) -> str:
        if not self.rows:
            return "\n".join(part for part in (self.caption, self.empty) if part)
        cells = self._cells()
        numeric = [_is_numeric(column) for column in zip(*cells, strict=True)]
        body = [[_short(text) for text in row] for row in cells]
        widths = [max(map(len, column)) for column in zip(self.columns, *body, strict=True)]
        rule = ["-" * width for width in widths]
        lines = [
            "  ".join(
                text.rjust(width) if right else text.ljust(width)
                for text, width, right in zip(row, widths, numeric, strict=True)
            ).rstrip()
            for row in (self.columns, rule, *body)
        ]
        return "\n".join([self.caption, *lines] if self.caption else lines)

    def _repr_html_(self) -> str:
        return page(table_html(self), TABLE)


def table_html(table: Table) -> str:
    """The table as bare semantic HTML, for use inside a page of the lab."""
    caption = f"<caption>{esc(table.caption)}</caption>" if table.caption else ""
    if not table.rows:
        empty = f'<p class="soa-muted">{esc(table.empty)}</p>'
        return f"<p><b>{esc(table.caption)}</b></p>{empty}" if table.caption else empty
    rows = table._cells()
    kinds = [_kind(column) for column in zip(*rows, strict=True)]
    head = "".join(
        f'<th scope="col"{kind}>{esc(name)}</th>'
        for name, kind in zip(table.columns, kinds, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f"<td{kind}>{esc(text)}</td>" for text, kind in zip(row, kinds, strict=True))
        + "</tr>"
        for row in rows
    )
    return (
        f'<table class="soa-table">{caption}<thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def _kind(column: Sequence[str]) -> str:
    """The class of a column's cells: numbers stand right, sentences keep room."""
    if _is_numeric(column):
        return ' class="soa-num"'
    return ' class="soa-text"' if max(map(len, column)) > _SENTENCE else ""


def cell(value: Any) -> str:
    """One value as text: None as a dash, floats without noise, times in ISO form, lists joined."""
    match value:
        case None:
            return NOTHING
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) < 1e15 else repr(value)
        case dt.datetime() | dt.date():
            return value.isoformat()
        case list() | tuple():
            return ", ".join(cell(item) for item in value)
    return str(value)


def _is_numeric(column: Sequence[str]) -> bool:
    known = [text for text in column if text != NOTHING]
    return bool(known) and all(_NUMBER.fullmatch(text) for text in known)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDEST else line[: _WIDEST - 1] + "…"


def orders_table(persona: Persona, orders: Sequence[Order]) -> Table:
    """A customer's orders as the store holds them. `age (days)` counts from delivery."""
    rows = [
        {
            "order": order_name(order.order_id),
            "status": order.status,
            "products": order.product_names,
            "price": f"${order.price:,.2f}",
            "age (days)": order.age_days,
        }
        for order in orders
    ]
    return Table(
        rows,
        caption=f"Orders of {persona.name}, {persona.tier} tier",
        empty="This customer has no orders.",
    )


class QueryText:
    """The text of one query file, as it runs."""

    def __init__(self, name: str, text: str, room: str) -> None:
        self.name, self.text, self.room = name, text, room

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return page(f'<pre aria-label="{esc(self.name)}"><code>{esc(self.text)}</code></pre>')


def query_text(name: str, dataset: str) -> QueryText:
    """The query data/gql/operations/<name>.gql or data/gql/lineage/<name>.gql, to be shown.

    Raises LabError that lists the names there are.
    """
    for room in ("operations", "lineage"):
        if name in _queries(room):
            return QueryText(name, schema.gql(f"{room}/{name}", dataset).rstrip("\n"), room)
    raise LabError(
        f"There is no query named {name!r}.",
        "Queries are the files of data/gql/operations and data/gql/lineage.",
        f"Use one of {', '.join(_queries('operations') + _queries('lineage'))}.",
    )


def _queries(room: str) -> list[str]:
    return sorted(path.stem for path in (DATA / "gql" / room).glob("*.gql"))
