"""Models of pydantic as arguments: aliases, checks, forbidden members; and names that a caller gets wrong."""

from __future__ import annotations

import asyncio
import json
import unittest
from dataclasses import dataclass as plain_dataclass
from typing import Any

import pydantic
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from tests.public.kit import Case
from trunkcall import JSON, MSGPACK, Client, Code, Delivery, codefirst


class Person(BaseModel):
    model_config = ConfigDict(extra="forbid")

    uid: int = Field(alias="user_id")
    mail: str = Field("a@b", min_length=3)
    born: int = Field(0, validation_alias="bornIn", serialization_alias="bornIn")

    @pydantic.field_validator("mail")
    @classmethod
    def has_an_at(cls, mail: str) -> str:
        if "@" not in mail:
            raise ValueError(f"{mail} is no address" if mail.startswith("quoted") else "want an @")
        return mail


class ByName(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    uid: int = Field(1, alias="user_id")

    @pydantic.model_validator(mode="after")
    def even(self) -> ByName:
        if self.uid % 2 == 0:
            raise ValueError("want an odd number")
        return self


@pydantic.dataclasses.dataclass
class Place:
    where: str = Field(alias="at")
    who: Person | None = None


@plain_dataclass
class Order:
    item_id: int
    how_many: int = 1


class Choices(BaseModel):
    uid: int = Field(validation_alias=AliasChoices("a", "b"))


class TwoNames(BaseModel):
    uid: int = Field(validation_alias="a", serialization_alias="b")


@codefirst.service("people")
class People:
    @codefirst.method
    async def put_person(self, person: Person) -> Person:
        return person

    @codefirst.method
    async def by_name(self, one: ByName) -> ByName:
        return one

    @codefirst.method
    async def at_place(self, place: Place, order: Order) -> Place:
        return place


class Models(Case):
    async def begin(self) -> Client:
        _, address = await self.serve(*codefirst.handlers(People()))
        return self.client(address)

    async def call(self, client: Client, method: str, *arguments: Any) -> Any:
        return await client.call(codefirst.untyped(f"/people/{method}", JSON), list(arguments))

    async def test_a_field_goes_by_its_alias(self) -> None:
        client = await self.begin()
        person = {"user_id": 7, "mail": "b@c", "bornIn": 3}
        self.assertEqual(await self.call(client, "putPerson", person), person)
        self.assertEqual(await self.call(client, "byName", {"user_id": 7}), {"user_id": 7})
        place = {"at": "x", "who": person}
        self.assertEqual(await self.call(client, "atPlace", place, {}), place)

    async def test_what_a_model_refuses_names_the_field_and_not_the_value(self) -> None:
        client = await self.begin()
        for method, arguments, said in (
            ("putPerson", [{"mail": "a"}], "parameter 1 of /people/putPerson, at .mail: String should have at least 3"),
            ("putPerson", [{"mail": "abc"}], "at .mail: Value error, want an @"),
            ("putPerson", [{"mail": "quoted"}], "at .mail: the values of this record are not ones that it takes"),
            ("byName", [{"user_id": 2}], "of /people/byName: Value error, want an odd number"),
            ("atPlace", [{"at": "", "who": {"mail": ""}}, {}], "at .who.mail: String should have at least 3"),
        ):
            error = await self.fails(self.call(client, method, *arguments), Code.INVALID_ARGUMENT, Delivery.REFUSED)
            self.assertIn(said, error.message)
            self.assertNotIn("quoted", error.message)

    async def test_a_model_that_forbids_more_refuses_it_in_json(self) -> None:
        client = await self.begin()
        for method, arguments, said in (
            ("putPerson", [{"uid": 7}], 'there is no field "uid"'),
            ("atPlace", [{"who": {"z": 1}}, {}], 'there is no field "z"'),
        ):
            error = await self.fails(self.call(client, method, *arguments), Code.INVALID_ARGUMENT, Delivery.REFUSED)
            self.assertIn(said, error.message)
        self.assertEqual(await self.call(client, "byName", {"z": 1}), {"user_id": 1})
        never = codefirst.untyped("/people/putPerson", MSGPACK)
        self.assertEqual((await client.call(never, [{"user_id": 7, "z": 1}]))["user_id"], 7)

    def test_fields_of_several_names_are_refused_by_name(self) -> None:
        for model, said in ((Choices, "AliasChoices"), (TwoNames, "the aliases 'a', 'b'")):

            class Made:
                def one(self, given: Any) -> None: ...

            Made.one.__annotations__["given"] = model
            codefirst.method(Made.one)
            with self.assertRaisesRegex(
                TypeError, f"parameter given of Made.one: field uid of {model.__name__}: .*{said}"
            ):
                codefirst.handlers(Made(), "made")

    async def test_a_method_that_is_served_by_a_like_name_is_named(self) -> None:
        client = await self.begin()
        error = await self.fails(self.call(client, "put_person"), Code.UNIMPLEMENTED, Delivery.REFUSED)
        self.assertEqual(error.message, "method /people/put_person is not served by this server; /people/putPerson is")
        error = await self.fails(self.call(client, "putPersons"), Code.UNIMPLEMENTED, Delivery.REFUSED)
        self.assertEqual(error.message, "method /people/putPersons is not served by this server")

    async def test_over_http_too(self) -> None:
        _, address = await self.serve(*codefirst.handlers(People()))
        status, said = await self.post(address, "/people/put_person", [{}])
        self.assertEqual((status, said["code"]), (404, "unimplemented"))
        self.assertIn("; /people/putPerson is", said["message"])
        status, said = await self.post(address, "/people/putPerson", [{"uid": 1}])
        self.assertEqual((status, said["code"]), (400, "invalid_argument"))

    async def post(self, address: str, path: str, arguments: Any) -> tuple[int, Any]:
        body = json.dumps(arguments).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n"
        answer = await self.exchange(address, f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        head, _, rest = answer.decode().partition("\r\n\r\n")
        return int(head.split()[1]), json.loads(rest)

    async def exchange(self, address: str, data: bytes) -> bytes:
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(data)
        try:
            return await reader.read()
        finally:
            writer.close()

    async def test_a_dict_for_a_record_is_told_which_record(self) -> None:
        class Remote:
            async def at_place(self, place: Place, order: Order) -> Place: ...  # type: ignore[empty-body]

        remote = codefirst.client(Remote, await self.begin(), "people")
        wrong: Any = {"item_id": 1}
        error = await self.fails(
            remote.at_place(Place(at="x"), wrong),
            Code.INVALID_ARGUMENT,
            Delivery.NOT_SENT,
        )
        self.assertIn("want Order, got a value of type dict", error.message)


if __name__ == "__main__":
    unittest.main()
