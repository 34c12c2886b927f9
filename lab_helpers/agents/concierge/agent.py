"""The concierge's face: `ask`, `stream`, `history`, `clear`.

Response cache → classifier → product path or workflow. Product answers are one final event made
from rows; only conversation is streamed.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from google.adk import Runner
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.sessions import InMemorySessionService
from google.genai import types

from lab_helpers.agents.concierge import answers, classifier, lineage, products, wording, workflow
from lab_helpers.agents.concierge.classifier import Examples
from lab_helpers.agents.concierge.embedding import (
    Embedder,
    GeminiEmbedder,
    Idioms,
    LocalEmbedder,
    embed_menu,
)
from lab_helpers.agents.concierge.result import ChatResult, Delta, finished, metrics
from lab_helpers.agents.concierge.sessions import APP, Message, Sessions, identity
from lab_helpers.agents.concierge.tools import Tools
from lab_helpers.agents.concierge.turn import Turn
from lab_helpers.agents.model import Model
from lab_helpers.agents.trace import TRACE, Trace, dump, new_id
from lab_helpers.config import LabConfig
from lab_helpers.errors import LabError, scrubbed
from lab_helpers.stores.coffee import MAX_TEXT, CoffeeStore
from lab_helpers.stores.journal import journal
from lab_helpers.stores.lineage import DeliveryFailed, LineageStore, Rows
from lab_helpers.stores.operations import OperationsStore, Order
from lab_helpers.stores.personas import persona as find_persona

LONGEST = 2_000
CACHED_INTENT = classifier.PRODUCT_RAG
CONTEXT_MESSAGES = 12


class Concierge:
    """Answers the guests of the coffee shop.

    `orders` gives a customer's orders as the refund agent shows them.
    """

    def __init__(
        self,
        config: LabConfig,
        store: CoffeeStore,
        orders: Callable[[int], list[Order]],
        operations: OperationsStore,
        trail: LineageStore,
        model: Model | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self._config, self.store, self._orders = config, store, orders
        self._operations, self._trail = operations, trail
        self._model = model or Model(config)
        self._embedder = embedder or (
            GeminiEmbedder(self._model) if self._model.available else LocalEmbedder()
        )
        self._sessions = Sessions(config.home)
        self._journal = journal(config.home)
        self._deliveries = ThreadPoolExecutor(1, thread_name_prefix="concierge-trail")
        self._owed: set[Future[None]] = set()
        self._keeping: set[asyncio.Future[None]] = set()
        self._loading, self._ready = threading.Lock(), False

    # -- talking --------------------------------------------------------------------------------

    async def ask(
        self,
        message: str,
        persona: str | None = None,
        *,
        tone: str = "novice",
        session: str = "default",
    ) -> ChatResult:
        """One message, its final answer. See `stream`."""
        result = None
        async for item in self.stream(message, persona, tone=tone, session=session):
            result = item
        assert isinstance(result, ChatResult)
        return result

    async def stream(
        self,
        message: str,
        persona: str | None = None,
        *,
        tone: str = "novice",
        session: str = "default",
    ) -> AsyncIterator[Delta | ChatResult]:
        """The answer as it is said: deltas only for conversation, at the end the ChatResult.

        `persona` is the switcher's key and decides whose orders may be shown; without one the
        guest is nobody's customer. `tone` changes the words, never the facts. Raises LabError for
        an unknown persona or tone.
        """
        customer = None if persona is None else find_persona(persona).user_id
        if tone not in answers.TONES:
            raise LabError(
                f"There is no tone {tone!r}.",
                "The concierge speaks to four kinds of guest.",
                f"Use one of {', '.join(map(repr, answers.TONES))}.",
            )
        message = " ".join(str(message).split())[:LONGEST]
        turn = self._turn(message, customer, tone, session)
        since = time.perf_counter()
        if problem := missing_project(self._config):
            turn.answer = problem
            yield finished(turn, since)
            return
        try:
            async for delta in self._answer(turn):
                yield delta
        except Exception as error:
            # The step that failed recorded itself; the guest gets a sentence, never a trace.
            _note(turn.trace, error)
            turn.answer, turn.spoke = answers.say("down", turn.language), "template"
        result = finished(turn, since)
        # From here on the turn's trail outlives this kernel.
        rows = lineage.rows(turn, result)
        self._journal.keep(turn.trace.trace_id, dump(rows))
        keeping = asyncio.ensure_future(self._keep(turn, result, rows))
        self._keeping.add(keeping)
        keeping.add_done_callback(self._keeping.discard)
        yield result
        # What the guest waits for is said; a turn once answered is kept, also when nobody listens
        # any more.
        await asyncio.shield(keeping)

    async def history(
        self, persona: str | None = None, *, session: str = "default"
    ) -> list[Message]:
        """What was said in this conversation, oldest first: {"role", "text"} each."""
        return await self._sessions.history(_who(persona, session))

    async def state(self, persona: str | None = None, *, session: str = "default") -> dict:
        """What the conversation remembers, `last_products` among it."""
        return await self._sessions.state(_who(persona, session))

    async def clear(self, persona: str | None = None, *, session: str = "default") -> None:
        """Delete this conversation. Menu, caches, metrics and orders stay."""
        await self._sessions.clear(_who(persona, session))

    def forget_caches(self) -> None:
        """Empty the response cache and the embedding cache."""
        self.store.forget_caches()

    async def settled(self) -> None:
        """Wait until every turn so far is kept and its trail delivered (or in the outbox)."""
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(kept for kept in self._keeping if kept.get_loop() is loop))
        await asyncio.gather(*(asyncio.wrap_future(owed) for owed in list(self._owed)))

    def close(self) -> None:
        """Deliver what is owed and end the thread that does it."""
        self._deliveries.shutdown(wait=True)

    def classify(self, message: str) -> classifier.Intent:
        """How the examples read a message, without any model."""
        self._prepare()
        return self._examples.classify(message)

    def taught(self, label: str, texts: list[str]) -> Examples:
        """The classifier with more examples of one label; this concierge keeps its own.

        Raises LabError for a label that does not exist.
        """
        if label not in classifier.LABELS:
            raise LabError(
                f"There is no label {label!r}.",
                "The classifier knows five.",
                f"Use one of {', '.join(classifier.LABELS)}.",
            )
        self._prepare()
        more = [(label, text) for text in texts]
        return Examples([*classifier.labelled(), *more], self._names)

    def using(self, model: Model) -> Concierge:
        """This concierge with another model: same menu, stores, conversations and embeddings."""
        self._prepare()
        twin = copy.copy(self)
        twin._model = model
        return twin

    # -- one turn -------------------------------------------------------------------------------

    def _turn(self, message: str, customer: int | None, tone: str, session: str) -> Turn:
        return Turn(
            message=message,
            words=wording.plain(message)[:MAX_TEXT],
            language=wording.language(message),
            tone=tone,
            customer=customer,
            who=identity(customer, session),
            tools=None,  # type: ignore[arg-type]
            orders=self._orders,
            trace=Trace(new_id("TRC", 12)),
        )

    async def _answer(self, turn: Turn) -> AsyncIterator[Delta]:
        await self._prepared()
        turn.tools = Tools(self.store, self._embedder, self._idioms)
        mark = await self._from_cache(turn)
        if turn.from_cache:
            return
        with turn.step("intent_classifier") as step:
            turn.intent = await classifier.classify(self._model, self._examples, turn.message)
            step.spoke = self._model.speaks if turn.intent.by == "model" else None
        if turn.intent.label == classifier.PRODUCT_RAG:
            await self._product_answer(turn, mark)
        elif turn.intent.label == classifier.PRODUCT_AVAILABILITY:
            await self._availability_answer(turn)
        else:
            async for delta in self._workflow_answer(turn):
                yield delta

    async def _from_cache(self, turn: Turn) -> int:
        with turn.step("response_cache"):
            cached = await asyncio.to_thread(
                self.store.cached, self._model_name, turn.tone, turn.words
            )
        if cached.answer is not None:
            turn.from_cache, turn.answer = True, cached.answer
            turn.intent = classifier.Intent(cached.intent or CACHED_INTENT, "cache")
            turn.spoke, turn.mode = cached.spoke or "template", "cached"
            turn.remembered = list(cached.product_names)
        return cached.mark

    async def _product_answer(self, turn: Turn, mark: int) -> None:
        with turn.step("search_products_by_vector"):
            search = await turn.tools.search(turn.message)
        if search.failed:
            turn.answer, turn.mode = answers.say("no_search", turn.language), "no_search"
            return
        with turn.step("grounded_answer") as step:
            turn.products, turn.mode = await products.select(
                self._model, search.wish, search.products
            )
            turn.answer = answers.products(turn.products, turn.language, turn.tone)
            step.spoke = turn.spoke
        turn.remembered = [product.name for product in turn.products]
        if turn.products:
            turn.response = {
                "model": self._model_name,
                "persona": turn.tone,
                "query_text": turn.words,
                "intent": CACHED_INTENT,
                "answer": turn.answer,
                "spoke": turn.spoke,
                "product_names": turn.remembered,
                "menu_mark": mark,
            }

    async def _availability_answer(self, turn: Turn) -> None:
        with turn.step("find_stores_with_product"):
            state = await self._sessions.state(turn.who)
            turn.answer, product = await products.availability(
                turn.tools,
                self._names,
                turn.message,
                state.get("last_products", []),
                turn.language,
            )
        turn.products = [product] if product else []
        turn.mode = products.ROWS if product else products.NOTHING

    async def _workflow_answer(self, turn: Turn) -> AsyncIterator[Delta]:
        # A session for this run alone: what lasts is kept by `Sessions`, so two kernels cannot
        # make each other stale in the middle of a reply, and ADK's cost does not grow.
        service = InMemorySessionService()
        user = turn.who.user_id
        scratch = await service.create_session(app_name=APP, user_id=user)
        if self._model.available:
            turn.before = (await self._sessions.history(turn.who))[-CONTEXT_MESSAGES:]
        root = workflow.build(turn, self._model, self._examples)
        runner = Runner(app=App(name=APP, root_agent=root), session_service=service)
        TRACE.set(turn.trace)
        run = runner.run_async(
            user_id=user,
            session_id=scratch.id,
            new_message=types.UserContent(turn.message or " "),
            run_config=RunConfig(streaming_mode=StreamingMode.SSE),
        )
        async with contextlib.aclosing(run):
            async for event in run:
                if workflow.streams(turn):
                    for text in workflow.deltas(event):
                        yield Delta(text)
        turn.remembered = [product.name for product in turn.products]

    # -- keeping a turn -------------------------------------------------------------------------

    async def _keep(self, turn: Turn, result: ChatResult, rows: Rows) -> None:
        """Conversation, caches, metrics, trail. None of them may cost the guest the answer."""
        state: dict[str, Any] = {"intent": result.intent_detected}
        if turn.remembered:
            state["last_products"] = turn.remembered
        with contextlib.suppress(Exception):
            await self._sessions.keep(
                turn.who, turn.trace.trace_id, turn.message, turn.answer, state
            )
        with contextlib.suppress(Exception):
            await asyncio.to_thread(self._keep_rows, turn)
        self._deliver(turn.trace.trace_id, rows)

    def _keep_rows(self, turn: Turn) -> None:
        if turn.tools is None or not turn.tools.searches:
            return
        search, embedding = turn.tools.searches[-1], None
        if search.fresh_vector is not None:
            embedding = {
                "model": self._embedder.profile.model,
                "query_text": search.wish,
                "embedding": search.fresh_vector,
            }
        row = {"metric_id": new_id("MET", 12), "trace_id": turn.trace.trace_id}
        self.store.keep(
            response=turn.response, embedding=embedding, metrics={**row, **metrics(turn)}
        )

    # -- what is loaded once --------------------------------------------------------------------

    @property
    def _model_name(self) -> str:
        return self._config.model if self._model.available else "template"

    async def _prepared(self) -> None:
        if not self._ready:
            await asyncio.to_thread(self._prepare)
            await embed_menu(self.store, self._embedder)
            self._ready = True

    def _prepare(self) -> None:
        with self._loading:
            if hasattr(self, "_examples"):
                return
            shops = self.store.shops()
            places = [shop.name for shop in shops] + [shop.city for shop in shops]
            self._names = wording.Names(self.store.menu_names(), places)
            self._idioms = Idioms()
            self._examples = Examples(classifier.labelled(), self._names)

    # -- the trail ------------------------------------------------------------------------------

    def _deliver(self, trace_id: str, rows: Rows) -> None:
        """Hand the turn's rows to the one thread that writes them: no guest waits for the trail."""
        owed = self._deliveries.submit(self._flush, trace_id, rows)
        self._owed.add(owed)
        owed.add_done_callback(self._owed.discard)

    def _flush(self, trace_id: str, rows: Rows) -> None:
        try:
            self._trail.write(rows)
        except DeliveryFailed as failed:
            self._operations.put_outbox(trace_id, dump(failed.left))
        self._journal.done(trace_id)


def missing_project(config: LabConfig) -> str | None:
    """One sentence where the lab should call Gemini but names no usable project; else None."""
    if config.backend != "cloud":
        return None
    try:
        LabConfig.from_env({"LAB_BACKEND": "cloud", "LAB_PROJECT": config.project})
    except LabError as error:
        return f"The concierge cannot start: {scrubbed(str(error))}"
    return None


def _who(persona: str | None, session: str) -> Any:
    return identity(None if persona is None else find_persona(persona).user_id, session)


def _note(trace: Trace, error: Exception) -> None:
    if trace.steps and trace.steps[-1].error is None:
        trace.steps[-1].error = type(error).__name__
