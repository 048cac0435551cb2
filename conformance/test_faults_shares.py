"""Faults are shared out so that each language has its part in each of them, in each store, and in each role."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from unittest import TestCase

from harness.languages import hub

from .faults.kit import EVERYWHERE
from .faults.shares import Share, share
from .languages import having
from .test_faults_registries import STORES, Registries, shares

LANGUAGES = [replace(hub(), key=key) for key in ("ada", "go", "java", "python", "typescript")]
FAULTS = {"one": list("abcdefg"), "two": list("abcdefg"), "three": list("abcdefg"), "kept": list("abcdefg")}


def roles(one: Share) -> list[tuple[str, str]]:
    keeper = [("keeper", one.keeper.key)] if one.keeper else []
    return [("client", one.client.key), ("server", one.server.key), *keeper]


class Shares(TestCase):
    def assert_all_have(self, found: list[Share], keys: list[str], store_of: str, faults: list[str]) -> None:
        """Each language is client and server under each fault and in each store, and keeper where that is kept."""
        under = {(fault, role) for one in found for fault in one.faults for role in roles(one)}
        here = {(one.store, role) for one in found for role in roles(one)}
        for key, role in product(keys, ("client", "server")):
            self.assertEqual([fault for fault in faults if (fault, (role, key)) not in under], [], (key, role))
            self.assertEqual([one.store for one in found if (one.store, (role, key)) not in here], [], (key, role))
        self.assertEqual([key for key in keys if (store_of, ("keeper", key)) not in here], [])

    def test_as_many_languages_as_stores_have_all_of_each(self) -> None:
        for count in range(1, 5):
            with self.subTest(count):
                there = LANGUAGES[:count]
                found = list(share(dict.fromkeys(FAULTS, there), FAULTS, ["kept"]))
                self.assertEqual(
                    sorted((one.store, fault) for one in found for fault in one.faults),
                    sorted((store, fault) for store, faults in FAULTS.items() for fault in faults),
                )
                self.assert_all_have(found, [one.key for one in there], "kept", FAULTS["kept"])

    def test_a_language_that_lacks_a_store_has_no_part_in_it(self) -> None:
        languages = {**dict.fromkeys(FAULTS, LANGUAGES[:3]), "two": LANGUAGES[1:3], "three": []}
        found = list(share(languages, FAULTS, ["kept"]))
        self.assertNotIn("ada", [key for one in found if one.store == "two" for _, key in roles(one)])
        self.assertEqual({one.store for one in found}, {"one", "two", "kept"})

    def test_the_languages_that_there_are_have_all_faults_and_registries(self) -> None:
        faults = [name for name in vars(Registries) if name.startswith("test_")]
        found = list(shares(faults))
        self.assertEqual({one.store for one in found}, set(STORES))
        keys = [one.key for one in having("faults", "registries", "etcd", "zookeeper", "consul", "consul-keys")]
        self.assert_all_have(found, keys, "trunkcall", faults)
        if not EVERYWHERE:
            self.assertLess(sum(len(one.faults) for one in found), len(STORES) * len(faults))
