"""Knowledge Catalog: the glossary and its terms, made and removed. Only in a cloud project."""

from __future__ import annotations

from typing import Any

from google.api_core.exceptions import AlreadyExists, NotFound

from lab_helpers.stores import schema

LRO_TIMEOUT_S = 300
CALL_TIMEOUT_S = 20


def place(project: str) -> tuple[str, str]:
    """The global location of the project, and the glossary's name in it."""
    parent = f"projects/{project}/locations/global"
    return parent, schema.document("policies/business_glossary.json")["glossary"]


def make(client: Any, project: str, labels: dict[str, str]) -> bool:
    """Create the glossary and those of its terms that are missing; False where all are there.

    `client` is a BusinessGlossaryServiceClient. Raises the service's error.
    """
    from google.cloud import dataplex_v1  # no part of Colab, where the sandbox needs none

    document = schema.document("policies/business_glossary.json")
    parent, name = place(project)
    glossary = f"{parent}/glossaries/{name}"
    made = False
    if find(client, project) is None:
        message = dataplex_v1.Glossary(display_name="System of Action lab", labels=labels)
        try:
            client.create_glossary(
                parent=parent, glossary=message, glossary_id=name, timeout=CALL_TIMEOUT_S
            ).result(LRO_TIMEOUT_S)
            made = True
        except AlreadyExists:
            pass  # another run was quicker
    there = _terms(client, glossary)
    for term in document["terms"]:
        if term["term_id"] in there:
            continue
        message = dataplex_v1.GlossaryTerm(
            parent=glossary,
            display_name=term["display_name"],
            description=term["definition"],
            labels=labels,
        )
        client.create_glossary_term(
            parent=glossary, term=message, term_id=term["term_id"], timeout=CALL_TIMEOUT_S
        )
        made = True
    return made


def find(client: Any, project: str) -> Any:
    """The glossary as the service holds it, or None."""
    parent, name = place(project)
    try:
        return client.get_glossary(name=f"{parent}/glossaries/{name}", timeout=CALL_TIMEOUT_S)
    except NotFound:
        return None


def remove(client: Any, project: str) -> None:
    """Delete the terms, then the glossary, which is not deleted while it holds any."""
    parent, name = place(project)
    glossary = f"{parent}/glossaries/{name}"
    for term in _terms(client, glossary):
        client.delete_glossary_term(name=f"{glossary}/terms/{term}", timeout=CALL_TIMEOUT_S)
    client.delete_glossary(name=glossary, timeout=CALL_TIMEOUT_S).result(LRO_TIMEOUT_S)


def _terms(client: Any, glossary: str) -> set[str]:
    terms = client.list_glossary_terms(parent=glossary, timeout=CALL_TIMEOUT_S)
    return {term.name.rsplit("/", 1)[-1] for term in terms}
