"""Cases of preface.json, protocol.md 2."""

from __future__ import annotations

from typing import Any

from . import encode as e
from .meaning import Entry, invalid, valid

DESCRIPTION = "Prefaces with their settings, as either side receives them (protocol.md 2)."


def good(ident: str, why: str, settings: bytes = b"", **fields: Any) -> Entry:
    """Settings given by number are named in `fields`; those with other forms come as bytes and meaning."""
    meaning = fields.pop("meaning", {})
    shape = {key: fields.pop(key) for key in ("highest", "reserved", "window") if key in fields}
    for name, value in fields.items():
        settings += e.number_setting(name, value)
    decoded = {
        "version": 1,
        "highest": shape.get("highest", 1),
        "window": shape.get("window", e.WINDOW),
        "settings": {**meaning, **fields},
    }
    return valid(ident, why, e.preface(settings, **shape), decoded)


def bad(ident: str, why: str, error: str, settings: bytes = b"", **shape: Any) -> Entry:
    return invalid(ident, why, e.preface(settings, **shape), error, "connection")


def bad_number(ident: str, why: str, name: str, value: int) -> Entry:
    return bad(ident, why, "setting", e.number_setting(name, value))


VALID = [
    good("preface-plain", "the smallest preface: defaults only, no settings"),
    good("preface-highest-3", "a peer that speaks 1 to 3 and offers 1", highest=3),
    good("preface-highest-255", "highest version has no upper bound of its own", highest=255),
    good("preface-window-1-mib", "a window above the floor", window=1_048_576),
    good("preface-window-largest", "the largest window there is", window=2**31 - 1),
    good("preface-frame-body-floor", "a floor may be stated", max_frame_body=65_536),
    good("preface-frame-body-largest", "all that 24 bits of length can say", max_frame_body=16_777_215),
    good("preface-message-one", "max_message may be lowered, to 1 at least", max_message=1),
    good("preface-message-largest", "the largest u32 is legal", max_message=2**32 - 1),
    good("preface-calls-zero", "a peer that accepts no calls at all", max_calls=0),
    good("preface-calls-largest", "all slots that 20 bits can name", max_calls=1_048_575),
    good("preface-metadata-bytes-floor", "the floor itself is legal", max_metadata_bytes=16_384),
    good("preface-metadata-entries-floor", "the floor itself is legal", max_metadata_entries=128),
    good("preface-methods-floor", "the floor itself is legal", max_methods=4_096),
    good("preface-pool", "the pool that is granted at first", pool=1_048_576),
    good("preface-pool-largest", "the largest pool there is", pool=2**31 - 1),
    good("preface-methods-largest", "all ids that 16 bits can name", max_methods=65_535),
    good(
        "preface-codecs-two",
        "two of the sender's own codec numbers, lowest and highest",
        e.codec_names((8, b"cbor"), (15, b"acme-frames")),
        meaning={"codecs": [{"number": 8, "name": "cbor"}, {"number": 15, "name": "acme-frames"}]},
    ),
    good(
        "preface-compressions",
        "both compressions of version 1 are accepted",
        e.compressions(1, 2),
        meaning={"compressions": [1, 2]},
    ),
    good(
        "preface-every-setting",
        "all eleven settings at once",
        e.codec_names((9, b"avro")) + e.compressions(2),
        meaning={"codecs": [{"number": 9, "name": "avro"}], "compressions": [2]},
        window=524_288,
        max_frame_body=131_072,
        max_message=1_048_576,
        max_calls=16,
        max_metadata_bytes=32_768,
        max_metadata_entries=256,
        max_methods=8_192,
        keepalive_interval=20_000,
        min_ping_interval=1_000,
        pool=1_048_576,
    ),
]

FULL_SETTINGS = e.setting(0x7FFF, bytes(16_380))

DEGENERATE = [
    good("preface-reserved-bits", "the reserved bits are ignored", reserved=0xFFFF),
    good("preface-settings-out-of-order", "settings come in any order", e.number_setting("max_calls", 5),
         meaning={"max_calls": 5}, max_frame_body=65_536),
    good("preface-unknown-setting-skipped", "types without the top bit are skipped when unknown",
         e.setting(0x0100, b"later") + e.setting(0x7FFF, b"")),
    good("preface-unknown-setting-zero", "type 0 is as unknown as any other", e.setting(0, b"\x01")),
    good("preface-unknown-setting-twice", "only a known type may not be repeated",
         e.setting(0x0101, b"a") + e.setting(0x0101, b"b")),
    good("preface-settings-full", "exactly 16,384 bytes of settings", FULL_SETTINGS),
    good("preface-codecs-empty", "an empty list names no codec", e.codec_names(), meaning={"codecs": []}),
    good("preface-codec-name-255", "the longest codec name", e.codec_names((8, b"c" * 255)),
         meaning={"codecs": [{"number": 8, "name": "c" * 255}]}),
    good("preface-compressions-empty", "an empty list accepts none", e.compressions(), meaning={"compressions": []}),
    good("preface-compressions-unknown", "numbers 3 to 15 are ignored by a receiver that does not know them",
         e.compressions(15, 1, 3), meaning={"compressions": [1]}),
    good("preface-compressions-repeated", "a number said twice is said once", e.compressions(1, 1),
         meaning={"compressions": [1]}),
    good("preface-keepalive-none", "0 means that its sender sends no keepalive", keepalive_interval=0),
    good("preface-pool-zero", "the default may be said: no pool", pool=0),
    good("preface-ping-interval-zero", "any distance between PINGs is tolerated", min_ping_interval=0),
]

INVALID = [
    bad("preface-magic-first-byte", "not this protocol", "preface", magic=b"\xf4TK1"),
    bad("preface-magic-last-byte", "the magic is wrong in its last byte only", "preface", magic=b"\xf5TK2"),
    bad("preface-magic-before-version", "the magic is judged before the version", "preface",
        magic=b"HTTP", version=0x2F, highest=0x31),
    bad("preface-version-0", "version 0 does not exist: broken, not merely unspoken", "preface", version=0),
    bad("preface-version-0-highest-0", "both zero", "preface", version=0, highest=0),
    bad("preface-highest-below-version", "highest is below the version in use", "preface", highest=0),
    bad("preface-version-2-highest-1", "broken before it is unspoken", "preface", version=2, highest=1),
    bad("preface-version-2", "well formed, but version 2 is not spoken here", "version", version=2, highest=2),
    bad("preface-version-2-window-0", "the range of a window is its version's own: not judged here", "version",
        version=2, highest=3, window=0),
    bad("preface-window-0", "far below the floor", "preface", window=0),
    bad("preface-window-below-floor", "one below the floor", "preface", window=262_143),
    bad("preface-window-2-31", "one above the largest window", "preface", window=2**31),
    bad("preface-window-largest-u32", "a window with the sign bit", "preface", window=2**32 - 1),
    bad("preface-settings-length-16385", "one over the limit: judged before any setting arrives", "preface",
        length=16_385),
    bad("preface-settings-length-4-gib", "a length that lies: no memory for it", "preface", length=2**32 - 1),
    bad("setting-header-cut", "three bytes are no setting header", "setting", b"\x01\x00\x04"),
    bad("setting-value-cut", "the value reaches past the settings", "setting", e.u16(0x0100) + e.u16(5) + b"four"),
    bad("setting-known-value-cut", "a known type whose value is cut off", "setting", e.u16(3) + e.u16(4) + b"\x01\x00"),
    bad("setting-trailing-byte", "settings fill their length exactly", "setting",
        e.number_setting("max_calls", 1) + b"\x00"),
    bad("setting-critical-unknown", "an unknown critical setting cannot be skipped", "setting", e.setting(0x8000, b"")),
    bad("setting-critical-of-known", "the critical bit makes another type, not max_frame_body", "setting",
        e.setting(0x8001, e.u32(65_536))),
    bad("setting-repeated", "a known type twice, even with the same value", "setting",
        e.number_setting("max_calls", 9) * 2),
    bad("setting-codecs-repeated", "the list of codecs twice", "setting",
        e.codec_names((8, b"a")) + e.codec_names((9, b"b"))),
    bad("setting-length-3", "a number is four bytes", "setting", e.setting(0x0003, b"\x01\x00\x00")),
    bad("setting-length-8", "a number is four bytes", "setting", e.setting(0x0002, bytes((1, 0, 0, 0, 0, 0, 0, 0)))),
    bad("setting-length-0", "a number is four bytes", "setting", e.setting(0x000A, b"")),
    bad_number("setting-frame-body-below-floor", "one below the floor", "max_frame_body", 65_535),
    bad_number("setting-frame-body-above-24-bits", "no frame can be that long", "max_frame_body", 16_777_216),
    bad_number("setting-message-0", "a limit of 0 would allow empty messages only", "max_message", 0),
    bad_number("setting-calls-above-20-bits", "no slot can be that high", "max_calls", 1_048_576),
    bad_number("setting-metadata-bytes-below-floor", "one below the floor", "max_metadata_bytes", 16_383),
    bad_number("setting-metadata-entries-below-floor", "one below the floor", "max_metadata_entries", 127),
    bad_number("setting-methods-below-floor", "one below the floor", "max_methods", 4_095),
    bad_number("setting-methods-above-16-bits", "no id can be that high", "max_methods", 65_536),
    bad_number("setting-pool-2-31", "one above the largest pool", "pool", 2**31),
    bad("setting-pool-length-5", "the pool is a number like the others", "setting", e.setting(0x000B, b"later")),
    bad("setting-codec-number-7", "numbers below 8 are not for the sender to name", "setting",
        e.codec_names((7, b"x"))),
    bad("setting-codec-number-16", "four bits cannot say 16", "setting", e.codec_names((16, b"x"))),
    bad("setting-codec-number-twice", "one number, two names", "setting", e.codec_names((8, b"a"), (8, b"b"))),
    bad("setting-codec-name-empty", "a codec without a name", "setting", e.codec_names((8, b""))),
    bad("setting-codec-name-cut", "the name reaches past the value", "setting", e.setting(0x0007, b"\x08\x05cbor")),
    bad("setting-codec-number-only", "a number without a length", "setting", e.setting(0x0007, b"\x08")),
    bad("setting-compression-0", "0 is the absence of compression, not one of them", "setting", e.compressions(0)),
    bad("setting-compression-16", "four bits cannot say 16", "setting", e.compressions(1, 16)),
]
