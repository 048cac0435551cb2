"""Cases of policy/files.json: policy files, what they say of methods, and how bad ones are refused (policy.md 2 to 5).

All of it is worked out by hand."""

from __future__ import annotations

from typing import Any

DESCRIPTION = "Policy files, what holds for methods by them, and the faults of bad ones (policy.md 2 to 5)."

MS, S = 10**6, 10**9
SHARES = {"critical": 100, "high": 100, "normal": 100, "low": 50}
RETRIES = {"attempts": 3, "backoff": 50 * MS, "max_backoff": S, "multiplier": 200, "jitter": 100, "codes": ["RESOURCE_EXHAUSTED", "UNAVAILABLE"]}
STOP = ["INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "FAILED_PRECONDITION", "OUT_OF_RANGE", "UNIMPLEMENTED", "UNAUTHENTICATED"]
FAILURES = ["UNKNOWN", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "INTERNAL", "UNAVAILABLE"]
HEDGING = {"delay": 30 * MS, "attempts": 2, "stop": STOP}
ADAPTIVE = {"least": 1, "most": 1000, "start": 20, "samples": 20, "window": 100 * MS, "tolerance": 150, "remeasure": 60 * S}

ALL_YAML = """# Every group, with every field.
---
policy: 1
budget:
  percent: 20
  least: 0
defaults:
  timeout: 5s # five
  wait_for_ready: true
  priority: high
  retries:
    attempts: 4
    backoff: '100ms'
    max_backoff: 2.5s
    multiplier: 150
    jitter: 50
    codes: [UNAVAILABLE, ABORTED]
  breaker:
    consecutive: 5
    percent: 50
    calls: 10
    window: 30s
    open: 1s
    probes: 3
    codes:
    - INTERNAL
    - UNAVAILABLE
  outliers:
    consecutive: 3
    eject: 10s
    max_eject: 1m
    cap: 50
  balancer:
    name: hash
    key: user-id
  zones:
    healthy: 80
    overflow_calls: 100
  rate:
    per_second: 100
    burst: 20
    shares:
      high: 90
      normal: 80
      low: 10
  concurrency:
    limit: 50
  server_rate:
    per_second: 1000
  server_concurrency:
    adaptive:
      least: 2
      most: 200
      start: 10
      samples: 50
      window: 1s
      tolerance: 200
      remeasure: 5m
  faults:
    slow:
      per_million: 10000
      delay: 200ms
    dead:
      per_million: 1
      code: UNAVAILABLE
services:
  "a.B":
    methods:
      Get:
        idempotent: true
        hedging:
          delay: 30ms
          attempts: 3
          stop:
            - INTERNAL
...
# The end.
"""

ALL_JSON = """{"policy":1,"budget":{"percent":20,"least":0},"defaults":{"timeout":"5s","wait_for_ready":true,"priority":"high",
"retries":{"attempts":4,"backoff":"100ms","max_backoff":"2.5s","multiplier":150,"jitter":50,"codes":["UNAVAILABLE","ABORTED"]},
"breaker":{"consecutive":5,"percent":50,"calls":10,"window":"30s","open":"1s","probes":3,"codes":["INTERNAL","UNAVAILABLE"]},
"outliers":{"consecutive":3,"eject":"10s","max_eject":"1m","cap":50},
"balancer":{"name":"hash","key":"user-id"},
"zones":{"healthy":80,"overflow_calls":100},
"rate":{"per_second":100,"burst":20,"shares":{"high":90,"normal":80,"low":10}},
"concurrency":{"limit":50},
"server_rate":{"per_second":1000},
"server_concurrency":{"adaptive":{"least":2,"most":200,"start":10,"samples":50,"window":"1s","tolerance":200,"remeasure":"5m"}},
"faults":{"slow":{"per_million":10000,"delay":"200ms"},"dead":{"per_million":1,"code":"UNAVAILABLE"}}},
"services":{"a.B":{"methods":{"Get":{"idempotent":true,"hedging":{"delay":"30ms","attempts":3,"stop":["INTERNAL"]}}}}}}
"""

ALL: dict[str, Any] = {
    "timeout": 5 * S,
    "wait_for_ready": True,
    "priority": "high",
    "retries": {"attempts": 4, "backoff": 100 * MS, "max_backoff": 2500 * MS, "multiplier": 150, "jitter": 50, "codes": ["ABORTED", "UNAVAILABLE"]},
    "breaker": {"consecutive": 5, "percent": 50, "calls": 10, "window": 30 * S, "open": S, "probes": 3, "codes": ["INTERNAL", "UNAVAILABLE"]},
    "outliers": {"scope": "defaults", "consecutive": 3, "eject": 10 * S, "max_eject": 60 * S, "cap": 50, "codes": FAILURES},
    "balancer": {"name": "hash", "key": "user-id"},
    "zones": {"healthy": 80, "overflow_calls": 100},
    "rate": {"scope": "defaults", "per_second": 100, "burst": 20, "shares": {"critical": 100, "high": 90, "normal": 80, "low": 10}},
    "concurrency": {"scope": "defaults", "limit": 50, "shares": SHARES},
    "server_rate": {"scope": "defaults", "per_second": 1000, "burst": 1000, "shares": SHARES},
    "server_concurrency": {
        "scope": "defaults",
        "adaptive": {"least": 2, "most": 200, "start": 10, "samples": 50, "window": S, "tolerance": 200, "remeasure": 300 * S},
        "shares": SHARES,
    },
    "faults": [
        {"name": "dead", "per_million": 1, "delay": 0, "code": "UNAVAILABLE"},
        {"name": "slow", "per_million": 10000, "delay": 200 * MS, "code": "OK"},
    ],
}
HEDGED = {name: value for name, value in ALL.items() if name != "retries"} | {
    "idempotent": True,
    "hedging": {"delay": 30 * MS, "attempts": 3, "stop": ["INTERNAL"]},
}


def yaml(*lines: str) -> str:
    return "\n".join(("policy: 1", *lines, "...", ""))


def said(*lines: str) -> str:
    """A file whose defaults say these lines, from line 3 on."""
    return yaml("defaults:", *(f"  {line}" for line in lines))


# id, why, the file, its budget, methods and what holds for them
GOOD: list[tuple[str, str, str, tuple[int, int], dict[str, Any]]] = [
    ("least-json", "no more than its version, in JSON", '{"policy": 1}', (10, 10), {"a.B/Get": {}}),
    ("least-yaml", "the same in YAML", "policy: 1\n...\n", (10, 10), {"a.B/Get": {}}),
    ("all-yaml", "every group and field in YAML", ALL_YAML, (20, 0), {"a.B/Get": HEDGED, "a.B/Put": ALL, "c.D/Get": ALL}),
    ("all-json", "the same in JSON", ALL_JSON, (20, 0), {"a.B/Get": HEDGED, "a.B/Put": ALL, "c.D/Get": ALL}),
    ("blank-first", "blanks and line feeds before the first character", ' \t\n{"policy":1}\n', (10, 10), {"a.B/Get": {}}),
    ("mark", "a byte order mark, and lines that end with CR LF", "\ufeffpolicy: 1\r\n...\r\n", (10, 10), {"a.B/Get": {}}),
    ("begin", "a line that begins a document, and comments", "# one\n--- # two\npolicy: 1\n... # three\n\n  # four", (10, 10), {"a.B/Get": {}}),
    ("end-bare", "the last line need not end with a line feed", "policy: 1\n...", (10, 10), {"a.B/Get": {}}),
    ("indented", "the top may be indented, each mapping as it likes", "  policy: 1\n  defaults:\n     timeout: 1s\n...\n", (10, 10), {"a.B/Get": {"timeout": S}}),
    ("quotes", "keys and texts in quotation marks", yaml("\"defaults\" :", "  'timeout': '1s'", "  \"priority\": \"l\\u006fw\" # x"), (10, 10),
     {"a.B/Get": {"timeout": S, "priority": "low"}}),
    ("lists", "lists in brackets, in lines, and not indented", said("retries:", "  codes: [ UNAVAILABLE , 'ABORTED',\"INTERNAL\" ]  # x", "hedging: none", "breaker:",
     "  consecutive: 1", "  codes:", "  - INTERNAL # y", "  -   'UNKNOWN'"), (10, 10),
     {"a.B/Get": {"retries": RETRIES | {"codes": ["ABORTED", "INTERNAL", "UNAVAILABLE"]}, "breaker": {"consecutive": 1, "open": 5 * S, "probes": 1, "codes": ["UNKNOWN", "INTERNAL"]}}}),
    ("empty-groups", "groups whose fields all have defaults", said("retries: {}", "zones: { }", "concurrency:", "  adaptive: {}"), (10, 10),
     {"a.B/Get": {"retries": RETRIES, "zones": {"healthy": 70, "overflow_calls": 0}, "concurrency": {"scope": "defaults", "adaptive": ADAPTIVE, "shares": SHARES}}}),
    ("trip", "window and calls count where there is a share", said("breaker:", "  percent: 1", "outliers:", "  percent: 100"), (10, 10),
     {"a.B/Get": {"breaker": {"percent": 1, "calls": 20, "window": 10 * S, "open": 5 * S, "probes": 1, "codes": FAILURES},
                  "outliers": {"scope": "defaults", "percent": 100, "calls": 20, "window": 10 * S, "eject": 30 * S, "max_eject": 300 * S, "cap": 10, "codes": FAILURES}}}),
    ("bounds-least", "the least of each number", yaml("budget: {}", "defaults:", "  timeout: 1ns", "  retries:", "    attempts: 1", "    backoff: 1ns", "    max_backoff: 1ns",
     "    multiplier: 100", "    jitter: 0"), (10, 10),
     {"a.B/Get": {"timeout": 1, "retries": {"attempts": 1, "backoff": 1, "max_backoff": 1, "multiplier": 100, "jitter": 0, "codes": ["RESOURCE_EXHAUSTED", "UNAVAILABLE"]}}}),
    ("bounds-most", "the most of each number", yaml("budget:", "  percent: 100", "  least: 1000000", "defaults:", "  timeout: 24h", "  retries:", "    attempts: 10", "    backoff: 1h",
     "    multiplier: 1000", "    jitter: 100"), (100, 1000000),
     {"a.B/Get": {"timeout": 86400 * S, "retries": {"attempts": 10, "backoff": 3600 * S, "max_backoff": 3600 * S, "multiplier": 1000, "jitter": 100, "codes": ["RESOURCE_EXHAUSTED", "UNAVAILABLE"]}}}),
    ("durations", "durations in every unit", yaml("services:", "  a.B:", "    methods:", "      A:", "        timeout: 7ns", "      B:", "        timeout: 1.5us", "      C:", "        timeout: 0.25ms",
     "      D:", "        timeout: 0.001s", "      E:", "        timeout: 1.5m", "      F:", "        timeout: 00.5h"), (10, 10),
     {f"a.B/{name}": {"timeout": ns, "stream_timeout": ns} for name, ns in (("A", 7), ("B", 1500), ("C", 250000), ("D", MS), ("E", 90 * S), ("F", 1800 * S))}),
    ("narrowest", "each field from the narrowest scope that has it, groups whole", yaml("defaults:", "  timeout: 4s", "  priority: low", "  retries:", "    attempts: 7", "    jitter: 1",
     "services:", "  a.B:", "    timeout: 3s", "    wait_for_ready: true", "    retries:", "      attempts: 5", "    methods:", "      Get:", "        timeout: 2s",
     "        wait_for_ready: false", "  c.D:", "    priority: critical"), (10, 10),
     {"a.B/Get": {"timeout": 2 * S, "stream_timeout": 2 * S, "wait_for_ready": False, "priority": "low", "retries": RETRIES | {"attempts": 5}},
      "a.B/Put": {"timeout": 3 * S, "wait_for_ready": True, "priority": "low", "retries": RETRIES | {"attempts": 5}},
      "c.D/Get": {"timeout": 4 * S, "priority": "critical", "retries": RETRIES | {"attempts": 7, "jitter": 1}},
      "a/B": {"timeout": 4 * S, "priority": "low", "retries": RETRIES | {"attempts": 7, "jitter": 1}}}),
    ("none", "none takes groups of wider scopes away", yaml("defaults:", "  retries: {}", "  breaker:", "    consecutive: 1", "  rate:", "    per_second: 1", "  faults:", "    x:", "      per_million: 1",
     "      delay: 1s", "services:", "  a.B:", "    retries: none", "    breaker: none", "    rate: none", "    faults: none", "    hedging: none"), (10, 10),
     {"a.B/Get": {"retries": "none"},
      "c.D/Get": {"retries": RETRIES, "breaker": {"consecutive": 1, "open": 5 * S, "probes": 1, "codes": FAILURES}, "rate": {"scope": "defaults", "per_second": 1, "burst": 1, "shares": SHARES},
                  "faults": [{"name": "x", "per_million": 1, "delay": S, "code": "OK"}]}}),
    ("exclusive", "of retries and hedging the narrower counts; retries: none drops nothing", yaml("defaults:", "  idempotent: true", "  retries: {}", "services:", "  a.B:", "    hedging:",
     "      delay: 30ms", "    methods:", "      Again:", "        retries:", "          attempts: 2", "      Once:", "        retries: none", "      Neither:", "        hedging: none"), (10, 10),
     {"a.B/Get": {"idempotent": True, "hedging": HEDGING},
      "a.B/Again": {"idempotent": True, "retries": RETRIES | {"attempts": 2}},
      "a.B/Once": {"idempotent": True, "hedging": HEDGING, "retries": "none"},
      "a.B/Neither": {"idempotent": True, "retries": RETRIES},
      "c.D/Get": {"idempotent": True, "retries": RETRIES}}),
    ("state", "what keeps a state names the scope that says it", yaml("defaults:", "  rate:", "    per_second: 1", "services:", "  a.B:", "    concurrency:", "      limit: 2", "    methods:",
     "      Get:", "        server_rate:", "          per_second: 3", "          burst: 4"), (10, 10),
     {"a.B/Get": {"rate": {"scope": "defaults", "per_second": 1, "burst": 1, "shares": SHARES}, "concurrency": {"scope": 'services."a.B"', "limit": 2, "shares": SHARES},
                  "server_rate": {"scope": 'services."a.B".methods.Get', "per_second": 3, "burst": 4, "shares": SHARES}}}),
    ("equal-shares", "shares may be equal", said("rate:", "  per_second: 1", "  shares:", "    critical: 50", "    high: 50", "    normal: 50"), (10, 10),
     {"a.B/Get": {"rate": {"scope": "defaults", "per_second": 1, "burst": 1, "shares": {"critical": 50, "high": 50, "normal": 50, "low": 50}}}}),
    ("equal-ejections", "so may be the first ejection and the longest", said("outliers:", "  consecutive: 1", "  eject: 5s", "  max_eject: 5s"), (10, 10),
     {"a.B/Get": {"outliers": {"scope": "defaults", "consecutive": 1, "eject": 5 * S, "max_eject": 5 * S, "cap": 10, "codes": FAILURES}}}),
    ("once-short", "a timeout may be below the backoff where there is one attempt", said("timeout: 1ms", "retries:", "  attempts: 1"), (10, 10),
     {"a.B/Get": {"timeout": MS, "retries": RETRIES | {"attempts": 1}}}),
    ("no-services", "services may be empty", '{"policy": 1, "services": {}}', (10, 10), {"a.B/Get": {}}),
]  # fmt: skip

LONG = "x" * 50
TOLD = "x" * 40 + "…"

# id, why, the file or its bytes, faults
FORM: list[tuple[str, str, str | bytes, list[str]]] = [
    ("empty", "nothing at all", "", ["line 1: the file is empty"]),
    ("blanks", "blanks alone", " \t\n\r\n ", ["line 1: the file is empty"]),
    ("mark-alone", "a byte order mark alone", "\ufeff", ["line 1: the file is empty"]),
    ("not-utf8", "a byte that is not UTF-8", b"policy: 1\n# \xff\n...\n", ["line 2: not UTF-8"]),
    ("not-utf8-cut", "half a character at the end", b"policy: 1\n...\n# \xe2\x82", ["line 3: not UTF-8"]),
    ("not-utf8-surrogate", "half a surrogate pair is not UTF-8", b"# \xed\xa0\x80", ["line 1: not UTF-8"]),
    ("control", "a control character", "policy: 1\n\x00...\n", ["line 2: a control character"]),
    ("control-cr", "a carriage return without a line feed", "policy: 1\r...\n", ["line 1: a control character"]),
    ("control-delete", "the character 0x7F", '{"policy\x7f": 1}', ["line 1: a control character"]),
    ("json-half", "a file in JSON that is half written", '{"policy": 1,\n "defaults": {"timeout": "5s"', ['line 2: want "," or "}", found the end']),
    ("json-half-text", "cut off in a text", '{"policy": 1,\n "defa', ["line 2: a text is not closed"]),
    ("json-half-key", "cut off behind a key", '{"policy"\n', ['line 2: want ":", found the end']),
    ("json-half-value", "cut off before a value", '{"policy":', ["line 1: want a value, found the end"]),
    ("json-half-word", "cut off in a word", '{"policy": tru', ['line 1: want a value, found "tru"']),
    ("json-two", "something behind the end", '{"policy": 1}\n{', ['line 2: want the end, found "{"']),
    ("json-key", "a key without quotation marks", "{policy: 1}", ['line 1: want a key, found "p"']),
    ("json-comma", "a comma before the end", '{"policy": 1,}', ['line 1: want a key, found "}"']),
    ("json-comma-list", "the same in an array", '{"a": [1,]}', ['line 1: want a value, found "]"']),
    ("json-between", "no comma between", '{"a": 1\n"b": 2}', ['line 2: want "," or "}", found "\\""']),
    ("json-between-list", "none in an array", '{"a": [1 2]}', ['line 1: want "," or "]", found "2"']),
    ("json-comment", "a comment", '{"policy": 1} # x', ['line 1: want the end, found "#"']),
    ("json-number", "a number with a zero before it", '{"policy": 01}', ['line 1: want a value, found "01"']),
    ("json-number-plus", "a number with a plus", '{"policy": +1}', ['line 1: want a value, found "+1"']),
    ("json-word", "a word that is none", '{"policy": yes-no.1}', ['line 1: want a value, found "yes-no.1"']),
    ("json-quotes", "a text in apostrophes", "{\"policy\": '1'}", ["line 1: want a value, found \"'\""]),
    ("json-line", "a text does not go on in the next line", '{"policy": "a\nb"}', ["line 1: a text is not closed"]),
    ("json-escape", "an unknown escape", '{"policy": "\\x41"}', ["line 1: an unknown escape"]),
    ("json-escape-cut", "an escape with too few digits", '{"policy": "\\u12"}', ["line 1: an unknown escape"]),
    ("json-surrogate", "half a surrogate pair", '{"policy": "\\ud800"}', ["line 1: half a surrogate pair"]),
    ("json-surrogate-low", "the other half", '{"policy": "\\udc00"}', ["line 1: half a surrogate pair"]),
    ("json-surrogate-two", "two first halves", '{"policy": "\\ud800\\ud800"}', ["line 1: half a surrogate pair"]),
    ("json-twice", "a key twice, once by an escape", '{"policy": 1,\n"polic\\u0079": 1}', ['line 2: the key "policy" comes twice']),
    ("json-nested", "17 arrays", '{"a": ' + "[" * 16 + "]" * 16 + "}", ["line 1: nested more than 16 deep"]),
    ("json-nested-flood", "a hundred thousand", '{"a":' * 100000, ["line 1: nested more than 16 deep"]),
    ("json-found", "an odd character is told as an escape", '{"a": \ufeff}', ['line 1: want a value, found "\\ufeff"']),
    ("json-array", "an array where the object should be", "[1]\n", ["line 1: want a mapping, found a list"]),
    ("json-array-blanks", "the same behind blanks, whatever follows", "\n \t[{\"policy\": 1", ["line 1: want a mapping, found a list"]),
    ("yaml-half", "a file in YAML that is half written", "policy: 1\ndefaults:\n  timeout: 5s\n", ['line 4: the file ends without "..." and may be half written']),
    ("yaml-half-line", "cut off in a line", "policy: 1\ndefaults:\n  timeout: 1", ['line 3: the file ends without "..." and may be half written']),
    ("yaml-half-key", "cut off in a key", "policy: 1\ndefau", ['line 2: want "key: value"']),
    ("yaml-half-end", "cut off in the last line", "policy: 1\n..", ['line 2: want "key: value"']),
    ("yaml-comments", "comments alone", "# policy: 1\n", ['line 2: the file ends without "..." and may be half written']),
    ("yaml-behind", "something behind the end", "policy: 1\n...\n\n# x\n---\n", ['line 5: something behind "..."']),
    ("yaml-tab", "a tab in the indentation", "policy: 1\ndefaults:\n\ttimeout: 5s\n...\n", ["line 3: a tab in the indentation"]),
    ("yaml-deeper", "a line that is indented too far", "policy: 1\n  defaults: x\n...\n", ["line 2: wrong indentation"]),
    ("yaml-between", "a line between two indentations", "policy: 1\ndefaults:\n    timeout: 5s\n  priority: low\n...\n", ["line 4: wrong indentation"]),
    ("yaml-before", "a line before the first", "  policy: 1\ndefaults:\n...\n", ["line 2: wrong indentation"]),
    ("yaml-list-mixed", "a line of a list in a mapping", "policy: 1\n- x\n...\n", ["line 2: a list and a mapping in one place"]),
    ("yaml-mapping-mixed", "a line of a mapping in a list", "a:\n  - x\n  b: 1\n...\n", ["line 3: a list and a mapping in one place"]),
    ("yaml-list-deeper", "an element that is indented too far", "a:\n- x\n - y\n...\n", ["line 3: wrong indentation"]),
    ("yaml-no-key", "a line without a key", "policy\n...\n", ['line 1: want "key: value"']),
    ("yaml-no-blank", "no blank behind the colon", "policy:1\n...\n", ['line 1: want "key: value"']),
    ("yaml-key-comment", "a comment where the colon should be", "policy #: 1\n...\n", ['line 1: want "key: value"']),
    ("yaml-key-quoted", "no colon behind a key in quotation marks", '"policy" 1\n...\n', ['line 1: want "key: value"']),
    ("yaml-twice", "a key twice", f"policy: 1\n'{LONG}': 1\n{LONG}: 2\n...\n", [f'line 3: the key "{TOLD}" comes twice']),
    ("yaml-anchor", "an anchor", "a: &b 1\n...\n", ["line 1: anchors are not read here"]),
    ("yaml-alias", "an alias", "a: *b\n...\n", ["line 1: aliases are not read here"]),
    ("yaml-alias-key", "an alias as a key", "*b: 1\n...\n", ["line 1: aliases are not read here"]),
    ("yaml-tag", "a tag", "a: !!str 1\n...\n", ["line 1: tags are not read here"]),
    ("yaml-block", "a block of text", "a: |\n  text\n...\n", ["line 1: blocks of text are not read here"]),
    ("yaml-folded", "a folded block of text", "a: >-\n  text\n...\n", ["line 1: blocks of text are not read here"]),
    ("yaml-braces", "a mapping in braces", "a: {b: 1}\n...\n", ["line 1: mappings in braces are not read here"]),
    ("yaml-braces-list", "one in a list", "a: [{}]\n...\n", ["line 1: mappings in braces are not read here"]),
    ("yaml-lists", "a list in a list", "a: [[1]]\n...\n", ["line 1: lists in lists are not read here"]),
    ("yaml-lists-lines", "the same in lines", "a:\n  - [1]\n...\n", ["line 2: lists in lists are not read here"]),
    ("yaml-directive", "a directive", "%YAML 1.2\n---\na: 1\n...\n", ['line 1: want a value, found "%"']),
    ("yaml-reserved", "a reserved character", "a: @b\n...\n", ['line 1: want a value, found "@"']),
    ("yaml-dash", "a list behind its key", "a: - b\n...\n", ['line 1: want a value, found "-"']),
    ("yaml-question", "a key in YAML's long form", "? a\n: b\n...\n", ['line 1: want a value, found "?"']),
    ("yaml-colon", "a colon in a plain text", "a: b: c\n...\n", ['line 1: a ":" in a plain text wants quotation marks']),
    ("yaml-colon-end", "a colon at its end", "a:\n  - b:\n...\n", ['line 2: a ":" in a plain text wants quotation marks']),
    ("yaml-behind-text", "something behind a text", 'a: "b" c\n...\n', ["line 1: something behind a value"]),
    ("yaml-behind-list", "something behind a list", "a: [b] c\n...\n", ["line 1: something behind a value"]),
    ("yaml-behind-comment", "a comment without a blank before it", "a: {}#c\n...\n", ["line 1: something behind a value"]),
    ("yaml-in-list", "a brace in a plain text of a list", "a: [b{c]\n...\n", ["line 1: something behind a value"]),
    ("yaml-list-open", "a list that does not end in its line", "a: [b,\n  c]\n...\n", ["line 1: a list is not closed"]),
    ("yaml-list-comment", "a list that ends in a comment", "a: [b #]\n...\n", ["line 1: a list is not closed"]),
    ("yaml-list-comma", "a comma before the end of a list", "a: [b, ]\n...\n", ['line 1: want a value, found "]"']),
    ("yaml-list-gap", "no element between commas", "a: [b,,c]\n...\n", ['line 1: want a value, found ","']),
    ("yaml-text-open", "a text that does not end in its line", "a: 'b\n  c'\n...\n", ["line 1: a text is not closed"]),
    ("yaml-escape", "an escape that only YAML has", 'a: "\\x41"\n...\n', ["line 1: an unknown escape"]),
    ("yaml-nested", "17 mappings", "".join("  " * n + "a:\n" for n in range(17)) + "  " * 17 + "b: 1\n...\n", ["line 17: nested more than 16 deep"]),
]  # fmt: skip

CODES = "want a code other than OK and CANCELLED, found"

FIELDS: list[tuple[str, str, str | bytes, list[str]]] = [
    ("no-mapping", "a list at the top", "- policy\n...\n", ["line 1: want a mapping, found a list"]),
    ("no-version", "no version", "...\n", ["line 1: policy: is missing"]),
    ("version", "a version that is not known", '{"policy": 2}', ["line 1: policy: want 1, found 2"]),
    ("version-text", "a version as a text", '{"policy": "1"}', ['line 1: policy: want 1, found "1"']),
    ("version-float", "a version that is no whole number", '{"policy": 1.0}', ["line 1: policy: want 1, found 1.0"]),
    ("unknown", "a field that is not known, at the top and below", yaml("retry: 1", "defaults:", "  retries:", "    atempts: 3"),
     ["line 2: retry: unknown field", "line 5: defaults.retries.atempts: unknown field"]),
    ("unknown-far", "a policy of a service below the top", yaml("a.B:", "  timeout: 1s"), ['line 2: "a.B": unknown field']),
    ("path", "the path of a method's field", yaml("services:", "  a.B:", "    methods:", "      Get:", "        retries:", "          backoff: 5"),
     ['line 7: services."a.B".methods.Get.retries.backoff: want a duration from 1ns to 1h, found 5']),
    ("path-quoted", "keys in paths are told as texts are", yaml("'a \"b\\': 1", f"{LONG}: 1", f"'{LONG} x': 1", "é: 1"),
     ['line 2: "a \\"b\\\\": unknown field', f"line 3: {TOLD}: unknown field", f'line 4: "{TOLD}": unknown field', 'line 5: "é": unknown field']),
    ("duration-number", "a duration without a unit", said("timeout: 5"), ["line 3: defaults.timeout: want a duration from 1ns to 24h, found 5"]),
    ("duration-unit", "a unit that is not known", said("timeout: 5d"), ['line 3: defaults.timeout: want a duration from 1ns to 24h, found "5d"']),
    ("duration-blank", "a blank before the unit", said("timeout: 5 s"), ['line 3: defaults.timeout: want a duration from 1ns to 24h, found "5 s"']),
    ("duration-two", "two units", said("timeout: 1m30s"), ['line 3: defaults.timeout: want a duration from 1ns to 24h, found "1m30s"']),
    ("duration-zero", "a duration of none", said("timeout: 0s"), ['line 3: defaults.timeout: want a duration from 1ns to 24h, found "0s"']),
    ("duration-below", "a duration below none", said("timeout: -5s"), ['line 3: defaults.timeout: want a duration from 1ns to 24h, found "-5s"']),
    ("duration-above", "one that is too long", said("timeout: 24.001h"), ['line 3: defaults.timeout: want a duration from 1ns to 24h, found "24.001h"']),
    ("duration-flood", "one far too long", said("timeout: " + "9" * 50 + "h"), ['line 3: defaults.timeout: want a duration from 1ns to 24h, found "' + "9" * 40 + '…"']),
    ("duration-part", "half a nanosecond", said("timeout: 1.5ns"), ['line 3: defaults.timeout: want a duration from 1ns to 24h, found "1.5ns"']),
    ("duration-digits", "more than three digits behind the point", said("timeout: 1.0000s"), ['line 3: defaults.timeout: want a duration from 1ns to 24h, found "1.0000s"']),
    ("duration-no-digits", "no digits behind the point", said("timeout: 1.s"), ['line 3: defaults.timeout: want a duration from 1ns to 24h, found "1.s"']),
    ("duration-point", "none before it", said("timeout: .5s"), ['line 3: defaults.timeout: want a duration from 1ns to 24h, found ".5s"']),
    ("nothing", "a key without a value", said("timeout:"), ["line 3: defaults.timeout: want a duration from 1ns to 24h, found nothing"]),
    ("truth", "truths are true and false alone", said("wait_for_ready: yes", "idempotent: 1"),
     ['line 3: defaults.wait_for_ready: want true or false, found "yes"', "line 4: defaults.idempotent: want true or false, found 1"]),
    ("words", "words that are not known", said("priority: urgent", "balancer:", "  name: random"),
     ['line 3: defaults.priority: want critical, high, normal or low, found "urgent"',
      'line 5: defaults.balancer.name: want first, round_robin, least_loaded or hash, found "random"']),
    ("whole-below", "one below the least", said("retries:", "  attempts: 0"), ["line 4: defaults.retries.attempts: want a whole number from 1 to 10, found 0"]),
    ("whole-above", "one above the most", said("hedging:", "  delay: 1s", "  attempts: 6"), ["line 5: defaults.hedging.attempts: want a whole number from 2 to 5, found 6"]),
    ("whole-float", "a number with a point", said("retries:", "  attempts: 3.0"), ["line 4: defaults.retries.attempts: want a whole number from 1 to 10, found 3.0"]),
    ("whole-exponent", "a number with an exponent", said("rate:", "  per_second: 1e3"), ["line 4: defaults.rate.per_second: want a whole number from 1 to 1000000, found 1e3"]),
    ("whole-flood", "a number with too many digits", said("rate:", "  per_second: " + "1" * 50), ["line 4: defaults.rate.per_second: want a whole number from 1 to 1000000, found " + "1" * 40 + "…"]),
    ("whole-octal", "a text that other readers take for a number", said("retries:", "  attempts: 07"), ['line 4: defaults.retries.attempts: want a whole number from 1 to 10, found "07"']),
    ("codes-text", "one code in the place of a list", said("retries:", "  codes: UNAVAILABLE"), ['line 4: defaults.retries.codes: want a list of codes, found "UNAVAILABLE"']),
    ("codes-empty", "no code", said("retries:", "  codes: []"), ["line 4: defaults.retries.codes: want at least one code"]),
    ("codes-unknown", "codes that are not known, or that no policy has", said("breaker:", "  consecutive: 1", "  codes:", "    - OK", "    - 14", "    - unavailable", "    - CANCELLED", "    -"),
     [f'line 6: defaults.breaker.codes[0]: {CODES} "OK"', f"line 7: defaults.breaker.codes[1]: {CODES} 14", f'line 8: defaults.breaker.codes[2]: {CODES} "unavailable"',
      f'line 9: defaults.breaker.codes[3]: {CODES} "CANCELLED"', f"line 10: defaults.breaker.codes[4]: {CODES} nothing"]),
    ("codes-twice", "a code twice", said("hedging:", "  delay: 1s", "  stop: [INTERNAL, ABORTED, INTERNAL]"), ["line 5: defaults.hedging.stop[2]: INTERNAL comes twice"]),
    ("missing", "required fields", said("hedging: {}", "rate:", "  burst: 1", "balancer:", "  key: a", "faults:", "  x:", "    delay: 1s"),
     ["line 3: defaults.hedging.delay: is missing", "line 4: defaults.rate.per_second: is missing", "line 6: defaults.balancer.name: is missing", "line 9: defaults.faults.x.per_million: is missing"]),
    ("group", "other things in the place of a group", said("retries: 3", "hedging: off", "zones:", "breaker: [1]", "faults: true"),
     ["line 3: defaults.retries: want a mapping or none, found 3", 'line 4: defaults.hedging: want a mapping or none, found "off"', "line 5: defaults.zones: want a mapping or none, found nothing",
      "line 6: defaults.breaker: want a mapping or none, found a list", "line 7: defaults.faults: want a mapping or none, found true"]),
    ("mapping", "other things in the place of a mapping", yaml("budget: none", "defaults: 1", "services:", "  a.B: none", "  c.D:", "    methods: []"),
     ['line 2: budget: want a mapping, found "none"', "line 3: defaults: want a mapping, found 1", 'line 5: services."a.B": want a mapping, found "none"',
      'line 7: services."c.D".methods: want a mapping, found a list']),
    ("says-nothing", "scopes that say nothing", yaml("defaults: {}", "services:", "  a.B: {}", "  c.D:", "    methods: {}", "  e.F:", "    methods:", "      Get: {}"),
     ["line 2: defaults: says nothing", 'line 4: services."a.B": says nothing', 'line 6: services."c.D".methods: says nothing', 'line 9: services."e.F".methods.Get: says nothing']),
    ("names", "names that are none", yaml("services:", "  /a.B:", "    timeout: 1s", "  '': 1", "  a B: 1", "  a.B:", "    methods:", "      /Get: 1", "      é: 1", "defaults:", "  faults:", "    Slow: 1"),
     ['line 3: services."/a.B": not the name of a service', 'line 5: services."": not the name of a service', 'line 6: services."a B": not the name of a service',
      'line 9: services."a.B".methods."/Get": not the name of a method', 'line 10: services."a.B".methods."é": not the name of a method', "line 13: defaults.faults.Slow: not the name of a fault"]),
    ("faults-many", "more than 16 faults", said("faults:", *(line for n in range(17) for line in (f"  f{n}:", "    per_million: 1", "    delay: 1s"))),
     ["line 3: defaults.faults: has more than 16 faults"]),
    ("methods-deep", "methods stand below services alone", said("methods:", "  Get:", "    timeout: 1s"), ["line 3: defaults.methods: unknown field"]),
    ("many", "of many faults 20 are told", yaml(*(f"x{n}: 1" for n in range(30))), [f"line {n + 2}: x{n}: unknown field" for n in range(20)]),
    ("key", "a key of a metadata entry that is none", said("balancer:", "  name: hash", "  key: User"), ['line 5: defaults.balancer.key: want the key of a metadata entry, found "User"']),
    ("order", "what is missing comes behind the faults of the fields", said("rate:", "  burst: 0", "  shares:", "    low: 0"),
     ["line 4: defaults.rate.burst: want a whole number from 1 to 1000000, found 0", "line 6: defaults.rate.shares.low: want a whole number from 1 to 100, found 0", "line 3: defaults.rate.per_second: is missing"]),
]  # fmt: skip

TOGETHER: list[tuple[str, str, str | bytes, list[str]]] = [
    ("backoff-above-max", "the first pause is above the longest", said("retries:", "  backoff: 2s", "  max_backoff: 1s"), ["line 3: defaults.retries: backoff-above-max: backoff is above max_backoff"]),
    ("backoff-default", "also where the first has its default", said("retries:", "  max_backoff: 10ms"), ["line 3: defaults.retries: backoff-above-max: backoff is above max_backoff"]),
    ("trigger-missing", "nothing that opens or ejects", said("breaker:", "  open: 1s", "outliers: {}"),
     ["line 3: defaults.breaker: trigger-missing: want consecutive or percent", "line 5: defaults.outliers: trigger-missing: want consecutive or percent"]),
    ("percent-missing", "calls and window of no share", said("breaker:", "  consecutive: 1", "  calls: 1", "outliers:", "  window: 1s"),
     ["line 3: defaults.breaker: percent-missing: calls and window want percent", "line 6: defaults.outliers: trigger-missing: want consecutive or percent",
      "line 6: defaults.outliers: percent-missing: calls and window want percent"]),
    ("eject-above-max", "the first ejection is above the longest", said("outliers:", "  consecutive: 1", "  eject: 2s", "  max_eject: 1s"), ["line 3: defaults.outliers: eject-above-max: eject is above max_eject"]),
    ("key-missing", "a hash of nothing", said("balancer:", "  name: hash"), ["line 3: defaults.balancer: key-missing: hash wants a key"]),
    ("key-unused", "a key of no hash", said("balancer:", "  name: first", "  key: a"), ["line 3: defaults.balancer: key-unused: only hash has a key"]),
    ("limit-missing", "neither a limit nor an adaptive one", said("concurrency: {}"), ["line 3: defaults.concurrency: limit-missing: want limit or adaptive"]),
    ("limit-twice", "both", said("server_concurrency:", "  limit: 1", "  adaptive: {}"), ["line 3: defaults.server_concurrency: limit-twice: want one of limit and adaptive"]),
    ("bounds-crossed", "a start above the most", said("concurrency:", "  adaptive:", "    most: 19"), ["line 4: defaults.concurrency.adaptive: bounds-crossed: want least <= start <= most"]),
    ("bounds-crossed-least", "a start below the least", said("concurrency:", "  adaptive:", "    least: 21"), ["line 4: defaults.concurrency.adaptive: bounds-crossed: want least <= start <= most"]),
    ("shares-crossed", "a lower priority has more", said("rate:", "  per_second: 1", "  shares:", "    normal: 40"), ["line 5: defaults.rate.shares: shares-crossed: a lower priority has more"]),
    ("shares-crossed-critical", "so does one below the highest", said("rate:", "  per_second: 1", "  shares:", "    critical: 99"), ["line 5: defaults.rate.shares: shares-crossed: a lower priority has more"]),
    ("shares-crossed-high", "or below the second", said("rate:", "  per_second: 1", "  shares:", "    high: 99"), ["line 5: defaults.rate.shares: shares-crossed: a lower priority has more"]),
    ("fault-empty", "a fault that does nothing", said("faults:", "  x:", "    per_million: 1"), ["line 4: defaults.faults.x: fault-empty: want delay or code"]),
]  # fmt: skip

HEDGE = ("hedging:", "  delay: 30ms")

SCOPES: list[tuple[str, str, str | bytes, list[str]]] = [
    ("both", "retries and hedging in one scope", said("idempotent: true", "retries: {}", *HEDGE), ["line 2: defaults: retries-and-hedging: one scope has both"]),
    ("hedging", "a hedge for methods that are not idempotent", said(*HEDGE), ["line 2: defaults: hedging-not-idempotent: hedging wants idempotent"]),
    ("hedging-method", "a method says that it is not", yaml("defaults:", "  idempotent: true", "  hedging:", "    delay: 1ms", "services:", "  a.B:", "    methods:", "      Put:", "        idempotent: false"),
     ['line 9: services."a.B".methods.Put: hedging-not-idempotent: hedging wants idempotent']),
    ("backoff", "a timeout that leaves no time for a repetition", said("timeout: 50ms", "retries: {}"), ["line 2: defaults: timeout-below-backoff: timeout is not above backoff of retries"]),
    ("backoff-service", "the same, of two scopes", yaml("defaults:", "  retries:", "    backoff: 100ms", "services:", "  a.B:", "    timeout: 99ms", "    methods:", "      Get:", "        priority: low",
     "      Put:", "        timeout: 100ms"),
     ['line 6: services."a.B": timeout-below-backoff: timeout is not above backoff of retries', 'line 11: services."a.B".methods.Put: timeout-below-backoff: timeout is not above backoff of retries']),
    ("delay", "a timeout that leaves no time for a hedge", said("idempotent: true", "timeout: 30ms", *HEDGE), ["line 2: defaults: timeout-below-delay: timeout is not above delay of hedging"]),
    ("uncovered", "retries of a wider scope come back where hedging is none", yaml("defaults:", "  retries:", "    backoff: 100ms", "services:", "  a.B:", "    idempotent: true", "    timeout: 50ms",
     "    hedging:", "      delay: 10ms", "    methods:", "      Get:", "        hedging: none"), ['line 12: services."a.B".methods.Get: timeout-below-backoff: timeout is not above backoff of retries']),
    ("all", "all that one scope has, in the order of the table", said("timeout: 1ms", "retries: {}", *HEDGE),
     ["line 2: defaults: retries-and-hedging: one scope has both", "line 2: defaults: hedging-not-idempotent: hedging wants idempotent",
      "line 2: defaults: timeout-below-backoff: timeout is not above backoff of retries", "line 2: defaults: timeout-below-delay: timeout is not above delay of hedging"]),
    ("order", "defaults first, wherever they stand", '{"policy": 1,\n"services": {"a.B": {"hedging": {"delay": "1s"}}},\n"defaults": {"hedging": {"delay": "1s"}}}',
     ["line 3: defaults: hedging-not-idempotent: hedging wants idempotent", 'line 2: services."a.B": hedging-not-idempotent: hedging wants idempotent']),
]  # fmt: skip


def content() -> dict[str, Any]:
    good = [
        {"id": name, "why": why, "text": text, "budget": dict(zip(("percent", "least"), budget, strict=True)), "methods": methods}
        for name, why, text, budget, methods in GOOD
    ]
    bad: list[dict[str, Any]] = [{"id": "form-long", "why": "one byte too many", "step": "form", "text": '{"policy": 1}', "fill": {"text": " ", "count": 2**20 - 12},
                                  "faults": ["line 1: the file has more than 1048576 bytes"]}]  # fmt: skip
    bad += [
        {"id": f"form-flood-{name}", "why": why, "step": "form", "text": text, "fill": {"text": fill, "count": 200_000}, "faults": [fault]}
        for name, why, text, fill, fault in (
            ("list", "a long list that does not end", "a: [", "a,", "line 1: a list is not closed"),
            ("lines", "a long list in lines", "a:\n", "- a\n", 'line 200002: the file ends without "..." and may be half written'),
            ("json", "a long array", '{"a": [', "1,", "line 1: want a value, found the end"),
            ("text", "a long text", "a: '", "''", "line 1: a text is not closed"),
        )
    ]
    for step, cases in (("form", FORM), ("fields", FIELDS), ("together", TOGETHER), ("scopes", SCOPES)):
        for name, why, file, faults in cases:
            form = {"text": file} if isinstance(file, str) else {"hex": file.hex()}
            if file == '{"a":' * 100000:
                form = {"text": "", "fill": {"text": '{"a":', "count": 100000}}
            bad.append({"id": f"{step}-{name}", "why": why, "step": step, **form, "faults": faults})
    good.append({"id": "long", "why": "the longest file", "text": '{"policy": 1}', "fill": {"text": " ", "count": 2**20 - 13}, "budget": {"percent": 10, "least": 10}, "methods": {"a.B/Get": {}}})
    return {"description": DESCRIPTION, "good": good, "bad": bad}
