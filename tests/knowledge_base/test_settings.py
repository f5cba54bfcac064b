"""Settings: one object, a file, the command line, keywords."""

from dataclasses import fields
from pathlib import Path

import pytest

from corollary import KnowledgeBase, Limits, ProgramError, Settings
from corollary.settings import SETTINGS, settings_from_texts
from tests.cli.command import corollary

DOCS = Path(__file__).parents[2] / "docs" / "settings.md"
ENDLESS = "n(0). n(X + 1) :- n(X)."


def test_every_setting_is_on_its_page() -> None:
    page = DOCS.read_text(encoding="utf-8")
    for one in fields(Settings):
        assert f"| `{one.name}` |" in page
        assert one.metadata["says"] in page
        for choice in one.metadata["choices"]:
            assert f"`{choice}`" in page


def test_keywords_replace_the_settings_of_the_object() -> None:
    kb = KnowledgeBase(settings=Settings.of(strategy="dred", on_error="stop"), strategy="recompute")
    assert kb.settings.strategy == "recompute"
    assert kb.settings.on_error == "stop"


def test_a_file_of_settings(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('strategy = "dred"\nwithout = ["threads"]\n[limits]\nseconds = 1.5\n', encoding="utf-8")
    settings = Settings.read(file, strict=True)
    assert settings == Settings(strict=True, strategy="dred", without=frozenset({"threads"}), limits=Limits(1.5))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('strategy = "drd"', "there is no strategy 'drd': did you mean 'dred'?"),
        ("limits = 3", "limits has a table of its own"),
        ("[limits]\nfact = 3", "there is no limit 'fact': did you mean 'facts'?"),
        ("[limits]\nfacts = -1", "limits.facts is a number from 0 on, not -1"),
        ("updates = 1", "updates is true or false, not 1"),
        ('without = "threads"', "without is a list of names"),
        ("strategy = ", "Invalid value"),
    ],
)
def test_bad_settings_are_told_with_the_file(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ProgramError) as caught:
        Settings.read(file)
    assert "E413" in str(caught.value)
    assert str(file) in str(caught.value)
    assert message in str(caught.value)


def test_settings_as_commands_write_them() -> None:
    written = settings_from_texts(
        ["strategy=dred", "limits.facts=10", "limits.rounds=3", 'without=["threads"]', "strict=true"]
    )
    assert Settings.of(**written) == Settings(
        strict=True, strategy="dred", without=frozenset({"threads"}), limits=Limits(facts=10, rounds=3)
    )
    with pytest.raises(ValueError, match="'strategy' is no NAME=VALUE"):
        settings_from_texts(["strategy"])


def test_a_limit_of_rounds_changes_nothing() -> None:
    kb = KnowledgeBase(ENDLESS, limits={"rounds": 7})
    with pytest.raises(ProgramError, match="not finished after 7 rounds"):
        kb.count("n")
    kb.limits = Limits(facts=5)
    with pytest.raises(ProgramError, match="more than 5 facts"):
        kb.count("n")


def test_a_command_takes_settings_from_a_file_and_its_options(tmp_path: Path) -> None:
    program, file = tmp_path / "endless.dl", tmp_path / "settings.toml"
    program.write_text(ENDLESS, encoding="utf-8")
    file.write_text("[limits]\nrounds = 50\n", encoding="utf-8")
    outcome = corollary("run", str(program), "--settings", str(file), "--set", "limits.rounds=9", cwd=tmp_path)
    assert outcome.returncode == 4
    assert "not finished after 9 rounds" in outcome.stderr
    outcome = corollary("run", str(program), "--set", "limit.rounds=9", cwd=tmp_path)
    assert outcome.returncode == 2
    assert "there is no setting" in outcome.stderr


def test_a_store_keeps_what_belongs_to_the_derived_facts(tmp_path: Path) -> None:
    KnowledgeBase.create(tmp_path / "kb", "p(1).", strategy="dred", strict=True).close()
    opened = KnowledgeBase.open(tmp_path / "kb")
    assert opened.settings.strategy == "dred"
    assert not opened.settings.strict
    assert {name for name, one in SETTINGS.items() if one.metadata["stored"]} >= {"strategy", "on_error", "without"}
