"""Configuration explains each wrong value; nothing set means the sandbox."""

import pytest

from lab_helpers.config import LabConfig
from lab_helpers.errors import LabError


def test_nothing_set_is_the_sandbox():
    config = LabConfig.from_env({})
    assert (config.backend, config.database, config.dataset) == (
        "sandbox",
        "thelook-soa-db",
        "soa_action_lineage",
    )
    assert config.uses_model is False


@pytest.mark.parametrize("key", ["LAB_PROJECT", "GOOGLE_CLOUD_PROJECT"])
def test_a_project_means_the_cloud(key):
    config = LabConfig.from_env({key: "qwiklabs-gcp-04-abc"})
    assert (config.backend, config.model_location) == ("cloud", "global")


@pytest.mark.parametrize(
    ("env", "says"),
    [
        ({"LAB_PROJECT": "your-project-id"}, "not a Google Cloud project id"),
        ({"LAB_PROJECT": "[PROJECT_ID]"}, "not a Google Cloud project id"),
        ({"LAB_PROJECT": "My Project"}, "not a Google Cloud project id"),
        ({"LAB_PROJECT": "abc"}, "not a Google Cloud project id"),
        ({"LAB_BACKEND": "cloud"}, "no project is named"),
        ({"LAB_BACKEND": "aws"}, "LAB_BACKEND is 'aws'"),
        ({"VERTEX_LLM_TIMEOUT_MS": "4s"}, "VERTEX_LLM_TIMEOUT_MS is '4s'"),
        ({"MAX_REFUNDS_100D_LIMIT": "-1"}, "MAX_REFUNDS_100D_LIMIT is '-1'"),
        ({"LAB_INSTANCE": "X"}, "LAB_INSTANCE is 'X'"),
        ({"LAB_DATASET": "a-b"}, "LAB_DATASET is 'a-b'"),
    ],
)
def test_a_wrong_value_is_explained(env, says):
    with pytest.raises(LabError) as caught:
        LabConfig.from_env(env)
    assert says in caught.value.what
    assert caught.value.why and caught.value.next


def test_a_notebook_shows_three_lines_and_no_traceback():
    error = LabError("It broke.", "Because.", "Mend it.")
    assert error._render_traceback_() == ["It broke.", "Why: Because.", "Next: Mend it."]
