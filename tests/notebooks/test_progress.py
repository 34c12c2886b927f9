"""Progress across the notebooks: what was done once stays done, and nothing else counts."""

import re

from lab_helpers.checks import TASKS


def done(lab) -> set[str]:
    return {task for task, _, done in lab.progress().tasks if done}


async def test_a_done_check_stays_done_after_a_reset(lab):
    lab.check("00-refund")
    before = done(lab)
    await lab.refund.turn("Please refund my order ORD-90124.", "A", session="progress")
    await lab.refund.turn("Yes.", "A", confirmed=True, session="progress")
    assert lab.check("00-refund").done
    lab.reset_all()
    assert not lab.check("00-refund").done
    assert done(lab) == before | {"00-refund"}


def test_nothing_is_audited_where_nothing_was_refunded(lab):
    lab.reset_all()
    found = lab.check("03-auditor")
    assert not found.done and "there is no refund to audit yet" in repr(found)


def test_an_answer_counts_only_when_it_is_right(lab):
    lab.check("02-one-fact", {"target_order_age_days": 31})
    assert "02-one-fact" not in done(lab)
    assert lab.check("02-one-fact", {"target_order_age_days": 30}).done
    assert "02-one-fact" in done(lab)


def test_progress_is_one_line_and_then_one_a_check(lab):
    first, *lines = repr(lab.progress()).splitlines()
    assert re.fullmatch(rf"[█░]{{20}} \d+ of {len(TASKS)} checks done", first)
    assert len(lines) == len(TASKS)
