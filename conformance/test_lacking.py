"""What languages lack is told: each suite that one has no part in is a test here, which is skipped with the reason."""

from __future__ import annotations

import pytest

from .languages import LANGUAGES

# The public suite tells of these itself.
TOLD = ("connect-server", "connect-client")
LACKING = [
    pytest.param(f"{language.name} has no part in {suite}: {reason}", id=f"{suite}-{key}")
    for key, language in LANGUAGES.items()
    for suite, reason in language.lacks.suites.items()
    if suite not in TOLD
]


@pytest.mark.parametrize("why", LACKING)
def test_a_suite_that_a_language_has_no_part_in(why: str) -> None:
    pytest.skip(why)
