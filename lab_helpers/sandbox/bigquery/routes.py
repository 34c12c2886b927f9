"""The two REST calls that take a query (jobs.insert, jobs.query), before bqemulator's own.

What bqemulator understands is handed to it unchanged. A statement about property graphs is run
here and recorded as a job of bqemulator's, so that everything that reads jobs and results finds it.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import uuid4

from bqemulator.api.dependencies import AppContext, get_caller
from bqemulator.api.routes import jobs
from bqemulator.catalog.etag import generate_etag
from bqemulator.catalog.models import JobMeta
from bqemulator.domain.errors import (
    AlreadyExistsError,
    DomainError,
    InvalidQueryError,
    NotFoundError,
)
from bqemulator.jobs.executor import JOB_RESULTS, JOB_SCHEMAS
from bqemulator.row_access.identity import CallerIdentity
from fastapi import APIRouter, Depends, FastAPI, Request

from lab_helpers.sandbox.bigquery import queries
from lab_helpers.sandbox.bigquery.graph_store import GraphStore
from lab_helpers.sandbox.bigquery.history import JobHistory
from lab_helpers.sandbox.bigquery.information_schema import with_property_graphs
from lab_helpers.sandbox.bigquery.keys import KeyStore, strip_keys
from lab_helpers.sandbox.bigquery.names import NameScope

Json = dict[str, Any]
Route = Callable[[str, Request, AppContext, CallerIdentity], Awaitable[Json]]
Caller = Annotated[CallerIdentity, Depends(get_caller)]

# The dataset under which bqemulator answers for a finished query's own result table.
_RESULTS_DATASET = "_bqemu_anonymous"


def install(app: FastAPI, context: AppContext) -> None:
    """Put this module's routes before those of `app` for the same paths."""
    desk = _Desk(context)
    router = APIRouter()
    base = "/bigquery/v2/projects/{project_id}"
    router.add_api_route(f"{base}/jobs", desk.insert_job, methods=["POST"])
    router.add_api_route(f"{base}/queries", desk.query, methods=["POST"])
    app.router.routes[:0] = router.routes


@dataclass(frozen=True)
class _Asked:
    """One request with a query in it."""

    project: str
    request: Request
    caller: CallerIdentity
    body: Json
    query: Json  # the part of the body that holds the query and its settings
    statement: queries.Statement


class _Desk:
    """Takes queries in; knows the graphs and keys bqemulator does not."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._keys = KeyStore(context)
        self._graphs = GraphStore(context, self._keys.columns)
        self._history = JobHistory(context)

    async def insert_job(self, project_id: str, request: Request, caller: Caller) -> Json:
        """jobs.insert: answers the finished job."""
        return self._noted(project_id, await self._insert_job(project_id, request, caller))

    async def query(self, project_id: str, request: Request, caller: Caller) -> Json:
        """jobs.query: answers the first page of rows."""
        return self._noted(project_id, await self._query(project_id, request, caller))

    def _noted(self, project: str, answer: Json) -> Json:
        job_id = answer.get("jobReference", {}).get("jobId")
        if job_id:
            self._history.add(project, job_id)
        return answer

    async def _insert_job(self, project_id: str, request: Request, caller: Caller) -> Json:
        body = await request.json()
        configuration = body.get("configuration")
        query = configuration.get("query") if isinstance(configuration, dict) else None
        if not isinstance(query, dict):
            return await jobs.insert_job(project_id, request, self._context, caller)
        statement = _statement(project_id, query, bool(configuration.get("dryRun")))
        asked = _Asked(project_id, request, caller, body, query, statement)
        try:
            outcome = await self._run(asked)
        except DomainError as error:
            if error.http_status == 400:
                raise
            # As bqemulator does: the client takes a 404 or 409 to be about the job itself.
            return self._record(asked, {}, error)
        if outcome is None:
            return await self._forward(asked, jobs.insert_job)
        return self._record(asked, _statistics(outcome), None, outcome)

    async def _query(self, project_id: str, request: Request, caller: Caller) -> Json:
        body = await request.json()
        statement = _statement(project_id, body, bool(body.get("dryRun")))
        asked = _Asked(project_id, request, caller, body, body, statement)
        outcome = await self._run(asked)
        if outcome is None:
            answer = await self._forward(asked, jobs.query)
            _raise_if_failed(answer)
            return answer
        statistics = _statistics(outcome)
        job = self._record(asked, statistics, None, outcome)
        answer = {"jobReference": job["jobReference"], "jobComplete": True, "rows": []}
        if not statement.dry_run:
            answer = jobs.get_query_results(
                project_id,
                job["jobReference"]["jobId"],
                self._context,
                maxResults=int(body.get("maxResults", 10_000)),
                startIndex=0,
                pageToken=None,
            )
        return {
            **statistics,
            **answer,
            "schema": {"fields": outcome.result.fields},
            "kind": "bigquery#queryResponse",
        }

    async def _run(self, asked: _Asked) -> queries.Outcome | None:
        outcome = await queries.run(asked.statement, self._context, self._graphs)
        stripped = None if outcome else strip_keys(asked.statement.sql)
        if stripped and not stripped.sql:
            # ALTER TABLE ... ADD PRIMARY KEY and nothing else: there is nothing for bqemulator.
            if not self._save_keys(asked.statement, stripped.keys):
                raise NotFoundError(f"Not found: Table {', '.join(stripped.keys)}")
            return queries.Outcome("ALTER_TABLE", queries.NOTHING)
        return outcome

    async def _forward(self, asked: _Asked, route: Route) -> Json:
        """Let bqemulator's `route` run the statement, in words it knows."""
        written = asked.statement.sql
        stripped = strip_keys(written)
        sql = stripped.sql if stripped else written
        sql = with_property_graphs(sql, asked.statement.scope, self._graphs)
        if sql == written:
            return await route(asked.project, asked.request, self._context, asked.caller)
        asked.query["query"] = sql
        request = _with_body(asked.request, asked.body)
        answer = await route(asked.project, request, self._context, asked.caller)
        failed = answer.get("errors") or answer.get("status", {}).get("errorResult")
        if stripped and not failed:
            self._save_keys(asked.statement, stripped.keys)
        self._restore_text(asked, answer, written)
        return answer

    def _save_keys(self, statement: queries.Statement, keys: dict[str, list[str]]) -> bool:
        """Keep what was declared; False when one of the tables does not exist (any more)."""
        names = {statement.scope.complete(table): columns for table, columns in keys.items()}
        if statement.dry_run:
            return True
        saved = [name and self._keys.save(name, columns) for name, columns in names.items()]
        return all(saved)

    def _restore_text(self, asked: _Asked, answer: Json, written: str) -> None:
        """A job shows the statement as it was sent."""
        asked.query["query"] = written
        if "configuration" in answer:
            answer["configuration"]["query"]["query"] = written
        job_id = answer.get("jobReference", {}).get("jobId", "")
        job = self._context.catalog.get_job(asked.project, job_id)
        if job:
            query = {**job.configuration.get("query", {}), "query": written}
            configuration = {**job.configuration, "query": query}
            self._context.catalog.upsert_job(
                job.model_copy(update={"configuration": configuration})
            )

    def _record(
        self,
        asked: _Asked,
        statistics: Json,
        error: DomainError | None,
        outcome: queries.Outcome | None = None,
    ) -> Json:
        """Keep a finished job and its rows as bqemulator keeps its own; answers the job."""
        reference = asked.body.get("jobReference") or {}
        job_id = reference.get("jobId") or f"lab_{uuid4().hex}"
        now = self._context.clock.now()
        if outcome and not asked.statement.dry_run:
            JOB_RESULTS[job_id] = outcome.result.rows
            JOB_SCHEMAS[job_id] = outcome.result.fields
        elif outcome:
            statistics = {**statistics, "schema": {"fields": outcome.result.fields}}
        self._context.catalog.upsert_job(
            JobMeta(
                project_id=asked.project,
                job_id=job_id,
                job_type="QUERY",
                state="DONE",
                configuration=_configuration(asked, job_id),
                statistics={"query": {**statistics, "totalBytesProcessed": "0"}},
                error_result={"reason": error.bq_reason, "message": error.message}
                if error
                else None,
                creation_time=now,
                start_time=now,
                end_time=self._context.clock.now(),
                etag=generate_etag(asked.project, job_id, now.isoformat()),
            )
        )
        return jobs.get_job(asked.project, job_id, self._context)


def _statement(project: str, query: Json, dry_run: bool) -> queries.Statement:
    default = query.get("defaultDataset") or {}
    return queries.Statement(
        sql=str(query.get("query") or ""),
        scope=NameScope(project, default.get("datasetId")),
        parameters=query.get("queryParameters") or [],
        dry_run=dry_run,
    )


_FAILURES: dict[str, type[DomainError]] = {
    "notFound": NotFoundError,
    "duplicate": AlreadyExistsError,
}


def _raise_if_failed(answer: Json) -> None:
    """A query that failed is an HTTP error; bqemulator answers 200 with no rows, which the client
    takes for an empty result."""
    if errors := answer.get("errors"):
        first = errors[0]
        raise _FAILURES.get(first.get("reason"), InvalidQueryError)(first.get("message", ""))


def _statistics(outcome: queries.Outcome) -> Json:
    statistics: Json = {
        "statementType": outcome.statement_type,
        "cacheHit": False,
        "totalBytesProcessed": "0",
        "totalRows": str(outcome.result.rows.num_rows),
    }
    if outcome.ddl_operation:
        statistics["ddlOperationPerformed"] = outcome.ddl_operation
    if outcome.graphs:
        statistics["referencedPropertyGraphs"] = [
            {"projectId": g.project, "datasetId": g.dataset, "propertyGraphId": g.object}
            for g in outcome.graphs
        ]
    return statistics


def _configuration(asked: _Asked, job_id: str) -> Json:
    """The job's configuration as sent, with a place to read its rows from."""
    results_table = {
        "projectId": asked.project,
        "datasetId": _RESULTS_DATASET,
        "tableId": f"anon{job_id.replace('-', '')}",
    }
    sent = asked.body.get("configuration") or {}
    return {
        **sent,
        "jobType": "QUERY",
        "query": {"destinationTable": results_table, "useLegacySql": False, **asked.query},
    }


def _with_body(request: Request, body: Json) -> Request:
    """The same request with another body."""
    content = json.dumps(body).encode()

    async def receive() -> Json:
        return {"type": "http.request", "body": content, "more_body": False}

    return Request(request.scope, receive)
