"""How the results of all three agents show: numbers in words, and one root element of HTML."""

from __future__ import annotations

# Hosts typeset what stands between two dollar signs as a formula, unless told not to: the first
# name is MathJax 3's (JupyterLab, Notebook 7), the second MathJax 2's (Colab).
PRICES = "mathjax_ignore tex2jax_ignore"


def counted(n: object, noun: str) -> str:
    """The noun with its number: 1 item, 2 items."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def root(body: str, style: str) -> str:
    """`body`, which is HTML, in the root element of an output. Dollar signs stay dollar signs."""
    return f"<div class='{PRICES}' style='{style}'>{body}</div>"
