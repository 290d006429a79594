"""Asking a gateway: the words of a command that it has a use for, and a refusal of the others by name."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from dpselect.command import options, shared
from dpselect.errors import ParameterError

if TYPE_CHECKING:
    from dpselect.questions.questions import Question
    from dpselect.remote.dataset import RemoteDataset
    from dpselect.remote.remote import Remote

LONGEST = 4096  # bytes of a file with a token
OWNERS = "the owner of the gateway says so"
HERE = "a gateway reads no file of yours: list the items"
NOT_TEXT = "a gateway counts items, not the words of a text"
# What the gateway has no use for, and why.
REFUSED = {
    **dict.fromkeys(("user", *shared.SPLIT, *shared.OF_SOURCES, *shared.TIMES, "type", "snapshot"), OWNERS),
    "budget": "the gateway manages the budget",
    "analyst": "the token identifies the analyst",
    "data": "the name of the data takes the place of FILE",
    **dict.fromkeys(("domain_from", "exclude_from", "groups_from"), HERE),
    **dict.fromkeys(("text", "ngrams", "tokenizer", "lower", "shares"), NOT_TEXT),
}


def check(args: argparse.Namespace) -> None:
    """Refuse what says something that only data here can be told."""
    if args.gateway is None:
        raise ParameterError("--gateway", "be given with --token-file", "nothing")
    for name in options.given(args, REFUSED):
        raise ParameterError(options.named(args, name), "be left out with --gateway", "a value", REFUSED[name])
    if len(args.files) != 1:
        raise ParameterError("FILE", "be the name of data, with --gateway", f"{len(args.files)} of them")


def remote_of(url: str, token_file: str | None) -> Remote:
    """The gateway, in the words of the command."""
    from dpselect.remote.remote import connect

    token = None if token_file is None else _token(token_file)
    try:
        return connect(url, token=token)
    except ParameterError as error:
        if error.parameter == "url":
            hint = "https://, or http:// of this computer"
            raise ParameterError("--gateway", error.must, error.came, hint) from None
        hint = "DPSELECT_TOKEN holds it, or the file that --token-file names; the owner of the gateway makes one"
        raise ParameterError(error.parameter, error.must, error.came, hint) from None


def dataset_of(args: argparse.Namespace) -> RemoteDataset:
    """The data of that name behind the gateway."""
    remote = remote_of(args.gateway, args.token_file)
    most = getattr(args, "max_items_per_user", None)
    data = remote.data(args.files[0], item=getattr(args, "item", None), max_items_per_user=most)
    data = data if args.where is None else data.where(args.where)
    return data if args.during is None else data.during(args.during)


def price_of(data: RemoteDataset, question: Question, price: dict[str, Any]) -> str:
    """What the gateway says that a question costs."""
    from dpselect.remote.remote import Remote

    found = Remote(data.wire).price(question, data=data, **price)
    return f"with epsilon {found.get('epsilon')} the question {found.get('sentence')}"


def _token(path: str) -> str:
    """What a file holds, which nobody else needs to see."""
    try:
        with open(path, "rb") as file:
            return file.read(LONGEST).decode("ascii").strip()
    except OSError as error:
        why = error.strerror or "it cannot be read"
        came = f"{os.path.basename(path)}: {why}"
        raise ParameterError("--token-file", "be a file that can be read", came) from None
    except UnicodeDecodeError:
        raise ParameterError("--token-file", "hold a token", "something else") from None
