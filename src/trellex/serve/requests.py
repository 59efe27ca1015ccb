"""Requests as clients of LibreTranslate send them: JSON or forms, read whole, then checked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema
from starlette.exceptions import HTTPException
from starlette.requests import Request

from trellex.records import problems
from trellex.search import SearchSettings
from trellex.serve.settings import MAX_ALTERNATIVES

JSON = "application/json"
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
MAX_FIELDS = 100  # of a form
MAX_LANGUAGE = 20  # characters of a code
MAX_BEAM, MAX_BEST = 50, 20  # of explanations
DIGITS = "[0-9]|10"  # of the numbers up to MAX_ALTERNATIVES
_SURROGATE = re.compile("[\ud800-\udfff]")


def _text(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError("expected a text")
    if _SURROGATE.search(value):
        raise ValueError("holds half of a pair of surrogates, which is no character")
    return value


def _texts(value: Any) -> Any:
    if not value and isinstance(value, str | list):
        raise ValueError("is empty; give a text, or a list of texts")
    if not isinstance(value, str) and not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
        raise ValueError("expected a text, or a list of texts")
    for each in [value] if isinstance(value, str) else value:
        _text(each)
    return value


def _number(value: Any) -> Any:
    """A number, or its digits, for forms hold only text and some clients write JSON alike."""
    if isinstance(value, bool) or (isinstance(value, str) and not re.fullmatch(DIGITS, value)):
        raise ValueError(f"expected a number of 0 to {MAX_ALTERNATIVES}")
    return value


def _whole(value: Any) -> Any:
    """Of JSON, which writes whole numbers as 5 or as 5.0."""
    if isinstance(value, bool | str):
        raise ValueError("expected a whole number")
    return value


Text = Annotated[str, Field(min_length=1)]
Language = Annotated[str, Field(min_length=1, max_length=MAX_LANGUAGE)]
Kind = Literal["text", "html", ""]
Count = Annotated[
    int,
    Field(ge=0, le=MAX_ALTERNATIVES),
    BeforeValidator(_number),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": MAX_ALTERNATIVES},
                {"type": "string", "pattern": f"^({DIGITS})$"},
            ]
        }
    ),
]


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
        """How the body of such a request is described; a form has one text, and no null."""
        schema = cls.model_json_schema()
        form = {**schema, "properties": {name: _in_a_form(field) for name, field in schema["properties"].items()}}
        content = {JSON: {"schema": schema}, **{kind: {"schema": form} for kind in FORMS}}
        return {"requestBody": {"required": True, "content": content}}


def _in_a_form(field: dict[str, Any]) -> dict[str, Any]:
    """The first of the kinds that a field may have."""
    first = field.get("anyOf", [{}])[0]
    return {name: value for name, value in field.items() if name != "anyOf"} | first


class DetectRequest(ApiRequest):
    """A text whose language is asked for."""

    q: Annotated[Text, BeforeValidator(_text)]


class TranslateRequest(ApiRequest):
    """A text, or a list of texts, to be translated."""

    q: Annotated[Text | Annotated[list[str], Field(min_length=1)], BeforeValidator(_texts)]
    source: Language = Field(description="a code, or auto")
    target: Language = Field(description="a code")
    format: Kind | None = Field("text", description="what q is")
    alternatives: Count | None = Field(0, description="how many other translations to give")


class ExplainRequest(ApiRequest):
    """A text to be translated and explained, in JSON alone."""

    q: Annotated[Text, BeforeValidator(_text)]
    source: Language = Field(description="a code")
    target: Language = Field(description="a code")
    search: Literal["greedy", "beam", "sample"] | None = Field("greedy", description="how translations are looked for")
    beam: Annotated[int, Field(ge=1, le=MAX_BEAM), BeforeValidator(_whole)] | None = Field(
        5, description="hypotheses a sentence, of beam search"
    )
    temperature: Annotated[float, Field(strict=True, ge=0.05, le=20)] | None = Field(1.0, description="of sampling")
    seed: Annotated[int, Field(ge=0, lt=1 << 53), BeforeValidator(_whole)] | None = Field(0, description="of sampling")
    k: Annotated[int, Field(ge=1, le=MAX_BEST), BeforeValidator(_whole)] | None = Field(
        5, description="how many of the best words to tell of every place"
    )

    @classmethod
    def openapi(cls) -> dict[str, Any]:
        return {"requestBody": {"required": True, "content": {JSON: {"schema": cls.model_json_schema()}}}}

    def settings(self) -> SearchSettings:
        """How to search."""
        if self.search == "sample":
            return SearchSettings(sample=True, temperature=self.temperature or 1.0)
        return SearchSettings(beam=(self.beam or 1) if self.search == "beam" else 1)


async def read_fields(request: Request) -> dict[str, Any]:
    """The fields of a body, and of the address where a form leaves them out. Raises HTTPException of 400.

    A form's first value of a name counts. An empty body that does not tell its kind is an empty form.
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
    if kind not in FORMS and (await request.body() or kind):
        raise HTTPException(400, f"Content-Type: expected {JSON}, {' or '.join(FORMS)}")
    form = await request.form(max_files=0, max_fields=MAX_FIELDS, max_part_size=1 << 62)
    fields = {}
    for name, value in (*form.multi_items(), *request.query_params.multi_items()):
        if value != "":  # as pages send fields that nobody filled in
            fields.setdefault(name, value)
    return fields
