"""Instances, databases and the calls around them, through the real client."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest
from google.api_core import exceptions
from google.cloud import spanner
from google.cloud.spanner_admin_database_v1 import DropDatabaseRequest
from google.cloud.spanner_admin_instance_v1 import Instance as InstanceMessage
from google.cloud.spanner_v1.session import Session

from tests.sandbox.spanner.conftest import PROJECT, rows


def test_an_instance_keeps_what_it_was_made_with(client, instance):
    instance.reload()
    assert instance.display_name == "System of Action lab"
    assert instance.processing_units == 100
    assert instance.labels == {"lab": "soa"}
    assert instance.configuration_name.endswith("/instanceConfigs/regional-us-central1")


def test_an_instance_can_be_enterprise(client):
    name = f"projects/{PROJECT}/instances/with-edition"
    message = InstanceMessage(
        config=f"projects/{PROJECT}/instanceConfigs/regional-us-central1",
        display_name="Enterprise",
        processing_units=100,
        edition=InstanceMessage.Edition.ENTERPRISE,
    )
    client.instance_admin_api.create_instance(
        parent=f"projects/{PROJECT}", instance_id="with-edition", instance=message
    ).result(10)
    found = client.instance_admin_api.get_instance(name=name)
    assert found.edition == InstanceMessage.Edition.ENTERPRISE
    client.instance("with-edition").delete()
    assert not client.instance("with-edition").exists()


def test_an_instance_can_be_renamed(client):
    instance = client.instance(
        "to-rename", f"projects/{PROJECT}/instanceConfigs/regional-us-central1", "Before", 1
    )
    instance.create().result(10)
    instance.display_name = "After"
    instance.update().result(10)
    assert client.instance_admin_api.get_instance(name=instance.name).display_name == "After"


def test_instances_databases_and_configurations_are_listed(client, instance, make_database):
    database = make_database()
    assert instance.name in [each.name for each in client.list_instances()]
    assert database.name in [each.name for each in instance.list_databases()]
    configurations = [each.name for each in client.list_instance_configs()]
    assert f"projects/{PROJECT}/instanceConfigs/regional-us-central1" in configurations


def test_deleting_an_instance_takes_its_databases(client):
    instance = client.instance(
        "to-delete", f"projects/{PROJECT}/instanceConfigs/regional-us-central1", "Gone soon", 1
    )
    instance.create().result(10)
    database = instance.database(
        "inside", ddl_statements=["CREATE TABLE t (a INT64) PRIMARY KEY(a)"]
    )
    database.create().result(10)
    assert rows(database, "SELECT COUNT(*) FROM t") == [[0]]
    instance.delete()
    instance.create().result(10)
    assert not instance.database("inside").exists()


def test_a_dropped_database_is_gone_and_its_sessions_with_it(instance, make_database):
    database = make_database("CREATE TABLE t (a INT64) PRIMARY KEY(a)")
    rows(database, "SELECT 1")
    database.drop()
    assert not database.exists()
    with pytest.raises(exceptions.NotFound, match="Database not found"):
        rows(database, "SELECT 1")
    again = instance.database(database.database_id)
    again.create().result(10)
    with pytest.raises(exceptions.NotFound, match="Session not found"):
        rows(database, "SELECT 1")  # the session belongs to the database that was dropped
    assert rows(again, "SELECT 1") == [[1]]


@pytest.mark.parametrize(
    "database_id",
    ["A", "a", "1abc", "with.dot", "../escape", "ends-", "x" * 31, "a/b"],
)
def test_database_names_follow_spanners_rule(client, instance, database_id):
    with pytest.raises(exceptions.InvalidArgument, match="Invalid database name"):
        client.database_admin_api.create_database(
            parent=instance.name, create_statement=f"CREATE DATABASE `{database_id}`"
        )


@pytest.mark.parametrize("instance_id", ["a", "A-b", "-ab", "ab-", "x" * 65])
def test_instance_names_follow_spanners_rule(client, instance_id):
    with pytest.raises(exceptions.InvalidArgument, match="Instance ID must start"):
        client.instance_admin_api.create_instance(
            parent=f"projects/{PROJECT}", instance_id=instance_id, instance=InstanceMessage()
        )


def test_what_exists_cannot_be_made_again(client, instance, make_database):
    database = make_database()
    with pytest.raises(exceptions.AlreadyExists, match="Instance already exists"):
        instance.create()
    with pytest.raises(exceptions.AlreadyExists, match="Database already exists"):
        database.create()


def test_a_database_whose_ddl_fails_is_not_made(instance):
    database = instance.database("half-made", ddl_statements=["CREATE TABLE t (a NOTYPE)"])
    with pytest.raises(exceptions.InvalidArgument, match="'NOTYPE' is not a column type"):
        database.create()
    assert not database.exists()


@pytest.mark.parametrize(
    "call",
    [
        lambda client, name: client.database_admin_api.list_backups(parent=name),
        lambda client, name: client.database_admin_api.get_iam_policy(resource=name),
        lambda client, name: client.instance_admin_api.list_instance_partitions(parent=name),
    ],
    ids=["ListBackups", "GetIamPolicy", "ListInstancePartitions"],
)
def test_a_call_that_is_left_out_says_its_name(client, instance, call, request):
    name = request.node.callspec.id
    with pytest.raises(exceptions.MethodNotImplemented) as caught:
        call(client, instance.name)
    assert f"{name} is not part of the local Spanner sandbox" in str(caught.value)


def test_partitioned_queries_are_left_out_by_name(make_database):
    database = make_database()
    with pytest.raises(exceptions.MethodNotImplemented, match="PartitionQuery is not part"):
        list(database.batch_snapshot().generate_query_batches("SELECT 1"))


def test_a_session_that_was_deleted_is_not_found(make_database):
    database = make_database()
    session = Session(database)  # a regular one: clients never delete a multiplexed one
    session.create()
    assert session.exists()
    session.delete()
    assert not session.exists()


def test_the_server_listens_on_loopback_only(sandbox):
    assert sandbox.port > 0
    with grpc.insecure_channel(f"127.0.0.1:{sandbox.port}") as channel:
        grpc.channel_ready_future(channel).result(timeout=5)
    # 127.0.0.1 as the kernel writes it, alone or inside an IPv6 address.
    assert _listening_addresses(sandbox.port) <= {"0100007F", "0000000000000000FFFF00000100007F"}


def _listening_addresses(port: int) -> set[str]:
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except FileNotFoundError:
            pytest.skip("needs Linux' list of sockets")
        for line in lines:
            address, state = line.split()[1], line.split()[3]
            host, _, number = address.partition(":")
            if state == "0A" and int(number, 16) == port:
                found.add(host)
    return found


def test_drop_of_an_unknown_database_is_not_found(client, instance):
    request = DropDatabaseRequest(database=f"{instance.name}/databases/never-was")
    with pytest.raises(exceptions.NotFound, match="Database not found"):
        client.database_admin_api.drop_database(request=request)


def test_commit_timestamp_constant_is_what_the_service_expects():
    from lab_helpers.sandbox.spanner.codec import COMMIT_TIMESTAMP_TEXT

    assert spanner.COMMIT_TIMESTAMP == COMMIT_TIMESTAMP_TEXT
