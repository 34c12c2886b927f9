"""Google's own Spanner emulator, where its binary is on this machine."""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path


def binary():
    """`EMULATOR` names it, or gcloud has it installed; None where there is none."""
    named = os.environ.get("EMULATOR")
    if named:
        return Path(named)
    gcloud = shutil.which("gcloud")
    if gcloud is None:
        return None
    near = Path(gcloud).resolve().parent
    places = [near, near.parent / "lib/google-cloud-sdk/bin"]
    found = [p / "cloud_spanner_emulator/emulator_main" for p in places]
    return next((p for p in found if p.exists()), None)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def running():
    """The emulator on a free port; gives its host:port."""
    address = f"127.0.0.1:{free_port()}"
    process = subprocess.Popen(
        [str(binary()), "--host_port", address],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 20
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(address.split(":"), 0.2).close()
                break
            assert process.poll() is None and time.monotonic() < until, "it did not start"
            time.sleep(0.05)
        yield address
    finally:
        process.terminate()
        process.wait(10)
