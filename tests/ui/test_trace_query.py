"""trace.gql on the store: what the lineage view is given of turns that the gate left."""

from lab_helpers.agents.trace import new_id, stamp, utc_now
from tests.ui.turns import turn


async def test_every_draft_of_a_message_is_read_back(lab):
    run = await lab.gate.run(seed=1)
    lab.reconcile()
    views = [lab.lineage(step.trace_id) for step in run.steps]
    assert any(len(view.verdicts) == 2 for view in views)
    for view in views:
        assert view.counts == lab.trail.counts(view.trace_id)
        assert view.sentence().startswith(("Released and locked", "Not released"))


def test_a_pass_that_led_to_no_action_is_read_back(lab):
    trace_id, node, at = new_id("TRC"), new_id("NODE", 12), stamp(utc_now())
    seen = ("evaluation_result", "catalog_term_id", "policy_id", "policy_name")
    seen += ("observed_refunds_100d", "max_refunds_100d", "return_window_days")
    evaluation = {name: turn()[2][name] for name in seen}
    of_node = {"trace_id": trace_id, "node_exec_id": node}
    step = {**of_node, "step_order": 1, "node_name": "auditor", "latency_ms": 1.0}
    lab.trail.write(
        {
            "agent_sessions": [{"trace_id": trace_id, "user_prompt": "Hello", "started_at": at}],
            "workflow_nodes": [{**step, "executed_at": at}],
            "policy_evaluations": [
                {**evaluation, **of_node, "eval_id": new_id("EVAL"), "evaluated_at": at}
            ],
        }
    )
    view = lab.lineage(trace_id)
    assert view.sentence() == "Evaluated as PASS, but no action is on record."
    assert "-[DECIDED]-> missing" in repr(view)
