"""The call command."""

from __future__ import annotations

from harness.processes import Outcome, Server
from harness.programs import BENCH, USER_7, USERS, ProgramTest, run, run_unheard, serving

from .own import PYTHON, carried_out

BAD_USER = (
    '{"code":"INVALID_ARGUMENT","message":"user_id must be at least 1","details":[{"@type":"type.googleapis.com/'
    'google.rpc.BadRequest","fieldViolations":[{"field":"user_id","description":"must be at least 1"}]}],'
    '"delivery":"executed"}\n'
)
BAD_COUNT = BAD_USER.replace("user_id", "count").replace("be at least 1", "not be negative")
NO_USER = (
    '{"code":"NOT_FOUND","message":"there is no user 1000000000","details":[{"@type":"type.googleapis.com/'
    'google.rpc.ResourceInfo","resourceType":"user","resourceName":"1000000000","description":"ids end at 999999999"}],'
    '"delivery":"executed"}\n'
)


def users(*numbers: int) -> str:
    return "".join(f'{{"name":"user-{n}","email":"user-{n}@example.com"}}\n' for n in numbers)


class Calls(ProgramTest):
    served: Server

    @classmethod
    def setUpClass(cls) -> None:
        cls.served = serving(PYTHON, "--listen", "127.0.0.1:0")
        cls.addClassCleanup(cls.served.stop)

    def call(self, *words: str) -> Outcome:
        return run(PYTHON, "call", "--target", self.served.address, *words)

    def test_every_method(self) -> None:
        for method, request, wanted in (
            (USERS + "GetUser", '{"user_id":7}', Outcome(users(7))),
            ("/" + USERS + "GetUser", '{"userId":"999999999"}', Outcome(users(999999999))),
            (USERS + "GetUser", "{}", Outcome("", BAD_USER, 1)),
            (USERS + "GetUser", '{"userId":1000000000}', Outcome("", NO_USER, 1)),
            (USERS + "ListUsers", '{"count":3}', Outcome(users(1, 2, 3))),
            (USERS + "ListUsers", "{}", Outcome("")),
            (USERS + "ListUsers", '{"count":-1}', Outcome("", BAD_COUNT, 1)),
            (USERS + "ImportUsers", "[]", Outcome("{}\n")),
            (USERS + "ImportUsers", '[{},{"name":"Ada"}]', Outcome('{"count":"2"}\n')),
            (USERS + "WatchUsers", "[]", Outcome("")),
            (USERS + "WatchUsers", '[{"userId":2},{"userId":1}]', Outcome(users(2, 1))),
            (USERS + "WatchUsers", '[{"userId":2},{"userId":0},{"userId":1}]', Outcome(users(2), BAD_USER, 1)),
            (BENCH + "GetDictionary", "{}", Outcome('{"entries":{"a":"1","b":"2","c":"3"}}\n')),
            (BENCH + "Echo", '{"data":"AP8="}', Outcome('{"data":"AP8="}\n')),
            (BENCH + "EchoStream", '[{"data":""},{}]', Outcome('{"data":""}\n{}\n')),
        ):
            with self.subTest(method=method, request=request):
                self.assertEqual(self.call(method, request), wanted)

    def test_the_blocking_client_makes_the_same_calls(self) -> None:
        for method, request, wanted in (
            (USERS + "GetUser", '{"user_id":7}', Outcome(users(7))),
            (USERS + "GetUser", "{}", Outcome("", BAD_USER, 1)),
            (USERS + "ListUsers", '{"count":3}', Outcome(users(1, 2, 3))),
            (USERS + "ImportUsers", '[{},{"name":"Ada"}]', Outcome('{"count":"2"}\n')),
            (USERS + "WatchUsers", '[{"userId":2},{"userId":0},{"userId":1}]', Outcome(users(2), BAD_USER, 1)),
            ("calc/div", "[7,2]", Outcome("[3,1]\n")),
        ):
            with self.subTest(method=method, request=request):
                self.assertEqual(self.call("--blocking", "--timeout", "60s", method, request), wanted)
        nobody = run(PYTHON, "call", "--blocking", "--target", "127.0.0.1:1", USERS + "GetUser", "{}")
        self.assert_failure(nobody, "UNAVAILABLE", "not_sent", "127.0.0.1:1")

    def test_the_arguments_stand_in_any_order(self) -> None:
        target = self.served.address
        for words in (
            (USERS + "GetUser", '{"userId":7}', f"--target={target}", "--timeout", "20s"),
            ("--timeout", "20s", USERS + "GetUser", "--target", target, '{"userId":7}', "--metadata", "a=b"),
        ):
            with self.subTest(words):
                self.assertEqual(run(PYTHON, "call", *words), Outcome(USER_7))

    def test_more_is_sent_and_received_than_fits_in_between(self) -> None:
        many = 10_000
        request = "[" + ",".join(['{"userId":7}'] * many) + "]"
        self.assertEqual(self.call(USERS + "WatchUsers", request), Outcome(USER_7 * many))

    def test_metadata_that_cannot_be_sent_fails_the_call(self) -> None:
        for method in ("GetUser", "ListUsers"):
            with self.subTest(method):
                got = self.call(USERS + method, "{}", "--metadata", "a b=c")
                self.assert_failure(got, "INVALID_ARGUMENT", "not_sent", "a b")

    def test_a_timeout_ends_a_stream(self) -> None:
        for timeout in ("1s", "5s", "15s"):  # connecting is part of it
            got = self.call(USERS + "ListUsers", '{"count":2147483647}', "--timeout", timeout)
            if got.stdout:
                break
        self.assert_failure(got, "DEADLINE_EXCEEDED", "unknown", "deadline")
        self.assertTrue(got.stdout.startswith(users(1, 2, 3)))

    def test_an_answer_that_cannot_be_printed_fails_the_command_and_cancels_the_call(self) -> None:
        served = self.serve(PYTHON)
        done = run_unheard(PYTHON, "call", "--target", served.address, USERS + "ListUsers", '{"count":2147483647}')
        self.assertEqual((done.status, done.stderr.count("\n")), (1, 1), done.stderr)
        self.assertIn("No space left", done.stderr)
        self.assertEqual(served.stop().stderr, "")  # no call that it waited for

    def test_what_cannot_be_done_is_turned_down(self) -> None:
        def to(*more: str) -> tuple[str, ...]:
            return ("--target", "127.0.0.1:1", *more)

        get = USERS + "GetUser"
        for words, text in (
            ((get, "{}"), "--target is needed"),
            (to(), "METHOD and JSON are needed"),
            (to(get), "METHOD and JSON are needed"),
            (to(get, "{}", "{}"), "nothing to do with"),
            (to(get, "{}", "--nope"), "--nope"),
            (to(get, "{}", "--timeout", "soon"), "--timeout: want a time such as 2s or 250ms"),
            (to(get, "{}", "--timeout", "0"), "--timeout must be above 0"),
            (to(get, "{}", "--metadata", "key"), "want KEY=VALUE"),
            (to(get, "{}", "--metadata", "k-bin=!"), "base64"),
            (to(get, "{}", "--tls-cert", "x", "--tls-key", "y"), "--tls-cert"),
            (to(get, "{}", "--tls-ca", "nofile"), "nofile: no such file"),
            (("--target", "http://127.0.0.1:1", get, "{}"), "without http://"),
            (("--target", "unix:", get, "{}"), "there is no path"),
            (("--target", "127.0.0.1:1, localhost", get, "{}"), "--target localhost: missing port"),
        ):
            with self.subTest(words):
                self.assert_usage(carried_out("call", *words), text)

    def test_what_cannot_be_sent_is_a_failure_of_the_call(self) -> None:
        get, watch = USERS + "GetUser", USERS + "WatchUsers"
        invalid, unknown = "INVALID_ARGUMENT", "UNIMPLEMENTED"
        for method, request, code, text in (
            ("GetUser", "{}", invalid, "want package.Service/Method"),
            ("example.Nobody/GetUser", "{}", unknown, "there is no service example.Nobody"),
            (
                get.replace("UserService", "GetUserRequest"),
                "{}",
                unknown,
                "there is no service trunkcall.example.v1.Get",
            ),
            (USERS + "SetUser", "{}", unknown, "has GetUser, ListUsers, ImportUsers, WatchUsers only"),
            (get, '{"userId":', invalid, "the JSON is no trunkcall.example.v1.GetUserRequest"),
            (get, '{"name":1}', invalid, 'no field named "name"'),
            (get, '{"userId":"x"}', invalid, "userId"),
            (get, "[{}]", invalid, "the JSON is no trunkcall.example.v1.GetUserRequest"),
            (watch, '{"userId":1}', invalid, "takes a JSON array of trunkcall.example.v1.GetUserRequest"),
            (watch, "null", invalid, "takes a JSON array"),
            (watch, "[{}", invalid, "at byte 3"),
            (watch, '[{},{"name":1}]', invalid, "message 2 of 2: "),
        ):
            with self.subTest(method=method, request=request):
                got = carried_out("call", "--target", "127.0.0.1:1", method, request)
                self.assert_failure(got, code, "not_sent", text)
