"""The example data: invented listening events, the same on every machine for the same seed.

Nothing here is secret and nothing here serves privacy, so it does not ask `dpselect.draws`: it computes its numbers by
hashing counters (splitmix64). Only operations with one possible answer are used: integer arithmetic, and
float additions, multiplications and divisions, which IEEE 754 rounds in one way. No exp, log or power, whose
last bit differs between machines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpselect._ground.parameters import whole_number

if TYPE_CHECKING:
    import numpy.typing as npt

Words: TypeAlias = "npt.NDArray[np.uint64]"
Floats: TypeAlias = "npt.NDArray[np.float64]"
Integers: TypeAlias = "npt.NDArray[np.int64]"

ARTISTS = 20_000
# The plays of three accounts that nobody's median describes: a cafe, a gym, a lift.
HEAVY_USERS = (40_000, 15_000, 6_000)

# Country and its share of the users in per cent.
COUNTRIES = {
    "United States": 24,
    "Brazil": 14,
    "Germany": 12,
    "India": 11,
    "Mexico": 9,
    "United Kingdom": 8,
    "Japan": 7,
    "France": 5,
    "Nigeria": 4,
    "Poland": 3,
    "Portugal": 2,
    "Iceland": 1,
}
# How much more an artist is played at home.
HOME_FACTOR = 6

ADJECTIVES = """
    Amber Borrowed Brass Copper Crooked Drowsy Eleventh Folded Frosted Gilded Hasty Hollow Humble Inland
    Ivory Jagged Lantern Late Leaning Lilac Lofty Marble Mended Mossy Narrow Oaken Painted Patient Quiet
    Rented Rusty Saffron Salted Scarlet Second Sleepy Slanted Tidal Tin Unlit Upper Wandering Wicker Woollen
""".split()
DEMO_NOUNS = """
    Acrobat Almanac Anchor Veranda Barometer Beekeeper Bicycle Bridge Cabinet Carousel Cellar Chimney
    Clockmaker Sundial Cousin Hedgehog Envelope Gondola Fountain Gardener Harbour Heron Island Jigsaw
    Kettle Ladder Lantern Lighthouse Locksmith Magpie Meadow Meridian Mitten Observer Orchard Otter
    Parasol Pelican Pocket Postcard Quarry Raincoat Sextant Signal Spoon Staircase Teapot Telegram Thimble
    Tramway Umbrella Vineyard Violet Walnut Weathervane Whistle
""".split()
FIRST_NAMES = """
    Ada Amara Anouk Arlo Bela Bruno Calla Cosmo Dalia Dario Edda Elio Esme Fabio Femi Freya Gala Hugo Ines
    Ivo Jana Jonas Kaya Kofi Lena Livia Luca Maren Mira Nadia Nilo Odile Otis Petra Quentin Rafa Rosa Runa
    Samir Selma Silas Tamsin Teo Uma Vera Wanda Yara Yusuf Zora
""".split()
SYLLABLES = "ba be do fe ha ju ko la lo lu ma me mo na no pa ra re ri ru sa se ta ti to va ve vo za".split()


def write_listening_events(path: Path, users: int = 100_000, seed: int = 7) -> int:
    """Write the example events as a Parquet file, and return the number of rows."""
    from dpselect.engines.duckdb.tables import write_parquet

    columns = listening_events(users, seed)
    write_parquet(columns, path)
    return len(columns["user"])


def listening_events(users: int = 100_000, seed: int = 7) -> dict[str, npt.NDArray[Any]]:
    """Return one row per play: user, artist, country, minutes; about 22 rows for each user if there are many users.

    Every user has a list of artists of their own and returns to the first ones of it most often, so the
    same (user, artist) occurs many times; each list is drawn from the popularity in the user's country.
    """
    users = whole_number("users", users, minimum=1)
    seed = whole_number("seed", seed, minimum=0)
    everyone = np.arange(users, dtype=np.int64)
    country = np.repeat(np.arange(len(COUNTRIES)), list(COUNTRIES.values()))[
        integers_below(100, hash_counters(seed, "country", everyone))
    ]
    plays = plays_per_user(users, seed)
    user = np.repeat(everyone, plays)
    play = np.arange(len(user), dtype=np.int64)
    # Squaring a uniform number prefers the early entries of the list.
    entry = (unit_floats(hash_counters(seed, "entry", play)) ** 2 * (2 + plays * 3 // 4)[user]).astype(np.int64)
    artist = favourites(country[user], hash_counters(seed, "favourite", (user << 32) | entry), seed)
    minutes = 1 + (3 * exponential(0.8 * nearly_normal(hash_counters(seed, "minutes", play)))).astype(np.int64)
    return {
        "user": 100_001 + user,
        # Rows share the few string objects of the tables, which is as small and fast as a dictionary column.
        "artist": np.array(artist_names(), dtype=object)[artist],
        "country": np.array(list(COUNTRIES), dtype=object)[country[user]],
        "minutes": minutes,
    }


def plays_per_user(users: int, seed: int) -> Integers:
    """Return how many plays each user has: log-normal with median 13, and the heavy users somewhere among them."""
    everyone = np.arange(users, dtype=np.int64)
    plays = 1 + (13 * exponential(nearly_normal(hash_counters(seed, "plays", everyone)))).astype(np.int64)
    for index, heavy in enumerate(HEAVY_USERS, 1):
        plays[users * index // (len(HEAVY_USERS) + 1)] = heavy
    return plays


def favourites(country: Integers, words: Words, seed: int) -> Integers:
    """Return an artist for each word, by the popularity in its country.

    Popularity falls like 1 / rank at first and like 1 / rank^2 in the long tail, where many artists have a
    handful of listeners; an artist is played more at home.
    """
    ranks = np.arange(ARTISTS, dtype=np.int64)
    home = np.repeat(np.arange(len(COUNTRIES)), list(COUNTRIES.values()))[
        integers_below(100, hash_counters(seed, "home", ranks))
    ]
    popularity = 50_000_000 // (ranks + 30) * 2_000 // (ranks + 2_000)
    at_home = home == np.arange(len(COUNTRIES))[:, None]
    tables = np.cumsum(np.where(at_home, HOME_FACTOR * popularity, popularity), axis=1)
    # One sorted table of all countries, each shifted beyond the one before: one search finds every artist.
    shift = np.arange(len(COUNTRIES), dtype=np.int64) << 32
    targets = integers_below(tables[:, -1][country], words) + shift[country]
    index = np.searchsorted((tables + shift[:, None]).ravel(), targets, side="right")
    return index - country * ARTISTS


def artist_names() -> list[str]:
    """Return the distinct names of the artists, most popular first. All are invented."""
    bands = spread([f"The {adjective} {noun}s" for adjective in ADJECTIVES for noun in DEMO_NOUNS])
    projects = spread([f"{adjective} {noun}" for adjective in ADJECTIVES[::-1] for noun in DEMO_NOUNS[::-1]])
    leaders = spread([f"{first} & the {noun}s" for noun in DEMO_NOUNS for first in FIRST_NAMES])
    invented = spread([(a + b + c).title() for a in SYLLABLES for b in SYLLABLES for c in SYLLABLES])
    kinds = [bands, invented, projects, invented, leaders]
    first_names = spread(FIRST_NAMES * (ARTISTS // len(FIRST_NAMES)))
    # Every second artist is a person; each invented word is used once, so that no name comes twice.
    people = (f"{next(first_names)} {next(invented)}" for _ in range(ARTISTS))
    return [next(people) if rank % 2 else next(kinds[rank // 2 % 5]) for rank in range(ARTISTS)]


def spread(names: Sequence[str]) -> Iterator[str]:
    """Return all the names once, neighbours far apart: steps of a prime that does not divide how many there are."""
    step = 7919
    return (names[(index + 1) * step % len(names)] for index in range(len(names)))


# ---- numbers from counters --------------------------------------------------------------------------------


def hash_counters(seed: int, stream: str, counters: Integers) -> Words:
    """Return splitmix64 at the given counters, one sequence of 64-bit words per seed and stream."""
    start = int.from_bytes(f"{seed}/{stream}".encode()) % (2**64 - 59)
    words = (counters.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(start)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def integers_below(limit: Integers | int, words: Words) -> Integers:
    """Return integers in [0, limit) for limits up to 2^32, from the upper half of each word."""
    return ((words >> np.uint64(32)) * np.asarray(limit, np.uint64) >> np.uint64(32)).astype(np.int64)


def unit_floats(words: Words) -> Floats:
    """Return numbers in [0, 1) on a grid of 2^-53."""
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def nearly_normal(words: Words) -> Floats:
    """Return nearly normal numbers with mean 0 and variance 1: the sum of the four 16-bit parts of each word."""
    part = np.uint64(0xFFFF)
    total = sum((words >> np.uint64(shift)) & part for shift in (0, 16, 32, 48))
    return (np.asarray(total, np.float64) - 131_070) / 37_837.0


def exponential(exponents: Floats) -> Floats:
    """Return nearly e^x, as (1 + x / 1024)^1024 by ten squarings: the same bits everywhere."""
    power = 1 + exponents / 1024
    for _ in range(10):
        power = power * power
    return power
