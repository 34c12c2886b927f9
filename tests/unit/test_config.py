"""Configuration explains each wrong value; nothing set means the sandbox."""

import pytest

from lab_helpers.config import LabConfig, open_backend
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
        ({"LAB_DATABASE": "My db"}, "LAB_DATABASE is 'My db'"),
        ({"LAB_REGION": "Iowa"}, "LAB_REGION is 'Iowa'"),
        ({"LAB_REGION": "us-central1-a"}, "LAB_REGION is 'us-central1-a'"),
        ({"LAB_MODEL": "gemini 3"}, "LAB_MODEL is 'gemini 3'"),
        ({"ADK_MODEL_NAME": "<model>"}, "ADK_MODEL_NAME is '<model>'"),
        ({"VERTEX_LLM_TIMEOUT_MS": "50"}, "VERTEX_LLM_TIMEOUT_MS is '50'"),
        ({"LAB_SPANNER": "real"}, "LAB_SPANNER is 'real'"),
        ({"SPANNER_EMULATOR_HOST": "http://here"}, "SPANNER_EMULATOR_HOST is 'http://here'"),
    ],
)
def test_a_wrong_value_is_explained(env, says):
    with pytest.raises(LabError) as caught:
        LabConfig.from_env(env)
    assert says in caught.value.what
    assert caught.value.why and caught.value.next


def test_the_published_lab_names_are_the_defaults_and_each_can_be_set():
    names = {
        "LAB_PROJECT": "qwiklabs-gcp-04-abc",
        "LAB_REGION": "europe-west4",
        "LAB_INSTANCE": "my-instance",
        "LAB_DATABASE": "my-db",
        "LAB_DATASET": "my_trail",
        "LAB_MODEL": "openai/gpt-4o",
        "VERTEX_LLM_TIMEOUT_MS": "2500",
    }
    config = LabConfig.from_env(names)
    assert names == {
        "LAB_PROJECT": config.project,
        "LAB_REGION": config.region,
        "LAB_INSTANCE": config.instance,
        "LAB_DATABASE": config.database,
        "LAB_DATASET": config.dataset,
        "LAB_MODEL": config.model,
        "VERTEX_LLM_TIMEOUT_MS": str(config.model_timeout_ms),
    }
    assert config.model_location == "global"


@pytest.mark.parametrize(
    ("env", "address"),
    [
        ({}, None),
        ({"LAB_SPANNER": "sandbox", "SPANNER_EMULATOR_HOST": "localhost:1"}, None),
        ({"LAB_SPANNER": "emulator"}, "localhost:9010"),
        ({"LAB_SPANNER": "emulator", "SPANNER_EMULATOR_HOST": "localhost:1"}, "localhost:1"),
        ({"SPANNER_EMULATOR_HOST": "localhost:1"}, "localhost:1"),
        ({"SPANNER_EMULATOR_HOST": "localhost:1", "LAB_SANDBOX_SPANNER": "localhost:1"}, None),
        ({"SPANNER_EMULATOR_HOST": "localhost:1", "LAB_PROJECT": "my-project-1"}, None),
    ],
)
def test_googles_emulator_is_asked_for_by_name_or_by_an_address_set_before(env, address):
    assert LabConfig.from_env(env).emulator == address


@pytest.mark.parametrize("name", ["SPANNER_EMULATOR_HOST", "BIGQUERY_EMULATOR_HOST"])
def test_a_cloud_lab_refuses_to_write_to_an_emulator(monkeypatch, name):
    monkeypatch.delenv("SPANNER_EMULATOR_HOST", raising=False)
    monkeypatch.setenv(name, "localhost:1")
    with pytest.raises(LabError, match=f"{name} is set"):
        open_backend(LabConfig.from_env({"LAB_PROJECT": "my-project-1"}))


def test_a_notebook_shows_three_lines_and_no_traceback():
    error = LabError("It broke.", "Because.", "Mend it.")
    assert error._render_traceback_() == ["It broke.", "Why: Because.", "Next: Mend it."]
