"""Making Google's own clients and notebook magics feel at home with a local endpoint.

The clients find the sandbox by two environment variables (`sandbox.env`). What is left is what they
would still ask the cloud for: credentials, a resource's region, the Storage API. Each is one
attribute, set here and nowhere else; call these functions only when the lab runs locally.
"""

from typing import Any


def use_sandbox_bigquery(project: str) -> None:
    """Let the BigQuery client and `%%bigquery` work without an account, in `project`."""
    import bigquery_magics
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import bigquery

    bigquery_magics.context.credentials = AnonymousCredentials()
    bigquery_magics.context.project = project
    # The bar is a widget that is stale as soon as it is saved with the notebook.
    bigquery_magics.context.progress_bar_type = None
    # to_dataframe() and the magics prefer the Storage API, whose address no variable changes: it
    # would be asked in the cloud. Without a client for it they read rows over REST. An argument to
    # each call could say so too, but the magics' schema view does not pass it on.
    bigquery.Client._ensure_bqstorage_client = _no_storage_client


def prepare_spanner_client() -> None:
    """Let the Spanner client start at once, and `%%spanner_graph` work without an account.

    Call it before the first `spanner.Client()`.
    """
    import pydata_google_auth
    from google.auth.credentials import AnonymousCredentials
    from google.cloud.spanner_v1 import _helpers

    # The first client looks up metadata.google.internal to label metrics it will not send; where
    # names resolve slowly that costs seconds.
    _helpers._cloud_region = "global"
    # %%spanner_graph asks for default credentials, and would open a sign-in page without them ...
    pydata_google_auth.default = _no_account
    # ... and names a project to bill, which the client's own emulator credentials cannot take.
    AnonymousCredentials.with_quota_project = _unchanged


def _no_storage_client(self: Any, *args: Any, **kwargs: Any) -> None:
    return None


def _no_account(*args: Any, **kwargs: Any) -> tuple[Any, None]:
    from google.auth.credentials import AnonymousCredentials

    return AnonymousCredentials(), None


def _unchanged(self: Any, quota_project_id: str | None) -> Any:
    return self
