"""The page: what a browser shows at the server's address. Its files are in the folder page, and need no others."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from starlette.responses import FileResponse
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

FOLDER = Path(__file__).parent / "page"
ASK_AGAIN = {"cache-control": "no-cache"}  # whether the file has changed, for its name stays

router = APIRouter(include_in_schema=False)


class PageFiles(StaticFiles):
    """Scripts, styles and pictures of the page."""

    def __init__(self) -> None:
        super().__init__(directory=FOLDER)

    def file_response(self, full_path: str, stat_result: object, scope: Scope, status_code: int = 200):  # type: ignore[no-untyped-def, override]
        response = super().file_response(full_path, stat_result, scope, status_code)  # type: ignore[arg-type]
        response.headers.update(ASK_AGAIN)
        return response


@router.get("/")
async def page() -> FileResponse:
    return FileResponse(FOLDER / "index.html", headers=ASK_AGAIN)
