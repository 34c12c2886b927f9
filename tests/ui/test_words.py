"""Words for what the agents record."""

import re

import pytest

from lab_helpers.agents import verdict
from lab_helpers.agents.concierge import lineage as concierge
from lab_helpers.agents.refund import policy
from lab_helpers.ui.words import FAILURES, failure

# Upper-case constants that are text in upper case: the codes that a step may record.
CODES = sorted(
    {
        value
        for module in (verdict, policy)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, str) and re.fullmatch(r"[A-Z_]+", value)
    }
    | {concierge.NO_ROWS}
)


def test_there_are_codes():
    assert {"RETURNED_BY_AUDITOR", "ALREADY_RETURNED", "STORE_UNAVAILABLE"} <= set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_every_failure_code_that_an_agent_records_has_words(code):
    assert code in FAILURES and failure(code) != code
    assert not re.search(r"[A-Z]_[A-Z]", failure(code))
