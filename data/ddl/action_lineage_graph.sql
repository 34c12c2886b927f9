-- One turn as a walk: the session ran five steps, the third evaluated policy, the evaluation
-- decided the action.
CREATE OR REPLACE PROPERTY GRAPH `{dataset}.ActionLineageGraph`
  NODE TABLES (
    `{dataset}.agent_sessions` AS agent_sessions
      KEY (trace_id)
      LABEL AgentSession,
    `{dataset}.workflow_nodes` AS workflow_nodes
      KEY (node_exec_id)
      LABEL WorkflowNode,
    `{dataset}.policy_evaluations` AS policy_evaluations
      KEY (eval_id)
      LABEL PolicyEvaluation,
    `{dataset}.agent_actions` AS agent_actions
      KEY (action_id)
      LABEL AgentAction
  )
  EDGE TABLES (
    `{dataset}.workflow_nodes` AS ran_step
      KEY (node_exec_id)
      SOURCE KEY (trace_id) REFERENCES agent_sessions (trace_id)
      DESTINATION KEY (node_exec_id) REFERENCES workflow_nodes (node_exec_id)
      LABEL RAN_STEP NO PROPERTIES,
    `{dataset}.policy_evaluations` AS evaluated
      KEY (eval_id)
      SOURCE KEY (node_exec_id) REFERENCES workflow_nodes (node_exec_id)
      DESTINATION KEY (eval_id) REFERENCES policy_evaluations (eval_id)
      LABEL EVALUATED NO PROPERTIES,
    `{dataset}.agent_actions` AS decided
      KEY (action_id)
      SOURCE KEY (eval_id) REFERENCES policy_evaluations (eval_id)
      DESTINATION KEY (action_id) REFERENCES agent_actions (action_id)
      LABEL DECIDED NO PROPERTIES
  );
