"""PROPERTY_GRAPH_METADATA_JSON, in the shapes the notebook libraries read."""

from __future__ import annotations

from .schema import EDGE, NODE, ElementTable, PropertyGraph, properties_of
from .typenames import googlesql


def spanner_metadata(graph: PropertyGraph) -> dict:
    """Spanner's shape: labels and property declarations once, tables refer to them by name."""
    labels: dict[str, dict] = {}
    for table in graph.elements.values():
        for folded, label in table.labels.items():
            labels.setdefault(
                folded,
                {"name": label.name, "propertyDeclarationNames": sorted(label.properties)},
            )
    declared = properties_of(graph.elements.values())
    return {
        "catalog": "",
        "schema": "",
        "name": graph.name,
        "nodeTables": [_spanner_table(graph, t) for t in graph.tables(NODE)],
        "edgeTables": [_spanner_table(graph, t) for t in graph.tables(EDGE)],
        "labels": list(labels.values()),
        "propertyDeclarations": [
            {"name": p.name, "type": googlesql(p.type)} for p in declared.values()
        ],
    }


def _spanner_table(graph: PropertyGraph, table: ElementTable) -> dict:
    schema, _, name = table.base.rpartition(".")
    found = {
        "name": table.name,
        "kind": table.kind.upper(),
        "baseCatalogName": "",
        "baseSchemaName": schema,
        "baseTableName": name,
        "keyColumns": list(table.key),
        "labelNames": [label.name for label in table.labels.values()],
        "propertyDefinitions": [
            {"propertyDeclarationName": p.name, "valueExpressionSql": p.text}
            for p in table.properties.values()
        ],
    }
    if table.dynamic_label:
        found["dynamicLabelExpr"] = table.dynamic_label
    if table.dynamic_properties:
        found["dynamicPropertyExpr"] = table.dynamic_properties
    for side, end in zip(
        ("sourceNodeTable", "destinationNodeTable"), table.ends or (), strict=False
    ):
        found[side] = {
            "nodeTableName": graph.elements[end.node].name,
            "edgeTableColumns": list(end.columns),
            "nodeTableColumns": list(end.node_columns),
        }
    return found


def bigquery_metadata(graph: PropertyGraph, project: str, dataset: str) -> dict:
    """BigQuery's shape: every table spells out its labels and their properties."""
    return {
        "propertyGraphReference": {
            "projectId": project,
            "datasetId": dataset,
            "propertyGraphId": graph.name.split(".")[-1],
        },
        "nodeTables": [_bigquery_table(graph, t, project, dataset) for t in graph.tables(NODE)],
        "edgeTables": [_bigquery_table(graph, t, project, dataset) for t in graph.tables(EDGE)],
    }


def _bigquery_table(graph: PropertyGraph, table: ElementTable, project: str, dataset: str) -> dict:
    parts = [project, dataset][: max(0, 3 - len(table.base.split(".")))] + table.base.split(".")
    found = {
        "name": table.name,
        "dataSourceTable": dict(
            zip(("projectId", "datasetId", "tableId"), parts[-3:], strict=True)
        ),
        "keyColumns": list(table.key),
        "labelAndProperties": [
            {
                "label": label.name,
                "properties": [
                    {
                        "name": name,
                        "dataType": {"typeKind": googlesql(table.properties[name.lower()].type)},
                        "expression": table.properties[name.lower()].text,
                    }
                    for name in label.properties
                ],
            }
            for label in table.labels.values()
        ],
    }
    sides = ("sourceNodeReference", "destinationNodeReference")
    for side, end in zip(sides, table.ends or (), strict=False):
        found[side] = {
            "nodeTable": graph.elements[end.node].name,
            "edgeTableColumns": list(end.columns),
            "nodeTableColumns": list(end.node_columns),
        }
    return found
