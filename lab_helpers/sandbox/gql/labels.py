"""Label expressions: what is known when a query is lowered, and what only a row can tell."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from . import syntax as s
from .schema import ElementTable
from .sqlnodes import call, conjunction, disjunction, negation, text


def label_names(label: s.LabelExpression | None) -> Iterator[s.LabelName]:
    if isinstance(label, s.LabelName):
        yield label
    elif isinstance(label, s.LabelNot):
        yield from label_names(label.operand)
    elif isinstance(label, s.LabelAnd | s.LabelOr):
        yield from label_names(label.left)
        yield from label_names(label.right)


def known(label: s.LabelExpression | None, table: ElementTable) -> bool | None:
    """True or False when every row of the table agrees, None when the rows decide."""
    match label:
        case None:
            return True
        case s.LabelName(name):
            if name.lower() in table.labels:
                return True
            return None if table.dynamic_label else False
        case s.LabelWildcard():
            return True
        case s.LabelNot(operand):
            inner = known(operand, table)
            return None if inner is None else not inner
        case s.LabelAnd(left, right):
            sides = (known(left, table), known(right, table))
            return False if False in sides else None if None in sides else True
        case s.LabelOr(left, right):
            sides = (known(left, table), known(right, table))
            return True if True in sides else None if None in sides else False
    raise AssertionError(label)


def condition(
    label: s.LabelExpression, table: ElementTable, row_labels: exp.Expression
) -> exp.Expression:
    """The test of one row whose labels in lower case are the list `row_labels`."""
    answer = known(label, table)
    if answer is not None:
        return exp.Boolean(this=answer)
    match label:
        case s.LabelName(name):
            return call("list_contains", row_labels.copy(), text(name.lower()))
        case s.LabelNot(operand):
            return negation(condition(operand, table, row_labels))
        case s.LabelAnd(left, right):
            parts = [condition(x, table, row_labels) for x in (left, right)]
            return exp.Paren(this=conjunction(parts))
        case s.LabelOr(left, right):
            parts = [condition(x, table, row_labels) for x in (left, right)]
            return exp.Paren(this=disjunction(parts))
    raise AssertionError(label)
