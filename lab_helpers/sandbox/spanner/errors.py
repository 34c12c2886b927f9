"""The one exception of the service: a gRPC status with its words, and short constructors for it."""

from __future__ import annotations

from dataclasses import dataclass

import grpc

# Long enough for the writer that caused the abort to finish, short enough not to be felt.
RETRY_AFTER_MS = 8

INSTANCE_TYPE = "type.googleapis.com/google.spanner.admin.instance.v1.Instance"
DATABASE_TYPE = "type.googleapis.com/google.spanner.admin.database.v1.Database"
SESSION_TYPE = "type.googleapis.com/google.spanner.v1.Session"


@dataclass(frozen=True)
class Resource:
    """What a NOT_FOUND is about; travels as google.rpc.ResourceInfo."""

    type: str
    name: str


class SpannerError(Exception):
    """A status to answer with. `retry_ms` travels as google.rpc.RetryInfo."""

    def __init__(
        self,
        code: grpc.StatusCode,
        message: str,
        *,
        retry_ms: int | None = None,
        resource: Resource | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retry_ms = retry_ms
        self.resource = resource

    @property
    def dooms_transaction(self) -> bool:
        """A constraint error ends a transaction's usefulness; a typing mistake does not."""
        return self.code in _CONSTRAINT_CODES


_CONSTRAINT_CODES = frozenset(
    {
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.NOT_FOUND,
    }
)


def aborted(message: str) -> SpannerError:
    return SpannerError(grpc.StatusCode.ABORTED, message, retry_ms=RETRY_AFTER_MS)


def invalid(message: str) -> SpannerError:
    return SpannerError(grpc.StatusCode.INVALID_ARGUMENT, message)


def not_found(message: str, resource: Resource | None = None) -> SpannerError:
    return SpannerError(grpc.StatusCode.NOT_FOUND, message, resource=resource)


def already_exists(message: str) -> SpannerError:
    return SpannerError(grpc.StatusCode.ALREADY_EXISTS, message)


def failed_precondition(message: str) -> SpannerError:
    return SpannerError(grpc.StatusCode.FAILED_PRECONDITION, message)


def out_of_range(message: str) -> SpannerError:
    return SpannerError(grpc.StatusCode.OUT_OF_RANGE, message)


def not_here(what: str) -> SpannerError:
    """A part of Spanner that the sandbox leaves out."""
    return SpannerError(
        grpc.StatusCode.UNIMPLEMENTED, f"{what} is not part of the local Spanner sandbox."
    )


def storage_failed(reason: object) -> SpannerError:
    """A full disk, or memory used up.

    RESOURCE_EXHAUSTED would be the natural code, but clients repeat such calls in silence, a commit
    for up to an hour; this one reaches the person at once.
    """
    return failed_precondition(
        "The sandbox could not write to its data folder; nothing of this request was kept. "
        f"Free some disk space or memory and try again. ({first_line(reason)})"
    )


def instance_not_found(name: str) -> SpannerError:
    return not_found(f"Instance not found: {name}", Resource(INSTANCE_TYPE, name))


def database_not_found(name: str) -> SpannerError:
    return not_found(f"Database not found: {name}", Resource(DATABASE_TYPE, name))


def session_not_found(name: str) -> SpannerError:
    return not_found(f"Session not found: {name}", Resource(SESSION_TYPE, name))


def first_line(error: object) -> str:
    return str(error).split("\n", 1)[0]
