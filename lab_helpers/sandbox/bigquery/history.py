"""Forgetting old jobs: bqemulator keeps every job and every result for as long as it runs."""

from collections import deque

from bqemulator.api.dependencies import AppContext
from bqemulator.jobs.executor import JOB_RESULTS, JOB_SCHEMAS
from bqemulator.storage.engine import CATALOG_SCHEMA

JOB_LIMIT = 500
BYTE_LIMIT = 200_000_000


class JobHistory:
    """The latest jobs: at most JOB_LIMIT of them, holding at most BYTE_LIMIT bytes of rows.

    The newest job is always kept, however large: its client is about to read it.
    """

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._jobs: deque[tuple[str, str, int]] = deque()
        self._bytes = 0
        # Rows are kept in memory only, so the jobs of an earlier run have none to give.
        context.engine.execute(f'DELETE FROM "{CATALOG_SCHEMA}".jobs')

    def add(self, project: str, job_id: str) -> None:
        """Note a finished job and forget the oldest ones beyond the limits."""
        rows = JOB_RESULTS.get(job_id)
        size = rows.nbytes if rows is not None else 0
        self._jobs.append((project, job_id, size))
        self._bytes += size
        while len(self._jobs) > 1 and (len(self._jobs) > JOB_LIMIT or self._bytes > BYTE_LIMIT):
            self._forget(*self._jobs.popleft())

    def _forget(self, project: str, job_id: str, size: int) -> None:
        self._bytes -= size
        JOB_RESULTS.pop(job_id, None)
        JOB_SCHEMAS.pop(job_id, None)
        self._context.catalog.delete_job(project, job_id, not_found_ok=True)
