"""Which model a plan is made for: flag, environment, preset, default, in this order.

Values in, values out: the environment is an argument, and an embedded model's facts are handed in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.llm.credentials import Credentials
from bench.llm.endpoint import EndpointError, check_base_url
from bench.plan.config import ModelSettings
from bench.plan.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.plan.config import LocalSection, PresetConfig


def resolve_model(config: PresetConfig, *, model: str | None, environment: Mapping[str, str]) -> ModelSettings:
    """The settings to plan with: ``--model``, then ``OPENAI_MODEL``, the preset, the default; same for the base URL.

    Raises:
        ConfigError: if a name or URL is blank or holds blanks, or the URL is none that a request could go to.
    """
    chosen = model if model is not None else environment.get("OPENAI_MODEL") or config.model.model
    base_url = environment.get("OPENAI_BASE_URL") or config.model.base_url
    for name, value in (("model", chosen), ("base URL", base_url)):
        if not value or any(character.isspace() for character in value):
            raise ConfigError(f"{name}: expected text without blanks, got {value[:80]!r}; correct --model or OPENAI_*")
    try:
        check_base_url(base_url, credentials=Credentials())  # whether a key may travel there is asked when one is sent
    except EndpointError as error:
        raise ConfigError(f"{error}; correct OPENAI_BASE_URL or the preset") from None
    return config.model.model_copy(update={"model": chosen, "base_url": base_url.rstrip("/")})


def local_model(section: LocalSection, *, model: str, facts: Mapping[str, Any]) -> ModelSettings:
    """The settings for an embedded model ``local/<file stem>``; ``facts`` are what its plan has to record of it."""
    return ModelSettings(model=model, base_url="embedded", local=dict(facts), **section.model_dump())
