"""`corollary check` with settings."""

from pathlib import Path

from tests.cli.command import corollary, write

GAME = "move(a, b). move(b, a).\nwin(X) :- move(X, Y), not win(Y).\n"


def test_negation_through_recursion_is_an_error_unless_the_settings_allow_it(tmp_path: Path) -> None:
    write(tmp_path, game_dl=GAME)
    refused = corollary("check", "game.dl", cwd=tmp_path)
    assert refused.returncode == 1
    assert "E203" in refused.stderr + refused.stdout
    allowed = corollary("check", "game.dl", "--set", "semantics=well-founded", cwd=tmp_path)
    assert (allowed.returncode, allowed.stderr) == (0, "")
    assert "no errors" in allowed.stdout


def test_an_unlimited_variable_is_an_error_unless_it_ranges_over_the_universe(tmp_path: Path) -> None:
    write(tmp_path, program_dl="p(1). q(X) :- not p(X).\n", settings_toml='unsafe = "universe"\n')
    assert corollary("check", "program.dl", cwd=tmp_path).returncode == 1
    assert corollary("check", "program.dl", "--settings", "settings.toml", cwd=tmp_path).returncode == 0
