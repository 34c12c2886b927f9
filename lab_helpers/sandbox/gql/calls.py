"""Function calls: sqlglot has a class for some functions and Anonymous for the others."""

from __future__ import annotations

from sqlglot import exp

_NAMES: dict[type[exp.Expression], str] = {
    exp.GroupConcat: "STRING_AGG",
    exp.ArraySize: "ARRAY_LENGTH",
    exp.ArrayFilter: "ARRAY_FILTER",
    exp.ApproxDistinct: "APPROX_COUNT_DISTINCT",
    exp.BitwiseAndAgg: "BIT_AND",
    exp.BitwiseOrAgg: "BIT_OR",
    exp.BitwiseXorAgg: "BIT_XOR",
    exp.CountIf: "COUNTIF",
    exp.JSONBool: "BOOL",
    exp.JSONExtract: "JSON_QUERY",
    exp.JSONExtractScalar: "JSON_VALUE",
    exp.VariancePop: "VAR_POP",
    exp.String: "STRING",
    exp.Flatten: "FLATTEN",
    exp.JSONRemove: "JSON_REMOVE",
    exp.ParseJSON: "PARSE_JSON",
    exp.Typeof: "TYPEOF",
    exp.GenerateSeries: "GENERATE_ARRAY",
    exp.TimestampDiff: "TIMESTAMP_DIFF",
}
NAVIGATION = frozenset({"FIRST_VALUE", "LAST_VALUE", "NTH_VALUE", "LAG", "LEAD"})
AGGREGATES = frozenset(
    {
        "ANY_VALUE",
        "APPROX_COUNT_DISTINCT",
        "ARRAY_AGG",
        "ARRAY_CONCAT_AGG",
        "AVG",
        "BIT_AND",
        "BIT_OR",
        "BIT_XOR",
        "COUNT",
        "COUNTIF",
        "LOGICAL_AND",
        "LOGICAL_OR",
        "MAX",
        "MIN",
        "STRING_AGG",
        "SUM",
        "STDDEV",
        "STDDEV_SAMP",
        "STDDEV_POP",
        "VARIANCE",
        "VAR_SAMP",
        "VAR_POP",
        "CORR",
        "COVAR_POP",
        "COVAR_SAMP",
        "PERCENTILE_CONT",
        "PERCENTILE_DISC",
    }
)


def name_of(node: exp.Expression) -> str:
    """The function's name in capitals, '' for what is not a call."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).upper()
    if isinstance(node, exp.AnonymousAggFunc):
        return str(node.this).upper()
    if isinstance(node, exp.JSONFormat):
        return "TO_JSON" if node.args.get("to_json") else "TO_JSON_STRING"
    if type(node) in _NAMES:
        return _NAMES[type(node)]
    return node.sql_name().upper() if isinstance(node, exp.Func) else ""


def arguments_of(node: exp.Expression) -> list[exp.Expression]:
    """The arguments in order, as far as sqlglot keeps them as expressions."""
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    if isinstance(node, exp.If):
        found = [node.this, node.args.get("true"), node.args.get("false")]
    else:
        found = [node.args.get("this"), node.args.get("expression"), *node.expressions]
    return [x for x in found if isinstance(x, exp.Expression)]


def is_aggregate(node: exp.Expression) -> bool:
    if name_of(node) in NAVIGATION:
        return False
    return isinstance(node, exp.AggFunc | exp.HavingMax) or name_of(node) in AGGREGATES
