"""Comparing what a version kept with what today's code makes of it: nothing may be lost, more may be there."""

from __future__ import annotations

from typing import Any


def lost(kept: Any, found: Any, at: str = "") -> list[str]:
    """What of `kept` is not in `found`: keys of objects may be added, all else must be equal."""
    if isinstance(kept, dict) and isinstance(found, dict):
        missing = [f"{at}/{name} is gone" for name in kept if name not in found]
        shared = (name for name in kept if name in found)
        return missing + [one for name in shared for one in lost(kept[name], found[name], f"{at}/{name}")]
    if isinstance(kept, list) and isinstance(found, list) and len(kept) == len(found):
        pairs = enumerate(zip(kept, found, strict=True))
        return [one for place, (old, new) in pairs for one in lost(old, new, f"{at}/{place}")]
    return [] if kept == found and type(kept) is type(found) else [f"{at} was {kept!r:.80}, is {found!r:.80}"]


def narrowed(kept: list[dict[str, Any]], found: list[dict[str, Any]]) -> list[str]:
    """How a call that worked with the parameters of `kept` fails, or means something else, with those of `found`."""
    wrong, now = [], {one["name"]: one for one in found}
    for old in kept:
        new = now.get(old["name"])
        if new is None:
            wrong.append(f"parameter {old['name']} is gone")
        elif new["kind"] != old["kind"] and new["kind"] != "POSITIONAL_OR_KEYWORD":
            wrong.append(f"parameter {old['name']} was {old['kind']}, is {new['kind']}")
        elif "default" in old and new.get("default") != old["default"]:
            wrong.append(f"the default of {old['name']} was {old['default']}, is {new.get('default', 'none')}")
    placed = [one["name"] for one in kept if one["kind"].startswith("POSITIONAL")]
    if [one["name"] for one in found if one["kind"].startswith("POSITIONAL")][: len(placed)] != placed:
        wrong.append(f"the order of {', '.join(placed)} has changed")
    known = {one["name"] for one in kept}
    needed = (one for one in found if one["name"] not in known and not one["kind"].startswith("VAR_"))
    return wrong + [f"parameter {one['name']} is new and has no default" for one in needed if "default" not in one]


def withdrawn(kept: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Which public names of `kept` are gone, or can no longer be used as they were."""
    wrong = []
    for name, old in kept.items():
        new = found.get(name)
        if new is None or new["kind"] != old["kind"]:
            wrong.append(f"{name} was a {old['kind']}, is {'gone' if new is None else 'a ' + new['kind']}")
            continue
        wrong += [f"{name}: {one}" for one in narrowed(old.get("parameters", []), new.get("parameters", []))]
        wrong += [f"{name}: it is no {one} any more" for one in old.get("above", []) if one not in new["above"]]
        if old.get("is") != new.get("is"):
            wrong.append(f"{name} was {old['is']!r}, is {new['is']!r}")
        wrong += [f"{name}.{one}" for one in withdrawn(old.get("members", {}), new.get("members", {}))]
    return wrong


def untaken(kept: dict[str, Any], found: dict[str, Any], at: str = "dpselect") -> list[str]:
    """Which lines that a shell script may have written are no longer taken."""
    wrong = []
    for name, old in kept.items():
        if name not in found:
            wrong.append(f"{at} {name} is gone")
            continue
        new, here = found[name], f"{at} {name}"
        for option, was in old["takes"].items():
            takes = new["takes"].get(option)
            if takes is None:
                wrong.append(f"{here} {option} is gone")
            else:
                for key in ("spelled", "choices"):
                    gone = set(was[key]) - set(takes[key]) if was[key] and takes[key] else set()
                    wrong += [f"{here} {option}: {key} {one} is gone" for one in sorted(gone)]
                wrong += [f"{here} {option} must be given now"] if takes["required"] and not was["required"] else []
        added = (option for option in new["takes"] if option not in old["takes"])
        wrong += [f"{here} {option} is new and must be given" for option in added if new["takes"][option]["required"]]
        wrong += untaken(old["actions"], new["actions"], here)
    return wrong


def unserved(kept: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Which requests and answers over HTTP are no longer what they were."""
    wrong = [
        f"problem {name} was {was}" for name, was in kept["problems"].items() if found["problems"].get(name) != was
    ]
    for name, old in kept["operations"].items():
        new = found["operations"].get(name)
        if new is None:
            wrong.append(f"{name} is gone")
            continue
        wrong += [f"{name}: parameter {one} is gone" for one in old["parameters"] if one not in new["parameters"]]
        needed = (one for one, required in new["parameters"].items() if required and not old["parameters"].get(one))
        wrong += [f"{name}: parameter {one} must be given now" for one in needed]
        wrong += [f"{name}: answer {one} is gone" for one in old["answers"] if one not in new["answers"]]
    for name, old in kept["schemas"].items():
        new = found["schemas"].get(name, {"properties": [], "required": []})
        gone = set(old["properties"]) - set(new["properties"])
        wrong += [f"schema {name}: {one} is gone" for one in sorted(gone)]
    return wrong
