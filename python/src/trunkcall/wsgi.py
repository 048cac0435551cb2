"""Applications of WSGI (PEP 3333) as ones of ASGI, which is how a server mounts them."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from typing import Any

from .executing import in_executor

_Receive = Callable[[], Any]
_Send = Callable[[dict[str, Any]], Any]


def as_asgi(application: Callable[..., Iterable[bytes]], executor: Executor | None) -> Callable[..., Any]:
    """Each request runs on a thread of `executor`, by default the loop's: it bounds how many do at once."""

    async def serve(scope: dict[str, Any], receive: _Receive, send: _Send) -> None:
        if scope["type"] == "http":
            request = _Request(application, scope, receive, send)
            await in_executor(executor, request.run)
        else:
            raise NotImplementedError(scope["type"])  # such as lifespan

    return serve


class _Request:
    """One request on its thread."""

    def __init__(self, application: Any, scope: dict[str, Any], receive: _Receive, send: _Send) -> None:
        self._application = application
        self._loop = asyncio.get_running_loop()
        self._receive = receive
        self._send = send
        self._scope = scope
        self._start: dict[str, Any] | None = None
        self._begun = False

    def run(self) -> None:
        result = self._application(self._environ(), self._start_response)
        try:
            for piece in result:
                if piece:
                    self._write(piece)
            self._tell({"type": "http.response.body", "body": b""})
        finally:
            if hasattr(result, "close"):
                result.close()

    def _await(self, awaitable: Any) -> Any:
        """Waits on this thread for what the loop does."""
        return asyncio.run_coroutine_threadsafe(awaitable, self._loop).result()

    def _tell(self, message: dict[str, Any]) -> None:
        if not self._begun:
            if self._start is None:
                raise RuntimeError("the application has not called start_response")
            self._begun = True
            self._await(self._send(self._start))
        self._await(self._send(message))

    def _write(self, data: bytes) -> None:
        self._tell({"type": "http.response.body", "body": data, "more_body": True})

    def _start_response(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[..., None]:
        if exc_info is not None:
            try:
                if self._begun:
                    raise exc_info[1].with_traceback(exc_info[2])
            finally:
                exc_info = None  # no cycle
        elif self._start is not None:
            raise RuntimeError("the application has called start_response before")
        fields = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        self._start = {"type": "http.response.start", "status": int(status.split(" ", 1)[0]), "headers": fields}
        return self._write

    def _environ(self) -> dict[str, Any]:
        scope = self._scope
        client, server = scope["client"] or ("", 0), scope["server"] or ("localhost", 0)
        environ: dict[str, Any] = {
            "REQUEST_METHOD": scope["method"],
            "SCRIPT_NAME": "",
            "PATH_INFO": scope["path"].encode("utf-8", "surrogateescape").decode("latin-1"),
            "QUERY_STRING": scope["query_string"].decode("latin-1"),
            "REMOTE_ADDR": client[0],
            "REMOTE_PORT": str(client[1]),
            "SERVER_NAME": server[0],
            "SERVER_PORT": str(server[1]),
            "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": scope["scheme"],
            "wsgi.input": io.BufferedReader(_Body(self)),
            "wsgi.input_terminated": True,  # it ends where the body does
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        for name, value in scope["headers"]:
            key, text = name.decode("latin-1"), value.decode("latin-1")
            if "_" in key:  # it could not be told from the same with dashes
                continue
            key = key.upper().replace("-", "_")
            key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
            environ[key] = f"{environ[key]},{text}" if key in environ else text
        return environ


class _Body(io.RawIOBase):
    """The request's body, as it comes."""

    def __init__(self, request: _Request) -> None:
        self._request = request
        self._left = b""
        self._more = True

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left and self._more:
            message = self._request._await(self._request._receive())
            if message["type"] == "http.disconnect":
                raise ConnectionResetError("the client is gone")
            self._left, self._more = message["body"], message["more_body"]
        piece = self._left[: len(buffer)]
        self._left = self._left[len(piece) :]
        buffer[: len(piece)] = piece
        return len(piece)
