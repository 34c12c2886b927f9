"""Running bqemulator inside this process, on a thread of its own."""

import asyncio
import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import structlog
from duckdb_extensions import import_extension

from lab_helpers.sandbox.bigquery.guard import Guard

# bqemulator makes its loggers while it is imported, so they are silenced before; what fails in it
# is logged by the guard, in fewer lines.
structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))

import bqemulator.server as emulator  # noqa: E402
from bqemulator.api.dependencies import AppContext  # noqa: E402
from bqemulator.api.middleware import GzipRequestMiddleware  # noqa: E402
from bqemulator.config import LogLevel, PersistenceMode, Settings  # noqa: E402

from lab_helpers.sandbox.bigquery import routes  # noqa: E402
from lab_helpers.sandbox.bigquery.inserts import Inserts  # noqa: E402
from lab_helpers.sandbox.bigquery.row_counts import CountedCatalog  # noqa: E402
from lab_helpers.sandbox.bigquery.time_travel import without_time_travel  # noqa: E402

_START_LIMIT_S = 60.0
_STOP_LIMIT_S = 10.0
LOOPBACK = "127.0.0.1"


class BigQueryServer:
    """BigQuery's REST API on loopback, with its data in one folder."""

    def __init__(self, data_dir: Path, *, health: Callable[[], dict[str, object]] = dict) -> None:
        """`health` is asked for the JSON that GET /lab/health answers."""
        self._data_dir = data_dir
        self._health = health
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None
        self._emulator: emulator.EmulatorServer | None = None

    def start(self, port: int = 0) -> int:
        """Serve on 127.0.0.1:`port` (0: a free one); returns the port.

        Raises what bqemulator raises when the data cannot be opened.
        """
        # bqemulator insists on DuckDB's spatial extension; this wheel brings it without a download.
        import_extension("spatial")
        self._emulator = emulator.EmulatorServer(
            Settings(
                rest_host=LOOPBACK,
                rest_port=port,
                grpc_host=LOOPBACK,
                grpc_port=0,
                persistence_mode=PersistenceMode.PERSISTENT,
                data_dir=self._data_dir,
                log_level=LogLevel.CRITICAL,
                enable_format_extensions=False,
                metrics_enabled=False,
            )
        )
        self._thread = threading.Thread(target=self._run, name="bigquery", daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(self._emulator), self._loop).result(
            _START_LIMIT_S
        )
        return self._emulator.rest_port

    def stop(self) -> None:
        """Stop serving and close the data; safe to call twice or before `start`."""
        if self._emulator is None or self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._emulator.stop(), self._loop).result(_STOP_LIMIT_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_STOP_LIMIT_S)
        self._emulator = self._thread = None

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    async def _start(self, server: emulator.EmulatorServer) -> None:
        # `EmulatorServer.start` builds its application and serves it in one step and offers no hook
        # between the two, so the one name it builds with is replaced while it starts.
        create_app = emulator.create_app

        def create_lab_app(context: AppContext) -> Guard:
            uncounted = context.catalog
            context = without_time_travel(replace(context, catalog=CountedCatalog(context)))
            # Many small statements: DuckDB's idle workers cost more than they bring.
            context.engine.connection.execute("SET threads TO 1")
            # What is read is kept up to here; without it, up to most of the machine's memory.
            context.engine.connection.execute("SET memory_limit = '1GB'")
            app = create_app(context)
            # The others log and count each request, for nobody here, at a millisecond each.
            app.user_middleware = [m for m in app.user_middleware if m.cls is GzipRequestMiddleware]
            routes.install(app, context)
            return Guard(app, self._health, Inserts(replace(context, catalog=uncounted)))

        emulator.create_app = create_lab_app
        try:
            await server.start()
        finally:
            emulator.create_app = create_app
