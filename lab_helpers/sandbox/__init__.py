"""The local Google Cloud: one background process that speaks Spanner's and BigQuery's protocols.

`ensure(home)` finds or starts it. Nothing here imports the rest of the kit, and importing this
package loads no database.
"""

from lab_helpers.sandbox.errors import SandboxError
from lab_helpers.sandbox.process import Endpoints, Status, ensure, env, logs, status, stop

__all__ = ["Endpoints", "SandboxError", "Status", "ensure", "env", "logs", "status", "stop"]
