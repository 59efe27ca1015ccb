"""The page: what a browser shows at the server's address. Its files are in the folder page, and need no others."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

FOLDER = Path(__file__).parent / "page"
ASK_AGAIN = {"cache-control": "no-cache"}  # whether the file has changed, for its name stays

router = APIRouter(include_in_schema=False)


class PageFiles(StaticFiles):
    """Scripts, styles and pictures of the page."""

    def __init__(self) -> None:
        super().__init__(directory=FOLDER)

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(ASK_AGAIN)
        return response


@router.api_route("/", methods=["GET", "HEAD"])
async def page() -> FileResponse:
    return FileResponse(FOLDER / "index.html", headers=ASK_AGAIN)
