"""Which base URLs a request may go to: pure rules, no connection.

A key travels by HTTPS only, except to this very machine; a host that merely looks like it is none.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from bench.llm.credentials import Credentials


class EndpointError(ValueError):
    """A base or proxy URL that is refused. The message holds no part of the URL that could be a secret."""


def check_base_url(base_url: str, *, credentials: Credentials) -> httpx.URL:
    """The base URL without a trailing slash.

    Raises:
        EndpointError: unless it is plain ``http(s)://host[:port][/path]``, and HTTPS or loopback if a key is sent.
    """
    url = _plain_url(base_url, "base URL")
    if url.scheme == "http" and credentials.secrets and not is_loopback(url):
        raise EndpointError(f"base URL: a key is sent by https only, http is for this machine (host {url.host!r})")
    return url.copy_with(raw_path=url.raw_path.rstrip(b"/") or b"/")


def check_proxy_url(proxy_url: str) -> httpx.URL:
    """The URL of an explicitly chosen HTTP proxy.

    Raises:
        EndpointError: unless it is plain ``http(s)://host[:port]``; proxy passwords on a command line are refused.
    """
    return _plain_url(proxy_url, "proxy URL")


def is_loopback(url: httpx.URL) -> bool:
    """Whether the host is ``localhost`` or a literal loopback address; never a name that would have to be looked up."""
    if url.host == "localhost":
        return True
    try:
        return ipaddress.ip_address(url.host).is_loopback
    except ValueError:
        return False


def _plain_url(text: str, what: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, ValueError):
        raise EndpointError(f"{what}: cannot be read as a URL") from None
    if url.scheme not in ("http", "https"):
        raise EndpointError(f"{what}: scheme must be https or http")
    if url.userinfo or "@" in text:
        raise EndpointError(f"{what}: user information before the host is refused, keys come from the environment")
    if url.query or url.fragment or "?" in text or "#" in text:
        raise EndpointError(f"{what}: a query or fragment is refused, keys come from the environment")
    if not url.host or not 0 < (80 if url.port is None else url.port) < 65536:
        raise EndpointError(f"{what}: no host, or no port that exists")
    return url
