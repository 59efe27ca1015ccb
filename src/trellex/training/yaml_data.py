"""Data in YAML: settings that people write, of bounded size, in which no key may stand twice."""

from __future__ import annotations

from typing import Any

import yaml

MAX_BYTES = 1 << 20  # of a file
MAX_SIZE = 4 * MAX_BYTES  # characters and values, where aliases repeat them


def parse_yaml(text: str) -> Any:
    """The data of a text. Raises ValueError that tells in a line why there is none."""
    try:
        data = yaml.load(text, _Loader)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:  # the latter for numbers and dates that cannot be
        raise ValueError(" ".join(str(error).replace('in "<unicode string>", ', "in ").split())) from error
    _check_size(data)
    return data


class _Loader(yaml.SafeLoader):
    """YAML's own lets the last of several equal keys win."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            name = key.tag, key.value if isinstance(key, yaml.ScalarNode) else id(key)
            if name in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} is there twice", problem_mark=key.start_mark)
            seen.add(name)
        return node


def _check_size(data: Any) -> None:
    """Raises ValueError if data is too large with all its aliases written out, be that endless."""
    size, left = 0, [data]
    while left:
        value = left.pop()
        size += 1 + (len(value) if isinstance(value, str | bytes) else 0)
        if isinstance(value, dict):
            left += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple | set):
            left += value
        if size + len(left) > MAX_SIZE:
            raise ValueError("too large with its aliases written out")
