"""What a panel shows of one customer's conversation: its state, and that state as HTML or text.

Ids and times appear only where `live` is asked for, so that saved outputs stay comparable.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lab_helpers.agents.shown import counted
from lab_helpers.ui.style import chip, esc
from lab_helpers.ui.words import STEPS, decision, failure, governed, order_name, spoke

if TYPE_CHECKING:
    from lab_helpers.agents.refund.result import TurnResult
    from lab_helpers.agents.trace import StepEvent
    from lab_helpers.stores.operations import Order
    from lab_helpers.stores.personas import Persona

_TRACE_ID = re.compile(r"TRC-[0-9a-f]+")
_STATUS_TONES = {"Complete": "good", "Shipped": "info", "Processing": "info"}

# What the two buttons say for the customer, in the language of the conversation.
CONFIRM = {"en": "Yes, refund {order}.", "es": "Sí, reembolse {order}."}
DECLINE = {"en": "No, thank you.", "es": "No, gracias."}


@dataclass(frozen=True)
class Message:
    """One line of the chat. `result` is None for what the customer said."""

    text: str
    result: TurnResult | None = None


@dataclass
class Conversation:
    """One customer's talk with the agent. Another customer, or a reset, starts another one."""

    persona: Persona
    session: str = field(default_factory=lambda: f"panel-{uuid.uuid4().hex}")
    messages: list[Message] = field(default_factory=list)
    steps: dict[int, StepEvent] = field(default_factory=dict)
    running: bool = False

    def begin(self, text: str) -> None:
        """The customer speaks; the last turn's steps make room."""
        self.messages.append(Message(text))
        self.steps, self.running = {}, True

    def step(self, event: StepEvent) -> None:
        """A step started or ended."""
        self.steps[event.step_order] = event

    def answer(self, result: TurnResult) -> None:
        """The turn is over."""
        self.messages.append(Message(result.reply, result))

    @property
    def last(self) -> TurnResult | None:
        """The last turn's result; None before the first, or when the last one failed."""
        return self.messages[-1].result if self.messages else None

    @property
    def pending(self) -> TurnResult | None:
        """The turn that waits for Confirm or Decline, or None."""
        last = self.last
        waits = last and last.decision_status == "PENDING_CONFIRMATION" and last.order_id
        return last if waits and not self.running else None


# -- as text ----------------------------------------------------------------------------------


def without_ids(text: str) -> str:
    """The text with every trace id shortened to TRC-…, which is the same at each run."""
    return _TRACE_ID.sub("TRC-…", text)


def transcript(chat: Conversation) -> str:
    """The conversation and its decisions, one line each."""
    lines = []
    for message in chat.messages:
        if message.result is None:
            lines.append(f"{chat.persona.name}: {message.text}")
            continue
        lines.append(f"Refund agent ({spoke(message.result.spoke)}): {without_ids(message.text)}")
        lines.append(f"  {message.result.verdict} → {message.result.decision_status}")
    return "\n".join(lines) or f"{chat.persona.name} has not said anything yet."


# -- as HTML ----------------------------------------------------------------------------------


def log_html(chat: Conversation, live: bool = True) -> str:
    """The messages, the newest always in view."""
    said = "".join(_bubble(chat, message, live) for message in chat.messages)
    hint = (
        f"You speak as {chat.persona.name}. Press the button of an order below, or type a message."
    )
    return (
        '<h4>Conversation</h4><div class="soa-log" role="log" aria-label="Conversation"'
        f' tabindex="0"><div>{said or f"""<p class="soa-muted">{esc(hint)}</p>"""}</div></div>'
    )


def _bubble(chat: Conversation, message: Message, live: bool) -> str:
    text = message.text if live else without_ids(message.text)
    if message.result is None:
        name, kind = chat.persona.name, "soa-me"
    else:
        name, kind = f"Refund agent ({spoke(message.result.spoke)})", "soa-agent"
    return f'<div class="soa-say {kind}"><b>{esc(name)}:</b> <p>{esc(text)}</p></div>'


def steps_html(chat: Conversation, live: bool = True) -> str:
    """The five steps of the last turn: waiting, running, done, failed, or never run."""
    items = "".join(_step(chat, order, name, live) for order, name in enumerate(STEPS, 1))
    return f'<h4>Five steps</h4><ol class="soa-steps" aria-label="Steps of the turn">{items}</ol>'


def _step(chat: Conversation, order: int, name: str, live: bool) -> str:
    event = chat.steps.get(order)
    over = bool(chat.messages) and not chat.running
    if event is None:
        mark, tone, state = ("–", "bad", "did not run") if over else ("○", "", "waiting")
    elif event.error:
        mark, tone, state = "✕", "bad", f"failed: {event.error}"
    elif event.kind == "end":
        mark, tone, state = "✓", "good", ""
    else:
        mark, tone, state = "●", "info", "running"
    ended = event is not None and event.kind == "end"
    told = [state] if state and (event or over) else []
    if ended and event.spoke:
        told.append(spoke(event.spoke))
    if ended and live and event.latency_ms is not None:
        told.append(f"{event.latency_ms:.0f} ms" if event.latency_ms >= 1 else "<1 ms")
    side = f'<span class="soa-time">{esc(" · ".join(told))}</span>' if told else ""
    return (
        f'<li><span class="soa-mark soa-{tone}" role="img" aria-label="{esc(state or "done")}">'
        f"{mark}</span> <code>{esc(name)}</code> {side}"
        f' <small class="soa-muted">{esc(STEPS[name])}</small></li>'
    )


def decision_html(chat: Conversation, live: bool = True) -> str:
    """The last turn's decision as a badge with its reason in plain words."""
    result = chat.last
    if result is None:
        return ""
    label, tone = decision(result.decision_status, result.evaluation_result)
    why = failure(result.failure_code)
    told = f"trace {result.trace_id} · {governed(result.contract_source)}"
    trace = f'<small class="soa-muted">{esc(told)}</small>' if live else ""
    return (
        f'<div class="soa-decision soa-{tone}" role="group" aria-label="Decision">'
        f"<p>{chip(label, tone)} {esc(why)}</p>"
        f"<p><small><code>{esc(result.verdict)} → {esc(result.decision_status)}</code></small></p>"
        f"<p><small><code>{esc(result.action_type)}</code></small></p>{trace}</div>"
    )


def question_html(chat: Conversation, orders: Sequence[Order]) -> str:
    """What Confirm would confirm."""
    pending = chat.pending
    if pending is None:
        return ""
    price = next((o.price for o in orders if o.order_id == pending.order_id), None)
    name = order_name(pending.order_id)
    if pending.failure_code:
        text = f"{name} cannot be refunded: {failure(pending.failure_code)}. Put it on record?"
    else:
        text = f"Refund {name}{'' if price is None else f' for ${price:,.2f}'}?"
    return f'<p class="soa-question">{esc(text)}</p>'


def order_html(order: Order) -> str:
    """One order as a line: number, products, status, price, age."""
    age = "not delivered" if order.age_days is None else counted(order.age_days, "day")
    status = chip(order.status, _STATUS_TONES.get(order.status, ""))
    return (
        f'<div class="soa-order"><b>{esc(order_name(order.order_id))}</b>'
        f'<span class="soa-what">{esc(order.product_names)}</span>'
        f'<span class="soa-facts"><span>{status}</span>'
        f"<span>${order.price:,.2f}</span><span>{esc(age)}</span></span></div>"
    )


PANEL = """
.soa-panel .soa-part{font:14px/1.45 system-ui,-apple-system,"Segoe UI",sans-serif;
color:var(--soa-fg)}
.soa-panel h4{margin:0 0 6px;font-size:13px;font-weight:600;color:var(--soa-muted)}
.soa-log{height:290px;overflow-y:auto;display:flex;flex-direction:column-reverse;
border:1px solid var(--soa-line);border-radius:8px;padding:12px;
background:var(--soa-bg)}
.soa-log>div{margin-bottom:auto}
.soa-log:focus-visible{outline:2px solid var(--soa-info);outline-offset:1px}
.soa-say{width:fit-content;max-width:86%;margin:0 0 10px;padding:7px 12px;border-radius:10px;
overflow-wrap:anywhere;border:1px solid transparent}
.soa-say p{white-space:pre-wrap}
.soa-say b{display:block;font-size:12px;font-weight:600;color:var(--soa-muted)}
.soa-agent{background:var(--soa-soft);border-color:var(--soa-line)}
.soa-me{margin-left:auto;background:color-mix(in srgb,var(--soa-info) 14%,var(--soa-bg));
border-color:color-mix(in srgb,var(--soa-info) 35%,var(--soa-bg))}
.soa-panel div ol.soa-steps{list-style:none;margin:0;padding:0}
.soa-panel div ol.soa-steps li{display:grid;grid-template-columns:20px 1fr auto;column-gap:6px;
padding:5px 0;margin:0;border-bottom:1px solid var(--soa-line)}
.soa-mark{color:color-mix(in srgb,var(--hue,var(--soa-muted)) 70%,var(--soa-fg));
font-weight:700;text-align:center}
.soa-time{color:var(--soa-muted);font-size:12px;font-variant-numeric:tabular-nums;
white-space:nowrap}
.soa-steps small{grid-column:2/4}
.soa-decision{margin-top:10px;padding:8px 12px;border-left:4px solid var(--hue,var(--soa-line));
background:var(--soa-soft);border-radius:0 8px 8px 0;overflow-wrap:anywhere}
.soa-question{font-weight:600;margin:0}
.soa-status{min-height:21px;color:var(--soa-muted)}
.soa-status.soa-bad{color:color-mix(in srgb,var(--soa-bad) 60%,var(--soa-fg));font-weight:600}
.soa-order{display:flex;flex-wrap:wrap;align-items:center;gap:2px 14px;padding:3px 0}
.soa-order b{flex:0 0 92px;white-space:nowrap}.soa-what{flex:1 1 190px;overflow-wrap:anywhere}
.soa-facts{display:flex;gap:12px;align-items:center;font-variant-numeric:tabular-nums}
.soa-facts>span{flex:0 0 84px}.soa-facts>span:nth-child(2){flex-basis:68px;text-align:right}
.soa-facts>span:nth-child(3){flex-basis:96px;color:var(--soa-muted);white-space:nowrap}
.soa-row{border-bottom:1px solid var(--soa-line)}
.soa-ask{background:color-mix(in srgb,var(--soa-wait) 10%,var(--soa-bg));
border:1px solid color-mix(in srgb,var(--soa-wait) 45%,var(--soa-bg));border-radius:8px;
padding:4px 10px}
.soa-snap .soa-log{height:auto;display:block}
.soa-snap>div{margin:0 0 12px;max-width:860px}
"""
