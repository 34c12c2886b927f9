"""The Spanner service: sessions, statements, reads, commits."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

from google.cloud import spanner_v1
from google.protobuf import empty_pb2

from lab_helpers.sandbox.spanner import results
from lab_helpers.sandbox.spanner.database import Database
from lab_helpers.sandbox.spanner.errors import SpannerError, invalid, not_here
from lab_helpers.sandbox.spanner.instances import Instances
from lab_helpers.sandbox.spanner.rpc import Method, streaming, unary
from lab_helpers.sandbox.spanner.sessions import Sessions, is_multiplexed
from lab_helpers.sandbox.spanner.statements import Outcome, Statement
from lab_helpers.sandbox.spanner.transactions import Mode, State, Transaction

_MODES = {
    "read_only": Mode.READ_ONLY,
    "read_write": Mode.READ_WRITE,
    "partitioned_dml": Mode.PARTITIONED_DML,
}
_MAX_SESSIONS_AT_ONCE = 100


class SpannerApi:
    def __init__(self, instances: Instances) -> None:
        self._instances = instances
        self._sessions = Sessions(instances)

    # ------------------------------------------------------------ sessions

    def create_session(self, request: Any) -> Any:
        return self._sessions.create(request.database, multiplexed=request.session.multiplexed)

    def batch_create_sessions(self, request: Any) -> Any:
        count = min(request.session_count, _MAX_SESSIONS_AT_ONCE)
        if count < 1:
            raise invalid("Requested sessions should be greater than 0.")
        multiplexed = request.session_template.multiplexed
        created = [
            self._sessions.create(request.database, multiplexed=multiplexed) for _ in range(count)
        ]
        return spanner_v1.BatchCreateSessionsResponse.pb()(session=created)

    def get_session(self, request: Any) -> Any:
        return self._sessions.get(request.name)

    def delete_session(self, request: Any) -> Any:
        self._sessions.delete(request.name)
        return empty_pb2.Empty()

    def _database(self, session: str) -> Database:
        return self._instances.database(self._sessions.database(session))

    # ------------------------------------------------------------ statements and reads

    def execute_sql(self, request: Any) -> Any:
        return results.whole(self._execute(request))

    def execute_streaming_sql(self, request: Any) -> Iterator[Any]:
        return results.stream(self._execute(request))

    def _execute(self, request: Any) -> results.Result:
        if request.partition_token:
            raise not_here("PartitionQuery")
        if request.query_mode == spanner_v1.ExecuteSqlRequest.QueryMode.PLAN:
            raise not_here("The query mode PLAN")
        database = self._database(request.session)
        transaction, begun = self._select(database, request.transaction, request.session)
        with _ended_on_failure(transaction, begun):
            if transaction is None:
                statement = database.sql(request.sql, request.params, request.param_types)
                return self._read_alone(database, statement)
            return self._execute_in(database, transaction, begun, request)

    def _execute_in(
        self, database: Database, transaction: Transaction, begun: bool, request: Any
    ) -> results.Result:
        with transaction.mutex:
            replayed = _replayed(transaction, request)
            if replayed is not None:
                return replayed
            statement = database.sql(request.sql, request.params, request.param_types)
            outcome = transaction.execute(statement)
            result = _result(outcome, transaction, begun)
            if statement.writes and request.seqno:
                transaction.replies[request.seqno] = (_digest(request), result)
        if transaction.mode is Mode.PARTITIONED_DML:
            transaction.commit([])
        return result

    def _read_alone(self, database: Database, statement: Statement) -> results.Result:
        fields, batches = database.read(statement)
        return results.Result(fields, batches, read_time=database.timeline.now())

    def read(self, request: Any) -> Any:
        return results.whole(self._read(request))

    def streaming_read(self, request: Any) -> Iterator[Any]:
        return results.stream(self._read(request))

    def _read(self, request: Any) -> results.Result:
        if request.partition_token:
            raise not_here("PartitionRead")
        database = self._database(request.session)
        transaction, begun = self._select(database, request.transaction, request.session)
        with _ended_on_failure(transaction, begun):
            statement = database.keyed_read(request)
            if transaction is None:
                return self._read_alone(database, statement)
            return _result(transaction.execute(statement), transaction, begun)

    def execute_batch_dml(self, request: Any) -> Any:
        """Stops at the first statement that fails; those before it stay."""
        if not request.statements:
            raise invalid("No statements in batch DML request.")
        database = self._database(request.session)
        transaction, begun = self._select(database, request.transaction, request.session)
        if transaction is None:
            raise invalid("Batch DML needs a read-write transaction.")
        with _ended_on_failure(transaction, begun), transaction.mutex:
            replayed = _replayed(transaction, request)
            if replayed is not None:
                return replayed
            response = self._batch(database, transaction, begun, request)
            transaction.replies[request.seqno] = (_digest(request), response)
            return response

    def _batch(
        self, database: Database, transaction: Transaction, begun: bool, request: Any
    ) -> Any:
        response = spanner_v1.ExecuteBatchDmlResponse.pb()()
        response.status.SetInParent()
        for place, each in enumerate(request.statements):
            try:
                statement = database.sql(each.sql, each.params, each.param_types)
                if not statement.writes:
                    raise invalid(f"ExecuteBatchDml allows only DML statements; got: {each.sql}")
                outcome = transaction.execute(statement)
            except SpannerError as error:
                if transaction.state is State.ABORTED:
                    raise
                if begun and place == 0:
                    transaction.rollback()  # the answer has no place to tell its id
                response.status.code = error.code.value[0]
                response.status.message = f"Statement {place}: {error.message}"
                break
            result = _result(outcome, transaction, begun and place == 0)
            response.result_sets.append(results.whole(result))
        return response

    # ------------------------------------------------------------ transactions

    def begin_transaction(self, request: Any) -> Any:
        database = self._database(request.session)
        transaction = self._begin(database, request.options, request.session)
        return results.transaction(transaction)

    def commit(self, request: Any) -> Any:
        database = self._database(request.session)
        if request.transaction_id:
            timestamp = database.commit(request.transaction_id, request.mutations)
        else:
            timestamp = database.write(request.mutations, "")
        return _commit_response(timestamp)

    def rollback(self, request: Any) -> Any:
        self._database(request.session).rollback(request.transaction_id)
        return empty_pb2.Empty()

    def batch_write(self, request: Any) -> Iterator[Any]:
        database = self._database(request.session)
        for place, group in enumerate(request.mutation_groups):
            response = spanner_v1.BatchWriteResponse.pb()(indexes=[place])
            try:
                timestamp = database.write(group.mutations, "")
                response.commit_timestamp.CopyFrom(_commit_response(timestamp).commit_timestamp)
            except SpannerError as error:
                response.status.code = error.code.value[0]
                response.status.message = error.message
            yield response

    def _select(
        self, database: Database, selector: Any, session: str
    ) -> tuple[Transaction | None, bool]:
        """The transaction a request speaks of (None: a read of its own), and whether it is new."""
        kind = selector.WhichOneof("selector")
        if kind == "id":
            return database.transaction(selector.id), False
        if kind == "begin":
            return self._begin(database, selector.begin, session), True
        return None, False

    def _begin(self, database: Database, options: Any, session: str) -> Transaction:
        mode = _MODES.get(options.WhichOneof("mode") or "read_write", Mode.READ_WRITE)
        is_retry = bool(options.read_write.multiplexed_session_previous_transaction_id)
        # A multiplexed session serves many transactions at once: it cannot tell who retries.
        owner = "" if is_multiplexed(session) else session
        transaction = database.begin(mode, owner, is_retry=is_retry)
        if mode is Mode.READ_ONLY:
            transaction.pin()
        return transaction

    def methods(self) -> dict[str, Method]:
        v1 = spanner_v1
        return {
            "CreateSession": unary(v1.CreateSessionRequest.pb(), self.create_session),
            "BatchCreateSessions": unary(
                v1.BatchCreateSessionsRequest.pb(), self.batch_create_sessions
            ),
            "GetSession": unary(v1.GetSessionRequest.pb(), self.get_session),
            "DeleteSession": unary(v1.DeleteSessionRequest.pb(), self.delete_session),
            "ExecuteSql": unary(v1.ExecuteSqlRequest.pb(), self.execute_sql),
            "ExecuteStreamingSql": streaming(v1.ExecuteSqlRequest.pb(), self.execute_streaming_sql),
            "ExecuteBatchDml": unary(v1.ExecuteBatchDmlRequest.pb(), self.execute_batch_dml),
            "Read": unary(v1.ReadRequest.pb(), self.read),
            "StreamingRead": streaming(v1.ReadRequest.pb(), self.streaming_read),
            "BeginTransaction": unary(v1.BeginTransactionRequest.pb(), self.begin_transaction),
            "Commit": unary(v1.CommitRequest.pb(), self.commit),
            "Rollback": unary(v1.RollbackRequest.pb(), self.rollback),
            "BatchWrite": streaming(v1.BatchWriteRequest.pb(), self.batch_write),
        }


class _ended_on_failure:
    """A transaction that a failing request began is ended: the client never learns its id."""

    def __init__(self, transaction: Transaction | None, begun: bool) -> None:
        self._transaction = transaction if begun else None

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type | None, error: BaseException | None, trace: Any) -> None:
        if error is not None and self._transaction is not None:
            self._transaction.rollback()


def _result(outcome: Outcome, transaction: Transaction, begun: bool) -> results.Result:
    return results.Result(
        outcome.fields,
        [outcome.rows],
        count=outcome.count,
        count_is_lower_bound=transaction.mode is Mode.PARTITIONED_DML,
        begun=transaction if begun else None,
    )


def _digest(request: Any) -> int:
    """Tells a request sent again from another one with the same sequence number."""
    bare = type(request)()
    bare.CopyFrom(request)
    bare.ClearField("transaction")
    bare.ClearField("request_options")
    return hash(bare.SerializeToString(deterministic=True))


def _replayed(transaction: Transaction, request: Any) -> Any | None:
    """The reply to a DML request that was already done, because its answer got lost."""
    if not request.seqno or request.seqno not in transaction.replies:
        return None
    transaction.require_open()
    digest, reply = transaction.replies[request.seqno]
    if digest != _digest(request):
        raise invalid(
            f"Request with sequence number {request.seqno} was sent before with another statement."
        )
    return reply


def _commit_response(timestamp: dt.datetime) -> Any:
    response = spanner_v1.CommitResponse.pb()()
    response.commit_timestamp.FromDatetime(timestamp.astimezone(dt.UTC).replace(tzinfo=None))
    return response
