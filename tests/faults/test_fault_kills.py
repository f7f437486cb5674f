"""Real sessions of four workers, killed at moments drawn from a seed: nothing is paid twice, nothing is lost."""

import pytest

from tests.faults.campaign import Campaign, Figures, server_process

pytestmark = pytest.mark.faults
SEED = 20261130


def campaign(tmp_path, *, kills: int, seeds: int, seed: int) -> Figures:
    """The figures of a whole campaign, from the plan to the last resume."""
    log = tmp_path / "server.jsonl"
    with server_process(log) as base_url:
        world = Campaign(tmp_path, base_url, log, seeds=seeds, seed=seed)
        world.kill_some(kills)
        world.complete()
    return world.figures


def judge(figures: Figures, capsys) -> None:
    """Print the figures, then what must be 0."""
    with capsys.disabled():
        print(f"\n{figures.line()}")  # noqa: T201 - figures are for whoever runs the suite
    assert (figures.duplicates, figures.lost, figures.overrun) == (0, 0, 0)


def test_five_kills(tmp_path, capsys):
    """Worker, controller or all at once, five times: each trial is generated once, but for those in flight at a kill."""
    figures = campaign(tmp_path, kills=5, seeds=3, seed=SEED)
    judge(figures, capsys)
    assert sum(figures.kills.values()) == 5
    assert figures.ambiguous <= 4 * 5


@pytest.mark.slow
def test_fifty_kills(tmp_path, capsys):
    """The same for longer, over more trials."""
    figures = campaign(tmp_path, kills=50, seeds=24, seed=SEED + 1)
    judge(figures, capsys)
    assert sum(figures.kills.values()) >= 50
