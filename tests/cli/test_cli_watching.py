"""``locality status --watch``: ends with the run, redraws on a terminal, writes plain lines elsewhere."""

import io
import shutil

import pytest

from bench.cli import main
from bench.cli.watching import PLAIN_EVERY_S, Screen, watch
from bench.run.trial import run_trial
from tests.planned import plan_into
from tests.run.run_fakes import FakeClient, FakeClock, answer, bench_on


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A planned smoke run of the main task."""
    out = tmp_path_factory.mktemp("watched") / "run"
    plan_into(out, "smoke", "p0")
    return out


@pytest.fixture
def run(template, tmp_path):
    return shutil.copytree(template, tmp_path / "run")


class Sending(FakeClock):
    """While the watcher waits, trials are sent; after the last wait the person presses Ctrl-C."""

    def __init__(self, run_dir, *, each: int, waits: int = 1000) -> None:
        super().__init__()
        self._each, self._waits, self._next = each, waits, 0
        self._run_dir = run_dir

    def sleep(self, seconds):
        super().sleep(seconds)
        if len(self.slept) > self._waits:
            raise KeyboardInterrupt
        if self._each == 0:
            return
        bench = bench_on(self._run_dir, FakeClient(answer("1")), clock=self)
        for _ in range(min(self._each, 20 - self._next)):
            run_trial(bench.trial(self._next), bench.client, bench.session, bench.store)
            self._next += 1


def test_it_ends_with_the_run(run):
    """Plain lines, one for each change; exit 0; tokens and requests are those of the ledger."""
    out = io.StringIO()
    code = watch(run, screen=Screen(out, terminal=False), clock=Sending(run, each=10))
    lines = out.getvalue().splitlines()
    assert (0, 3) == (code, len(lines))
    assert lines[0].startswith("0 of 20 ended | tokens 0 / no cap | 0 requests/min | time left unknown")
    assert lines[1].startswith("10 of 20 ended | answered 10 | tokens 1,050 / 1,000,000 | 20 requests/min")
    assert lines[2].startswith("20 of 20 ended | answered 20 | tokens 2,100 / 1,000,000 | 40 requests/min")
    assert lines[2].endswith("over")
    assert "\x1b" not in out.getvalue()


def test_ctrl_c_leaves_a_run_alone(run):
    """Exit 1, as status does for a run that is not over; what does not change is not said again."""
    out = io.StringIO()
    clock = Sending(run, each=0, waits=3)
    assert 1 == watch(run, screen=Screen(out, terminal=False), clock=clock)
    assert [PLAIN_EVERY_S] * 4 == clock.slept
    assert 1 == len(out.getvalue().strip().splitlines())


def test_a_terminal_shows_the_last_look_only(run):
    """Each look goes back over the lines of the one before and is cut to the width of the screen."""
    out = io.StringIO()
    screen = Screen(out, terminal=True)
    assert 0 == watch(run, screen=screen, clock=Sending(run, each=20))
    looks = out.getvalue().split("\x1b[2F\x1b[J")
    assert 2 == len(looks)
    assert all(2 == look.count("\n") for look in looks)


def test_watch_and_json_exclude_each_other(run, capsys):
    """One line, exit 4."""
    assert 4 == main(["status", "--run", str(run), "--watch", "--json"])
    assert "--watch and --json exclude each other" in capsys.readouterr().err
