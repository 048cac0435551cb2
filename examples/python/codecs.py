"""Messages that are not Protobuf, and messages that are compressed."""

from __future__ import annotations

import asyncio
import csv
import io

import trunkcall
from trunkcall import CallOptions, Decode, Encode, ServerCall

# Messages of these methods are bytes, and rows of text.
upload = trunkcall.unary("/example.Files/Upload", bytes, bytes)
count = trunkcall.unary("/example.Rows/Count", list, list)


class Rows:
    """A codec of one's own: a list of texts is a row of comma-separated values."""

    name = "csv"  # by which the other side knows it
    number = 8  # 8 to 15; the other side may number it differently

    def encoder(self, kind: type[object]) -> Encode:
        self._check(kind)
        return self._encode

    def decoder(self, kind: type[object]) -> Decode:
        self._check(kind)
        return self._decode

    def _check(self, kind: type[object]) -> None:
        if kind is not list:
            raise TypeError(f"{kind.__name__} is not a list")

    def _encode(self, row: list[str]) -> bytes:
        text = io.StringIO()
        csv.writer(text).writerow(row)
        return text.getvalue().encode()

    def _decode(self, data: bytes) -> list[str]:
        return next(csv.reader(io.StringIO(data.decode())))


async def uploaded(file: bytes, call: ServerCall) -> bytes:
    return b"%d bytes" % len(file)


async def counted(row: list[str], call: ServerCall) -> list[str]:
    return [str(len(row)), "columns"]


async def main() -> None:
    rows = Rows()
    server = trunkcall.Server(codecs=[rows])
    server.register(upload.handler(uploaded), count.handler(counted))
    address = await server.listen("127.0.0.1:0")

    compression = (trunkcall.ZSTD, trunkcall.GZIP)  # in the order of preference
    async with trunkcall.Client(address, codec=trunkcall.RAW, codecs=[rows], compression=compression) as client:
        answer = await client.call(upload, b"the same again " * 100_000)  # raw, and compressed
        print(answer.decode())
        response = await client.unary(count, ["a", "b, c", "d"], CallOptions(codec=rows))
        print(response.message)

    await server.stop(grace=5)


asyncio.run(main())
