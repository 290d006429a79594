"""Who somebody is: tokens, sessions, codes, a proxy that is trusted, an identity provider."""

from __future__ import annotations

import base64
import hmac
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.testclient import TestClient

from dpselect.errors import ParameterError
from tests.gateway.served import ADDRESS, TOKENS, Served, serving

ISSUER, AUDIENCE = "https://who.example.org", "dpselect"


@pytest.mark.parametrize("token", ["wrong", "", "x" * 5000, "é", TOKENS["ann"] + "x", TOKENS["udo"]])
def test_a_token_that_is_wrong_or_of_the_past_is_nobody(served: Served, token: str) -> None:
    told = served.http.get("/v1/me", headers={"Authorization": f"Bearer {token}".encode()})
    assert (told.status_code, told.headers["www-authenticate"]) == (401, "Bearer")


def test_a_wrong_token_is_nobody_even_beside_a_good_cookie(served: Served) -> None:
    ann = served.gateway.people.find("ann")
    assert ann is not None
    cookie = {"Cookie": f"dpselect={served.gateway.people.session(ann)}"}
    assert served.http.get("/v1/me", headers=cookie).json()["name"] == "ann"
    assert served.http.get("/v1/me", headers={**cookie, "Authorization": "Bearer wrong"}).status_code == 401


def test_a_cookie_and_a_code_are_not_each_other_and_end_with_the_token(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        people = served.gateway.people
        ann = people.find("ann")
        assert ann is not None
        session, code = people.session(ann), people.code(ann)
        assert people.find_by_session(session) == people.redeem_code(code) == ann
        assert people.redeem_code(code) is None  # it was used
        assert people.find_by_session(people.code(ann)) is None
        assert people.redeem_code(people.session(ann)) is None
        for wrong in ("", ".", "a.b", session[:-2], session + "A", "x" * 2000, session.replace(".", ".."), "é.é"):
            assert people.find_by_session(wrong) is None
        settings = tmp_path / "gateway.toml"
        settings.write_text(settings.read_text().replace("[people.ann]", "[people.anna]"))
        served.until(lambda: people.find_by_session(session) is None)
        assert served.ann.get("/v1/me").json()["name"] == "anna"


def test_a_proxy_is_believed_from_its_own_address_only(tmp_path: Path) -> None:
    server = 'proxy = { addresses = ["10.1.0.0/16"], header = "X-Who" }'
    with serving(tmp_path, server=server) as served:
        settings = tmp_path / "gateway.toml"
        settings.write_text(settings.read_text().replace("[people.ann]", '[people.ann]\nsubject = "ann@example.org"'))
        served.until(lambda: served.gateway.people.find_by_subject("ann@example.org") is not None)
        said = {"X-Who": "ann@example.org"}
        for address, status in (("10.1.2.3", 200), ("10.2.0.1", 401), ("127.0.0.1", 401)):
            http = TestClient(served.http.app, base_url=ADDRESS, client=(address, 1))
            assert http.get("/v1/me", headers=said).status_code == status, address
        near = TestClient(served.http.app, base_url=ADDRESS, client=("10.1.2.3", 1))
        assert near.get("/v1/me", headers={"X-Who": "somebody@example.org"}).status_code == 401


def test_without_what_reads_tokens_of_a_provider_nothing_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "joserfc", None)  # as where it is not installed
    (tmp_path / "keys.json").write_text('{"keys": []}')
    oidc = f'oidc = {{ issuer = "{ISSUER}", audience = "{AUDIENCE}", jwks = "keys.json" }}'
    with pytest.raises(ParameterError, match="oidc must have joserfc installed"), serving(tmp_path, server=oidc):
        pass


def test_a_token_of_a_provider_is_believed_if_it_is_signed_for_us_and_not_too_old(tmp_path: Path) -> None:
    key, other = RSAKey.generate_key(2048), RSAKey.generate_key(2048)
    public = {**key.as_dict(private=False), "kid": "one", "use": "sig"}
    (tmp_path / "keys.json").write_text(json.dumps({"keys": [public]}))
    oidc = f'oidc = {{ issuer = "{ISSUER}", audience = "{AUDIENCE}", jwks = "keys.json", claim = "email" }}'
    good: dict[str, Any] = {"iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + 600, "email": "ann@example.org"}

    def signed(claims: dict[str, Any], by: Any = key) -> str:
        return str(jwt.encode({"alg": "RS256", "kid": "one"}, claims, by))

    with serving(tmp_path, server=oidc) as served:
        settings = tmp_path / "gateway.toml"
        settings.write_text(settings.read_text().replace("[people.ann]", '[people.ann]\nsubject = "ann@example.org"'))
        served.until(lambda: served.gateway.people.find_by_subject("ann@example.org") is not None)
        cases = {
            "good": (signed(good), 200),
            "another key": (signed(good, other), 401),
            "the public key as a secret": (_with_secret(good, key.as_pem(private=False)), 401),
            "no signature": (_with_secret(good, b"", "none").rpartition(".")[0] + ".", 401),
            "too old": (signed({**good, "exp": int(time.time()) - 60}), 401),
            "no end": (signed({name: value for name, value in good.items() if name != "exp"}), 401),
            "for another": (signed({**good, "aud": "somebody else"}), 401),
            "of another": (signed({**good, "iss": "https://evil.example.org"}), 401),
            "nobody here": (signed({**good, "email": "eva@example.org"}), 401),
            "no text": (signed({**good, "email": ["ann@example.org"]}), 401),
            "cut": (signed(good)[:-10], 401),
        }
        for name, (token, status) in cases.items():
            told = served.http.get("/v1/me", headers={"Authorization": f"Bearer {token}"})
            assert told.status_code == status, name


def _with_secret(claims: dict[str, Any], secret: bytes, algorithm: str = "HS256") -> str:
    """As whoever knows only the public key might sign."""
    head, body = (_text(json.dumps(one).encode()) for one in ({"alg": algorithm, "kid": "one"}, claims))
    return f"{head}.{body}.{_text(hmac.digest(secret, f'{head}.{body}'.encode(), 'sha256'))}"


def _text(said: bytes) -> str:
    return base64.urlsafe_b64encode(said).decode().rstrip("=")
