"""`doctor --cloud`: each line green or with its command, asked of a local server over REST."""

import contextlib
import json
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from google.auth.transport.requests import AuthorizedSession
from google.oauth2.credentials import Credentials

from lab_helpers.cloud_preflight import (
    NOTE,
    SERVICES,
    Asker,
    CloudPreflight,
    Line,
    cloud_preflight,
    estimate,
    require,
)
from lab_helpers.config import LabConfig
from lab_helpers.errors import LabError
from lab_helpers.lab import Lab
from lab_helpers.stores import schema

TOKEN = "ya29.a-token-of-the-account"
CONFIG = LabConfig(backend="cloud", project="my-project-1")
NEEDS = schema.document("cloud/requirements.json")


def quota(metric, dimension, *values, every="", identity="a-quota"):
    """A service's quota as the Cloud Quotas API lists it: (dimension's value or None, limit)."""
    infos = [
        {
            "dimensions": {dimension: name} if name else {},
            "details": {"value": str(limit)},
            "applicableLocations": ["us-central1", "europe-west1"],
        }
        for name, limit in values
    ]
    info = {"quotaId": identity, "metric": metric, "dimensionsInfos": infos}
    return {"quotaInfos": [{**info, "refreshInterval": every}]}


def nodes(*values):
    return 200, quota("spanner.googleapis.com/nodes", "region", *values, identity="NodesPerRegion")


def calls(*values):
    metric = "aiplatform.googleapis.com/generate_content_requests_per_minute"
    return 200, quota(metric, "base_model", *values, every="minute")


def services(state="ENABLED", without=()):
    return {
        "services": [
            {"name": f"projects/1/services/{s}", "state": "DISABLED" if s in without else state}
            for s in NEEDS["services"]
        ]
    }


# Path to (status, body): a project that is ready and empty.
READY = {
    "/v1/projects/my-project-1/services:batchGet": (200, services()),
    "/v1/projects/my-project-1:testIamPermissions": (
        200,
        {"permissions": list(NEEDS["permissions"])},
    ),
    "/v1/projects/my-project-1/instances/soa-lab": (404, {}),
    "/v1/projects/my-project-1/instanceConfigs/regional-us-central1": (200, {}),
    "/bigquery/v2/projects/my-project-1/datasets/soa_action_lineage": (404, {}),
    "/bigquery/v2/projects/my-project-1/jobs": (200, {}),
    "/v1/projects/my-project-1/locations/global/publishers/google/models/"
    "gemini-3-flash-preview:countTokens": (200, {"totalTokens": 1}),
    "/v1/projects/my-project-1/locations/global/services/spanner.googleapis.com/quotaInfos": (
        nodes((None, 100))
    ),
    "/v1/projects/my-project-1/locations/global/services/aiplatform.googleapis.com/quotaInfos": (
        calls(("gemini-3-flash", 60), ("gemini-2", 5))
    ),
}
APIS, ROLES, INSTANCE, REGION, DATASET, JOBS, MODEL, NODES, CALLS = READY


@contextlib.contextmanager
def project(**changes):
    """The project as a local server; gives what asks it, and the requests it got."""
    answers, seen = {**READY, **changes.pop("answers", {})}, []

    class Service(BaseHTTPRequestHandler):
        def answer(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = urllib.parse.urlsplit(self.path).path
            seen.append((self.command, path, self.headers["Authorization"], body))
            status, found = answers.get(path, (500, {}))
            sent = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_POST = answer

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    here = f"http://127.0.0.1:{server.server_port}"
    try:
        session = AuthorizedSession(Credentials(token=TOKEN))
        yield Asker(session, dict.fromkeys(SERVICES, here)), seen
    finally:
        server.shutdown()
        server.server_close()


def test_a_ready_project_is_green_and_nothing_is_written():
    with project() as (asker, seen):
        found = cloud_preflight(CONFIG, asker)
        require(CONFIG, asker)
    assert found.green and repr(found).startswith("Green: project my-project-1.")
    posts = {path for verb, path, _, _ in seen if verb == "POST"}
    assert posts == {ROLES, MODEL}
    assert {who for _, _, who, _ in seen} == {f"Bearer {TOKEN}"}


def error(code, message):
    return code, {"error": {"code": code, "message": message}}


LACKS = [p for p in NEEDS["permissions"] if not p.startswith("bigquery")]


@pytest.mark.parametrize(
    ("answers", "text", "do"),
    [
        (
            {APIS: (200, services(without=["spanner.googleapis.com"]))},
            "APIs are not enabled: spanner.googleapis.com",
            "gcloud services enable spanner.googleapis.com --project my-project-1",
        ),
        (
            {ROLES: (200, {"permissions": LACKS})},
            "lacks bigquery.datasets.create, bigquery.jobs.create",
            "--role roles/bigquery.user",
        ),
        (
            {INSTANCE: (200, {"edition": "STANDARD"})},
            "soa-lab is STANDARD: no graphs",
            "gcloud spanner instances update soa-lab --edition ENTERPRISE --project my-project-1",
        ),
        (
            {REGION: (404, {})},
            "no instances in us-central1",
            "gcloud spanner instance-configs list --project my-project-1",
        ),
        (
            {DATASET: (200, {"location": "EU"})},
            "is in EU, the lab in us-central1",
            "export LAB_REGION=eu",
        ),
        (
            {NODES: nodes((None, 100), ("us-central1", 0))},
            "Spanner quota in us-central1 is 0 nodes",
            "gcloud beta quotas preferences create --project=my-project-1"
            " --service=spanner.googleapis.com --quota-id=NodesPerRegion --preferred-value=1"
            " --dimensions=region=us-central1",
        ),
        ({MODEL: error(404, "no")}, "there is no model", "export LAB_MODEL="),
        (
            {MODEL: error(403, f"Bearer {TOKEN} may not")},
            "Model: 403 Bearer … may not",
            "set-quota-project my-project-1",
        ),
        (
            {APIS: error(401, "who?")},
            "APIs: the account was refused",
            "gcloud auth application-default login",
        ),
        ({INSTANCE: (500, {})}, "Spanner: 500", "run this again"),
    ],
)
def test_what_is_wrong_comes_with_the_command_that_mends_it(answers, text, do):
    with project(answers=answers) as (asker, _):
        found = cloud_preflight(CONFIG, asker)
        with pytest.raises(LabError) as refused:
            require(CONFIG, asker)
    wrong = [line for line in found.lines if line.state == "wrong"]
    assert len(wrong) == 1 and text in wrong[0].text and do in wrong[0].do
    assert TOKEN not in repr(found) + found._repr_html_() + str(refused.value)
    assert "nothing was created" in refused.value.what


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ({INSTANCE: (200, {"edition": "ENTERPRISE"})}, "soa-lab is there, edition ENTERPRISE"),
        ({DATASET: (200, {"location": "us-central1"})}, "BigQuery runs GQL here (dry run"),
        (
            {DATASET: (200, {"location": "us-central1"}), JOBS: error(400, "needs an edition")},
            "runs no GQL here yet (400 needs an edition); the lab gives the same rows",
        ),
        ({ROLES: error(400, "what is that?")}, "roles could not be looked at (400 what is that?)"),
        ({}, "Spanner quota in us-central1: up to 100 node(s); 0.1 is asked for"),
        ({NODES: nodes(("us-central1", -1))}, "Spanner quota in us-central1: without a limit"),
        ({NODES: nodes(("us-east1", 0))}, "no quota of Spanner nodes is listed for us-central1"),
        ({NODES: error(403, "not enabled")}, "quota of spanner.googleapis.com: 403 not enabled"),
        ({NODES: error(403, "no")}, "gcloud services enable cloudquotas.googleapis.com"),
        ({}, "gemini-3-flash-preview: 60 calls a minute; a turn makes two at most"),
        ({CALLS: calls(("gemini-2", 5))}, "no fixed number of calls a minute is listed"),
        ({CALLS: calls(("gemini-3-flash", 0))}, "0 calls a minute; turns answer by template"),
        ({CALLS: (200, {})}, "its quota is shared"),
        ({MODEL: error(429, "slow down")}, "out of quota now; turns answer by template"),
    ],
)
def test_what_the_lab_can_live_with_is_no_obstacle(answers, text):
    with project(answers=answers) as (asker, _):
        found = cloud_preflight(CONFIG, asker)
    assert found.green and text in repr(found)


async def test_the_panel_counts_the_calls_of_the_quota(lab):
    """The number that the pre-flight read is kept in Spanner, for the kernels that come after."""
    with project() as (asker, _):
        lab._note_quota(cloud_preflight(CONFIG, asker))
    shared = Line(NOTE, "its quota is shared")
    try:
        with lab.faults.gemini("429", timeout_ms=500):
            panel = lab.panel()
            await panel.say("Please refund order ORD-90124.")
        said = "made 1 model call in the last minute; the project's quota is 60."
        assert said in panel.status
    finally:
        lab._note_quota(CloudPreflight("my-project-1", (shared,)))
    assert lab.model_calls_a_minute is None


def test_services_that_do_not_answer_are_lines_and_no_exception():
    session = AuthorizedSession(Credentials(token=TOKEN))
    asker = Asker(session, dict.fromkeys(SERVICES, "http://127.0.0.1:9"))
    found = cloud_preflight(CONFIG, asker)
    assert sum("no answer" in line.text for line in found.lines) == 5
    assert not found.green and TOKEN not in repr(found)


def test_the_estimate_shows_its_arithmetic():
    price, use = NEEDS["prices"], NEEDS["class_hour"]
    calls = use["turns"] * use["model_calls_a_turn"]
    tokens = use["tokens_in_a_call"] * price["model_million_tokens_in"]
    tokens += use["tokens_out_a_call"] * price["model_million_tokens_out"]
    scanned = use["questions"] * use["mebibytes_a_question"] / 2**20
    hour = price["spanner_enterprise_1000_units_hour"] / 10 + calls * tokens / 1e6
    hour += scanned * price["bigquery_tebibyte_scanned"]
    assert estimate(3, 30).startswith(f"estimate: ${hour * 90:.2f} for 30 project(s) x 3 h")
    for source in (f"assumed on {price['date']}", *price["pages"]):
        assert source in estimate()


def test_the_cloud_is_not_touched_before_the_account_and_the_project_are_known(monkeypatch):
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("CLOUDSDK_CONFIG", "/nowhere")
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    lab = Lab(CONFIG)
    for begin in (lambda: lab.provision(progress=None), lab.cloud_preflight):
        with pytest.raises(LabError, match="no Google account"):
            begin()
    assert not {"spanner", "bigquery"} & set(vars(lab))


def test_the_cloud_is_asked_about_only_where_a_project_is_named():
    with pytest.raises(LabError, match="runs on this machine"):
        Lab(LabConfig()).cloud_preflight()
