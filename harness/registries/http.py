"""Requests to a server of the tests over HTTP, without a proxy of the environment's."""

from __future__ import annotations

import http
import http.client
import json
import urllib.error
import urllib.request
from typing import Any

from harness.registries.base import ASKED

_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(method: str, url: str, body: object = None, none: object = None) -> Any:
    """The answer, JSON or nothing, to bytes or JSON; `none`, if there is one, where nothing is found. Raises OSError
    where there is no answer, or it is a failure, whose text it has."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, method=method)
    try:
        with _opener.open(request, timeout=ASKED) as answer:
            said = answer.read()
    except urllib.error.HTTPError as error:
        with error:
            if error.code == http.HTTPStatus.NOT_FOUND and none is not None:
                return none
            raise OSError(f"{method} {url}: {error.code} {error.read().decode(errors='replace').strip()}") from None
    except http.client.HTTPException as error:
        raise OSError(f"{method} {url}: {error!r}") from error
    return json.loads(said) if said.strip() else None
