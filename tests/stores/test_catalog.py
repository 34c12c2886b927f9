"""Knowledge Catalog through its real client, against a local server that speaks its wire."""

import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from google.cloud.dataplex_v1.types import business_glossary as wire

from lab_helpers.config import LabConfig, catalog_lookup
from lab_helpers.stores.catalog import TTL_SECONDS, KnowledgeCatalog, from_document

TERMS = ["rolling-100d-refund-count", "order-age-days", "customer-loyalty-tier"]
PARENT = "projects/my-project-1/locations/global/glossaries/soa-business-glossary"


class Glossary(grpc.GenericRpcHandler):
    """BusinessGlossaryService.ListGlossaryTerms, two terms a page. `behave` may break it."""

    def __init__(self):
        self.terms, self.behave, self.asked = list(TERMS), "ok", []
        self._server = grpc.server(ThreadPoolExecutor(4))
        self._server.add_generic_rpc_handlers([self])
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def service(self, details):
        if details.method != "/google.cloud.dataplex.v1.BusinessGlossaryService/ListGlossaryTerms":
            return None
        return grpc.unary_unary_rpc_method_handler(
            self._list,
            request_deserializer=wire.ListGlossaryTermsRequest.deserialize,
            response_serializer=wire.ListGlossaryTermsResponse.serialize,
        )

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
