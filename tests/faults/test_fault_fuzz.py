"""Readers of what lies on the disk: any bytes give a value or the reader's own error, never another exception.

Parser, graders and decoder have the same property in tests/lang/test_parser_hostile.py, tests/score/test_score_grade.py
and tests/llm/test_llm_decode.py.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.run.jsonl import JsonlDamagedError, read_lines
from bench.run.ledger_file import read_state
from bench.run.ledger_records import LedgerDamagedError, LedgerLine, WindowOpened, encode_line
from bench.run.records_io import RunFileError, read_count, read_meta, read_terminal

pytestmark = pytest.mark.faults
FUZZ = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

LEDGER = b"".join(encode_line(LedgerLine(n, "t", n, WindowOpened(f"2026-12-{n:02d}", 100))) for n in range(1, 6))
EVENTS = b'{"at":"t","kind":"a"}\n{"at":"t","kind":"b","n":1}\n'
DEEP = b"[" * 200_000
PIECES = st.sampled_from([b"\n", b"\0" * 5, b"{", b"}", b'"', b"\xff\xfe", b"NaN", b"9" * 5000, b"\\ud800", DEEP, b""])


@st.composite
def damaged(draw, whole: bytes) -> bytes:
    """A file with pieces cut out of it and others put in."""
    data = whole
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        data = data[:start] + draw(st.one_of(PIECES, st.binary(max_size=20))) + data[end:]
    return data


def value_or_message(read, path, own_error):
    """What a reader returns, or the message of its own error; any other exception passes."""
    try:
        return read(path)
    except own_error as error:
        return str(error)


@FUZZ
@given(damaged(EVENTS))
def test_json_lines_are_rows_or_damage(tmp_path, data):
    """events.jsonl and token-counts.jsonl: rows, or an error with file and line."""
    path = tmp_path / "events.jsonl"
    path.write_bytes(data)
    read = value_or_message(read_lines, path, JsonlDamagedError)
    if isinstance(read, str):
        assert f"{path}, line " in read
    else:
        assert all(isinstance(row, dict) for row in read)


@FUZZ
@given(damaged(LEDGER))
def test_a_ledger_is_a_state_or_damage(tmp_path, data):
    """usage-ledger.jsonl: what its whole lines say, or an error with file and line; never more than was written."""
    path = tmp_path / "usage-ledger.jsonl"
    path.write_bytes(data)
    read = value_or_message(read_state, path, LedgerDamagedError)
    if isinstance(read, str):
        assert f"{path}, line " in read
    else:
        assert 0 <= read.seq <= 5


@FUZZ
@given(st.one_of(st.binary(max_size=300), st.just(DEEP), st.just(b'{"trial_id": ' + DEEP)))
def test_a_record_file_is_a_record_or_an_error(tmp_path, data):
    """terminal.json and token-count.json name the file; a broken meta file reads as missing, for it can be rebuilt."""
    for name in ("terminal.json", "token-count.json", "attempt-001-meta.json"):
        (tmp_path / name).write_bytes(data)
    for read in (read_terminal, read_count):
        with pytest.raises(RunFileError, match=r"\.json"):
            read(tmp_path)
    assert read_meta(tmp_path, 1) is None


def test_brackets_a_thousand_deep_are_damage_and_no_crash(tmp_path):
    """The standard decoder answers them with a RecursionError, which is nobody's own error."""
    events, ledger = tmp_path / "events.jsonl", tmp_path / "usage-ledger.jsonl"
    events.write_bytes(DEEP + b"\n" + EVENTS)
    ledger.write_bytes(LEDGER + DEEP + b"\n")
    with pytest.raises(JsonlDamagedError, match="line 1"):
        read_lines(events)
    with pytest.raises(LedgerDamagedError, match="line 6"):
        read_state(ledger)
