"""From Python functions to gRPC handlers, and from SpannerError to a gRPC status."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import duckdb
import grpc
from google.protobuf import duration_pb2
from google.rpc import error_details_pb2, status_pb2

from lab_helpers.sandbox.spanner.errors import SpannerError, invalid, not_here, storage_failed

# As Spanner has it for commits. gRPC's own limit would answer with a code that clients repeat.
MAX_REQUEST_BYTES = 100 * 1024 * 1024

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Method:
    """`call` takes a request message; it returns a reply, or an iterator of replies."""

    request: type
    call: Callable[[Any], Any]
    streams: bool


def unary(request: type, call: Callable[[Any], Any]) -> Method:
    return Method(request, call, streams=False)


def streaming(request: type, call: Callable[[Any], Iterator[Any]]) -> Method:
    return Method(request, call, streams=True)


class Services(grpc.GenericRpcHandler):
    """Answers the methods of its services; every other method is named and refused."""

    def __init__(self, services: Mapping[str, Mapping[str, Method]]) -> None:
        self._handlers = {
            f"/{service}/{name}": _handler(method)
            for service, methods in services.items()
            for name, method in methods.items()
        }

    def service(self, handler_call_details: Any) -> grpc.RpcMethodHandler:
        path = handler_call_details.method
        return self._handlers.get(path) or _refusal(path.rsplit("/", 1)[-1])


def _handler(method: Method) -> grpc.RpcMethodHandler:
    def answer(request: Any, context: grpc.ServicerContext) -> Any:
        try:
            _check_size(request)
            return method.call(request)
        except Exception as error:
            _fail(context, error)

    def answer_many(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        try:
            _check_size(request)
            yield from method.call(request)
        except Exception as error:
            _fail(context, error)

    make, behaviour = (
        (grpc.unary_stream_rpc_method_handler, answer_many)
        if method.streams
        else (grpc.unary_unary_rpc_method_handler, answer)
    )
    return make(behaviour, method.request.FromString, lambda reply: reply.SerializeToString())


def _check_size(request: Any) -> None:
    size = request.ByteSize()
    if size > MAX_REQUEST_BYTES:
        raise invalid(
            f"The request has {size:,} bytes; the most that Spanner accepts is "
            f"{MAX_REQUEST_BYTES:,}. Send the rows in several commits."
        )


def _refusal(name: str) -> grpc.RpcMethodHandler:
    def refuse(request: bytes, context: grpc.ServicerContext) -> NoReturn:
        _fail(context, not_here(name))

    return grpc.unary_unary_rpc_method_handler(refuse)


def _fail(context: grpc.ServicerContext, error: Exception) -> NoReturn:
    known = _as_spanner_error(error)
    details = list(_details(known))
    status = status_pb2.Status(code=known.code.value[0], message=known.message)
    metadata = []
    for key, detail in details:
        status.details.add().Pack(detail)
        metadata.append((key, detail.SerializeToString()))
    metadata.append(("grpc-status-details-bin", status.SerializeToString()))
    context.set_trailing_metadata(tuple(metadata))
    context.abort(known.code, known.message)


def _details(error: SpannerError) -> Iterator[tuple[str, Any]]:
    if error.retry_ms is not None:
        delay = duration_pb2.Duration(nanos=error.retry_ms * 1_000_000)
        yield "google.rpc.retryinfo-bin", error_details_pb2.RetryInfo(retry_delay=delay)
    if error.resource is not None:
        yield (
            "google.rpc.resourceinfo-bin",
            error_details_pb2.ResourceInfo(
                resource_type=error.resource.type, resource_name=error.resource.name
            ),
        )


def _as_spanner_error(error: Exception) -> SpannerError:
    if isinstance(error, SpannerError):
        return error
    if isinstance(error, OSError | duckdb.IOException):
        return storage_failed(error)
    _LOG.exception("A call failed in a way that nobody foresaw")
    return SpannerError(
        grpc.StatusCode.INTERNAL,
        f"The local Spanner sandbox failed: {type(error).__name__}: {error}. Its log has more.",
    )
