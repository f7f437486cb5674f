"""Ctrl-C: the first press stops in good order, the second interrupts."""

import os
import signal
import threading

import pytest

from bench.run.interrupt import InterruptStop


@pytest.fixture
def stopper():
    """An installed stopper, the event that its thread sets, and the thread that ran it."""
    called = threading.Event()
    installed = InterruptStop(called.set)
    installed.install()
    yield installed, called
    installed.restore()


def test_the_first_press_raises_nothing_and_calls_from_another_thread(stopper):
    """The interrupted frame goes on; whoever takes locks is somebody else."""
    installed, called = stopper
    os.kill(os.getpid(), signal.SIGINT)
    assert called.wait(5)
    assert installed.pressed == 1


def test_the_second_press_interrupts(stopper):
    """What is in flight is left ambiguous then."""
    installed, _ = stopper
    os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    assert installed.pressed == 2


def test_a_press_while_the_same_thread_holds_a_lock_does_not_deadlock():
    """The handler only sets a number and writes to a pipe; its thread waits for the lock."""
    lock, done = threading.Lock(), threading.Event()

    def stop() -> None:
        with lock:
            done.set()

    installed = InterruptStop(stop)
    installed.install()
    with lock:
        os.kill(os.getpid(), signal.SIGINT)
        assert not done.wait(0.05)
    assert done.wait(5)
    installed.restore()


def test_restoring_puts_the_old_handler_back_and_ends_the_thread():
    """Nothing is left behind; restoring twice is harmless."""
    before = signal.getsignal(signal.SIGINT)
    threads = threading.active_count()
    installed = InterruptStop(lambda: None)
    installed.install()
    installed.restore()
    installed.restore()
    assert (signal.getsignal(signal.SIGINT), threading.active_count()) == (before, threads)
