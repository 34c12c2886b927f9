"""Where the lab runs and under which names: read once from the environment, checked once.

This module and `sandbox` are the only places that know whether the stores are local or in the
cloud. Names and defaults are those of seed 000.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab_helpers.errors import LabError

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "data"

LOCAL_PROJECT = "soa-lab-local"
CATALOG_TIMEOUT_S = 4.0
_PROJECT = re.compile(r"[a-z][a-z0-9-]{4,28}[a-z0-9]")
_PLACEHOLDER = re.compile(r"your|placeholder|example|changeme|\[|<|project-?id", re.I)
_NAME = re.compile(r"[a-z][a-z0-9-]{1,28}[a-z0-9]")
_DATASET = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,1023}")
_REGION = re.compile(r"[a-z]+-[a-z]+[0-9]{1,2}")
_MODEL = re.compile(r"[A-Za-z0-9][\w.:/@-]{1,199}")
EMULATOR = "localhost:9010"  # where `gcloud emulators spanner start` listens
# Beside SPANNER_EMULATOR_HOST it says that the address there is the sandbox's own.
_OWN_SPANNER = "LAB_SANDBOX_SPANNER"


def is_gemini(model: str) -> bool:
    """True for a Gemini model's name, short or as Vertex AI spells it in full."""
    return model.rsplit("/", 1)[-1].startswith("gemini")


@dataclass(frozen=True)
class LabConfig:
    """Everything the lab takes from outside. `backend` is "sandbox" or "cloud"."""

    backend: str = "sandbox"
    project: str = LOCAL_PROJECT
    region: str = "us-central1"
    instance: str = "soa-lab"
    database: str = "thelook-soa-db"
    dataset: str = "soa_action_lineage"
    model: str = "gemini-3-flash-preview"
    model_location: str = "global"
    model_endpoint: str | None = None
    model_timeout_ms: int = 4000
    # Who speaks when the model does, where that is not the model itself: a local stand-in.
    model_speaks: str | None = None
    refund_limit: int = 10
    # host:port of Google's Spanner emulator, where it stands in for the sandbox's Spanner.
    emulator: str | None = None
    home: Path = ROOT / ".lab"

    @property
    def uses_model(self) -> bool:
        """True when replies may come from Gemini: a cloud project, or an endpoint of one's own."""
        return self.backend == "cloud" or self.model_endpoint is not None

    @property
    def rows_settle(self) -> bool:
        """True where rows that were streamed cannot be deleted at once: in the real BigQuery."""
        return self.backend == "cloud"

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> LabConfig:
        """Read and check the environment. Raises LabError that explains the wrong value."""
        project = env.get("LAB_PROJECT") or env.get("GOOGLE_CLOUD_PROJECT") or ""
        backend = env.get("LAB_BACKEND") or ("cloud" if project else "sandbox")
        if backend not in ("sandbox", "cloud"):
            raise LabError(
                f"LAB_BACKEND is {backend!r}.",
                "The lab runs on 'sandbox' (this machine) or 'cloud'.",
                "Unset LAB_BACKEND for the local sandbox.",
            )
        if backend == "cloud":
            _check_project(project)
        config = cls(
            backend=backend,
            project=project if backend == "cloud" else LOCAL_PROJECT,
            region=_named(env, "LAB_REGION", cls.region, _REGION),
            instance=_named(env, "LAB_INSTANCE", cls.instance, _NAME),
            database=_named(env, "LAB_DATABASE", cls.database, _NAME),
            dataset=_named(env, "LAB_DATASET", cls.dataset, _DATASET),
            model=_named(env, _model_key(env), cls.model, _MODEL),
            model_endpoint=env.get("LAB_MODEL_ENDPOINT") or None,
            model_timeout_ms=_number(
                env, "VERTEX_LLM_TIMEOUT_MS", cls.model_timeout_ms, 100, 60_000
            ),
            refund_limit=_number(env, "MAX_REFUNDS_100D_LIMIT", cls.refund_limit, 1, 1000),
            emulator=_emulator(env) if backend == "sandbox" else None,
            home=Path(env.get("LAB_HOME") or cls.home).expanduser().resolve(),
        )
        return config


def _model_key(env: Mapping[str, str]) -> str:
    only_adk = env.get("ADK_MODEL_NAME") and not env.get("LAB_MODEL")
    return "ADK_MODEL_NAME" if only_adk else "LAB_MODEL"


def _emulator(env: Mapping[str, str]) -> str | None:
    """Where Google's emulator is asked for: LAB_SPANNER=emulator, or an address set beforehand."""
    wanted = env.get("LAB_SPANNER") or ""
    if wanted not in ("", "sandbox", "emulator"):
        raise LabError(
            f"LAB_SPANNER is {wanted!r}.",
            "Spanner is played by the 'sandbox' or by Google's 'emulator'; a cloud project is"
            " chosen by LAB_PROJECT.",
            "Unset LAB_SPANNER for the sandbox.",
        )
    preset = env.get("SPANNER_EMULATOR_HOST") or ""
    if preset == env.get(_OWN_SPANNER):
        preset = ""
    if wanted == "sandbox":
        return None
    address = preset or (EMULATOR if wanted else None)
    if address and not re.fullmatch(r"[\w.-]+:\d{1,5}", address):
        raise LabError(
            f"SPANNER_EMULATOR_HOST is {address!r}.",
            f"It must be host:port, as in {EMULATOR!r}.",
            "Unset SPANNER_EMULATOR_HOST for the sandbox.",
        )
    return address


def _check_project(project: str) -> None:
    if not project:
        raise LabError(
            "LAB_BACKEND is 'cloud' but no project is named.",
            "LAB_PROJECT and GOOGLE_CLOUD_PROJECT are both empty.",
            "Set LAB_PROJECT to your project id, or unset LAB_BACKEND to work locally.",
        )
    if _PLACEHOLDER.search(project) or not _PROJECT.fullmatch(project):
        raise LabError(
            f"{project!r} is not a Google Cloud project id.",
            "A project id has 6 to 30 lower-case letters, digits and hyphens, starts with a letter,"
            " and is not a placeholder.",
            "Set LAB_PROJECT to the id shown in the console, or unset LAB_PROJECT and"
            " GOOGLE_CLOUD_PROJECT to work locally.",
        )


def _named(env: Mapping[str, str], key: str, default: str, pattern: re.Pattern[str]) -> str:
    value = env.get(key) or default
    if not pattern.fullmatch(value):
        raise LabError(
            f"{key} is {value!r}.",
            f"It must look like {default!r} (pattern {pattern.pattern}).",
            f"Unset {key} to use {default!r}.",
        )
    return value


def _number(env: Mapping[str, str], key: str, default: int, low: int, high: int) -> int:
    text = env.get(key) or str(default)
    if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
        raise LabError(
            f"{key} is {text!r}.",
            f"It must be a whole number from {low} to {high}.",
            f"Unset {key} to use {default}.",
        )
    return int(text)


def open_backend(config: LabConfig, progress: Callable[[str], None] | None = None) -> str:
    """Start or find the backend and point the client libraries at it.

    Returns one sentence that says where the lab runs. Raises LabError.
    """
    if config.backend == "cloud":
        _no_emulator_in_the_way()
        return f"Lab on Google Cloud: project {config.project}, Spanner {config.instance}."
    # Imported here: in the cloud nothing of the sandbox is needed.
    from lab_helpers import sandbox
    from lab_helpers.sandbox import client_env

    try:
        sandbox.ensure(config.home, progress=progress)
    except sandbox.SandboxError as error:
        raise LabError(
            "The local sandbox could not start.",
            str(error),
            "Run `python -m lab_helpers doctor`, or look at `python -m lab_helpers sandbox logs`.",
        ) from None
    hosts = sandbox.env(config.home)
    own = hosts["SPANNER_EMULATOR_HOST"]
    os.environ.update({**hosts, _OWN_SPANNER: own})
    client_env.prepare_spanner_client()
    client_env.use_sandbox_bigquery(config.project)
    if config.emulator and config.emulator != own:
        _use_emulator(config.emulator)
        return (
            f"Lab on this machine: Spanner is Google's emulator at {config.emulator}.\n"
            "BigQuery is the local sandbox. Replies come from templates."
        )
    return (
        "Lab in the local sandbox: no cloud account, data stays on this machine.\n"
        "Spanner and BigQuery are local stand-ins that speak the services' own protocols.\n"
        "Replies come from templates."
    )


def _use_emulator(address: str) -> None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=2.0).close()
    except OSError as error:
        raise LabError(
            f"Google's Spanner emulator does not answer at {address}.",
            str(error),
            "Start it with `gcloud emulators spanner start`, or unset LAB_SPANNER and"
            " SPANNER_EMULATOR_HOST to use the sandbox.",
        ) from None
    os.environ["SPANNER_EMULATOR_HOST"] = address
    # The emulator loses writes of transactions in a multiplexed session.
    os.environ["GOOGLE_CLOUD_SPANNER_MULTIPLEXED_SESSIONS_FOR_RW"] = "false"


def _no_emulator_in_the_way() -> None:
    for name in ("SPANNER_EMULATOR_HOST", "BIGQUERY_EMULATOR_HOST"):
        if os.environ.get(name):
            raise LabError(
                f"{name} is set, and LAB_PROJECT names a cloud project.",
                f"Google's clients would write to {os.environ[name]} and not to the project.",
                f"Unset {name} (restart the kernel where a local lab was opened in it), or unset"
                " LAB_PROJECT and GOOGLE_CLOUD_PROJECT to work locally.",
            )


def spanner_client(config: LabConfig, endpoint: str | None = None) -> Any:
    """A google-cloud-spanner Client for this backend (SPANNER_EMULATOR_HOST points it home).

    `endpoint` (host:port) is a proxy before the sandbox to speak to instead.
    """
    from google.cloud import spanner

    with _variable("SPANNER_EMULATOR_HOST", endpoint):
        return spanner.Client(project=config.project, disable_builtin_metrics=True)


_environment = threading.Lock()


@contextlib.contextmanager
def _variable(name: str, value: str | None) -> Iterator[None]:
    # Spanner's client takes the address of an emulator from the environment and nowhere else.
    if value is None:
        yield
        return
    with _environment:
        before = os.environ.get(name)
        os.environ[name] = value
        try:
            yield
        finally:
            if before is None:
                del os.environ[name]
            else:
                os.environ[name] = before


def bigquery_client(config: LabConfig, endpoint: str | None = None) -> Any:
    """A google-cloud-bigquery Client for this backend.

    `endpoint` (a URL) is a proxy before the sandbox to speak to instead.
    """
    from google.cloud import bigquery

    if config.backend == "cloud":
        return bigquery.Client(project=config.project, location=config.region)
    from google.auth.credentials import AnonymousCredentials

    return bigquery.Client(
        project=config.project,
        credentials=AnonymousCredentials(),
        client_options={"api_endpoint": endpoint} if endpoint else None,
    )


def catalog_lookup(config: LabConfig, endpoint: str | None = None) -> Callable[[], set[str]] | None:
    """What asks Knowledge Catalog for the ids of the glossary's terms; None in the sandbox.

    `endpoint` (host:port) is a local server to ask instead.
    """
    if config.backend != "cloud" and endpoint is None:
        return None

    def lookup() -> set[str]:
        parent = f"projects/{config.project}/locations/global/glossaries/soa-business-glossary"
        with catalog_client(endpoint) as client:
            # Without a timeout of ours the client would wait for ever, and the customer with it.
            terms = client.list_glossary_terms(parent=parent, timeout=CATALOG_TIMEOUT_S)
            return {term.name.rsplit("/", 1)[-1] for term in terms}

    return lookup


def catalog_client(endpoint: str | None = None) -> Any:
    """A BusinessGlossaryServiceClient; `endpoint` (host:port) is a local server to ask instead."""
    from google.cloud.dataplex_v1.services import business_glossary_service as service

    return _dataplex(
        service.BusinessGlossaryServiceClient,
        service.transports.BusinessGlossaryServiceGrpcTransport,
        endpoint,
    )


def aspect_client(endpoint: str | None = None) -> Any:
    """A CatalogServiceClient; `endpoint` (host:port) is a local server to ask instead."""
    from google.cloud.dataplex_v1.services import catalog_service as service

    return _dataplex(
        service.CatalogServiceClient, service.transports.CatalogServiceGrpcTransport, endpoint
    )


def _dataplex(client: Any, transport: Any, endpoint: str | None) -> Any:
    if endpoint is None:
        return client()
    import grpc

    return client(transport=transport(channel=grpc.insecure_channel(endpoint)))


def revive(config: LabConfig) -> Callable[[], object] | None:
    """What brings a killed sandbox back on its old ports; None in the cloud."""
    if config.backend == "cloud":
        return None
    from lab_helpers import sandbox

    return lambda: sandbox.ensure(config.home)
