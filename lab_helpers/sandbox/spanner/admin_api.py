"""The InstanceAdmin, DatabaseAdmin and Operations services. All they start is done at once."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from typing import Any

from google.cloud import spanner_admin_database_v1 as database_v1
from google.cloud import spanner_admin_instance_v1 as instance_v1
from google.longrunning import operations_pb2
from google.protobuf import empty_pb2

from lab_helpers.sandbox.spanner import ddl_printer
from lab_helpers.sandbox.spanner.errors import SpannerError, invalid, not_found
from lab_helpers.sandbox.spanner.instances import Instances
from lab_helpers.sandbox.spanner.rpc import Method, unary
from lab_helpers.sandbox.spanner.tokens import Cursor

_OPERATIONS_REMEMBERED = 1_000

# The sandbox runs on one machine; a configuration is only a name that clients must give.
CONFIGURATIONS = {
    "regional-us-central1": "us-central1 (local sandbox)",
    "emulator-config": "Local sandbox",
}


class Operations:
    """google.longrunning.Operations: finished work, remembered for a while."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._numbers = itertools.count(1)
        self._known: OrderedDict[str, Any] = OrderedDict()

    def done(self, owner: str, metadata: Any, response: Any) -> Any:
        with self._guard:
            operation = operations_pb2.Operation(
                name=f"{owner}/operations/_auto_{next(self._numbers)}", done=True
            )
            operation.metadata.Pack(metadata)
            operation.response.Pack(response)
            self._known[operation.name] = operation
            while len(self._known) > _OPERATIONS_REMEMBERED:
                self._known.popitem(last=False)
            return operation

    def get(self, request: Any) -> Any:
        found = self._known.get(request.name)
        if found is None:
            raise not_found(f"Operation not found: {request.name}")
        return found

    def cancel(self, request: Any) -> Any:
        self.get(request)
        return empty_pb2.Empty()

    def methods(self) -> dict[str, Method]:
        return {
            "GetOperation": unary(operations_pb2.GetOperationRequest, self.get),
            "CancelOperation": unary(operations_pb2.CancelOperationRequest, self.cancel),
        }


class InstanceAdmin:
    def __init__(self, instances: Instances, operations: Operations) -> None:
        self._instances = instances
        self._operations = operations

    def create(self, request: Any) -> Any:
        instance = self._instances.create(request.parent, request.instance_id, request.instance)
        metadata = instance_v1.CreateInstanceMetadata.pb()(instance=instance)
        return self._operations.done(instance.name, metadata, instance)

    def update(self, request: Any) -> Any:
        instance = self._instances.update(request.instance, list(request.field_mask.paths))
        metadata = instance_v1.UpdateInstanceMetadata.pb()(instance=instance)
        return self._operations.done(instance.name, metadata, instance)

    def get(self, request: Any) -> Any:
        return self._instances.instance(request.name)

    def list(self, request: Any) -> Any:
        found = self._instances.list_instances(request.parent)
        return instance_v1.ListInstancesResponse.pb()(instances=found)

    def delete(self, request: Any) -> Any:
        self._instances.delete(request.name)
        return empty_pb2.Empty()

    def get_configuration(self, request: Any) -> Any:
        parent, _, name = request.name.partition("/instanceConfigs/")
        return _configuration(parent, name)

    def list_configurations(self, request: Any) -> Any:
        found = [_configuration(request.parent, name) for name in CONFIGURATIONS]
        return instance_v1.ListInstanceConfigsResponse.pb()(instance_configs=found)

    def methods(self) -> dict[str, Method]:
        requests = instance_v1
        return {
            "CreateInstance": unary(requests.CreateInstanceRequest.pb(), self.create),
            "UpdateInstance": unary(requests.UpdateInstanceRequest.pb(), self.update),
            "GetInstance": unary(requests.GetInstanceRequest.pb(), self.get),
            "ListInstances": unary(requests.ListInstancesRequest.pb(), self.list),
            "DeleteInstance": unary(requests.DeleteInstanceRequest.pb(), self.delete),
            "GetInstanceConfig": unary(
                requests.GetInstanceConfigRequest.pb(), self.get_configuration
            ),
            "ListInstanceConfigs": unary(
                requests.ListInstanceConfigsRequest.pb(), self.list_configurations
            ),
        }


def _configuration(parent: str, name: str) -> Any:
    shown = CONFIGURATIONS.get(name, f"{name} (local sandbox)")
    return instance_v1.InstanceConfig.pb()(
        name=f"{parent}/instanceConfigs/{name}", display_name=shown
    )


class DatabaseAdmin:
    def __init__(self, instances: Instances, operations: Operations) -> None:
        self._instances = instances
        self._operations = operations

    def create(self, request: Any) -> Any:
        if request.database_dialect == database_v1.DatabaseDialect.POSTGRESQL:
            raise invalid("Cannot create a PostgreSQL database in the local Spanner sandbox.")
        database_id = _created_name(request.create_statement)
        name = self._instances.create_database(
            request.parent, database_id, list(request.extra_statements)
        )
        metadata = database_v1.CreateDatabaseMetadata.pb()(database=name)
        return self._operations.done(name, metadata, _describe(name))

    def get(self, request: Any) -> Any:
        self._instances.incarnation(request.name)
        return _describe(request.name)

    def list(self, request: Any) -> Any:
        found = [_describe(name) for name in self._instances.list_databases(request.parent)]
        return database_v1.ListDatabasesResponse.pb()(databases=found)

    def get_ddl(self, request: Any) -> Any:
        schema = self._instances.database(request.database).schema
        return database_v1.GetDatabaseDdlResponse.pb()(statements=ddl_printer.statements(schema))

    def update_ddl(self, request: Any) -> Any:
        if not request.statements:
            raise invalid("Missing statements in the request.")
        database = self._instances.database(request.database)
        database.update_ddl(list(request.statements))
        metadata = database_v1.UpdateDatabaseDdlMetadata.pb()(
            database=request.database, statements=request.statements
        )
        return self._operations.done(request.database, metadata, empty_pb2.Empty())

    def drop(self, request: Any) -> Any:
        self._instances.drop_database(request.database)
        return empty_pb2.Empty()

    def methods(self) -> dict[str, Method]:
        requests = database_v1
        return {
            "CreateDatabase": unary(requests.CreateDatabaseRequest.pb(), self.create),
            "GetDatabase": unary(requests.GetDatabaseRequest.pb(), self.get),
            "ListDatabases": unary(requests.ListDatabasesRequest.pb(), self.list),
            "GetDatabaseDdl": unary(requests.GetDatabaseDdlRequest.pb(), self.get_ddl),
            "UpdateDatabaseDdl": unary(requests.UpdateDatabaseDdlRequest.pb(), self.update_ddl),
            "DropDatabase": unary(requests.DropDatabaseRequest.pb(), self.drop),
        }


def _describe(name: str) -> Any:
    return database_v1.Database.pb()(
        name=name,
        state=database_v1.Database.State.READY,
        database_dialect=database_v1.DatabaseDialect.GOOGLE_STANDARD_SQL,
    )


def _created_name(statement: str) -> str:
    try:
        cursor = Cursor(statement)
        cursor.expect("CREATE", "DATABASE")
        return cursor.rest().strip("`").strip('"')
    except SpannerError as error:
        raise invalid(f'Invalid "CREATE DATABASE" statement: {statement}') from error
