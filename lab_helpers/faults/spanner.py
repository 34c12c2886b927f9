"""A proxy before Spanner's gRPC API: bytes through, but for the calls it is told of.

Each fault is a rule: given one call, what to do before it is passed on or instead of that.
"""

from __future__ import annotations

import collections
import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import grpc
from google.cloud.spanner_v1 import CommitRequest, RollbackRequest
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo

_SERVICE = "/google.spanner.v1.Spanner/"
_STREAMING = {"ExecuteStreamingSql", "StreamingRead", "BatchWrite"}
_ALWAYS = sys.maxsize
_STORM = 5
_THREADS = 64
_OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
_OURS = ("user-agent", "grpc-")


@dataclass(frozen=True)
class Call:
    """One call: the method's short name, which attempt at it (from 1), and the request's bytes."""

    name: str
    attempt: int
    request: bytes


@dataclass(frozen=True)
class Refusal:
    """An error for an answer. `after`: the call did reach Spanner."""

    code: grpc.StatusCode
    after: bool = False


# The proxy, to speak to Spanner oneself, and the call; returns None to let it pass.
Rule = Callable[["SpannerProxy", Call], Refusal | None]


def _refused(method: str | None, times: int, *, after: bool = False) -> Rule:
    def rule(proxy: SpannerProxy, call: Call) -> Refusal | None:
        hit = method in (None, call.name) and call.attempt <= times
        return Refusal(grpc.StatusCode.UNAVAILABLE, after) if hit else None

    return rule


def _silent(proxy: SpannerProxy, call: Call) -> Refusal | None:
    if not proxy.attempts["Commit"]:
        return None
    first = call.name == "Commit" and call.attempt == 1
    return Refusal(grpc.StatusCode.UNAVAILABLE, after=first)


def _aborted(proxy: SpannerProxy, call: Call) -> Refusal | None:
    if call.name != "Commit" or call.attempt > _STORM:
        return None
    # An aborted transaction holds no locks any more, so the one behind is ended too.
    commit = CommitRequest.deserialize(call.request)
    gone = RollbackRequest(session=commit.session, transaction_id=commit.transaction_id)
    proxy.send("Rollback", RollbackRequest.serialize(gone))
    return Refusal(grpc.StatusCode.ABORTED)


def _changed(proxy: SpannerProxy, call: Call) -> None:
    # The transaction has read and checked; it is about to write.
    if call.name == "ExecuteBatchDml" and call.attempt == 1:
        proxy.meanwhile()


def _meanwhile_at_commit(*, after: bool) -> Rule:
    def rule(proxy: SpannerProxy, call: Call) -> Refusal | None:
        if call.name != "Commit" or call.attempt > 1:
            return None
        if after:
            with contextlib.suppress(grpc.RpcError):
                proxy.send("Commit", call.request)
        proxy.meanwhile()
        return Refusal(grpc.StatusCode.UNAVAILABLE)

    return rule


# name: (what it does, rule). Those in NEEDS_MEANWHILE run what the caller gives at that moment.
FAULTS: dict[str, tuple[str, Rule]] = {
    "aborted storm": ("five commits in a row are aborted", _aborted),
    "stumbles": ("every method fails twice, then works", _refused(None, 2)),
    "unavailable": ("no call is answered", _refused(None, _ALWAYS)),
    "commit unavailable": ("no commit is taken", _refused("Commit", _ALWAYS)),
    "commit answer lost": (
        "the commit is taken, its answer never comes",
        _refused("Commit", 1, after=True),
    ),
    "silent after commit": ("the commit is taken, and then no call is answered", _silent),
    "order changes": ("something changes between check and commit", _changed),
    "killed before commit": (
        "the store dies as the commit comes",
        _meanwhile_at_commit(after=False),
    ),
    "killed after commit": (
        "the store dies with the commit done and not answered",
        _meanwhile_at_commit(after=True),
    ),
}


class SpannerProxy(grpc.GenericRpcHandler):
    """One fault before the Spanner at `upstream` (host:port). `attempts` counts calls by method."""

    def __init__(self, upstream: str, fault: str, meanwhile: Callable[[], object]) -> None:
        self._rule, self.meanwhile = FAULTS[fault][1], meanwhile
        self._guard = threading.Lock()
        self.attempts: collections.Counter[str] = collections.Counter()
        self._channel = grpc.insecure_channel(upstream, options=_OPTIONS)
        self._server = grpc.server(ThreadPoolExecutor(_THREADS), options=_OPTIONS)
        self._server.add_generic_rpc_handlers([self])
        port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()
        self.address = f"127.0.0.1:{port}"

    def close(self) -> None:
        self._server.stop(grace=0).wait()
        self._channel.close()

    def send(self, method: str, request: bytes) -> bytes:
        """One call of our own to the Spanner behind."""
        return self._channel.unary_unary(_SERVICE + method)(request, timeout=10)

    def service(self, details: Any) -> Any:
        method = details.method
        if method.rpartition("/")[2] in _STREAMING:
            return grpc.unary_stream_rpc_method_handler(
                lambda request, context: self._stream(method, request, context)
            )
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: self._unary(method, request, context)
        )

    def _unary(self, method: str, request: bytes, context: Any) -> bytes:
        refusal = self._refusal(method, request)
        if refusal and not refusal.after:
            _refuse(context, refusal)
        try:
            answer = self._channel.unary_unary(method)(request, **_as_asked(context))
        except grpc.RpcError as error:
            _pass_on(context, error)
        if refusal:
            _refuse(context, refusal)
        return answer

    def _stream(self, method: str, request: bytes, context: Any) -> Iterator[bytes]:
        refusal = self._refusal(method, request)
        if refusal:
            _refuse(context, refusal)
        call = self._channel.unary_stream(method)(request, **_as_asked(context))
        context.add_callback(call.cancel)
        try:
            yield from call
        except grpc.RpcError as error:
            _pass_on(context, error)

    def _refusal(self, method: str, request: bytes) -> Refusal | None:
        if not method.startswith(_SERVICE):
            return None
        name = method.removeprefix(_SERVICE)
        with self._guard:
            self.attempts[name] += 1
            attempt = self.attempts[name]
        return self._rule(self, Call(name, attempt, request))


def _as_asked(context: Any) -> dict[str, Any]:
    sent = context.invocation_metadata()
    return {
        "metadata": [(k, v) for k, v in sent if not k.startswith(_OURS)],
        "timeout": context.time_remaining(),
    }


def _refuse(context: Any, refusal: Refusal) -> None:
    if refusal.code is grpc.StatusCode.ABORTED:
        # Without it the client sleeps for seconds, as it would after no word from Spanner.
        soon = RetryInfo(retry_delay=Duration(nanos=8_000_000)).SerializeToString()
        context.set_trailing_metadata([("google.rpc.retryinfo-bin", soon)])
    context.abort(refusal.code, "a fault of lab.faults")


def _pass_on(context: Any, error: Any) -> None:
    context.set_trailing_metadata(error.trailing_metadata() or ())
    context.abort(error.code(), error.details())


@contextlib.contextmanager
def running(upstream: str, fault: str, meanwhile: Callable[[], object]) -> Iterator[SpannerProxy]:
    """The proxy for as long as the block lasts."""
    proxy = SpannerProxy(upstream, fault, meanwhile)
    try:
        yield proxy
    finally:
        proxy.close()
