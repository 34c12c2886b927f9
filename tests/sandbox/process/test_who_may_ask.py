"""The HTTP port answers this machine's programs, not web pages, and takes bodies of a sane size."""

import http.client
import socket

import pytest

from lab_helpers.sandbox import Endpoints


def port_of(running: Endpoints) -> int:
    return int(running.bigquery.rpartition(":")[2])


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:{port}"}, 200),
        ({"Host": "127.0.0.1"}, 200),
        ({"Host": "[::1]:{port}"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:{port}"}, 403),
        ({"Host": "127.0.0.1.evil.example:{port}"}, 403),
        ({"Host": "localhost@evil.example"}, 403),
        ({"Host": "["}, 403),
        ({"Host": ""}, 403),
        ({"Origin": "http://localhost:8888"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
    ],
)
@pytest.mark.parametrize("path", ["/lab/health", "/bigquery/v2/projects/p/datasets"])
def test_only_this_machine_is_answered(
    running: Endpoints, path: str, headers: dict[str, str], status: int
) -> None:
    port = port_of(running)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    sent = {name: value.format(port=port) for name, value in headers.items()}
    connection.request("GET", path, headers=sent)

    assert connection.getresponse().status == status


@pytest.mark.parametrize("declared", [True, False], ids=["content-length", "chunked"])
def test_a_body_over_the_limit_is_refused(running: Endpoints, declared: bool) -> None:
    megabyte = b" " * 2**20
    connection = http.client.HTTPConnection("127.0.0.1", port_of(running), timeout=10)
    path = "/bigquery/v2/projects/p/queries"
    if declared:
        connection.putrequest("POST", path)
        connection.putheader("Content-Length", str(100 * 2**20))
        connection.endheaders()
    else:
        chunks = (megabyte for _ in range(33))
        connection.request("POST", path, body=chunks, encode_chunked=True)
    answer = connection.getresponse()

    assert answer.status == 413
    assert b"Send the rows in parts" in answer.read()


def test_it_listens_on_loopback_only(running: Endpoints) -> None:
    outside = socket.gethostbyname(socket.gethostname())
    if outside.startswith("127."):
        pytest.skip("this machine's name is its loopback address")

    with pytest.raises(OSError):
        socket.create_connection((outside, port_of(running)), 2)
