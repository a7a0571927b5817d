"""The application: paths, page, and how it fails, in one sentence."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.types import ASGIApp

from docboltz import __version__
from docboltz.errors import DocboltzError, InvalidModelFile, Spelling
from docboltz.explorer.batching import Batches
from docboltz.explorer.guard import Guard
from docboltz.explorer.live import Live
from docboltz.explorer.log import Log
from docboltz.explorer.routes import answer_searches, make_router
from docboltz.explorer.static import page_files

SHOWN_PROBLEMS = 3


class FieldNames(Spelling):
    """How messages name what a request holds, and what is done from the shell."""

    def subject(self, owner: str, name: str) -> str:
        """A field of the request."""
        return f"'{name}'"

    def setting(self, mention: str) -> str:
        """A command, or a setting of one."""
        verb = mention.removeprefix("TextModel.")
        if verb.startswith("read("):
            return f"'docboltz index' with --{verb[5:].partition('=')[0]}"
        return mention if verb == mention else f"'docboltz {verb}'"


def make_app(
    live: Live, *, host: str = "127.0.0.1", token: str | None = None, log: Log | None = None
) -> ASGIApp:
    """The application behind its guard. `host` is the address it will listen at."""
    log = log or Log(quiet=True)
    return Guard(make_unguarded(live, log), host=host, token=token, log=log)


def make_unguarded(live: Live, log: Log | None = None) -> FastAPI:
    """Paths and page alone."""
    batches = Batches(lambda questions: answer_searches(live.snapshot, questions))

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        live.start()
        yield
        live.stop()
        batches.close()

    app = FastAPI(
        title="docboltz",
        summary="Search, topics and explanations of a collection of documents",
        version=__version__,
        docs_url=None,  # its page would come from elsewhere
        redoc_url=None,
        lifespan=running,
    )
    app.include_router(make_router(live, batches))
    _add_page(app)
    _add_failures(app, log or Log(quiet=True))
    return app


def _add_page(app: FastAPI) -> None:
    files = page_files()

    @app.get("/{path:path}", include_in_schema=False)
    def page(path: str, request: Request) -> Response:
        if path not in files:
            raise HTTPException(404, "There is nothing here: see /openapi.json for what there is.")
        return files[path].response(request)


def _add_failures(app: FastAPI, log: Log) -> None:
    """Errors of every kind as {"detail": a sentence}; nothing of the request is repeated raw."""

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return _failure(422, " ".join(map(_sentence, error.errors()[:SHOWN_PROBLEMS])))

    @app.exception_handler(StarletteHTTPException)
    async def refused(request: Request, error: StarletteHTTPException) -> Response:
        return _failure(error.status_code, str(error.detail), error.headers)

    @app.exception_handler(DocboltzError)
    async def failed(request: Request, error: DocboltzError) -> Response:
        if isinstance(error, InvalidModelFile):
            log.failure(str(error))
            return _failure(500, "The model's files are damaged; the server's log says more.")
        return _failure(400, error.phrase(FieldNames()))

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        return _failure(500, "The server failed at this; its log says more.")  # the guard writes it


def _failure(status: int, detail: str, headers: Any = None) -> Response:
    plain = detail.encode("utf-8", "replace").decode()
    plain += "" if plain.endswith((".", "?")) else "."
    return JSONResponse({"detail": plain}, status, headers)


def _sentence(problem: dict[str, Any]) -> str:
    """What pydantic found, without what was sent."""
    if problem["loc"] == ("body",) and problem["type"] != "value_error":
        return "The body must be JSON, sent with the header 'Content-Type: application/json'."
    if problem["type"] == "json_invalid":
        return "The body is no JSON: check its quotes and commas."
    where = ".".join(str(part) for part in problem["loc"][1:]) or str(problem["loc"][0])
    what = str(problem["msg"]).removeprefix("Value error, ").rstrip(".")
    return f"{where[:100]}: {what}."
