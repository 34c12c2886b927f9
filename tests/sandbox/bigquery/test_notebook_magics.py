"""`%%bigquery --graph` in an IPython shell: what a notebook would draw."""

import json
import re
from collections.abc import Iterator

import bigquery_magics
import pytest
import requests
from bigquery_magics import graph_server
from google.cloud import bigquery
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from lab_helpers.sandbox import client_env

from .conftest import PROJECT


@pytest.fixture
def shell(port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", f"http://127.0.0.1:{port}")
    # Another lab opened in this process may have named its own project meanwhile.
    client_env.use_sandbox_bigquery(PROJECT)
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "bigquery_magics")
    yield shell
    graph_server.graph_server.stop_server()
    InteractiveShell.clear_instance()


def run(shell: InteractiveShell, line: str, cell: str) -> tuple[list[str], object]:
    with capture_output() as captured:
        value = shell.run_cell_magic("bigquery", line, cell)
    pages = [o.data["text/html"] for o in captured.outputs if "text/html" in o.data]
    return pages, value


def test_graph_draws_nodes_edges_and_the_schema(
    people: str, client: bigquery.Client, shell: InteractiveShell
) -> None:
    cell = (
        f"GRAPH {people} MATCH p = (a:Person)-[e]->{{1,2}}(b) WHERE a.id = 1 RETURN TO_JSON(p) AS p"
    )
    pages, _ = run(shell, "--graph", cell)
    html = pages[-1]
    port = graph_server.graph_server.port
    assert str(port) in html

    # What the page's own script does as soon as it is shown.
    written = re.search(r"params: `(.*?[^\\])`", html, re.DOTALL)
    assert written
    params = re.sub(r"\\(.)", r"\1", written[1])
    answer = requests.post(
        f"http://localhost:{port}/post_query", data=json.dumps({"params": params}), timeout=10
    ).json()

    drawn = answer["response"]
    assert len(drawn["nodes"]) == 3
    assert len(drawn["edges"]) == 2
    assert {node["properties"]["name"] for node in drawn["nodes"]} == {"Ada", "Bob", "Cyd"}
    assert {node["labels"][0] for node in drawn["nodes"]} == {"Person"}
    schema = drawn["schema"] if isinstance(drawn["schema"], dict) else json.loads(drawn["schema"])
    assert [table["name"] for table in schema["nodeTables"]] == ["person"]
    assert {label["name"] for label in schema["labels"]} == {"Person", "Knows"}


def test_a_plain_cell_gives_a_data_frame(people: str, shell: InteractiveShell) -> None:
    _, frame = run(shell, "", f"GRAPH {people} MATCH (p) RETURN p.name ORDER BY p.id")

    assert frame["name"].tolist() == ["Ada", "Bob", "Cyd"]
    assert bigquery_magics.context.progress_bar_type is None


def test_a_cell_takes_parameters(people: str, shell: InteractiveShell) -> None:
    _, frame = run(
        shell, '--params {"id":2}', f"GRAPH {people} MATCH (p {{id: @id}}) RETURN p.name"
    )

    assert frame["name"].tolist() == ["Bob"]
