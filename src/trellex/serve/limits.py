"""Limits: who may ask, and how often."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path

from trellex.text.lines import read_lines

MAX_CLIENTS = 10_000  # that are remembered at a time
MAX_KEY = 1000  # characters
NETWORK_BITS = 64  # of an IPv6 address: a client has all of the rest


class ApiKeys:
    """Keys that may ask, kept as digests alone.

    Args:
        keys: at least one
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._digests = [_digest(key) for key in keys]

    @classmethod
    def load(cls, path: Path) -> ApiKeys:
        """Read a file of a key a line; empty lines and those that begin with # are none. Raises ValueError."""
        keys = []
        for number, line in enumerate(read_lines(path, 4 * MAX_KEY), start=1):
            key = line.strip()
            if key.startswith("#") or not key:
                continue
            if len(key) > MAX_KEY:
                raise ValueError(f"{path} line {number}: a key has at most {MAX_KEY:,} characters; shorten it")
            keys.append(key)
        if not keys:
            raise ValueError(f"{path}: holds no keys; write one a line, such as `openssl rand -hex 16` makes")
        return cls(keys)

    def owner(self, key: str) -> str | None:
        """What a right key is remembered by, None of a wrong one; all keys are compared, each in constant time."""
        digest, is_known = _digest(key), False
        for known in self._digests:
            is_known |= hmac.compare_digest(digest, known)
        return digest.hex() if is_known else None


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


class Rate:
    """How often each client asks: a full minute's requests at once, then as they come back with time.

    Args:
        per_minute: requests of a client; None for no limit
        now: a clock in seconds
    """

    def __init__(self, per_minute: int | None, now: Callable[[], float] = time.monotonic) -> None:
        self._per_minute, self._now = per_minute, now
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what is left, and since when

    def wait(self, client: str) -> int:
        """Counts a request; the seconds to wait before another try where there were too many, else 0."""
        if self._per_minute is None:
            return 0
        now = self._now()
        left, since = self._clients.pop(client, (float(self._per_minute), now))
        left = min(float(self._per_minute), left + (now - since) * self._per_minute / 60)
        is_fine = left >= 1
        self._clients[client] = left - is_fine, now
        if len(self._clients) > MAX_CLIENTS:
            self._clients.popitem(last=False)  # the one that has been quiet for longest
        return 0 if is_fine else math.ceil((1 - left) * 60 / self._per_minute)


def address_of(host: str | None) -> str:
    """What a client without a key is remembered by: its address, or the network of one of IPv6."""
    try:
        address = ipaddress.ip_address(host or "")
    except ValueError:
        return str(host)
    if isinstance(address, ipaddress.IPv6Address):
        return str(address.ipv4_mapped or ipaddress.ip_network((address, NETWORK_BITS), strict=False))
    return str(address)
