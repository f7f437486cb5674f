"""The child process that holds llama.cpp's server: ``python -m bench.backends.local_child``.

It reads one JSON line from its standard input, starts the server on a free loopback port, writes one JSON line with the
address, and ends as soon as its standard input closes: whoever started it needs only to die. Nothing else of the
project is imported here.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from importlib import import_module
from typing import Any

LOG_ERRORS = 1


def main() -> int:
    """The exit code; returns only if the server could not be started."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answer_fd = os.dup(1)
    os.dup2(2, 1)  # whatever the native code prints belongs in the log, not between the lines of our pipe
    order = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        server = _start(order)
    except Exception as error:  # noqa: BLE001  (the native code raises what it likes; the log holds the cause)
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    os.write(answer_fd, json.dumps({"address": server.listening_address}).encode() + b"\n")
    os.close(answer_fd)
    threading.Event().wait()  # the server has threads of its own; this process ends in _end_with_parent
    return 0


def _end_with_parent() -> None:
    """Never returns: waits until the pipe from the parent closes, then ends the process at once."""
    while os.read(0, 1):
        pass
    os._exit(0)


def _start(order: dict[str, Any]) -> Any:
    """The running server object; it keeps listening for as long as it is referenced."""
    native = import_module("xllamacpp")
    params = native.CommonParams()
    spec, options = order["spec"], dict(order["spec"]["options"])
    params.model.path = order["path"]
    params.model_alias = {spec["model"]}
    params.hostnames, params.port = ["127.0.0.1"], order["port"]
    params.chat_template, params.antiprompt = spec["template"], spec["stop"]
    params.sampling.temp, params.sampling.seed = float(spec["temperature"]), options.pop("seed")
    params.n_ctx = spec["context"] * options["n_parallel"]
    threads = options.pop("n_threads") or os.cpu_count() or 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.ui, params.endpoint_slots, params.verbosity = False, False, LOG_ERRORS
    for name, value in options.items():
        setattr(params, name, value)
    return native.Server(params)


if __name__ == "__main__":
    sys.exit(main())
