"""The first version of the API: its parts, and its description in OpenAPI 3.1."""

from typing import Any

from django.http import HttpRequest
from django.urls import get_script_prefix
from ninja import NinjaAPI
from ninja.operation import Operation

from archivebox import __version__
from archivebox.accounts.roles import Action
from archivebox.api.credentials import Bearer
from archivebox.api.problems import answer_in_problems
from archivebox.api.routes import (
    crawls,
    extension,
    feeds,
    files,
    imports,
    jobs,
    machinery,
    notes,
    people,
    results,
    saved_pages,
    schedules,
    searches,
    setup,
    shares,
    snapshots,
    tags,
    webhooks,
)
from archivebox.lib.problem_details import CONTENT_TYPE

PREFIX = "/api/v1/"
DESCRIPTION = (
    "The API does everything that the pages do. Send a token as `Authorization: Bearer abx_…`. Lists come in pages: "
    "`next` of one is `cursor` of the next. A POST with an `Idempotency-Key` runs once, however often it is sent."
)


class Api(NinjaAPI):
    """Names each operation as its function."""

    def get_openapi_operation_id(self, operation: Operation) -> str:
        name: str = operation.view_func.__name__
        return name


api = Api(
    title="ArchiveBox",
    version=__version__,
    description=DESCRIPTION,
    docs_url=None,
    openapi_url=None,
    urls_namespace="api-v1",
)
answer_in_problems(api)
api.add_router("/snapshots", notes.router)  # before the address that takes any word behind a key
api.add_router("/snapshots", files.router)
api.add_router("/snapshots", saved_pages.router)
api.add_router("/snapshots", snapshots.router)
api.add_router("/results", results.router)
api.add_router("/crawls", crawls.router)
api.add_router("/schedules", schedules.router)
api.add_router("/tags", tags.router)
api.add_router("/searches", searches.router)
api.add_router("/shares", shares.router)
api.add_router("/jobs", jobs.router)
api.add_router("/imports", imports.router)
api.add_router("/webhooks", webhooks.router)
api.add_router("/feeds", feeds.router)
api.add_router("", extension.router)
api.add_router("", machinery.router)
api.add_router("", people.router)
api.add_router("", setup.router)

_PROBLEM = {
    "description": "Why it was not done (RFC 9457)",
    "content": {
        CONTENT_TYPE: {
            "schema": {
                "type": "object",
                "required": ["type", "title", "status", "detail"],
                "properties": {
                    "type": {"type": "string"},
                    "title": {"type": "string"},
                    "status": {"type": "integer"},
                    "detail": {"type": "string"},
                    "errors": {"type": "array", "items": {"type": "object"}},
                },
            }
        }
    },
}


def description() -> dict[str, Any]:
    """The API in OpenAPI 3.1, with the one shape of what goes wrong."""
    schema: dict[str, Any] = api.get_openapi_schema(path_prefix=PREFIX)
    for path in schema["paths"].values():
        for operation in path.values():
            operation["responses"]["default"] = _PROBLEM
    return schema


@api.get("/openapi.json", auth=Bearer(Action.LIST), include_in_schema=False)
def openapi(request: HttpRequest) -> dict[str, Any]:
    """What you are reading this in: the API in OpenAPI 3.1."""
    del request
    return {**description(), "servers": [{"url": get_script_prefix().rstrip("/") or "/"}]}
