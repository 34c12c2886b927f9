"""Knowledge Catalog through its real client, against a local server that speaks its wire."""

import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from google.api_core.exceptions import InternalServerError
from google.cloud.dataplex_v1.types import business_glossary as wire
from google.cloud.dataplex_v1.types import catalog as entries
from google.longrunning.operations_pb2 import Operation
from google.protobuf.empty_pb2 import Empty

from lab_helpers.config import LabConfig, aspect_client, catalog_client, catalog_lookup
from lab_helpers.provision import aspect
from lab_helpers.provision import glossary as provisioning
from lab_helpers.provision.cleanup import cleanup
from lab_helpers.provision.install import LABELS
from lab_helpers.stores.catalog import TTL_SECONDS, KnowledgeCatalog, from_document

TERMS = ["rolling-100d-refund-count", "order-age-days", "customer-loyalty-tier"]
PARENT = "projects/my-project-1/locations/global/glossaries/soa-business-glossary"
ENTRIES = f"projects/my-project-1/locations/global/entryGroups/@dataplex/entries/{PARENT}/terms/"
ASPECT = "refund-metric-contract"


def done(message):
    operation = Operation(name="operations/1", done=True)
    operation.response.Pack(message)
    return operation


class Glossary(grpc.GenericRpcHandler):
    """BusinessGlossaryService with one glossary, two terms a page, and CatalogService with the
    terms' entries. `behave` may break the list of terms."""

    def __init__(self):
        self.terms, self.behave, self.asked = list(TERMS), "ok", []
        self.glossary, self.made = None, []
        self.aspect_type, self.aspects, self.dies_after = None, {}, None
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
        types = wire
        if service == "/google.cloud.dataplex.v1.CatalogService":
            types = entries
            work = {
                "GetAspectType": (self._get_type, entries.AspectType.serialize),
                "CreateAspectType": (self._create_type, Operation.SerializeToString),
                "DeleteAspectType": (self._delete_type, Operation.SerializeToString),
                "GetEntry": (self._get_entry, entries.Entry.serialize),
                "UpdateEntry": (self._update_entry, entries.Entry.serialize),
            }.get(method)
        elif service != "/google.cloud.dataplex.v1.BusinessGlossaryService":
            return None
        return work and grpc.unary_unary_rpc_method_handler(
            work[0],
            request_deserializer=getattr(types, f"{method}Request").deserialize,
            response_serializer=work[1],
        )

    def _get_type(self, request, context):
        if self.aspect_type is None:
            context.abort(grpc.StatusCode.NOT_FOUND, "no aspect type")
        return self.aspect_type

    def _create_type(self, request, context):
        self.aspect_type = request.aspect_type
        self.aspect_type.name = f"{request.parent}/aspectTypes/{request.aspect_type_id}"
        return done(entries.AspectType.pb(self.aspect_type))

    def _delete_type(self, request, context):
        assert request.name == self.aspect_type.name
        self.aspect_type = None
        return done(Empty())

    def _get_entry(self, request, context):
        if not request.name.startswith(ENTRIES):
            context.abort(grpc.StatusCode.NOT_FOUND, request.name)
        held = self.aspects.get(request.name.rsplit("/", 1)[-1])
        # The service spells the project by its number.
        shown = {f"12345.global.{ASPECT}": {"data": held}} if held else {}
        return entries.Entry(name=request.name, aspects=shown)

    def _update_entry(self, request, context):
        if self.dies_after is not None and len(self.aspects) >= self.dies_after:
            context.abort(grpc.StatusCode.INTERNAL, "gone")
        (key,) = request.aspect_keys
        assert list(request.update_mask.paths) == ["aspects"] and self.aspect_type
        fields = {f.name for f in self.aspect_type.metadata_template.record_fields}
        data = dict(request.entry.aspects[key].data)
        assert key == f"my-project-1.global.{ASPECT}" and data.keys() <= fields
        self.aspects[request.entry.name.rsplit("/", 1)[-1]] = data
        return request.entry

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


@pytest.fixture
def services(glossary):
    with catalog_client(glossary.address) as terms, aspect_client(glossary.address) as entries:
        yield entries, terms


@pytest.mark.parametrize("killed_after", [None, 0, 1, 2])
def test_the_terms_carry_their_values_whatever_a_kill_left(glossary, services, killed_after):
    glossary.dies_after = killed_after
    if killed_after is not None:
        with pytest.raises(InternalServerError):
            aspect.make(*services, "my-project-1", LABELS)
        assert len(glossary.aspects) == killed_after
        glossary.dies_after = None
    assert aspect.make(*services, "my-project-1", LABELS) is True
    assert glossary.aspects == {
        "rolling-100d-refund-count": {"returned_status": "Returned", "rolling_window_days": 100},
        "order-age-days": {"eligible_order_status": "Complete"},
        "customer-loyalty-tier": {"standard_tier": "STANDARD", "vip_tier": "VIP"},
    }
    assert dict(glossary.aspect_type.labels) == LABELS
    assert aspect.make(*services, "my-project-1", LABELS) is False


@pytest.mark.parametrize(
    ("labels", "state", "left"),
    [(LABELS, "removed", False), ({}, "left alone: not labelled by this lab", True)],
)
def test_clean_up_removes_the_aspect_type_only_where_the_lab_made_it(
    glossary, services, lab, labels, state, left
):
    entries, terms = services
    aspect.make(entries, terms, "my-project-1", labels)
    elsewhere = LabConfig(project="my-project-1", instance="not-here", dataset="not_here")
    rows = cleanup(elsewhere, lab.spanner, lab.bigquery, terms, entries, confirm=True)
    assert [(r["name"], r["state"]) for r in rows] == [(ASPECT, state)]
    assert (glossary.aspect_type is not None) == left
