"""Wrong ways from words to n-grams: from people's messages and what was released. Tests must refuse each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.plain_text import Message, Sets, level_sets

People = Sequence[Sequence[Message]]
Released = Sequence[set[str]]


def parts_by_frequency(people: People, released: Released) -> list[Sets]:
    """Candidates from what is frequent in the data instead of what was released: another user decides."""
    climbed = level_sets(people, released[:0])
    for _ in released:
        users = Counter(item for items in climbed[-1] for item in items)
        frequent = {item for item, count in users.items() if count >= 2}
        climbed.append(level_sets(people, [*released[: len(climbed) - 1], frequent])[-1])
    return climbed


def short_of_rare_words(people: People, released: Released) -> list[Sets]:
    """The usual trick to save memory: words that one message holds are dropped before anything is released."""
    seen = Counter(word for messages in people for message in messages for word in set(message))
    kept = [[[w for w in message if seen[w] > 1] for message in messages] for messages in people]
    return level_sets(kept, released)


def across_messages(people: People, released: Released) -> list[Sets]:
    """Tokens in one long row: the last word of a user and the first of the next one make a bigram of the former."""
    joined = []
    for place, messages in enumerate(people):
        row = [word for message in messages for word in message]
        after = next((m for later in people[place + 1 :] for m in later if m), [])
        joined.append([[*row, *after[: len(released)]]])
    longer, plain = level_sets(joined, released), level_sets(people, released)
    return [plain[0], *longer[1:]]


def most_used_words(people: People, released: Released) -> list[Sets]:
    """A vocabulary cut to the most used words of the data."""
    used = Counter(word for messages in people for message in messages for word in message)
    top = {word for word, _ in sorted(used.items(), key=lambda pair: (-pair[1], pair[0]))[:3]}
    kept = [[[w for w in message if w in top] for message in messages] for messages in people]
    return level_sets(kept, released)


def one_part_is_enough(people: People, released: Released) -> list[Sets]:
    """One released part makes a candidate: nobody else decides, but a word is shown that was never released."""
    found = level_sets(people, released[:0])
    for length, allowed in enumerate(released, start=2):
        sets: Sets = []
        for messages in people:
            rows = [m[at : at + length] for m in messages for at in range(len(m) - length + 1)]
            sets.append({" ".join(g) for g in rows if {" ".join(g[:-1]), " ".join(g[1:])} & allowed})
        found.append(sets)
    return found


OTHERS_DECIDE = [parts_by_frequency, short_of_rare_words, across_messages, most_used_words]
