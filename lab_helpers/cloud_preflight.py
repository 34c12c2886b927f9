"""Before anything is made in a Google Cloud project: green, or the command that mends it.

Every check is one small question over REST, asked with the account's own credentials. None creates,
changes or costs anything, and no check raises: a service that does not answer is a line too.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lab_helpers.config import LabConfig, is_gemini
from lab_helpers.errors import LabError, scrubbed
from lab_helpers.stores import schema

GREEN, NOTE, RED = "ok", "note", "wrong"
TIMEOUT_S = 15.0
_LOGIN = "gcloud auth application-default login"
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
SERVICES = (
    "serviceusage",
    "cloudresourcemanager",
    "cloudquotas",
    "spanner",
    "bigquery",
    "aiplatform",
)


@dataclass(frozen=True)
class Line:
    """One finding; `do` is the command that mends it, empty where nothing has to be mended.

    `calls` is the number of model calls a minute that the finding is about, or None.
    """

    state: str
    text: str
    do: str = ""
    calls: int | None = None


@dataclass(frozen=True)
class CloudPreflight:
    """Every finding of one project. Green when nothing is wrong; a note is no obstacle."""

    project: str
    lines: tuple[Line, ...]

    @property
    def green(self) -> bool:
        return all(line.state != RED for line in self.lines)

    @property
    def model_calls_a_minute(self) -> int | None:
        """The model's quota; None where the project has no fixed one, or it was not told."""
        return next((line.calls for line in self.lines if line.calls is not None), None)

    def __repr__(self) -> str:
        head = "Green" if self.green else "Not yet"
        shown = [f"{head}: project {self.project}. Nothing was created."]
        for line in self.lines:
            shown.append(f"{line.state:<6}{line.text}")
            if line.do:
                shown.append(f"      Next: {line.do}")
        return "\n".join(shown)

    def _repr_html_(self) -> str:
        mark = "🟢" if self.green else "🔴"
        return f"<pre role='status'>{mark} {html.escape(repr(self))}</pre>"


class Asker:
    """REST with the account's credentials. `places` maps a service to another address."""

    def __init__(self, session: Any, places: Mapping[str, str] | None = None) -> None:
        at_google = {name: f"https://{name}.googleapis.com" for name in SERVICES}
        self._session, self._places = session, {**at_google, **(places or {})}

    def ask(self, service: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
        """Status and JSON of a GET, or of a POST where there is a body."""
        answer = self._session.request(
            "GET" if body is None else "POST",
            f"{self._places[service]}/{path}",
            json=body,
            timeout=TIMEOUT_S,
        )
        try:
            found = answer.json()
        except ValueError:
            found = {}
        return answer.status_code, found if isinstance(found, dict) else {}


def account_session() -> Any:
    """A session with the account's own credentials. Raises LabError where there are none."""
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError
    from google.auth.transport.requests import AuthorizedSession

    try:
        credentials, _ = google.auth.default(scopes=[_SCOPE])
    except DefaultCredentialsError as error:
        raise LabError(
            "There is no Google account to work with.",
            scrubbed(str(error)).splitlines()[0],
            "Run `gcloud auth application-default login`; in Colab:"
            " `from google.colab import auth; auth.authenticate_user()`.",
        ) from None
    return AuthorizedSession(credentials)


def cloud_preflight(config: LabConfig, asker: Asker | None = None) -> CloudPreflight:
    """Ask everything the lab needs of `config.project`. Raises LabError without an account."""
    from google.auth.exceptions import GoogleAuthError

    asker = asker or Asker(account_session())
    lines: list[Line] = []
    for name, check in _CHECKS.items():
        try:
            lines += check(asker, config)
        except GoogleAuthError as error:
            said = scrubbed(str(error))[:200]
            lines.append(Line(RED, f"{name}: the account was refused ({said})", _LOGIN))
        except Exception as error:
            said = scrubbed(str(error))[:200]
            lines.append(
                Line(RED, f"{name}: no answer ({type(error).__name__}: {said})", "run this again")
            )
    return CloudPreflight(config.project, tuple(lines))


def require(config: LabConfig, asker: Asker | None = None) -> CloudPreflight:
    """What was found where the project is green; else LabError that lists what is wrong."""
    found = cloud_preflight(config, asker)
    if not found.green:
        wrong = [line for line in found.lines if line.state == RED]
        raise LabError(
            f"Project {config.project} is not ready; nothing was created.",
            " ".join(f"{line.text}." for line in wrong),
            " && ".join(dict.fromkeys(line.do for line in wrong)),
        )
    return found


def _apis(asker: Asker, config: LabConfig) -> Iterator[Line]:
    needed = schema.document("cloud/requirements.json")["services"]
    names = "&".join(f"names=projects/{config.project}/services/{s}" for s in needed)
    path = f"v1/projects/{config.project}/services:batchGet?{names}"
    status, found = asker.ask("serviceusage", path)
    if status != 200:
        yield _refused("APIs", status, found, config)
        return
    on = {
        s["name"].rsplit("/", 1)[-1]
        for s in found.get("services", [])
        if s.get("state") == "ENABLED"
    }
    missing = [s for s in needed if s not in on]
    if not missing:
        yield Line(GREEN, f"{len(needed)} APIs are enabled")
        return
    command = f"gcloud services enable {' '.join(missing)} --project {config.project}"
    yield Line(RED, f"APIs are not enabled: {', '.join(missing)}", command)


def _roles(asker: Asker, config: LabConfig) -> Iterator[Line]:
    needed = schema.document("cloud/requirements.json")["permissions"]
    path = f"v1/projects/{config.project}:testIamPermissions"
    status, found = asker.ask("cloudresourcemanager", path, {"permissions": list(needed)})
    if status == 400:
        # One name that the project's IAM does not know refuses the whole question.
        yield Line(NOTE, f"roles could not be looked at ({_said(found, status)})")
        return
    if status != 200:
        yield _refused("Roles", status, found, config)
        return
    missing = {p: role for p, role in needed.items() if p not in found.get("permissions", [])}
    if not missing:
        yield Line(GREEN, f"the account has the {len(needed)} permissions the lab needs")
    for role in dict.fromkeys(missing.values()):
        lacks = ", ".join(p for p, r in missing.items() if r == role)
        command = (
            f"gcloud projects add-iam-policy-binding {config.project}"
            f' --member "user:$(gcloud config get-value account)" --role {role}'
        )
        yield Line(RED, f"the account lacks {lacks}", command)


def _spanner(asker: Asker, config: LabConfig) -> Iterator[Line]:
    place = f"v1/projects/{config.project}"
    status, found = asker.ask("spanner", f"{place}/instances/{config.instance}")
    if status == 200:
        edition = found.get("edition", "EDITION_UNSPECIFIED")
        if edition in ("ENTERPRISE", "ENTERPRISE_PLUS"):
            yield Line(GREEN, f"Spanner instance {config.instance} is there, edition {edition}")
            return
        command = (
            f"gcloud spanner instances update {config.instance} --edition ENTERPRISE"
            f" --project {config.project}"
        )
        yield Line(RED, f"Spanner instance {config.instance} is {edition}: no graphs", command)
        return
    if status != 404:
        yield _refused("Spanner", status, found, config)
        return
    status, found = asker.ask("spanner", f"{place}/instanceConfigs/regional-{config.region}")
    if status != 200:
        command = f"gcloud spanner instance-configs list --project {config.project}"
        yield Line(RED, f"Spanner has no instances in {config.region} (LAB_REGION)", command)
        return
    yield Line(
        GREEN,
        f"Spanner instance {config.instance} will be made in {config.region}: ENTERPRISE, 100"
        " processing units",
    )
    yield from _spanner_quota(asker, config)


def _spanner_quota(asker: Asker, config: LabConfig) -> Iterator[Line]:
    """Whether the region's quota of nodes leaves room; the lab asks for a tenth of one."""
    quotas, refusal = _quotas(asker, config, "spanner.googleapis.com")
    for quota in quotas:
        if "node" not in str(quota.get("metric", "")).rsplit("/", 1)[-1].lower():
            continue
        for value in _values(quota, "region", config.region):
            if value != 0:
                free = "without a limit" if value < 0 else f"up to {value} node(s)"
                yield Line(GREEN, f"Spanner quota in {config.region}: {free}; 0.1 is asked for")
                return
            command = (
                f"gcloud beta quotas preferences create --project={config.project}"
                f" --service=spanner.googleapis.com --quota-id={quota.get('quotaId')}"
                f" --preferred-value=1 --dimensions=region={config.region}"
            )
            yield Line(RED, f"Spanner quota in {config.region} is 0 nodes", command)
            return
    yield refusal or Line(NOTE, f"no quota of Spanner nodes is listed for {config.region}")


def _model_quota(asker: Asker, config: LabConfig, name: str) -> Iterator[Line]:
    """How many calls a minute the project has for this model, where that is fixed at all."""
    quotas, refusal = _quotas(asker, config, "aiplatform.googleapis.com")
    found = [
        value
        for quota in quotas
        if quota.get("refreshInterval") == "minute" and "generate_content" in str(quota["metric"])
        for value in _values(quota, "base_model", name)
    ]
    if not found:
        yield refusal or Line(
            NOTE, f"no fixed number of calls a minute is listed for {name}: its quota is shared"
        )
    elif max(found) == 0:
        yield Line(NOTE, f"{name}: 0 calls a minute; turns answer by template", calls=0)
    else:
        text = f"{name}: {max(found)} calls a minute; a turn makes two at most"
        yield Line(GREEN, text, calls=max(found))


def _quotas(
    asker: Asker, config: LabConfig, service: str
) -> tuple[list[Mapping[str, Any]], Line | None]:
    """Every quota of a service as the Cloud Quotas API lists it, or the line that says why not."""
    found: list[Mapping[str, Any]] = []
    page = ""
    while True:
        place = f"v1/projects/{config.project}/locations/global/services/{service}/quotaInfos"
        status, answer = asker.ask("cloudquotas", f"{place}?pageSize=1000&pageToken={page}")
        if status != 200:
            enable = "gcloud services enable cloudquotas.googleapis.com --project "
            said = f"quota of {service}: {_said(answer, status)}"
            return [], Line(NOTE, said, enable + config.project)
        found += answer.get("quotaInfos", [])
        page = answer.get("nextPageToken", "")
        if not page:
            return found, None


def _values(quota: Mapping[str, Any], dimension: str, wanted: str) -> list[int]:
    """The quota's value for this region or model: its own, else the one for all others."""
    own, others = [], []
    for info in quota.get("dimensionsInfos", []):
        value = info.get("details", {}).get("value")
        if value is None:
            continue
        named = info.get("dimensions", {}).get(dimension)
        if named == wanted or (named and dimension == "base_model" and wanted.startswith(named)):
            own.append(int(value))
        elif named is None and (
            dimension != "region"
            or {wanted, "global"} & set(info.get("applicableLocations", [wanted]))
        ):
            others.append(int(value))
    return own or others


def _bigquery(asker: Asker, config: LabConfig) -> Iterator[Line]:
    path = f"bigquery/v2/projects/{config.project}"
    status, found = asker.ask("bigquery", f"{path}/datasets/{config.dataset}")
    if status == 404:
        yield Line(GREEN, f"BigQuery dataset {config.dataset} will be made in {config.region}")
        yield Line(NOTE, "whether this project runs GQL in BigQuery shows once the graph is made")
        return
    if status != 200:
        yield _refused("BigQuery", status, found, config)
        return
    location = str(found.get("location", ""))
    if location.lower() != config.region.lower():
        yield Line(
            RED,
            f"BigQuery dataset {config.dataset} is in {location}, the lab in {config.region}",
            f"export LAB_REGION={location.lower()}",
        )
        return
    yield Line(GREEN, f"BigQuery dataset {config.dataset} is there, in {location}")
    query = {"query": schema.gql("lineage/counts", config.dataset), "useLegacySql": False}
    job = {
        "jobReference": {"location": config.region},
        "configuration": {"dryRun": True, "query": query},
    }
    status, found = asker.ask("bigquery", f"{path}/jobs", job)
    if status == 200:
        yield Line(GREEN, "BigQuery runs GQL here (dry run, nothing scanned)")
    else:
        yield Line(
            NOTE,
            f"BigQuery runs no GQL here yet ({_said(found, status)}); the lab gives the same rows"
            " by plain SQL",
        )


def _model(asker: Asker, config: LabConfig) -> Iterator[Line]:
    if not is_gemini(config.model):
        yield Line(NOTE, f"{config.model} is not Gemini: its first turn tells whether it answers")
        return
    name = config.model.rsplit("/", 1)[-1]
    path = (
        f"v1/projects/{config.project}/locations/{config.model_location}"
        f"/publishers/google/models/{name}:countTokens"
    )
    body = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
    status, found = asker.ask("aiplatform", path, body)
    if status == 200:
        yield Line(GREEN, f"{name} answers at location {config.model_location}")
        yield from _model_quota(asker, config, name)
    elif status == 404:
        yield Line(RED, f"there is no model {name}", "export LAB_MODEL=gemini-3-flash-preview")
    elif status == 429:
        yield Line(NOTE, f"{name} is out of quota now; turns answer by template until it is back")
    else:
        yield _refused("Model", status, found, config)


def _budget(asker: Asker, config: LabConfig) -> Iterator[Line]:
    yield Line(NOTE, estimate())


def estimate(hours: float = 1.0, students: int = 1) -> str:
    """What the lab costs, with its arithmetic, the date of its prices and the pages to compare.

    The prices are a file of the lab: no service tells them, so the line says that they are assumed.
    """
    needs = schema.document("cloud/requirements.json")
    price, use = needs["prices"], needs["class_hour"]
    spanner = price["spanner_enterprise_1000_units_hour"] / 10
    calls = use["turns"] * use["model_calls_a_turn"]
    model = (
        calls
        * (
            use["tokens_in_a_call"] * price["model_million_tokens_in"]
            + use["tokens_out_a_call"] * price["model_million_tokens_out"]
        )
        / 1e6
    )
    scanned = use["questions"] * use["mebibytes_a_question"]
    bigquery = scanned / 2**20 * price["bigquery_tebibyte_scanned"]
    hour = spanner + model + bigquery
    return (
        f"estimate: ${hour * hours * students:.2f} for {students} project(s) x {hours:g} h ="
        f" ${spanner:.3f} Spanner (100 of 1,000 units) + ${model:.3f} model ({calls} calls)"
        f" + ${bigquery:.3f} BigQuery ({scanned} MiB) an hour each."
        f" {price['currency']}; prices assumed on {price['date']}, not read from Google's pages:"
        f" compare them with {', '.join(price['pages'])}"
    )


def _refused(what: str, status: int, found: Mapping[str, Any], config: LabConfig) -> Line:
    command = (
        f"gcloud auth application-default set-quota-project {config.project}"
        if status == 403
        else _LOGIN
        if status == 401
        else "run this again"
    )
    return Line(RED, f"{what}: {_said(found, status)}", command)


def _said(found: Mapping[str, Any], status: int) -> str:
    error = found.get("error")
    message = error.get("message", "") if isinstance(error, dict) else ""
    return f"{status} {scrubbed(str(message))[:200]}".strip()


_CHECKS: dict[str, Callable[[Asker, LabConfig], Iterator[Line]]] = {
    "APIs": _apis,
    "Roles": _roles,
    "Spanner": _spanner,
    "BigQuery": _bigquery,
    "Model": _model,
    "Budget": _budget,
}
