"""What a plan records about the local model, so that the same answers can be asked for again.

Values only, plain JSON without decimals, because they enter the protocol hash. Nothing of this machine (paths, ports,
core counts) may be here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from bench.backends.local_weights import LocalModelError, Weights
from bench.plan.config import ModelSettings, load_local_section
from bench.plan.model_settings import local_model

EMBEDDED: Literal["embedded"] = "embedded"
SERVER_PACKAGE = "xllamacpp"
# It is a base model: no role markers. Contents are joined by newlines and the last line is closed, so that the answer
# starts on a line of its own, as it does in the examples.
CONTENTS_ONLY = (
    "{% for message in messages %}{{ message['content'] }}"
    "{% if message['content'][-1:] != '\\n' %}{{ '\\n' }}{% endif %}{% endfor %}"
)
Count = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Start options of llama.cpp's server, by its own names. What is not here keeps the server's default.

    ``n_threads`` 0 means one thread per core. Each of the ``n_parallel`` slots has a context of its own. ``swa_full``
    keeps the whole attention window, without which a cached prompt prefix could not be reused by this model.
    ``cache_ram_mib`` holds prefixes of earlier prompts: the trials of one notation, lexicon and example set share most
    of theirs, and reading a prompt is nearly all of a trial's time on two cores. The price is that an answer can depend
    on what was asked before (in 40 prompts 2 answers did), as with any provider's prompt cache.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    cache_prompt: bool = True
    cache_ram_mib: Count = 4096
    cont_batching: bool = True
    ctx_shift: bool = False
    fit_params: bool = False
    kv_unified: bool = False
    n_batch: Count = 2048
    n_gpu_layers: Count = 0
    n_parallel: Annotated[int, Field(ge=1)] = 2
    n_threads: Count = 0
    n_ubatch: Count = 512
    seed: Count = 0
    swa_full: bool = True


@dataclass(frozen=True, slots=True)
class LocalModelSpec:
    """The ``local`` part of a run's model settings. ``context`` is in tokens, for each slot."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    model: str
    file_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    server: str
    base_url: Literal["embedded"] = EMBEDDED
    template: str = CONTENTS_ONLY
    temperature: Count = 0
    stop: list[str] = field(default_factory=lambda: ["\n\n"])
    context: Annotated[int, Field(ge=1)] = 16_384
    options: ServerOptions = ServerOptions()

    def as_json(self) -> dict[str, object]:
        """The specification as plain JSON values."""
        return dict(SPEC.dump_python(self, mode="json"))


SPEC = TypeAdapter(LocalModelSpec)


def describe(weights: Weights) -> LocalModelSpec:
    """What a plan made now for these weights records.

    Raises:
        LocalModelError: the server package is not installed.
    """
    try:
        installed = version(SERVER_PACKAGE)
    except PackageNotFoundError as error:
        raise LocalModelError("the local model server is not installed: pip install -e '.[local]'") from error
    return LocalModelSpec(weights.model, weights.sha256, f"{SERVER_PACKAGE} {installed}")


def local_settings(weights: Weights) -> ModelSettings:
    """The model settings of a plan made now for these weights: the section ``configs/local.json`` and `describe`."""
    return local_model(load_local_section(), model=weights.model, facts=describe(weights).as_json())


def read_spec(value: object) -> LocalModelSpec:
    """The specification a plan recorded.

    Raises:
        LocalModelError: the run was planned for another model, or the record is not one of ours.
    """
    if value is None:
        raise LocalModelError("this run was not planned for the local model: plan one with --local")
    try:
        return SPEC.validate_json(json.dumps(value))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise LocalModelError(f"protocol.json: local.{where}: {first['msg']}; plan the run again") from error


def require_same(planned: LocalModelSpec, weights: Weights) -> None:
    """Nothing, if the model and server on this machine are those of the plan.

    Raises:
        LocalModelError: another file or another server version; the message names the first thing that differs.
    """
    here = describe(weights)
    for name in ("file_sha256", "server"):
        was, now = getattr(planned, name), getattr(here, name)
        if was != now:
            raise LocalModelError(
                f"this run was planned for {name} {was}, but here it is {now}: use the same, or plan another run"
            )
