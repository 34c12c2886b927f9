"""Knowledge Catalog: the aspect type of the refund contract, and its values on the terms.

Names as in seed 000. An aspect type is global here, as the glossary is; a term's entry is the one
that the service keeps for it in its own group, @dataplex.
"""

from __future__ import annotations

import contextlib
from typing import Any

from google.api_core.exceptions import AlreadyExists, NotFound
from google.protobuf import field_mask_pb2

from lab_helpers.provision.glossary import CALL_TIMEOUT_S, LRO_TIMEOUT_S, place
from lab_helpers.stores import schema

_KINDS = {str: "string", int: "int"}


def make(client: Any, glossary_client: Any, project: str, labels: dict[str, str]) -> bool:
    """Create the aspect type and put it on the terms that lack it; False where all is there.

    The glossary comes first. Raises the service's error.
    """
    document = schema.document("policies/business_glossary.json")
    (parent, glossary), name = place(project), document["aspect_type"]
    made = find(client, project) is None
    if made:
        with contextlib.suppress(AlreadyExists):  # another run was quicker
            client.create_aspect_type(
                parent=parent,
                aspect_type=_aspect_type(document, labels),
                aspect_type_id=name,
                timeout=CALL_TIMEOUT_S,
            ).result(LRO_TIMEOUT_S)
    values = {term["term_id"]: term["aspect"] for term in document["terms"]}
    terms = f"{parent}/glossaries/{glossary}"
    for term in glossary_client.list_glossary_terms(parent=terms, timeout=CALL_TIMEOUT_S):
        term_id = term.name.rsplit("/", 1)[-1]
        if term_id in values:
            made |= _put(client, parent, name, term.name, values[term_id])
    return made


def find(client: Any, project: str) -> Any:
    """The aspect type as the service holds it, or None."""
    try:
        return client.get_aspect_type(name=_name(project), timeout=CALL_TIMEOUT_S)
    except NotFound:
        return None


def remove(client: Any, project: str) -> None:
    """Delete the aspect type; the terms that carried it go with their glossary, before."""
    client.delete_aspect_type(name=_name(project), timeout=CALL_TIMEOUT_S).result(LRO_TIMEOUT_S)


def _name(project: str) -> str:
    name = schema.document("policies/business_glossary.json")["aspect_type"]
    return f"{place(project)[0]}/aspectTypes/{name}"


def _aspect_type(document: Any, labels: dict[str, str]) -> Any:
    """A record of every value that a term of the glossary gives, none of them required."""
    from google.cloud import dataplex_v1  # no part of Colab, where the sandbox needs none

    fields = {k: _KINDS[type(v)] for term in document["terms"] for k, v in term["aspect"].items()}
    template = dataplex_v1.AspectType.MetadataTemplate
    return dataplex_v1.AspectType(
        display_name="Refund metric contract",
        labels=labels,
        metadata_template=template(
            name=document["aspect_type"],
            type_="record",
            record_fields=[
                template(name=field, type_=kind, index=index)
                for index, (field, kind) in enumerate(fields.items(), start=1)
            ],
        ),
    )


def _put(client: Any, parent: str, aspect: str, term: str, values: dict[str, Any]) -> bool:
    """Put the values on one term's entry; False where it carries the aspect already."""
    from google.cloud import dataplex_v1  # no part of Colab, where the sandbox needs none

    entry = f"{parent}/entryGroups/@dataplex/entries/{term}"
    every = {"name": entry, "view": dataplex_v1.EntryView.ALL}
    held = client.get_entry(request=every, timeout=CALL_TIMEOUT_S)
    # The service spells the project in a key by its number.
    if any(key.endswith(f".global.{aspect}") for key in held.aspects):
        return False
    key = f"{parent.split('/')[1]}.global.{aspect}"
    changed = dataplex_v1.Entry(
        name=held.name, entry_type=held.entry_type, aspects={key: dataplex_v1.Aspect(data=values)}
    )
    client.update_entry(
        request={
            "entry": changed,
            "update_mask": field_mask_pb2.FieldMask(paths=["aspects"]),
            "aspect_keys": [key],
        },
        timeout=CALL_TIMEOUT_S,
    )
    return True
