"""The gRPC server: which services it offers, and on which address."""

from __future__ import annotations

from concurrent import futures
from pathlib import Path

import grpc

from lab_helpers.sandbox.spanner.admin_api import DatabaseAdmin, InstanceAdmin, Operations
from lab_helpers.sandbox.spanner.data_api import SpannerApi
from lab_helpers.sandbox.spanner.instances import Instances
from lab_helpers.sandbox.spanner.rpc import Services

HOST = "127.0.0.1"  # never another: there is no authentication
# A call that waits for the writer lock occupies a thread, and its holder needs one to go on.
THREADS = 256


class SpannerServer:
    """A local Cloud Spanner. Databases live in `data_dir` and survive the process."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = Path(data_dir)
        self._server: grpc.Server | None = None
        self._instances: Instances | None = None

    def start(self, port: int = 0) -> int:
        """Listens on 127.0.0.1:`port` (0: any free one) and returns the port.

        Raises OSError where the port is taken or the data folder cannot be used.
        """
        instances = Instances(self._data_dir)
        server = grpc.server(
            futures.ThreadPoolExecutor(THREADS, thread_name_prefix="spanner"),
            options=[
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", -1),  # `rpc` refuses in words
                ("grpc.max_send_message_length", -1),
            ],
        )
        server.add_generic_rpc_handlers((_services(instances),))
        try:
            bound = server.add_insecure_port(f"{HOST}:{port}")
        except RuntimeError as error:
            instances.close()
            raise OSError(f"Port {port} of {HOST} is taken: choose another, or 0.") from error
        server.start()
        self._server, self._instances = server, instances
        return bound

    def stop(self) -> None:
        """Ends the calls that are running, and closes the databases."""
        if self._server is not None:
            self._server.stop(grace=0.2).wait()
            self._server = None
        if self._instances is not None:
            self._instances.close()
            self._instances = None


def _services(instances: Instances) -> Services:
    operations = Operations()
    return Services(
        {
            "google.spanner.v1.Spanner": SpannerApi(instances).methods(),
            "google.spanner.admin.instance.v1.InstanceAdmin": InstanceAdmin(
                instances, operations
            ).methods(),
            "google.spanner.admin.database.v1.DatabaseAdmin": DatabaseAdmin(
                instances, operations
            ).methods(),
            "google.longrunning.Operations": operations.methods(),
        }
    )
