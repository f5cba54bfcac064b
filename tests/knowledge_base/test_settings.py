"""Settings: one object, a file, the command line, keywords."""

from dataclasses import fields
from pathlib import Path

import pytest

from corollary import KnowledgeBase, Limits, ProgramError, Settings
from corollary.cli.options import chosen_settings
from corollary.planning.optimisers import NAMES
from corollary.settings import FOLLOWING, OPTIMISATIONS, SETTINGS, settings_from_texts
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
        ("[limits]\nfacts = -1", "limits.facts must be a number from 0, not -1"),
        ("updates = 1", "updates is true or false, not 1"),
        ('without = "threads"', "without is a list of names"),
        ('without = ["thread"]', "there is no optimisation 'thread': did you mean 'threads'?"),
        ("precision = 54", "precision is a whole number from 1 to 53, not 54"),
        ("precision = true", "precision is a whole number from 1 to 53, not True"),
        ("precision = 20.0", "precision is a whole number from 1 to 53, not 20.0"),
        ('stratification = "locally"', "there is no stratification 'locally': did you mean 'local'?"),
        ('index.r1.1 = "yield"', 'a name with a dot needs quotes in TOML: index."r1.…"'),
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


def test_a_table_of_limits_replaces_those_that_it_names(tmp_path: Path) -> None:
    given = Settings.of(limits={"facts": 1000, "rounds": 9})
    assert Settings.of(given, limits={"rounds": 50}).limits == Limits(facts=1000, rounds=50)
    assert Settings.of(given, limits={"facts": None}).limits == Limits(rounds=9)
    assert Settings.of(given, limits=Limits(rounds=50)).limits == Limits(rounds=50)
    assert Settings.of(given, limits=None).limits == Limits()
    assert Settings.of(given, strict=True).limits == given.limits
    assert KnowledgeBase(settings=given, limits={"seconds": 2}).limits == Limits(2, 1000, 9)
    file = tmp_path / "settings.toml"
    file.write_text("[limits]\nfacts = 1000\n", encoding="utf-8")
    assert Settings.read(file, limits={"rounds": 50}).limits == Limits(facts=1000, rounds=50)
    assert chosen_settings(file, ["limits.rounds=3"], limit_time=1.5).limits == Limits(1.5, 1000, 3)


def test_settings_as_commands_write_them() -> None:
    written = settings_from_texts(
        ["strategy=dred", "limits.facts=10", "limits.rounds=3", 'without=["threads"]', "strict=true"]
    )
    assert Settings.of(**written) == Settings(
        strict=True, strategy="dred", without=frozenset({"threads"}), limits=Limits(facts=10, rounds=3)
    )
    with pytest.raises(ValueError, match="'strategy' is not of the form NAME=VALUE"):
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


def test_a_command_takes_precision_and_stratification(tmp_path: Path) -> None:
    program, file = tmp_path / "near.dl", tmp_path / "settings.toml"
    program.write_text("p(0.3e0). q(X) :- p(X), X = 0.1e0 + 0.2e0. ?- q(X).", encoding="utf-8")
    file.write_text("precision = 40\n", encoding="utf-8")
    assert "no answers" in corollary("run", str(program), cwd=tmp_path).stdout
    assert "1 answer\n" in corollary("run", str(program), "--settings", str(file), cwd=tmp_path).stdout
    again = corollary("run", str(program), "--settings", str(file), "--set", "precision=53", cwd=tmp_path)
    assert "no answers" in again.stdout
    program.write_text("p(2, X) :- q(X), not p(3, X). q(1).", encoding="utf-8")
    assert corollary("check", str(program), cwd=tmp_path).returncode == 0
    outcome = corollary("check", str(program), "--set", "stratification=global", cwd=tmp_path)
    assert outcome.returncode == 1
    assert "E203" in outcome.stdout + outcome.stderr


def test_a_store_keeps_what_belongs_to_the_derived_facts(tmp_path: Path) -> None:
    chosen = {"strategy": "dred", "precision": 20, "stratification": "global"}
    KnowledgeBase.create(tmp_path / "kb", "p(1).", strict=True, **chosen).close()
    opened = KnowledgeBase.open(tmp_path / "kb")
    assert {name: getattr(opened.settings, name) for name in chosen} == chosen
    assert not opened.settings.strict
    assert {name for name, one in SETTINGS.items() if one.metadata["stored"]} >= {"strategy", "on_error", "without"}


def test_settings_of_spark_have_a_keyword_of_their_own() -> None:
    from corollary.engines.spark.context import WAYS, SparkSettings
    from corollary.engines.spark.strategies.chooser import STRATEGIES

    with pytest.raises(TypeError, match="not SparkSettings; spark_settings=… takes it"):
        KnowledgeBase("p(1).", settings=SparkSettings(fold_every=3))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not dict; each setting is also a keyword"):
        KnowledgeBase("p(1).", settings={"strategy": "dred"})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no strategy 'foo' on Spark; there are single-task, decomposable"):
        SparkSettings(strategy="foo")
    assert WAYS == STRATEGIES


def test_every_pass_over_rules_can_be_left_out() -> None:
    assert set(NAMES) < set(OPTIMISATIONS)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("strat", "did you mean 'start'?"),
        ("r2", "it has several heads: r2.1, r2.2"),
        ("nothing", "`corollary check` lists the names of rules"),
    ],
)
def test_the_rules_of_an_index_are_there(name: str, hint: str) -> None:
    program = "start: p(X) :- q(X), s(X). u(X), v(X) :- q(X), s(X)."
    with pytest.raises(ProgramError) as caught:
        KnowledgeBase(program, index={"start": "yield", "r2.1": "hash", name: "yield"})
    (found,) = caught.value.diagnostics
    assert (found.code, found.hint) == ("E413", hint)
    assert found.message == f"the setting index.{name} names a rule that does not exist"


@pytest.mark.parametrize("index", ["yield", {"r": "yield"}])
def test_spark_refuses_an_index_that_only_the_embedded_engine_has(index: str | dict[str, str]) -> None:
    with pytest.raises(ProgramError) as caught:
        KnowledgeBase("r: p(X) :- q(X), s(X).", engine="spark", index=index)
    (found,) = caught.value.diagnostics
    assert (found.code, found.hint) == ("E413", 'engine="embedded" has it')
    assert found.message == "the setting index asks for the Yield index, which the Spark engine does not have"


def test_strategies_are_described_from_one_list() -> None:
    rows = [f"| `{name}` | {one.does} | {'yes' if one.modules else 'no'} |" for name, one in FOLLOWING.items()]
    assert "\n".join(rows) in DOCS.with_name("changes.md").read_text(encoding="utf-8")
    assert ", ".join(f"`{name}`" for name in FOLLOWING) in DOCS.read_text(encoding="utf-8")
