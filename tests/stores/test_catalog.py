"""Knowledge Catalog through its real client, against a local server that speaks its wire."""

import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from google.cloud.dataplex_v1.types import business_glossary as wire
from google.longrunning.operations_pb2 import Operation
from google.protobuf.empty_pb2 import Empty

from lab_helpers.config import LabConfig, catalog_client, catalog_lookup
from lab_helpers.provision import glossary as provisioning
from lab_helpers.provision.cleanup import cleanup
from lab_helpers.provision.install import LABELS
from lab_helpers.stores.catalog import TTL_SECONDS, KnowledgeCatalog, from_document

TERMS = ["rolling-100d-refund-count", "order-age-days", "customer-loyalty-tier"]
PARENT = "projects/my-project-1/locations/global/glossaries/soa-business-glossary"


def done(message):
    operation = Operation(name="operations/1", done=True)
    operation.response.Pack(message)
    return operation


class Glossary(grpc.GenericRpcHandler):
    """BusinessGlossaryService with one glossary, two terms a page. `behave` may break it."""

    def __init__(self):
        self.terms, self.behave, self.asked = list(TERMS), "ok", []
        self.glossary, self.made = None, []
        self._server = grpc.server(ThreadPoolExecutor(4))
        self._server.add_generic_rpc_handlers([self])
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def service(self, details):
        service, _, method = details.method.rpartition("/")
        work = {
            "ListGlossaryTerms": (self._list, wire.ListGlossaryTermsResponse.serialize),
            "GetGlossary": (self._get, wire.Glossary.serialize),
            "CreateGlossary": (self._create, Operation.SerializeToString),
            "CreateGlossaryTerm": (self._create_term, wire.GlossaryTerm.serialize),
            "DeleteGlossaryTerm": (self._delete_term, Empty.SerializeToString),
            "DeleteGlossary": (self._delete, Operation.SerializeToString),
        }.get(method)
        if service != "/google.cloud.dataplex.v1.BusinessGlossaryService" or work is None:
            return None
        return grpc.unary_unary_rpc_method_handler(
            work[0],
            request_deserializer=getattr(wire, f"{method}Request").deserialize,
            response_serializer=work[1],
        )

    def _get(self, request, context):
        if self.glossary is None:
            context.abort(grpc.StatusCode.NOT_FOUND, "no glossary")
        return self.glossary

    def _create(self, request, context):
        self.glossary = request.glossary
        self.glossary.name = f"{request.parent}/glossaries/{request.glossary_id}"
        return done(wire.Glossary.pb(self.glossary))

    def _create_term(self, request, context):
        assert request.term.parent == request.parent == self.glossary.name
        self.made.append(request.term_id)
        self.terms.append(request.term_id)
        return request.term

    def _delete_term(self, request, context):
        self.terms.remove(request.name.rsplit("/", 1)[-1])
        return Empty()

    def _delete(self, request, context):
        if self.terms:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "the glossary holds terms")
        self.glossary = None
        return done(Empty())

    def _list(self, request, context):
        self.asked.append(request.parent)
        if self.behave == "hang":
            time.sleep(6)
        elif self.behave != "ok":
            context.abort(grpc.StatusCode[self.behave], "Bearer ya29.secret was refused")
        start = int(request.page_token or 0)
        names = [f"{PARENT}/terms/{t}" for t in self.terms[start : start + 2]]
        more = str(start + 2) if start + 2 < len(self.terms) else ""
        return wire.ListGlossaryTermsResponse(
            terms=[wire.GlossaryTerm(name=n) for n in names], next_page_token=more
        )

    def close(self):
        self._server.stop(0)


@pytest.fixture
def glossary():
    server = Glossary()
    yield server
    server.close()


def catalog(glossary, clock=time.monotonic):
    config = LabConfig(backend="cloud", project="my-project-1")
    return KnowledgeCatalog(catalog_lookup(config, glossary.address), clock)


@pytest.mark.parametrize(
    ("terms", "source"),
    [
        (TERMS, "knowledge-catalog"),
        ([*TERMS, "another-term"], "knowledge-catalog"),
        (TERMS[:2], "glossary-file"),
        ([], "glossary-file"),
    ],
)
def test_the_contract_says_who_governs(glossary, terms, source):
    glossary.terms = terms
    contract = catalog(glossary).contract()
    assert contract == {**from_document(), "source": source}
    assert set(glossary.asked) == {PARENT}


@pytest.mark.parametrize(
    "failure", ["UNAVAILABLE", "PERMISSION_DENIED", "NOT_FOUND", "RESOURCE_EXHAUSTED", "INTERNAL"]
)
def test_a_refusal_leaves_the_glossary_file_in_charge_and_tells_no_secret(
    glossary, failure, caplog, capfd
):
    glossary.behave = failure
    contract = catalog(glossary).contract()
    assert contract["source"] == "glossary-file"
    said = capfd.readouterr()
    assert "ya29" not in f"{contract} {caplog.text} {said.out} {said.err}"


def test_a_catalog_that_hangs_is_left_at_the_deadline(glossary):
    glossary.behave = "hang"
    begun = time.monotonic()
    assert catalog(glossary).contract()["source"] == "glossary-file"
    assert time.monotonic() - begun < 5.5


def test_it_is_asked_once_in_five_minutes(glossary):
    now = [0.0]
    kept = catalog(glossary, lambda: now[0])
    kept.contract()
    once = len(glossary.asked)
    for now[0] in (1.0, TTL_SECONDS - 1):
        kept.contract()
    assert len(glossary.asked) == once
    glossary.terms = []
    now[0] = TTL_SECONDS
    assert kept.contract()["source"] == "glossary-file"
    assert len(glossary.asked) > once


async def test_the_panel_shows_which_one_governed_the_turn(lab, glossary):
    from lab_helpers.stores.personas import persona
    from lab_helpers.ui.chat import Conversation, decision_html

    before = lab.refund.catalog.use(catalog(glossary)._lookup)
    try:
        for source, shown in (
            ("knowledge-catalog", "terms from Knowledge Catalog"),
            ("glossary-file", "terms from the glossary file"),
        ):
            result = await lab.refund.turn("Please refund ORD-90124.", "A", session=source)
            chat = Conversation(persona("A"))
            chat.answer(result)
            assert result.contract_source == source
            assert shown in decision_html(chat)
            glossary.terms = []
            lab.refund.catalog.use(catalog(glossary)._lookup)
    finally:
        lab.refund.catalog.use(before)


@pytest.mark.parametrize("there", [[], TERMS[:1], TERMS[:2]])
def test_the_glossary_is_made_whatever_a_kill_left_and_made_once(glossary, there):
    glossary.terms = list(there)
    with catalog_client(glossary.address) as client:
        assert provisioning.make(client, "my-project-1", LABELS) is True
        assert glossary.made == TERMS[len(there) :]
        assert glossary.glossary.name == PARENT
        assert provisioning.make(client, "my-project-1", LABELS) is False
    assert catalog(glossary).contract()["source"] == "knowledge-catalog"


@pytest.mark.parametrize(
    ("labels", "state", "left"),
    [(LABELS, "removed", []), ({}, "left alone: not labelled by this lab", TERMS)],
)
def test_clean_up_removes_the_glossary_only_where_the_lab_made_it(
    glossary, lab, labels, state, left
):
    glossary.terms = []
    elsewhere = LabConfig(project="my-project-1", instance="not-here", dataset="not_here")
    with catalog_client(glossary.address) as client:
        provisioning.make(client, "my-project-1", labels)
        listed = cleanup(elsewhere, lab.spanner, lab.bigquery, client, confirm=False)
        removed = cleanup(elsewhere, lab.spanner, lab.bigquery, client, confirm=True)
    assert [r["name"] for r in listed] == ["soa-business-glossary"]
    assert [r["state"] for r in removed] == [state]
    assert glossary.terms == left
