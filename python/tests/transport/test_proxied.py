"""The headers of a proxy (http.md 1)."""

from __future__ import annotations

import unittest

from trunkcall.transport.proxied import NO_HEADER, ProxyHeader

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
IPV4 = bytes((1, 2, 3, 4, 5, 6, 7, 8, 1, 0, 2, 0))  # 1.2.3.4:256 to 5.6.7.8:512
IPV6 = bytes(15) + b"\1" + bytes(15) + b"\2" + b"\0\7\0\x08"


def block(command: int, family: int, addresses: bytes, length: int = -1) -> bytes:
    size = len(addresses) if length < 0 else length
    return SIGNATURE + bytes((command, family)) + size.to_bytes(2, "big") + addresses


WHOLE = {
    b"PROXY TCP4 1.2.3.4 5.6.7.8 256 512\r\n": (("1.2.3.4", 256), ("5.6.7.8", 512)),
    b"PROXY TCP6 ::1 ::2 1 2\r\n": (("::1", 1), ("::2", 2)),
    b"PROXY UNKNOWN\r\n": None,
    b"PROXY UNKNOWN what ever\r\n": None,
    block(0x21, 0x11, IPV4): (("1.2.3.4", 256), ("5.6.7.8", 512)),
    block(0x21, 0x11, IPV4 + b"abc"): (("1.2.3.4", 256), ("5.6.7.8", 512)),
    block(0x21, 0x11, IPV4 + bytes(60_000)): (("1.2.3.4", 256), ("5.6.7.8", 512)),
    block(0x21, 0x21, IPV6): (("::1", 7), ("::2", 8)),
    block(0x21, 0x31, b"a Unix socket's"): None,
    block(0x20, 0x11, b"abc"): None,  # the proxy's own
    block(0x20, 0, b""): None,
}
WRONG = (
    b"GET / HTTP/1.1\r\n\r\n",
    b"PROXYTCP4",
    b"PROXY TCP4 1.2.3.4 5.6.7.8 256\r\n",
    b"PROXY TCP4 ::1 ::2 1 2\r\n",
    b"PROXY TCP4 1.2.3.4 5.6.7.8 70000 1\r\n",
    b"PROXY TCP5 1.2.3.4 5.6.7.8 1 2\r\n",
    b"PROXY \r\n",
    b"PROXY " + b"x" * 200,
    b"\r\n\r\n\0\r\nQUIX\n\x21\x11\0\x0c",
    block(0x31, 0x11, IPV4),
    block(0x22, 0x11, IPV4),
    block(0x21, 0x11, IPV4, 11),
)


class Headers(unittest.TestCase):
    def test_they_say_whose_connection_it_is_and_end_where_they_end(self) -> None:
        for header, said in WHOLE.items():
            with self.subTest(header=header[:60]):
                whole = ProxyHeader()
                self.assertEqual(whole.strip(header + b"rest"), b"rest")
                self.assertEqual((whole.said, whole.wants), (said, 0))
                bit_by_bit = ProxyHeader()
                for at in range(len(header)):
                    self.assertGreater(bit_by_bit.wants, 0)
                    bit_by_bit.take(header[at : at + 1])
                self.assertEqual((bit_by_bit.said, bit_by_bit.wants), (said, 0))

    def test_nothing_behind_them_is_wanted(self) -> None:
        for header in WHOLE:
            with self.subTest(header=header[:60]):
                reading, at = ProxyHeader(), 0
                while reading.wants:
                    wanted = reading.wants
                    self.assertLessEqual(at + wanted, len(header))
                    reading.take(header[at : at + wanted])
                    at += wanted
                self.assertEqual(at, len(header))

    def test_what_is_none_is_refused(self) -> None:
        for header in WRONG:
            with self.subTest(header=header), self.assertRaises(ValueError) as caught:
                ProxyHeader().strip(header)
            self.assertRegex(str(caught.exception), f"{NO_HEADER}|PROXY protocol: ")


if __name__ == "__main__":
    unittest.main()
