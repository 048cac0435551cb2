"""A dialer of one's own: calls go through a SOCKS5 proxy, of which this program runs a small one itself."""

from __future__ import annotations

import asyncio
import socket

import trunkcall

ECHO = trunkcall.unary("/example.Echo/Echo", bytes, bytes)


def through(proxy: tuple[str, int]) -> trunkcall.Dialer:
    async def dial(address: str, endpoint: trunkcall.Endpoint) -> socket.socket:
        """Asks the proxy for a connection to `address`; whatever it raises is a failed attempt to connect."""
        host, _, port = address.rpartition(":")
        name, loop = host.encode(), asyncio.get_running_loop()
        opened = socket.socket()
        opened.setblocking(False)
        await loop.sock_connect(opened, proxy)
        await loop.sock_sendall(opened, b"\5\1\0")  # version 5, one way to authenticate: none
        await loop.sock_recv(opened, 2)
        await loop.sock_sendall(opened, b"\5\1\0\3" + bytes([len(name)]) + name + int(port).to_bytes(2, "big"))
        answer = await loop.sock_recv(opened, 10)
        if answer[1:2] != b"\0":
            raise ConnectionError(f"the proxy does not connect to {address}: {answer!r}")
        return opened

    return dial


async def proxied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection of the proxy, which finds whatever is asked for on this machine."""
    await reader.readexactly(3)
    writer.write(b"\5\0")
    target = await reader.readexactly((await reader.readexactly(5))[4] + 2)
    print("the proxy is asked for", target[:-2].decode())
    there, back = await asyncio.open_connection("127.0.0.1", int.from_bytes(target[-2:], "big"))
    writer.write(b"\5\0\0\1" + bytes(6))
    await asyncio.gather(pump(reader, back), pump(there, writer))


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
    writer.close()


async def main() -> None:
    server = trunkcall.Server()
    server.register(ECHO.handler(lambda request, call: request))
    port = (await server.listen("127.0.0.1:0")).rpartition(":")[2]
    proxy = await asyncio.start_server(proxied, "127.0.0.1", 0)
    dialer = through(proxy.sockets[0].getsockname())
    async with server, trunkcall.Client(f"inside.example:{port}", dialer=dialer, codec=trunkcall.RAW) as client:
        print((await client.call(ECHO, b"hello through the tunnel")).decode())
    proxy.close()


asyncio.run(main())
