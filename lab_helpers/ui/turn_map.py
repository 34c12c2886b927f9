"""Many turns at one glance: a row an outcome, a column a customer, a square a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lab_helpers.agents.shown import counted
from lab_helpers.stores.personas import all_personas
from lab_helpers.ui.style import chip, esc, page
from lab_helpers.ui.tables import Table
from lab_helpers.ui.words import TONES, failure

Row = Mapping[str, Any]

OTHERS = "other agents"
_MOST_SQUARES = 12
_MAP = """
.soa table.soa-map{border-collapse:separate;border-spacing:0 2px;font-size:13px;border:0}
.soa table.soa-map caption{text-align:left;font-weight:600;color:var(--soa-fg);padding:0 0 4px}
.soa table.soa-map th,.soa table.soa-map td{text-align:left;vertical-align:middle;border:0;
padding:4px 20px 4px 0;background:none;color:var(--soa-fg);border-bottom:1px solid var(--soa-line)}
.soa table.soa-map thead th{color:var(--soa-muted);font-weight:600}
.soa-map tbody th{font-weight:400;min-width:15em}
.soa-map small{color:var(--soa-muted);font-size:12px;margin-left:6px}
.soa-map .soa-dot{display:inline-block;width:11px;height:11px;margin-right:3px;border-radius:3px;
--hue:var(--soa-muted);background:color-mix(in srgb,var(--hue) 75%,var(--soa-fg))}
"""


class TurnMap:
    """The rows of data/gql/lineage/turn_map.gql as a map; `table` is its twin in numbers."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = [dict(row) for row in rows]
        self.table = Table(
            [self._line(outcome) for outcome in self.outcomes],
            caption=self.title,
            empty="The trail is empty: no turn has been made yet.",
        )

    @property
    def title(self) -> str:
        """How many turns there are in all."""
        turns = sum(row["turns"] for row in self.rows)
        return f"{counted(turns, 'decision')} by customer and outcome"

    @property
    def columns(self) -> dict[int | None, str]:
        """Customer id to name of every column; None stands for turns without a customer."""
        held = {row["customer_id"] for row in self.rows}
        names: dict[int | None, str] = {
            who.user_id: who.name for who in all_personas().values() if who.user_id in held
        }
        for customer in sorted(held - {None} - names.keys()):
            names[customer] = f"customer {customer}"
        return names | ({None: OTHERS} if None in held else {})

    @property
    def outcomes(self) -> list[tuple[str, str | None]]:
        """Every (decision, failure code) that occurred, approvals first."""
        order = [status for status in TONES if status not in ("PASS", "FAIL", "INFO")]
        found = {(row["decision"], row["failure_code"]) for row in self.rows}
        place = {status: at for at, status in enumerate(order)}
        return sorted(found, key=lambda o: (place.get(o[0], len(order)), o[0], o[1] or ""))

    def count(self, outcome: tuple[str, str | None], customer: int | None) -> int:
        """Turns of this customer that ended so."""
        return sum(
            row["turns"]
            for row in self.rows
            if (row["decision"], row["failure_code"]) == outcome and row["customer_id"] == customer
        )

    def _line(self, outcome: tuple[str, str | None]) -> dict[str, Any]:
        named = {"decision": outcome[0], "failure code": outcome[1]}
        counts = {name: self.count(outcome, key) or None for key, name in self.columns.items()}
        return {**named, **counts}

    def __repr__(self) -> str:
        return repr(self.table)

    def _repr_html_(self) -> str:
        if not self.rows:
            return self.table._repr_html_()
        head = "".join(f'<th scope="col">{esc(name)}</th>' for name in self.columns.values())
        body = "".join(self._html_line(outcome) for outcome in self.outcomes)
        return page(
            f'<table class="soa-map"><caption>{esc(self.title)}</caption><thead><tr>'
            f'<th scope="col">outcome</th>{head}</tr></thead><tbody>{body}</tbody></table>',
            _MAP,
        )

    def _html_line(self, outcome: tuple[str, str | None]) -> str:
        decision, code = outcome
        tone = TONES.get(decision, "")
        why = f"<small>{esc(failure(code))}</small>" if code else ""
        counts = (self.count(outcome, customer) for customer in self.columns)
        cells = "".join(f"<td>{_squares(count, tone)}</td>" for count in counts)
        return f'<tr><th scope="row">{chip(decision, tone)}{why}</th>{cells}</tr>'


def _squares(count: int, tone: str) -> str:
    """The number, after a square a turn as long as they can be counted at a glance."""
    if not count:
        return ""
    square = f'<span class="soa-dot{f" soa-{tone}" if tone else ""}" aria-hidden="true"></span>'
    return square * count * (count <= _MOST_SQUARES) + f" {count}"
