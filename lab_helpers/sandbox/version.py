"""Which sandbox this is: a fingerprint of its source; a changed kit restarts the process."""

import hashlib
from pathlib import Path

_PACKAGE = Path(__file__).parent


def source_version() -> str:
    """Twelve hex digits over the package's Python files.

    Read from disk at every call: two kernels, one of which imported the kit before an update, must
    agree, or they would keep restarting each other's sandbox.
    """
    digest = hashlib.sha256()
    for source in sorted(_PACKAGE.rglob("*.py")):
        digest.update(source.relative_to(_PACKAGE).as_posix().encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]
