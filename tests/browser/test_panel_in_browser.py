"""The panel in a real browser, in JupyterLab and in Notebook 7, on real stores."""

import pytest

from tests.browser.jupyter import GRAPH_CELL, PROGRESS_CELL, QUERY_CELL, TABLE_CELL
from tests.browser.page import SOON_MS, WINDOW

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect
expect.set_options(timeout=SOON_MS)


def refunded(lab) -> list[int]:
    return [row["order_id"] for row in lab.operations.refunds()]


def ask(face, number: int) -> None:
    face.button(f"Refund ORD-{number}").click()
    expect(face.question).to_contain_text(f"ORD-{number}")
    expect(face.button("Confirm")).to_be_visible()


def test_every_cell_runs_without_an_error(face):
    expect(face.panel).to_be_visible()
    assert face.page.locator("[data-mime-type='application/vnd.jupyter.error']").count() == 0


def test_a_refund_is_asked_for_and_confirmed(face, provisioned):
    ask(face, 90124)
    expect(face.panel).to_contain_text("Refund ORD-90124 for $84.50?")
    expect(face.decision).to_contain_text("PASS → PENDING_CONFIRMATION")
    face.shoot("1-pending")
    face.button("Confirm").click()
    expect(face.decision).to_contain_text("PASS → APPROVED")
    expect(face.button("Confirm")).to_be_hidden()
    expect(face.order(90124)).to_contain_text("Returned")
    expect(face.persona("Customer A, STANDARD, 4 open orders")).to_be_checked()
    for step in range(5):
        expect(face.steps.nth(step).get_by_role("img", name="done")).to_be_visible()
        expect(face.steps.nth(step)).to_contain_text(" ms")
    face.shoot("2-approved")
    assert refunded(provisioned) == [90124]


def test_declining_changes_nothing(face, provisioned):
    ask(face, 90124)
    face.button("Decline").click()
    expect(face.decision).to_contain_text("Declined by the customer")
    expect(face.button("Decline")).to_be_hidden()
    assert refunded(provisioned) == []


def test_a_double_click_pays_once(face, provisioned):
    before = provisioned.trail.counts()["agent_actions"]
    ask(face, 90124)
    face.button("Confirm").dblclick()
    expect(face.decision).to_contain_text("APPROVED")
    expect(face.chat.get_by_text("Yes, refund ORD-90124.")).to_have_count(1)
    assert len(provisioned.operations.refund_trace(90124)) == 1
    assert provisioned.trail.counts()["agent_actions"] == before + 2


def test_a_refusal_says_why(face, provisioned):
    ask(face, 90131)
    expect(face.panel).to_contain_text("ORD-90131 cannot be refunded: the return window is over")
    face.button("Confirm").click()
    expect(face.decision).to_contain_text("Denied the return window is over")
    expect(face.decision).to_contain_text("FAIL RETURN_WINDOW_EXPIRED → DENIED")
    face.shoot("3-denied")
    assert refunded(provisioned) == []


def test_switching_the_persona_drops_what_was_pending(face, provisioned):
    ask(face, 90124)
    face.persona("Customer B").check()
    expect(face.button("Confirm")).to_be_hidden()
    expect(face.chat).to_contain_text("You speak as Customer B")
    expect(face.order(90477)).to_be_visible()
    expect(face.order(90124)).to_have_count(0)
    face.persona("Customer A").check()
    expect(face.order(90124)).to_be_visible()
    face.message.fill("yes")
    face.message.press("Enter")
    expect(face.chat).to_contain_text("There is nothing waiting for your confirmation")
    assert refunded(provisioned) == []


def test_the_keyboard_is_enough(face, provisioned):
    face.message.focus()
    face.page.keyboard.type("Please refund my order ORD-90158.")
    face.page.keyboard.press("Enter")
    expect(face.button("Confirm")).to_be_visible()
    expect(face.message).to_be_focused()
    face.page.keyboard.press("Shift+Tab")
    expect(face.button("Decline")).to_be_focused()
    face.page.keyboard.press("Shift+Tab")
    expect(face.button("Confirm")).to_be_focused()
    face.page.keyboard.press("Enter")
    expect(face.decision).to_contain_text("APPROVED")
    expect(face.message).to_be_focused()
    assert refunded(provisioned) == [90158]


def test_clicking_elsewhere_sends_nothing(face):
    face.message.fill("Please refund my order ORD-90124.")
    face.status.click()
    face.persona("Customer A").focus()
    face.page.wait_for_timeout(500)
    expect(face.chat).to_contain_text("Press the button of an order below")
    face.message.fill("")


def test_what_a_customer_types_stays_text(face):
    typed = "<img src=x onerror=alert(1)> refund $5 or $6"
    face.message.fill(typed)
    face.button("Send").click()
    expect(face.chat).to_contain_text(typed)
    assert face.panel.locator("img:not([role])").count() == 0


def test_the_newest_message_is_in_view(face):
    for number in (90124, 90131, 90137, 90142):
        ask(face, number)
    last = face.chat.locator(".soa-say").last
    expect(last).to_contain_text("ORD-90142")
    expect(last).to_be_in_viewport()
    box, frame = last.bounding_box(), face.chat.bounding_box()
    assert frame["y"] <= box["y"] and box["y"] + box["height"] <= frame["y"] + frame["height"]


def test_reset_puts_the_orders_back(face, provisioned):
    ask(face, 90124)
    face.button("Confirm").click()
    expect(face.order(90124)).to_contain_text("Returned")
    face.button("Reset orders").click()
    expect(face.status).to_contain_text("1 order put back; the trail stays.")
    expect(face.order(90124)).to_contain_text("Complete")
    assert refunded(provisioned) == []


@pytest.mark.parametrize("width", [1280, 760, 420])
def test_nothing_is_cut_off_in_a_narrow_window(face, width):
    ask(face, 90124)
    face.page.set_viewport_size({"width": width, "height": 2000})
    try:
        face.page.wait_for_timeout(300)
        face.shoot(f"4-width-{width}")
        assert face.panel.evaluate(TOO_WIDE) == []
    finally:
        face.page.set_viewport_size(WINDOW)


# Elements that reach past the right edge of the panel or of their own part, or whose text is cut.
TOO_WIDE = """panel => {
  const right = e => e.getBoundingClientRect().right;
  const past = (e, frame) => right(e) > right(frame) + 1;
  return [...panel.querySelectorAll('*')]
    .filter(e => e.checkVisibility() && !e.closest('style'))
    .filter(e => past(e, panel) || past(e, e.closest('.soa-part') ?? panel)
      || (e.tagName === 'BUTTON' && e.scrollWidth > e.clientWidth + 1))
    .map(e => `${e.tagName} ${e.className} ${e.textContent.slice(0, 40)}`);
}"""


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_text_stands_out_in_both_themes(face, theme):
    ask(face, 90131)
    _wear(face, theme)
    try:
        face.shoot(f"5-{theme.split()[1].lower()}")
        assert face.panel.evaluate(FAINT) == []
    finally:
        _wear(face, "JupyterLab Light")


def _wear(face, theme: str) -> None:
    command = "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})"
    face.page.evaluate(command, theme)
    face.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=theme)
    face.page.wait_for_timeout(500)


# The lab's own text whose contrast with what lies behind it is under 4.5 (WCAG AA). Colours are
# resolved by painting them, since the browser reports mixed colours in many notations.
FAINT = """panel => {
  const pen = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const paint = layers => {
    pen.fillStyle = '#fff'; pen.fillRect(0, 0, 1, 1);
    for (const c of layers) { pen.fillStyle = c; pen.fillRect(0, 0, 1, 1); }
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = rgb => {
    const [r, g, b] = rgb.map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const faint = [];
  for (const part of panel.querySelectorAll('.soa-part *')) {
    const own = [...part.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !part.checkVisibility()) continue;
    const behind = [];
    for (let e = part; e; e = e.parentElement) behind.unshift(getComputedStyle(e).backgroundColor);
    const ground = light(paint(behind));
    const ink = light(paint([...behind, getComputedStyle(part).color]));
    const ratio = (Math.max(ground, ink) + 0.05) / (Math.min(ground, ink) + 0.05);
    if (ratio < 4.5) faint.push(`${ratio.toFixed(2)} ${part.className} ${part.textContent}`);
  }
  return faint;
}"""


def test_the_graph_of_a_turn_opens_in_the_page(face):
    """`%%bigquery --graph` draws on a canvas and says how much it drew."""
    cell = face.cell(GRAPH_CELL)
    cell.scroll_into_view_if_needed()
    expect(cell.locator("canvas").first).to_be_visible()
    expect(cell).to_contain_text("4 nodes, 3 edges")
    face.shoot("6-graph", cell)


@pytest.fixture
def narrow(face):
    face.page.set_viewport_size({"width": 480, "height": 1100})
    face.page.wait_for_timeout(300)
    yield face
    face.page.set_viewport_size(WINDOW)


@pytest.mark.parametrize(
    ("number", "whole"), [(TABLE_CELL, r"[^\s-]+"), (QUERY_CELL, r"[^\n]+")], ids=["table", "query"]
)
def test_no_word_of_a_table_and_no_line_of_a_query_is_broken(narrow, number, whole):
    cell = narrow.cell(number)
    cell.scroll_into_view_if_needed()
    narrow.shoot(f"7-narrow-{number}", cell)
    assert cell.locator(".soa").count() == 1
    assert cell.locator(".soa").evaluate(BROKEN, whole) == []


# The pieces of text, as `whole` cuts them, that stand on more than one line.
BROKEN = """(part, whole) => {
  const texts = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  const broken = [];
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    if (text.parentElement.closest('style')) continue;
    for (const found of text.data.matchAll(new RegExp(whole, 'g'))) {
      const range = document.createRange();
      range.setStart(text, found.index);
      range.setEnd(text, found.index + found[0].length);
      const lines = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
      if (lines.size > 1) broken.push(found[0]);
    }
  }
  return broken;
}"""


def test_two_prices_in_a_text_are_no_formula(face):
    cell = face.cell(TABLE_CELL)
    cell.scroll_into_view_if_needed()
    expect(cell.locator("td").first).to_have_text(
        "The price is $18.40 a carton. That comes to $220.80 in all."
    )
    face.page.wait_for_timeout(1000)  # a formula would be typeset late
    assert cell.locator("mjx-container").count() == 0


def test_what_a_progress_bar_says_is_not_cut(narrow):
    cell = narrow.cell(PROGRESS_CELL)
    cell.scroll_into_view_if_needed()
    said = cell.get_by_text("10 of 10: ready")
    narrow.shoot("8-progress", cell)
    edge = "e => e.getBoundingClientRect().right"
    assert said.evaluate("e => e.scrollWidth - e.clientWidth") <= 1
    assert said.evaluate(edge) <= cell.locator(".jp-OutputArea").evaluate(edge)
