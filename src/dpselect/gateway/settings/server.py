"""What the owner declares of people, and of the server that they reach."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator

from dpselect._ground.parameters import suggest
from dpselect.errors import ParameterError
from dpselect.gateway.settings import kinds
from dpselect.gateway.settings.kinds import (
    MAX_ITEMS_OR_QUESTIONS,
    Amount,
    Named,
    SettingsTable,
    WrongError,
    reading_context,
)


class Person(Named):
    """The settings of a person who may sign in. The name is also that of the analyst in the ledger."""

    role: kinds.OneRole
    """`"owner"` (grants, approves, sees the record), `"analyst"` (plans, asks, reads answers) or `"auditor"`
    (reads and verifies the record)."""
    data: kinds.Names | None = None
    """The data sets that they may use; all unless given."""
    quota: Amount | None = None
    """Granted in each of these when the gateway first starts."""
    max_share: kinds.Share | None = None
    """The largest part of the quota that one question may cost, such as `"5%"`."""
    max_a_day: int | None = Field(default=None, ge=0, le=MAX_ITEMS_OR_QUESTIONS)
    """The most new questions in 24 hours; one that is paid for already is not new."""
    approve_above: kinds.Share | None = None
    """A question that costs a larger part of the quota needs somebody else's approval."""
    token: kinds.Digest | None = Field(default=None, repr=False)
    """`"sha256:"` and the digest of the token, as `dpselect gateway token` prints it."""
    until: datetime.date | None = None
    """The last day of access, without quotes: `2027-12-31`."""
    subject: kinds.Text | None = None
    """Their name at the proxy or identity provider."""

    @field_validator("data")
    @classmethod
    def _are_declared(cls, data: tuple[str, ...] | None, info: ValidationInfo) -> tuple[str, ...] | None:
        known_names = reading_context(info).data
        for name in data or ():
            if known_names is not None and name not in known_names:
                raise ParameterError("value", "name data sets", repr(name), suggest(name, known_names))
        return data

    @field_validator("token", "subject")
    @classmethod
    def _is_nobody_elses(cls, value: str | None, info: ValidationInfo) -> str | None:
        name = info.data.get("name", "")
        if value is None:
            return None
        holder = reading_context(info).sign_ins.setdefault((info.field_name, value), name)
        if holder != name:
            raise WrongError(f"must be another than that of {holder}")
        return value


class Proxy(SettingsTable):
    """A proxy that says who is signed in; only these addresses are believed."""

    addresses: kinds.Networks
    """IP addresses or networks whose headers are trusted; never every address."""
    header: kinds.Header = "X-Forwarded-User"
    """The header with the person's `subject`."""


class Oidc(SettingsTable):
    """An identity provider whose signed tokens are taken in place of ours."""

    issuer: kinds.Url
    """The provider, as its tokens name it."""
    audience: kinds.Text
    """The audience that tokens must have."""
    jwks: kinds.Folder
    """The file with the provider's public keys."""
    claim: kinds.Text = "sub"
    """The claim with the person's `subject`."""


class ServerSettings(SettingsTable):
    """The settings of the server."""

    ledger: kinds.Ledger = Field(repr=False)
    """The [ledger](budgets.md): a file or a `postgresql://` address."""
    folder: kinds.Folder
    """Questions and the secret of sign-ins; only the gateway's own user may read it."""
    jobs: kinds.Postgres | None = Field(default=None, repr=False)
    """A `postgresql://` address for questions, so that several processes can serve."""
    host: kinds.Host = "127.0.0.1"
    """The address to listen on."""
    port: int = Field(default=8080, ge=0, le=65_535)
    """0 picks a free one."""
    url: kinds.Url | None = None
    """How people reach it, if not by host and port; `https://` behind a TLS proxy."""
    workers: int = Field(default=2, ge=1, le=1_000)
    """How many questions run at once."""
    waiting: int = Field(default=100, ge=1, le=1_000_000)
    """The most questions that wait, of all people together."""
    waiting_each: Annotated[int, Field(ge=1)] = Field(default_factory=lambda fields: min(20, fields.get("waiting", 20)))
    """The most questions of one person that wait; at most `waiting`."""
    rate: int = Field(default=50, ge=1, le=1_000_000)
    """Requests per second of one person."""
    body: int = Field(default=1 << 20, ge=1_024, le=1 << 30)
    """The most bytes of a request."""
    proxy: Proxy | None = None
    """A trusted reverse proxy that signs people in."""
    oidc: Oidc | None = None
    """An identity provider whose signed tokens are accepted."""

    @field_validator("ledger", "folder")
    @classmethod
    def _is_written(cls, path: str | Path, info: ValidationInfo) -> str | Path:
        if str(info.data.get("ledger", "")) == str(path):
            raise WrongError("must be another path than ledger")
        reading_context(info).written_paths[str(info.field_name)] = str(path)
        return path

    @field_validator("waiting_each")
    @classmethod
    def _waits_with_all(cls, waiting_each: int, info: ValidationInfo) -> int:
        if waiting_each > info.data.get("waiting", waiting_each):
            raise WrongError(f"must be at most waiting = {info.data['waiting']}")
        return waiting_each
