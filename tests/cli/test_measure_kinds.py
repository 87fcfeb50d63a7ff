"""measure_kinds: an option that would be passed over in silence is refused, with the option that makes it so."""

import pytest

from caveat.cli.main import main
from caveat.cli.measure import app
from caveat.cli.measure_kinds import KINDS, NEVER_BESIDE, NOTHING_BUT, ONLY_BESIDE, check_options, kind_of
from caveat.errors import EXIT_USAGE, UsageError


def options_of_measure():
    import typer

    return {max(param.opts, key=len) for param in typer.main.get_command(app).params}


def test_every_option_of_the_tables_exists():
    """A renamed option would be one that nobody refuses any more."""
    tables = (ONLY_BESIDE, NOTHING_BUT, NEVER_BESIDE)
    named = {name for table in tables for key, others in table.items() for name in (key, *others)}
    assert {*named, *KINDS} - options_of_measure() == set()


@pytest.mark.parametrize(("option", "owners"), ONLY_BESIDE.items(), ids=ONLY_BESIDE)
def test_what_belongs_to_another_option_is_refused_alone(option, owners):
    """And is taken beside any of its owners."""
    with pytest.raises(UsageError, match=f"found {option} without {owners[0]}") as refusal:
        check_options(["url", "--rate", option])
    assert refusal.value.next == f"leave out {option}, or add {owners[0]}"
    for owner in owners:
        check_options(["url", owner, option])


@pytest.mark.parametrize("option", NOTHING_BUT)
def test_a_measurement_of_its_own_takes_what_is_listed_and_nothing_else(option):
    """All that it has no use for is named at once."""
    check_options([option, *NOTHING_BUT[option]] if "--recalibrate" not in NOTHING_BUT[option] else [option, "--slo"])
    others = sorted(options_of_measure() - {option, *NOTHING_BUT[option], *KINDS, *ONLY_BESIDE})
    with pytest.raises(UsageError) as refusal:
        check_options([option, *others])
    assert refusal.value.message.startswith(f"found {', '.join(others)} beside {option}, which ")


@pytest.mark.parametrize(
    ("option", "useless"), [(option, one) for option, others in NEVER_BESIDE.items() for one in others]
)
def test_what_would_have_no_effect_is_refused(option, useless):
    """One by one."""
    with pytest.raises(UsageError, match=f"found {useless} beside {option}, which "):
        check_options(["url", option, useless])


def test_one_kind_of_measurement_at_a_time():
    """Two of them would each measure the other."""
    assert [kind_of(["url", kind]) for kind in KINDS] == list(KINDS)
    assert kind_of(["url", "--rate"]) == ""
    with pytest.raises(UsageError, match="found --find-peak, --loadgen, expected one of them"):
        kind_of(["--loadgen", "--find-peak"])


def test_the_command_line_refuses_before_anything_is_sent(capsys):
    """Also where the option was given with its default value: it was said."""
    there = "http://127.0.0.1:9"
    assert main(["measure", there, "--rate", "4", "--cool-down", "2s"]) == EXIT_USAGE
    assert main(["measure", there, "--baseline", "--slo", "ttft=1s", "--repeats", "1"]) == EXIT_USAGE
    assert (
        main(["measure", there, "--scenario", "server", "--rate", "4", "--slo", "ttft=1s", "--no-stream"]) == EXIT_USAGE
    )
    said = capsys.readouterr().err
    assert "found --cool-down without --sweep or --repeats" in said
    assert "found --repeats beside --baseline" in said
    assert "found --no-stream beside limits on tokens of server" in said
