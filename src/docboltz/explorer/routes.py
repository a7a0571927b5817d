"""The paths that programs and the page ask: each a verb of `TextModel`, from one snapshot."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request
from fastapi.responses import Response, StreamingResponse

from docboltz import __version__
from docboltz.explorer import schemas
from docboltz.explorer.batching import Batches, Question, Wanted
from docboltz.explorer.live import Live, StateChanged
from docboltz.explorer.snapshot import Snapshot
from docboltz.explorer.static import accepts_gzip
from docboltz.text_model import TextModel

NDJSON = "application/x-ndjson"
STREAMED = 64
"""Documents or texts that are made ready at a time while an answer streams."""

Text = Annotated[str, Query(max_length=schemas.LONGEST_QUERY)]
Limit = Annotated[int, Query(ge=1, le=schemas.MOST_HITS, description="Most hits to give.")]
By = Annotated[schemas.By, Query(description="What a document's score counts.")]
Why = Annotated[bool, Query(description="Whether each hit says why it is one.")]
Condition = Annotated[str, Query(max_length=schemas.LONGEST_QUERY, pattern="^[^=]+=")]
"""Of a column that was kept: its name and its value."""


async def filter_asked_for(
    label: Annotated[
        schemas.Values, Query(description="Only documents with one of these labels.")
    ] = (),  # type: ignore[assignment]
    since: Annotated[Text, Query(description="Only of this date or later.")] = "",
    until: Annotated[Text, Query(description="Only of this date or earlier.")] = "",
    where: Annotated[
        list[Condition],
        Query(max_length=schemas.MOST_VALUES, description="Only with column=value."),
    ] = (),  # type: ignore[assignment]
) -> Wanted:
    """What a document must have to be a hit. A coroutine: a function would need a thread."""
    columns = dict(each.split("=", 1) for each in where)
    return {"label": label, "since": since, "until": until, "where": columns}


Only = Annotated[Wanted, Depends(filter_asked_for)]

NO_DOCUMENT = "There is no such document."
CHANGED = "The collection or its topics have changed."
WRONG = {
    400: "It cannot be answered as it was asked.",
    401: "A token is needed.",
    413: "It is too much at a time.",
    421: "The server has another name.",
    422: "It was asked wrongly.",
}
"""What any path may answer instead."""


def problems(described: dict[int, str]) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says of refusals."""
    return {
        code: {"model": schemas.Problem, "description": what} for code, what in described.items()
    }


def encoded(value: Any) -> bytes:
    """JSON as short as it can be, in UTF-8."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode()


def answer(value: Any) -> Response:
    """An answer in JSON, written here: FastAPI would check it against its model again."""
    return Response(encoded(value), media_type="application/json")


def answer_searches(snapshot: Snapshot, questions: list[Question]) -> list[bytes]:
    """The answers to several searches, from one snapshot."""
    answers = [b""] * len(questions)
    kinds: dict[str, list[int]] = {}
    for place, question in enumerate(questions):
        kinds.setdefault(repr((question.limit, question.by, question.wanted)), []).append(place)
    for places in kinds.values():
        _, limit, by, _, wanted = questions[places[0]]
        found = snapshot.search([questions[place].text for place in places], limit, by, wanted)
        for place, hits in zip(places, found, strict=True):
            text, *_, reasons, _ = questions[place]
            why = snapshot.model.reasons(text, hits, by=by) if reasons and hits else ()
            answers[place] = encoded(snapshot.found(text, hits, why))
    return answers


def make_router(live: Live, batches: Batches) -> APIRouter:
    """All paths, answered from what is live."""
    router = APIRouter(responses=problems(WRONG))

    @router.get("/health", tags=["server"], summary="Does it answer?")
    def health() -> schemas.Health:
        return schemas.Health(status="ok", version=__version__, documents=len(live.snapshot))

    @router.get(
        "/api/collection",
        tags=["collection"],
        summary="What there is to explore",
        response_model=schemas.Collection,
    )
    def collection() -> Response:
        about = {"map_progress": live.map_progress, "edit": live.edit, "version": __version__}
        return answer({**live.snapshot.collection, **about})

    # ---- search ----

    @router.get(
        "/api/search",
        tags=["search"],
        summary="Documents that answer a text best",
        response_model=schemas.Found,
    )
    async def search(
        q: Annotated[
            Text,
            Query(
                description='Words, "a phrase", -word, label:x, since:2013, until:2014, column:x.',
                examples=["space shuttle"],
            ),
        ],
        wanted: Only,
        limit: Limit = 10,
        by: By = "both",
        reasons: Why = False,
    ) -> Response:
        found = await batches.ask(Question(q, limit, by, reasons, wanted))
        return Response(found, media_type="application/json")

    @router.post(
        "/api/search",
        tags=["search"],
        summary="Several searches at once",
        response_model=schemas.FoundMany,
    )
    def search_many(asked: schemas.SearchMany) -> Response:
        snapshot = live.snapshot
        wanted = asked.model_dump(include={"label", "since", "until", "where"})
        found = snapshot.search(asked.queries, asked.limit, asked.by, wanted)
        answers = [
            snapshot.found(text, hits) for text, hits in zip(asked.queries, found, strict=True)
        ]
        return answer({"answers": answers})

    @router.get(
        "/api/similar",
        tags=["search"],
        summary="Documents most like one of the collection",
        response_model=schemas.Found,
        responses=problems({404: NO_DOCUMENT}),
    )
    def similar(
        id: Annotated[Text, Query(description="Of a document.")],
        wanted: Only,
        limit: Limit = 10,
        by: By = "both",
        reasons: Why = False,
    ) -> Response:
        snapshot = live.snapshot
        require_rows_of(snapshot, [id])
        return answer(snapshot.similar(id, limit, by, wanted, reasons=reasons))

    @router.get(
        "/api/words",
        tags=["search"],
        summary="Words the model expects beside those of a text",
        response_model=list[schemas.ExpectedWord],
    )
    def words(
        q: Annotated[Text, Query(description="A few words.", examples=["shuttle launch"])],
        limit: Limit = 15,
    ) -> Response:
        return answer(live.snapshot.words(q, limit))

    @router.post(
        "/api/explain",
        tags=["search"],
        summary="What the model makes of a text",
        response_model=schemas.Explained,
    )
    def explain(asked: schemas.Paste) -> Response:
        return answer(live.snapshot.explain(asked.text, asked.limit))

    @router.post(
        "/api/transform",
        tags=["search"],
        summary="Features and topics of texts",
        description=f"With `Accept: {NDJSON}` a line for each text, as soon as it is ready.",
        response_model=schemas.Transformed,
        responses={200: {"content": {NDJSON: {}}}},
    )
    def transform(asked: schemas.Texts, request: Request) -> Response:
        snapshot = live.snapshot
        if wants_lines(request):
            return lines(
                {"features": f, "topic": t, "probability": p}
                for begin in range(0, len(asked.texts), STREAMED)
                for f, t, p in zip(
                    *snapshot.transform(asked.texts[begin : begin + STREAMED]), strict=True
                )
            )
        features, topic, probability = snapshot.transform(asked.texts)
        return answer({"features": features, "topic": topic, "probability": probability})

    # ---- documents ----

    @router.get(
        "/api/documents/{id:path}",
        tags=["documents"],
        summary="A document, its topics, and which of its words say what",
        response_model=schemas.ExplainedDocument,
        responses=problems({404: NO_DOCUMENT}),
    )
    def document(id: Annotated[str, Path(max_length=schemas.LONGEST_QUERY)]) -> Response:
        snapshot = live.snapshot
        require_rows_of(snapshot, [id])
        return answer(snapshot.document(id))

    @router.post(
        "/api/documents",
        tags=["documents"],
        summary="Documents by their rows or ids",
        description=f"With `Accept: {NDJSON}` a line for each document.",
        response_model=list[schemas.Document],
        responses={200: {"content": {NDJSON: {}}}, **problems({404: NO_DOCUMENT, 409: CHANGED})},
    )
    def documents(asked: schemas.Which, request: Request) -> Response:
        snapshot = live.snapshot
        rows = (
            require_rows_of(snapshot, asked.ids or [])
            if asked.rows is None
            else require_rows(snapshot, asked.rows, asked.build)
        )
        found = (
            document.to_dict()
            for begin in range(0, len(rows), STREAMED)
            for document in snapshot.model.documents(rows[begin : begin + STREAMED])
        )
        return lines(found) if wants_lines(request) else answer(list(found))

    @router.post(
        "/api/region",
        tags=["documents"],
        summary="What some documents have in common",
        response_model=schemas.Region,
        responses=problems({404: NO_DOCUMENT, 409: CHANGED}),
    )
    def region(asked: schemas.Rows) -> Response:
        snapshot = live.snapshot
        rows = require_rows(snapshot, asked.rows, asked.build)
        return answer(snapshot.model.region(rows).to_dict())

    # ---- topics ----

    @router.get(
        "/api/topics",
        tags=["topics"],
        summary="What the documents are about",
        response_model=list[schemas.Topic],
    )
    def topics() -> Response:
        return answer(live.snapshot.topics)

    @router.get(
        "/api/topics/by",
        tags=["topics"],
        summary="Topics by label, or over time",
        response_model=list[schemas.TopicGroups],
    )
    def topics_by(by: schemas.Grouping, period: schemas.Period | None = None) -> Response:
        return answer(live.snapshot.topics_by(by, period))

    editing = problems({403: "The server does not let topics be changed.", 409: CHANGED})

    @router.post(
        "/api/topics/{number}/name",
        tags=["topics"],
        summary="Call a topic by another name",
        response_model=list[schemas.Topic],
        responses=editing,
    )
    def rename_topic(
        number: Annotated[int, Path(ge=0, le=schemas.LARGEST_TOPIC)], asked: schemas.Name
    ) -> Response:
        return changed(live, lambda model: model.rename_topic(number, asked.name), asked.build)

    @router.post(
        "/api/topics/merge",
        tags=["topics"],
        summary="Make one topic of several",
        response_model=list[schemas.Topic],
        responses=editing,
    )
    def merge_topics(asked: schemas.Merge) -> Response:
        return changed(live, lambda model: model.merge_topics(asked.topics), asked.build)

    # ---- the map ----

    @router.get(
        "/api/map",
        tags=["map"],
        summary="What the columns of the map's points mean",
        response_model=schemas.Map,
    )
    def map() -> Response:
        return answer(live.snapshot.map())

    @router.get(
        "/api/map/points",
        tags=["map"],
        summary="The points of the map, in binary columns",
        description=(
            "Little-endian, one column after the other, n documents each: float32 x, float32 y "
            "(-1 to 1; NaN for a document that is not on the map), uint16 topic, uint16 label "
            "(codes of /api/map; 65535 for none), float32 day (since 1970-01-01; NaN for none)."
        ),
        response_class=Response,
        responses={
            200: {"content": {"application/octet-stream": {}}},
            **problems({409: CHANGED, 503: "There is no map yet."}),
        },
    )
    def points(request: Request, build: Annotated[str, Query(max_length=100)] = "") -> Response:
        snapshot = live.snapshot
        if snapshot.positions is None:
            detail = "The map is not computed yet: ask again in a moment."
            body = encoded({"detail": detail, "progress": live.map_progress})
            headers = {"Retry-After": "1"}
            return Response(body, 503, headers, "application/json")
        if build and build != snapshot.build:
            raise HTTPException(409, f"{CHANGED} Ask for /api/map again.")
        headers = {"Vary": "Accept-Encoding", "ETag": f'"{snapshot.build}"'}
        data = snapshot.points
        if accepts_gzip(request):
            headers["Content-Encoding"] = "gzip"
            data = snapshot.packed_points
        return Response(data, headers=headers, media_type="application/octet-stream")

    return router


def require_rows_of(snapshot: Snapshot, ids: list[str]) -> list[int]:
    """The rows of documents, or 404 where there is no such document."""
    rows = [row for id in ids if (row := snapshot.row_of(id)) is not None]
    if len(rows) < len(ids):
        raise HTTPException(404, "There is no document of this id: check it, or search for it.")
    return rows


def require_rows(snapshot: Snapshot, rows: list[int], build: str | None) -> list[int]:
    """Rows that there are, or 404; 409 if they are those of another state than this."""
    if build not in (None, snapshot.build):
        raise HTTPException(409, f"{CHANGED} Ask for /api/map again.")
    if rows and max(rows) >= len(snapshot):
        raise HTTPException(404, f"There is no such row: the last is {len(snapshot) - 1}.")
    return rows


def changed(live: Live, change: Callable[[TextModel], None], build: str | None) -> Response:
    """The topics after a change; 403 where they may not be changed, 409 if they are others now."""
    if not live.edit:
        raise HTTPException(403, "Topics are not to be changed here: start the server with --edit.")
    try:
        return answer(live.change(change, build).topics)
    except StateChanged as error:
        raise HTTPException(409, f"{CHANGED} Look at them again.") from error


def wants_lines(request: Request) -> bool:
    """Tell whether the answer is to be a line of JSON for each item."""
    return NDJSON in request.headers.get("accept", "")


def lines(items: Iterable[dict[str, Any]]) -> StreamingResponse:
    """A line of JSON for each item, sent as they come."""

    def encode() -> Iterator[bytes]:
        for item in items:
            yield encoded(item) + b"\n"

    return StreamingResponse(encode(), media_type=NDJSON)
