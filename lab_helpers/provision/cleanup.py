"""Remove exactly what the lab made, after showing the list."""

from __future__ import annotations

import functools
from typing import Any

from google.api_core.exceptions import NotFound
from google.cloud import bigquery

from lab_helpers.config import LabConfig
from lab_helpers.provision import aspect, glossary
from lab_helpers.provision.install import LABELS


def cleanup(
    config: LabConfig,
    spanner_client: Any,
    bigquery_client: bigquery.Client,
    glossary_client: Any = None,
    aspect_client: Any = None,
    *,
    confirm: bool,
) -> list[dict[str, str]]:
    """The lab's resources, one row each; removed when `confirm is True`.

    What the lab makes but does not carry its label is left alone and said to be.
    `glossary_client` and `aspect_client` are None where there is no Knowledge Catalog.
    """
    rows: list[dict[str, str]] = []

    def row(resource: str, name: str, ours: bool, remove: Any) -> None:
        if not ours:
            state = "left alone: not labelled by this lab"
        elif confirm is True:
            remove()
            state = "removed"
        else:
            state = "would be removed"
        rows.append({"resource": resource, "name": name, "state": state})

    try:
        dataset = bigquery_client.get_dataset(config.dataset)
        ours = LABELS.items() <= (dataset.labels or {}).items()
        row(
            "BigQuery dataset",
            config.dataset,
            ours,
            lambda: bigquery_client.delete_dataset(dataset, delete_contents=True),
        )
    except NotFound:
        pass
    instance = spanner_client.instance(config.instance)
    if instance.exists():
        instance.reload()
        ours = LABELS.items() <= dict(instance.labels or {}).items()
        database = instance.database(config.database)
        if database.exists():
            row("Spanner database", config.database, ours, database.drop)
        others = [
            d for d in instance.list_databases() if d.name.rsplit("/", 1)[-1] != config.database
        ]
        row("Spanner instance", config.instance, ours and not others, instance.delete)
    for resource, kind, client in (
        ("glossary", glossary, glossary_client),
        # The terms that carry it go first.
        ("aspect type", aspect, aspect_client),
    ):
        found = None if client is None else kind.find(client, config.project)
        if found is not None:
            row(
                f"Knowledge Catalog {resource}",
                found.name.rsplit("/", 1)[-1],
                LABELS.items() <= dict(found.labels).items(),
                functools.partial(kind.remove, client, config.project),
            )
    return rows
