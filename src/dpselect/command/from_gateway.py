"""Questions to a gateway: connect, and refuse options that a gateway does not take."""

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

_MAX_TOKEN_BYTES = 4096  # bytes of a file with a token
_SET_BY_OWNER = "the owner of the gateway says so"
_NO_LOCAL_FILES = "a gateway reads no file of yours: list the items"
_NO_TEXT = "a gateway counts items, not the words of a text"
# What the gateway has no use for, and why.
NOT_AT_A_GATEWAY = {
    **dict.fromkeys(
        ("user", *shared.SPLIT_FIELDS, *shared.SOURCE_FIELDS, *shared.TIME_FIELDS, "type", "snapshot"), _SET_BY_OWNER
    ),
    "budget": "the gateway manages the budget",
    "analyst": "the token identifies the analyst",
    "data": "the name of the data takes the place of FILE",
    **dict.fromkeys(("domain_from", "exclude_from", "groups_from"), _NO_LOCAL_FILES),
    **dict.fromkeys(("text", "ngrams", "tokenizer", "lower", "shares"), _NO_TEXT),
}


def check_options(args: argparse.Namespace) -> None:
    """Refuse options that make sense only for data on this computer."""
    if args.gateway is None:
        raise ParameterError("--gateway", "be given with --token-file", "nothing")
    for name in options.explicit_options(args, NOT_AT_A_GATEWAY):
        raise ParameterError(
            options.option_name(args, name), "be left out with --gateway", "a value", NOT_AT_A_GATEWAY[name]
        )
    if len(args.files) != 1:
        raise ParameterError("FILE", "be the name of data, with --gateway", f"{len(args.files)} of them")


def connect_remote(url: str, token_file: str | None) -> Remote:
    """Connect to a gateway; errors name the options of the command."""
    from dpselect.remote.remote import connect

    token = None if token_file is None else _read_token(token_file)
    try:
        return connect(url, token=token)
    except ParameterError as error:
        if error.parameter == "url":
            hint = "https://, or http:// of this computer"
            raise ParameterError("--gateway", error.must, error.came, hint) from None
        hint = "DPSELECT_TOKEN holds it, or the file that --token-file names; the owner of the gateway makes one"
        raise ParameterError(error.parameter, error.must, error.came, hint) from None


def open_dataset(args: argparse.Namespace) -> RemoteDataset:
    """Return the data of that name behind the gateway, with the filter and periods of the command."""
    remote = connect_remote(args.gateway, args.token_file)
    max_items_per_user = getattr(args, "max_items_per_user", None)
    data = remote.data(args.files[0], item=getattr(args, "item", None), max_items_per_user=max_items_per_user)
    data = data if args.where is None else data.where(args.where)
    return data if args.during is None else data.during(args.during)


def describe_price(data: RemoteDataset, question: Question, price: dict[str, Any]) -> str:
    """Return a sentence with the gateway's price of a question."""
    from dpselect.remote.remote import Remote

    priced = Remote(data.wire).price(question, data=data, **price)
    return f"with epsilon {priced.get('epsilon')} the question {priced.get('sentence')}"


def _read_token(path: str) -> str:
    """Return the token that a file holds; messages never repeat it."""
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_TOKEN_BYTES).decode("ascii").strip()
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        problem = f"{os.path.basename(path)}: {reason}"
        raise ParameterError("--token-file", "be a file that can be read", problem) from None
    except UnicodeDecodeError:
        raise ParameterError("--token-file", "hold a token", "something else") from None
