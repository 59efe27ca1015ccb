"""Requests as clients of LibreTranslate send them: JSON or forms, read whole, then checked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request

from trellex.records import problems
from trellex.serve.settings import MAX_ALTERNATIVES

JSON = "application/json"
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
MAX_FIELDS = 100  # of a form
MAX_LANGUAGE = 20  # characters of a code
_SURROGATE = re.compile("[\ud800-\udfff]")


def _texts(value: Any) -> Any:
    if isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value)):
        if not value:
            raise ValueError("is empty; give a text, or a list of texts")
        if any(_SURROGATE.search(each) for each in ([value] if isinstance(value, str) else value)):
            raise ValueError("holds half of a pair of surrogates, which is no character")
        return value
    raise ValueError("expected a text, or a list of texts")


def _whole(value: Any) -> Any:
    """JSON knows no whole numbers apart, and a form has only text."""
    if isinstance(value, bool):
        raise ValueError("expected a number")
    return value


class ApiRequest(BaseModel):
    """What all requests have. Fields that are not known are left alone, and one of null counts as not given."""

    model_config = ConfigDict(extra="ignore")

    api_key: str | None = Field(None, description="where the server asks for one")

    @classmethod
    def checked(cls, fields: Mapping[str, Any]) -> Self:
        """Raises HTTPException of 400 that names all that is wrong."""
        given = {name: value for name, value in fields.items() if value is not None}
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise HTTPException(400, "; ".join(problems(error))) from None

    @classmethod
    def openapi(cls) -> dict[str, Any]:
        """How the body of such a request is described."""
        schema = cls.model_json_schema()
        schema.pop("title")
        return {"requestBody": {"required": True, "content": {kind: {"schema": schema} for kind in (JSON, *FORMS)}}}


class DetectRequest(ApiRequest):
    """Which language is this?"""

    q: Annotated[str, Field(min_length=1, description="text")]


class TranslateRequest(ApiRequest):
    """Translate this."""

    q: Annotated[
        str | list[str], BeforeValidator(_texts), Field(min_length=1, description="a text, or a list of texts")
    ]
    source: str = Field(min_length=1, max_length=MAX_LANGUAGE, description="language code, or auto", examples=["en"])
    target: str = Field(min_length=1, max_length=MAX_LANGUAGE, description="language code", examples=["ja"])
    format: Literal["text", "html", ""] = Field("text", description="what q is")
    alternatives: Annotated[int, BeforeValidator(_whole)] = Field(
        0, ge=0, le=MAX_ALTERNATIVES, description="how many other translations to give"
    )


async def read_fields(request: Request) -> dict[str, Any]:
    """The fields of a body, and of the address where a form leaves them out. Raises HTTPException of 400.

    A form's first value of a name counts.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == JSON or kind.endswith("+json"):
        try:
            fields = json.loads(await request.body())
        except (ValueError, RecursionError) as error:
            problem = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
            raise HTTPException(400, f"the body is not valid JSON: {problem}") from None
        if not isinstance(fields, dict):
            raise HTTPException(400, 'the body is not a JSON object; write {"q": …}')
        return fields
    if kind not in FORMS:
        await request.body()
        raise HTTPException(400, f"Content-Type: expected {JSON}, {' or '.join(FORMS)}")
    form = await request.form(max_files=0, max_fields=MAX_FIELDS, max_part_size=1 << 62)
    return _first_values(FormData([*form.multi_items(), *request.query_params.multi_items()]))


def _first_values(form: FormData) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in form.multi_items():
        fields.setdefault(name, value)
    return fields
