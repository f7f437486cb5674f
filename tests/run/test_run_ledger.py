"""The ledger file: whole lines from many processes, torn tails, damage, failing disks."""

import multiprocessing
import os
from pathlib import Path

import pytest

from bench.run.ledger import Decision, Ledger, SessionBrokenError
from bench.run.ledger_file import fold_lines, read_state
from bench.run.ledger_fold import LedgerState
from bench.run.ledger_records import (
    BlockSetAside,
    CapChanged,
    Intent,
    LedgerDamagedError,
    LedgerLine,
    Pause,
    Resolve,
    Settle,
    Share,
    Stop,
    Unresolved,
    WindowOpened,
    WorkerGone,
    decode_line,
    encode_line,
)
from tests.run.run_fakes import FakeClock, FaultyFs, UnflushedFs, opened, reserve

HISTORY = (
    opened(),
    WindowOpened("2026-11-30", 10_000),
    BlockSetAside(0, "gw0", (Share("t1", 1, 2, 600), Share("t2", 1, 2, 600))),
    reserve("a", tokens=500, block=0),
    Intent("a"),
    Settle("a", 120, "usage"),
    reserve("b", trial="t2", tokens=400, block=0, worker="gw1"),
    Intent("b"),
    Pause(5000, 3.0, "t2", "HTTP 429"),
    Unresolved("b", "server_error"),
    BlockSetAside(0, "gw0", ()),
)


def ledger(path: Path, fs: object = None, *, torn: list[Path] | None = None) -> Ledger:
    return Ledger(path, fs=fs or UnflushedFs(), clock=FakeClock(), on_torn=(torn if torn is not None else []).append)


def written(path: Path, *records: object) -> bytes:
    """The bytes of a ledger that holds these records."""
    book = ledger(path)
    for record in records or HISTORY:
        book.append(record)
    book.close()
    return path.read_bytes()


@pytest.mark.parametrize(
    "record",
    [*HISTORY, CapChanged(1, None), Resolve("t", None), WorkerGone("gw3"), Stop("i1", "cap", "all", "because \u00e4")],
)
def test_a_line_comes_back_as_it_was_written(record):
    """Every kind of record survives the file."""
    line = LedgerLine(7, "2026-11-30T00:00:00.000Z", 12, record)
    assert decode_line(encode_line(line)[:-1]) == line


def test_any_changed_byte_is_noticed():
    """The checksum covers the whole line."""
    data = encode_line(LedgerLine(1, "2026-11-30T00:00:00.000Z", 12, reserve("a")))[:-1]
    for place in range(len(data)):
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        with pytest.raises(LedgerDamagedError):
            decode_line(changed)


def test_a_reader_of_any_prefix_sees_what_the_writer_saw_then(tmp_path):
    """The fold of the first n lines is the state that the writing process had after n records."""
    book = ledger(tmp_path / "l")
    for number, record in enumerate(HISTORY, 1):
        book.append(record)
        state = LedgerState()
        lines = (tmp_path / "l").read_bytes().splitlines(keepends=True)
        assert len(lines) == number
        assert fold_lines(state, b"".join(lines), tmp_path) == b""
        assert state == book.state == read_state(tmp_path / "l")


def test_a_tail_torn_at_any_byte_is_set_aside_and_the_next_record_stands_whole(tmp_path):
    """Cut anywhere in the last line: everything before survives, what is appended afterwards is readable."""
    data = written(tmp_path / "whole")
    last = data.rindex(b"\n", 0, -1) + 1
    for cut in range(last + 1, len(data)):
        path = tmp_path / f"l{cut}"
        path.write_bytes(data[:cut])
        torn: list[Path] = []
        book = ledger(path, torn=torn)
        book.append(WorkerGone("gw9"))
        book.close()
        assert read_state(path).seq == len(HISTORY)
        assert [aside.read_bytes() for aside in torn] == [data[last:cut]]


@pytest.mark.parametrize(
    "tail", [b"\0" * 512, b'{"crc":', b'{"crc":\n', b'{"crc":\n\n', b"\n", b"\n\n", b'{"crc":"00\0\0\0']
)
def test_what_a_crash_leaves_at_the_end_is_set_aside(tmp_path, tail):
    """NULs after a hard reboot, half a line, half a line that somebody ended, blank lines."""
    data = written(tmp_path / "l")
    (tmp_path / "l").write_bytes(data + tail)
    assert read_state(tmp_path / "l").seq == len(HISTORY)
    torn: list[Path] = []
    book = ledger(tmp_path / "l", torn=torn)
    book.append(WorkerGone("gw9"))
    assert (read_state(tmp_path / "l").seq, torn[0].name) == (len(HISTORY) + 1, "l.torn-1")


def test_damage_before_the_tail_stops_everything_and_names_the_line(tmp_path):
    """A broken line with whole ones behind it was not torn by a crash."""
    data = written(tmp_path / "l").splitlines(keepends=True)
    for broken in (b"{\n", b"\0\0\n", data[2].replace(b"gw0", b"gw7"), data[4]):
        (tmp_path / "l").write_bytes(b"".join([*data[:2], broken, *data[3:]]))
        with pytest.raises(LedgerDamagedError, match="line 3"):
            ledger(tmp_path / "l").refresh()
        with pytest.raises(LedgerDamagedError, match="line 3"):
            read_state(tmp_path / "l")


def test_a_complete_last_line_with_a_wrong_checksum_is_damage(tmp_path):
    """No crash makes one: dropping it might free what was spent."""
    data = written(tmp_path / "l").splitlines(keepends=True)
    (tmp_path / "l").write_bytes(b"".join([*data[:-1], data[-1].replace(b"gw0", b"gw7")]))
    with pytest.raises(LedgerDamagedError, match="checksum"):
        ledger(tmp_path / "l").refresh()


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ((reserve("a"),), "a record stands before the first invocation"),
        ((opened(), Intent("a")), "line 2 speaks of 'a', which is not open"),
        ((opened(), reserve("a"), Intent("a"), Intent("a")), "trial t1 is sent twice under one reservation"),
        ((opened(), reserve("a"), reserve("b")), "attempt 1 of trial t1 is reserved twice"),
        (
            (opened(), reserve("a"), Settle("a", 1, "usage"), Settle("a", 1, "usage")),
            "line 4 speaks of 'a', which is not open",
        ),
        ((opened(), reserve("a"), *[Unresolved("a", "ambiguous")] * 2), "trial t1 is left unresolved twice"),
        (
            (opened(), WindowOpened("2026-11-30", 99), reserve("a", tokens=100)),
            "a reservation of trial t1 passes the cap of 99 tokens",
        ),
        (
            (opened(), WindowOpened("2026-11-30", 99), WindowOpened("2026-11-29", 99)),
            "window 2026-11-29 is opened after 2026-11-30",
        ),
        (
            (opened(), WindowOpened("2026-11-30", 99), WindowOpened("2026-11-30", 999)),
            "window 2026-11-30 is opened after 2026-11-30",
        ),
    ],
)
def test_a_line_that_cannot_follow_from_those_before_it_is_damage(records, message, tmp_path):
    """Sent, settled or lost twice, beyond the cap, no new day: impossible, and the message says what."""
    state = LedgerState()
    lines = [encode_line(LedgerLine(n, "2026-11-30T00:00:00.000Z", n, record)) for n, record in enumerate(records, 1)]
    with pytest.raises(LedgerDamagedError, match=f": {message}; nothing is sent"):
        fold_lines(state, b"".join(lines), tmp_path)


def test_a_gap_in_the_numbers_is_damage(tmp_path):
    """A lost line may have been a reservation."""
    data = written(tmp_path / "l").splitlines(keepends=True)
    (tmp_path / "l").write_bytes(b"".join(data[:5] + data[6:]))
    with pytest.raises(LedgerDamagedError, match="line 6 bears the number 7"):
        ledger(tmp_path / "l").refresh()


def test_a_short_write_is_gone_on_with(tmp_path):
    """The system may take half a line; the other half follows under the same lock."""
    fs = FaultyFs("short write", at=2)
    ledger(tmp_path / "l", fs).append(*HISTORY[:3])
    assert read_state(tmp_path / "l").seq == 3
    assert fs.done.count("write") == 2


def test_a_full_disk_leaves_no_half_line_and_ends_the_process_part(tmp_path):
    """ENOSPC: the file is as before, and this process sends nothing more."""
    before = written(tmp_path / "l")
    book = ledger(tmp_path / "l", FaultyFs("ENOSPC", at=2))
    with pytest.raises(SessionBrokenError, match="ENOSPC"):
        book.append(WorkerGone("gw0"))
    assert (tmp_path / "l").read_bytes() == before
    with pytest.raises(SessionBrokenError):
        book.refresh()


def test_a_failed_flush_is_not_tried_again_and_stops_the_others(tmp_path):
    """After a failed fsync the next may report success for lost pages: the session ends, everybody is told."""
    written(tmp_path / "l")
    fs = FaultyFs("EIO", at=3)
    with pytest.raises(SessionBrokenError, match="EIO"):
        ledger(tmp_path / "l", fs).append(WorkerGone("gw0"), durable=True)
    assert (fs.done.count("fsync"), read_state(tmp_path / "l").invocation.stop.reason) == (1, "disk")


def test_the_flush_comes_after_the_lock_is_let_go(tmp_path):
    """Others append while one waits for the disk."""
    order: list[str] = []

    class Watched(UnflushedFs):
        def lock(self, fd, *, exclusive, wait):
            order.append("lock")
            return super().lock(fd, exclusive=exclusive, wait=wait)

        def unlock(self, fd):
            order.append("unlock")
            super().unlock(fd)

        def write(self, fd, data):
            order.append("write")
            return super().write(fd, data)

        def fsync(self, fd):
            order.append("fsync")

    ledger(tmp_path / "l", Watched()).append(opened(), reserve("a"), Intent("a"), durable=True)
    assert order == ["lock", "write", "unlock", "fsync"]


def test_a_decision_sees_what_others_have_appended_since(tmp_path):
    """Two processes' views: each transaction reads the new tail first."""
    one, other = ledger(tmp_path / "l"), ledger(tmp_path / "l")
    one.append(*HISTORY[:4])
    assert other.transact(lambda state, _now: Decision(state.in_flight)) == 500
    other.append(Intent("a"))
    assert one.refresh() == other.refresh()


def _append_many(path: Path, worker: str, count: int) -> None:
    book = Ledger(path, fs=UnflushedFs(), clock=FakeClock())
    for number in range(count):
        book.append(Pause(number, 0.0, worker, worker * 2000))


def test_processes_that_append_at_once_tear_no_line(tmp_path):
    """Four processes, long lines, distinct marks: every line whole, numbered without gaps."""
    written(tmp_path / "l", opened())
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_append_many, args=(tmp_path / "l", mark, 60)) for mark in "abcd"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    lines = [decode_line(line) for line in (tmp_path / "l").read_bytes().splitlines()]
    assert [line.seq for line in lines] == list(range(1, 242))
    assert all(len(set(line.record.reason)) == 1 for line in lines[1:])


def test_a_process_that_dies_under_the_lock_blocks_nobody(tmp_path):
    """The lock belongs to the process: killed in mid-write, it is free, and the torn line is set aside."""
    written(tmp_path / "l")
    child = os.fork()
    if child == 0:
        fs = FaultyFs("torn write", at=2)
        try:
            ledger(tmp_path / "l", fs).append(WorkerGone("gw0"))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    torn: list[Path] = []
    book = ledger(tmp_path / "l", torn=torn)
    book.append(WorkerGone("gw1"))
    assert (len(torn), read_state(tmp_path / "l").seq) == (1, len(HISTORY) + 1)
