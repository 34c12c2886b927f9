"""One turn's decision as the lineage graph holds it: a walk in text, HTML and as a picture."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from lab_helpers.ui.picture import Edge, Node, Picture
from lab_helpers.ui.reasons import observed, sentence
from lab_helpers.ui.style import chip, esc, page
from lab_helpers.ui.tables import Table
from lab_helpers.ui.words import STEPS, TONES, order_name

Row = Mapping[str, Any]

_WALK = """
.soa figure.soa-walk{margin:4px 0;max-width:860px}
.soa-walk .soa-why{margin:0 0 8px}
.soa-walk .soa-box{display:inline-block;border:1px solid var(--hue,var(--soa-line));
border-radius:6px;padding:4px 10px;background:color-mix(in srgb,
var(--hue,var(--soa-fg)) 6%,var(--soa-bg));overflow-wrap:anywhere}
.soa-walk small{color:var(--soa-muted);font-size:12px}
.soa figure.soa-walk ol{list-style:none;margin:0 0 0 14px;padding:6px 0 0}
.soa-walk li{position:relative;margin:0;padding:3px 0 3px 24px;
border-left:1px solid var(--soa-line);display:flex;flex-wrap:wrap;align-items:center;gap:4px 8px}
.soa-walk li::before{content:"";position:absolute;left:0;top:18px;width:18px;
border-top:1px solid var(--soa-line)}
.soa-walk li:last-child{border-left-color:transparent}
.soa-walk li:last-child::after{content:"";position:absolute;left:-1px;top:0;height:19px;
border-left:1px solid var(--soa-line)}
.soa-walk .soa-gone{border-style:dashed;color:var(--soa-muted);background:none}
.soa-walk .soa-reached{flex-basis:100%;padding-left:14px;overflow-wrap:anywhere}
.soa-walk .soa-decided{padding-left:38px}
.soa-edge{color:var(--soa-muted);font-size:12px;white-space:nowrap}
.soa-pair{display:flex;flex-wrap:wrap;gap:8px 32px;align-items:flex-start}
.soa-pair>figure{flex:1 1 380px;min-width:0}
"""


class LineageView:
    """One turn, from the rows of data/gql/lineage/trace.gql (one per step, empty when unknown).

    The text and the HTML hold nothing that differs between two runs of the same decision; ids and
    times are in `details()`.
    """

    def __init__(self, trace_id: str, rows: Sequence[Row]) -> None:
        self.trace_id = trace_id
        self.rows = sorted((dict(row) for row in rows), key=lambda row: row["step_order"])

    # -- what the graph says ------------------------------------------------------------------

    @property
    def verdicts(self) -> list[Row]:
        """The rows that hold an evaluation: one of a refund, one per draft of the gate."""
        return [row for row in self.rows if row["evaluation_result"] is not None]

    @property
    def verdict(self) -> Row | None:
        """The last evaluation with its action, which settles the turn, or None."""
        return self.verdicts[-1] if self.verdicts else None

    @property
    def steps(self) -> list[tuple[int, str, Row | None]]:
        """(order, name, row) of every step; the row is None for a step that left no trace."""
        held = {row["step_order"]: row for row in self.rows}
        return [
            (order, held[order]["node_name"] if order in held else name, held.get(order))
            for order, name in self._expected().items()
        ]

    def _expected(self) -> dict[int, str]:
        """Step orders that must be there. The refund agent's five are known by name; of another
        agent's steps only a gap in the numbers can be seen."""
        names = {row["step_order"]: row["node_name"] for row in self.rows}
        if not names:
            return {}
        known = dict(enumerate(STEPS, 1)) if set(names.values()) & set(STEPS) else {}
        last = max((*names, *known))
        return {n: known.get(n) or names.get(n, "unknown step") for n in range(1, last + 1)}

    @property
    def counts(self) -> dict[str, int]:
        """Nodes of this turn per table of the lineage store."""
        verdicts = self.verdicts
        return {
            "agent_sessions": 1 if self.rows else 0,
            "workflow_nodes": len({row["step_order"] for row in self.rows}),
            "policy_evaluations": len(verdicts),
            "agent_actions": sum(row["decision_status"] is not None for row in verdicts),
        }

    def sentence(self) -> str:
        """Why it was decided so, in one sentence."""
        if not self.rows:
            return (
                "The trail of this turn is not in BigQuery (yet). If it was kept in the outbox,"
                " `lab.reconcile()` delivers it."
            )
        return sentence(self.rows[0], self.verdict)

    # -- how it is shown ----------------------------------------------------------------------

    def text(self, ids: bool = False) -> str:
        """The walk, one edge a line. `ids=True` adds the trace id and the steps' times."""
        if not self.rows:
            return f"{self.trace_id}: {self.sentence()}" if ids else self.sentence()
        first = self.rows[0]
        head = f"AgentSession: {_customer(first)}, {order_name(first['order_id'])}"
        lines = [f"{head}, {self.trace_id}" if ids else head]
        for order, name, row in self.steps:
            time = f" {row['latency_ms']:.1f} ms" if ids and row else ""
            lines.append(f"  -[RAN_STEP]-> {order} {name}{_remark(row)}{time}")
            if row is not None and row["evaluation_result"] is not None:
                lines.append(f"      -[EVALUATED]-> {_joined(*_verdict(row))}")
                if row["decision_status"]:
                    lines.append(f"          -[DECIDED]-> {_joined(*_action(row))}")
                else:
                    lines.append("          -[DECIDED]-> missing")
        lines.append(self.sentence())
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return page(self.figure(), _WALK)

    def figure(self) -> str:
        """The walk as bare HTML, for use inside a page of the lab."""
        why = f'<p class="soa-why">{esc(self.sentence())}</p>'
        if not self.rows:
            return f'<figure class="soa-walk">{why}</figure>'
        first = self.rows[0]
        prompt = f"<br><small>“{esc(first['user_prompt'])}”</small>" if first["user_prompt"] else ""
        about = f"{_customer(first)}, {order_name(first['order_id'])}"
        session = f'<div class="soa-box"><small>AgentSession</small> {esc(about)}{prompt}</div>'
        items = "".join(self._item(order, name, row) for order, name, row in self.steps)
        return (
            f'<figure class="soa-walk" aria-label="Lineage of one turn">{why}{session}'
            f'<ol aria-label="Steps">{items}</ol></figure>'
        )

    def _item(self, order: int, name: str, row: Row | None) -> str:
        if row is None:
            return (
                f'<li><span class="soa-box soa-gone">{order} <code>{esc(name)}</code> missing:'
                " it left no trace</span></li>"
            )
        remark = f" <small>{esc(_remark(row).strip())}</small>" if _remark(row) else ""
        tone = " soa-bad" if row["error"] else ""
        parts = [f'<span class="soa-box{tone}">{order} <code>{esc(name)}</code>{remark}</span>']
        if row["evaluation_result"] is not None:
            parts.append(_reached("EVALUATED", *_verdict(row)))
            if row["decision_status"]:
                parts.append(_reached("DECIDED", *_action(row)))
            else:
                parts.append(_reached("DECIDED", "missing"))
        return f"<li>{' '.join(parts)}</li>"

    def picture(self) -> Picture:
        """The walk drawn as a graph (PNG where Graphviz is installed)."""
        nodes: list[Node] = []
        edges: list[Edge] = []
        if self.rows:
            first = self.rows[0]
            about = f"{_customer(first)}\n{order_name(first['order_id'])}"
            nodes.append(Node("session", f"AgentSession\n{about}", "info"))
        for order, name, row in self.steps:
            key = f"step {order}"
            tone = "missing" if row is None else "bad" if row["error"] else ""
            nodes.append(Node(key, f"{order}  {name}{_remark(row)}", tone))
            edges.append(Edge("session", key, "RAN_STEP" if row else ""))
            if row is not None and row["evaluation_result"] is not None:
                nodes.append(
                    Node(f"verdict {order}", "\n".join(filter(None, _verdict(row))), _tone(row))
                )
                edges.append(Edge(key, f"verdict {order}", "EVALUATED"))
                if row["decision_status"]:
                    status, kind = _action(row)
                    nodes.append(
                        Node(f"action {order}", f"{status}\n{kind}", TONES.get(status, ""))
                    )
                    edges.append(Edge(f"verdict {order}", f"action {order}", "DECIDED"))
        return Picture(nodes, edges, self.text())

    def details(self) -> Table:
        """Ids and times. They differ at each run: not for outputs that are compared."""
        rows = [
            {
                "step": order,
                "node": name,
                "latency (ms)": round(row["latency_ms"], 1) if row else None,
                "spoke": row["spoke"] if row else None,
                "error": (row["error"] if row else "missing"),
            }
            for order, name, row in self.steps
        ]
        return Table(rows, caption=f"Turn {self.trace_id}", empty=self.sentence())


def _customer(row: Row) -> str:
    return "no customer" if row["customer_id"] is None else f"customer {row['customer_id']}"


def _remark(row: Row | None) -> str:
    if row is None:
        return ": missing"
    if row["error"]:
        return f" failed: {row['error']}"
    return f" ({row['spoke']})" if row["spoke"] else ""


def _verdict(row: Row) -> tuple[str, str, str]:
    return row["evaluation_result"], row["failure_code"] or "", observed(row)


def _action(row: Row) -> tuple[str, str]:
    return row["decision_status"], row["action_type"]


def _tone(row: Row) -> str:
    return TONES.get(row["evaluation_result"], "")


def _joined(head: str, *rest: str) -> str:
    return ", ".join((head, *filter(None, rest)))


def _reached(edge: str, status: str, *rest: str) -> str:
    said = " · ".join(f"<small>{esc(part)}</small>" for part in rest if part)
    place = "soa-reached soa-decided" if edge == "DECIDED" else "soa-reached"
    return (
        f'<span class="{place}"><span class="soa-edge">{edge} →</span> '
        f"{chip(status, TONES.get(status, ''))} {said}</span>"
    )


class Pair:
    """Two turns beside each other; where their walks differ, the text says ≠."""

    def __init__(self, a: LineageView, b: LineageView) -> None:
        self.a, self.b = a, b

    def __repr__(self) -> str:
        left, right = (str(view.text()).splitlines()[:-1] for view in (self.a, self.b))
        width = max(map(len, left), default=0)
        lines = [
            f"{one:<{width}}  {'=' if one == two else '≠'}  {two}".rstrip()
            for one, two in itertools.zip_longest(left, right, fillvalue="")
        ]
        return "\n".join([*lines, f"Left: {self.a.sentence()}", f"Right: {self.b.sentence()}"])

    def _repr_html_(self) -> str:
        return page(f'<div class="soa-pair">{self.a.figure()}{self.b.figure()}</div>', _WALK)


def side_by_side(a: LineageView, b: LineageView) -> Pair:
    """Two turns to compare: an approval and a refusal, two tiers, two agents."""
    return Pair(a, b)
