"""The benchmark message, and Thrift's form of it."""

from __future__ import annotations

import unittest

from benchthrift.ttypes import BenchmarkMessage
from load import message


class Message(unittest.TestCase):
    def test_it_has_its_size(self) -> None:
        self.assertEqual(len(message.request().SerializeToString()), message.SIZE)

    def test_the_answer_passes_the_check_and_the_request_does_not(self) -> None:
        asked = message.request()
        with self.assertRaises(message.WrongAnswer):
            message.check(asked.field1, asked.field2)
        answered = message.answer(asked)
        message.check(answered.field1, answered.field2)
        self.assertEqual(len(answered.SerializeToString()), 527)

    def test_thrift_has_the_same_fields(self) -> None:
        fields = message.fields()
        self.assertEqual(len(fields), 39)
        names = {spec[2] for spec in BenchmarkMessage.thrift_spec if spec}
        self.assertEqual(names - fields.keys(), {"field5"})
        numbers = {field.name: field.number for field in message.BenchmarkMessage.DESCRIPTOR.fields}
        self.assertEqual({spec[2]: spec[0] for spec in BenchmarkMessage.thrift_spec if spec}, numbers)


if __name__ == "__main__":
    unittest.main()
