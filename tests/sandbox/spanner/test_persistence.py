"""What was acknowledged is there after kill -9, and nothing half-done is."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from google.api_core import exceptions

from tests.sandbox.spanner.conftest import INSTANCE, make_instance, rows

ACCOUNTS = "CREATE TABLE accounts (id INT64, balance INT64) PRIMARY KEY(id)"
LEDGER = (
    "CREATE TABLE ledger (entry STRING(40), account INT64, amount INT64, note STRING(8),"
    " FOREIGN KEY (account) REFERENCES accounts(id)) PRIMARY KEY(entry)"
)
GRAPH = (
    "CREATE PROPERTY GRAPH Bank NODE TABLES (accounts, ledger) EDGE TABLES (ledger AS entry_of"
    " SOURCE KEY (entry) REFERENCES ledger (entry)"
    " DESTINATION KEY (account) REFERENCES accounts (id))"
)
DDL = [
    ACCOUNTS,
    LEDGER,
    "CREATE UNIQUE INDEX by_note ON ledger(note)",
    "CREATE VIEW rich SQL SECURITY INVOKER AS SELECT id FROM accounts WHERE balance > 0",
    GRAPH,
    "ALTER TABLE accounts ADD COLUMN kind STRING(9) NOT NULL DEFAULT ('normal')",
]


def bank(client):
    instance = make_instance(client)
    database = instance.database("bank", ddl_statements=DDL)
    database.create().result(30)
    with database.batch() as batch:
        batch.insert("accounts", ["id", "balance"], [(n, 100) for n in range(4)])
    return database


def transfer(database, key: str, source: int, target: int) -> None:
    """Moves 1 in four writes; only whole transfers keep the sum and the ledger in step."""

    def work(transaction):
        list(transaction.execute_sql("SELECT balance FROM accounts ORDER BY id"))
        for account, amount in ((source, -1), (target, 1)):
            transaction.execute_update(
                f"UPDATE accounts SET balance = balance + {amount} WHERE id = {account}"
            )
            transaction.insert(
                "ledger", ["entry", "account", "amount"], [(f"{key}/{account}", account, amount)]
            )

    database.run_in_transaction(work)


_STREAM = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tests.sandbox.spanner.conftest import INSTANCE, Sandbox
from tests.sandbox.spanner.test_persistence import transfer
client = Sandbox(None, int(sys.argv[1]), Path()).client()
database = client.instance(INSTANCE).database("bank")
def stream(worker):
    for number in range(10_000):
        key = f"{worker}-{number}"
        transfer(database, key, number % 4, (number + 1 + worker % 3) % 4)
        print(key, flush=True)
with ThreadPoolExecutor(4) as pool:
    list(pool.map(stream, range(4)))
"""


def test_kill_in_the_middle_of_transactions(starter, tmp_path):
    sandbox = starter(tmp_path)
    bank(sandbox.client())
    # In a process of its own: a client waits without end for a server that is gone.
    stream = subprocess.Popen(
        [sys.executable, "-c", _STREAM, str(sandbox.port)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    acknowledged = [stream.stdout.readline().strip() for _ in range(60)]
    sandbox.kill()
    time.sleep(0.1)
    stream.kill()
    acknowledged += stream.stdout.read().split()
    database = starter(tmp_path).client().instance(INSTANCE).database("bank")
    stored = {key.partition("/")[0] for [key] in rows(database, "SELECT entry FROM ledger")}
    assert set(acknowledged) <= stored
    assert len(stored - set(acknowledged)) <= 4  # committed, but killed before the answer
    assert rows(database, "SELECT SUM(balance), COUNT(*) FROM accounts") == [[400, 4]]
    assert rows(
        database,
        "SELECT a.id FROM accounts a JOIN ledger l ON l.account = a.id"
        " GROUP BY a.id, a.balance HAVING a.balance != 100 + SUM(l.amount)",
    ) == []  # fmt: skip
    assert rows(database, "SELECT COUNT(*) FROM ledger") == [[2 * len(stored)]]


def test_names_ddl_and_graphs_survive_a_kill(starter, tmp_path):
    sandbox = starter(tmp_path)
    database = bank(sandbox.client())
    database.reload()
    before = list(database.ddl_statements)
    sandbox.kill()
    client = starter(tmp_path).client()
    instance = make_instance(client)
    instance.reload()
    assert (instance.processing_units, instance.labels) == (100, {"lab": "soa"})
    database = instance.database("bank")
    database.reload()
    assert list(database.ddl_statements) == before
    assert rows(database, "SELECT COUNT(*) FROM rich") == [[4]]
    assert rows(database, "SELECT DISTINCT kind FROM accounts") == [["normal"]]
    ask = "GRAPH Bank MATCH (a:accounts) RETURN COUNT(*) AS n"
    assert rows(database, ask) == [[4]]
    with database.batch() as batch:
        batch.insert("ledger", ["entry", "account", "note"], [("x", 1, "once")])
    for table_row, error in (
        ({"entry": "y", "account": 1, "note": "once"}, exceptions.AlreadyExists),
        ({"entry": "z", "account": 99}, exceptions.FailedPrecondition),
    ):
        with pytest.raises(error), database.batch() as batch:
            batch.insert("ledger", list(table_row), [tuple(table_row.values())])
    assert rows(database, ask.replace("accounts", "ledger")) == [[1]]


def test_a_dropped_database_stays_dropped(starter, tmp_path):
    """So does one whose making was cut short: its file is not listed."""
    (tmp_path / "cut-short.duckdb").write_bytes(b"half a file")
    sandbox = starter(tmp_path)
    database = bank(sandbox.client())
    database.drop()
    sandbox.kill()
    instance = make_instance(starter(tmp_path).client())
    assert not instance.database("bank").exists()
    assert not list(tmp_path.glob("*.duckdb*"))


def test_a_clients_session_outlives_the_server(starter, tmp_path):
    sandbox = starter(tmp_path)
    database = bank(sandbox.client())
    transfer(database, "before", 0, 1)
    sandbox.kill()
    starter(tmp_path, sandbox.port)
    transfer(database, "after", 0, 1)
    assert rows(database, "SELECT balance FROM accounts WHERE id < 2 ORDER BY id") == [[98], [102]]


def test_a_transaction_cut_by_a_restart_runs_again(starter, tmp_path):
    sandbox = starter(tmp_path)
    database = bank(sandbox.client())
    attempts = []

    def work(transaction):
        [[balance]] = transaction.execute_sql("SELECT balance FROM accounts WHERE id = 0")
        attempts.append(balance)
        transaction.execute_update("UPDATE accounts SET balance = balance + 5 WHERE id = 0")
        if len(attempts) == 1:
            sandbox.kill()
            starter(tmp_path, sandbox.port)

    database.run_in_transaction(work)
    assert attempts == [100, 100]
    assert rows(database, "SELECT balance FROM accounts WHERE id = 0") == [[105]]


def test_a_commit_sent_again_after_a_restart_is_not_done_twice(starter, tmp_path):
    from google.cloud.spanner_v1 import ExecuteSqlRequest, TransactionSelector
    from google.cloud.spanner_v1.database_sessions_manager import TransactionType

    sandbox = starter(tmp_path)
    database = bank(sandbox.client())
    session = database._sessions_manager.get_session(TransactionType.READ_WRITE).name
    begun = database.spanner_api.execute_sql(
        request=ExecuteSqlRequest(
            session=session,
            sql="UPDATE accounts SET balance = balance + 1 WHERE id = 0",
            seqno=1,
            transaction=TransactionSelector({"begin": {"read_write": {}}}),
        )
    )
    identity = begun.metadata.transaction.id
    commit = {"session": session, "transaction_id": identity, "mutations": []}
    first = database.spanner_api.commit(**commit)
    sandbox.kill()
    starter(tmp_path, sandbox.port)
    assert database.spanner_api.commit(**commit).commit_timestamp == first.commit_timestamp
    assert rows(database, "SELECT balance FROM accounts WHERE id = 0") == [[101]]


_SMALL_FILES = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, hard))
"""


def test_a_full_disk_is_said_in_plain_words_and_loses_nothing(starter, tmp_path):
    """A limit on the size of its files stands for the disk; lifting it is freeing space."""
    resource = pytest.importorskip("resource")
    if not hasattr(resource, "prlimit"):
        pytest.skip("needs Linux to change a limit of another process")
    sandbox = starter(tmp_path, prelude=_SMALL_FILES)
    database = bank(sandbox.client())
    database.update_ddl(["CREATE TABLE big (id INT64, v STRING(MAX)) PRIMARY KEY(id)"]).result(10)

    def write(number: int) -> None:
        with database.batch() as batch:
            batch.insert("big", ["id", "v"], [(number, f"{number}" * 100_000)])

    written = 0
    with pytest.raises(exceptions.FailedPrecondition, match="Free some disk space") as caught:
        for written in range(200):
            write(written)
    assert "nothing of this request was kept" in str(caught.value)
    assert 0 < written < 199
    resource.prlimit(sandbox.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    assert rows(database, "SELECT COUNT(*) FROM big") == [[written]]
    write(1_000)
    sandbox.kill()
    again = starter(tmp_path).client().instance(INSTANCE).database("bank")
    assert rows(again, "SELECT COUNT(*) FROM big") == [[written + 1]]
    assert rows(again, "SELECT SUM(balance) FROM accounts") == [[400]]
