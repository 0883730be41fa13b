"""What the tools answer. Each stands on a command of the terminal; its docstring says what is put together here."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from peephole.cli.agent.commands import exists, rows
from peephole.cli.agent.places import pair_place, pass_place, quoted
from peephole.cli.agent.session import Arguments, Session
from peephole.cli.agent.sizes import page_of, plain
from peephole.errors import PeepholeError
from peephole.model.folder import captures_folder
from peephole.query.timeline.context_runs import context_serials
from peephole.store.capture import open_capture


def captures(session: Session, given: Arguments) -> Arguments:
    """The captures there are, newest first."""
    found = rows("ls", str(captures_folder())) if captures_folder().is_dir() else []
    room = session.limit(given) * 3 // 4  # the addresses take the rest
    taken, after = page_of(found, max(given.get("offset", 0), 0), room)
    for row in taken:
        if (address := session.pages.address(Path(row["path"]), "")) is not None:
            row["page"] = address
    left = {"left_out": f"{len(found) - after} more; ask again with offset={after}"} if after >= 0 else {}
    return {"rows": taken, "of": len(found), **left}


def overview(session: Session, given: Arguments) -> Arguments:
    """What ran and how long, top kernels and host code, idle devices, memory peaks, problems, and what to ask next."""
    path = session.capture(given)
    name = str(path)
    (info,) = rows("info", name)
    begin, end = info["span_ns"] or (0, 0)
    sources = [row["source"] for row in rows("show", "--ls", name)]
    memory = [rows("show", "-s", source, "-t", "3", name)[0] for source in sources if source.endswith(" Memory")][:4]
    busy = [row for row in rows("idle", name) if "busy_ns" in row]
    tables = {table: count for table, count in info["tables"].items() if count}
    answer: Arguments = {
        **session.about(path, "timeline"),
        "program": " ".join(info["argv"]) or info["program"],
        "frameworks": info["frameworks"],
        "ended_cleanly": info["clean"],
        "span_ns": end - begin,
        "rows_per_table": tables,
        "top": rows("show", "-t", "12", name),
        "devices": busy[:8],
        "memory": [{**peak, "at_peak": peak.get("at_peak", [])[:5]} for peak in memory],
        "lost_or_not_understood": info["problems"],
        "ask_next": _next(tables),
    }
    if exists("problems") and tables.get("contexts"):
        found = _quiet("problems", name)
        answer["problems"] = found[:5]
        answer["problems_of"] = len(found)
    return _fitted(answer, session.limit(given))


def _next(tables: dict[str, int]) -> list[str]:
    """What is worth asking about a capture with these tables."""
    found = []
    if tables.get("slices"):
        found.append("kernel(name) for one of `top`: its runs, source and the program's lines")
    if tables.get("matches") or tables.get("decisions"):
        found.append("why_not_fused(a, b) for two kernels that follow each other; rules() for what rewrote the graph")
    if tables.get("buffers"):
        found.append("memory_at_peak() for what held the memory")
    if tables.get("contexts"):
        found.append("rewrites(context) for the passes of a compilation")
    return [*found, "query(sql) for anything else"]


def _quiet(command: str, *words: str) -> list[dict[str, Any]]:
    """Rows of a command, none where it refuses: an overview says what there is."""
    try:
        return rows(command, *words)
    except PeepholeError:
        return []


_SAID: Final = 120
"""Characters for what is said of the part that was left out."""


def _fitted(answer: Arguments, limit: int) -> Arguments:
    """An answer whose lists are shortened, longest first, until it fits; what was cut is said."""
    import json

    answer = plain(answer, 400)
    cut: dict[str, int] = {}
    while len(json.dumps(answer, ensure_ascii=False)) > limit - _SAID:
        lists = {key: value for key, value in answer.items() if isinstance(value, list) and len(value) > 1}
        if not lists:
            break
        key = max(lists, key=lambda key: len(json.dumps(lists[key], ensure_ascii=False)))
        cut[key] = cut.get(key, 0) + 1
        answer[key] = lists[key][:-1]
    if cut:
        answer["left_out"] = ", ".join(f"{count} more of {key}" for key, count in cut.items())
    return answer


def kernel(session: Session, given: Arguments) -> Arguments:
    """A kernel's runs, its source as far as asked for, and the program's lines that it came from."""
    path, name = session.capture(given), given["name"]
    contexts, which = _compilations(path, name)
    times = rows(
        "query",
        "SELECT tracks.name AS track, count(*) AS runs, sum(dur) AS total_ns, median(dur) AS median_ns, min(dur) AS "
        f"min_ns, max(dur) AS max_ns FROM slices JOIN tracks ON tracks.id = track WHERE {which} GROUP BY 1 "
        "ORDER BY total_ns DESC",
        str(path),
    )
    if not contexts and not times:
        near = dict.fromkeys(plain(hit["name"], 80) for hit in _quiet("search", name, str(path))[:5])
        raise PeepholeError(f"Nothing is named {name!r}" + (f"; near: {', '.join(near)}." if near else "."))
    answer: Arguments = {"runs": times, "compilations": contexts[:5], "origin": _quiet("origin", name, str(path))[:5]}
    if contexts:
        number = contexts[0]["id"]
        texts = rows(
            "query",
            f"SELECT kind, name, language, decode(content) AS text FROM artifacts WHERE context = {number} "
            "AND kind IN ('source', 'assembly', 'error') ORDER BY kind DESC",
            str(path),
        )
        first = max(given.get("source_offset", 0), 0)
        room = session.limit(given) // 2
        for text in texts[:1]:
            whole = text["text"]
            part = whole[first : first + room]
            more = len(whole) - first - len(part)
            answer["source"] = plain({**text, "text": part}, LONGEST_SOURCE)
            if more > 0:
                answer["source"]["left_out"] = f"{more:,} more characters; source_offset={first + len(part)}"
        about = session.about(path, "code", context=number)
    else:
        about = session.about(path, "timeline", find=name)
    source = answer.pop("source", None)
    fitted = _fitted({**about, **answer}, session.limit(given))
    return {**fitted, **({"source": source} if source else {})}


LONGEST_SOURCE: Final = 50_000


def _compilations(path: Path, name: str) -> tuple[list[dict[str, Any]], str]:
    """The compilations that a name means, each as a user calls it, and which slices are theirs; `name#2` is the second
    of that name alone, as `overview` and the page count them."""
    serials = context_serials(open_capture(path))

    def named(own: str) -> list[dict[str, Any]]:
        found = rows("query", f"SELECT id, name, kind FROM contexts WHERE name = {quoted(own)} ORDER BY id", str(path))
        return sorted(found, key=lambda row: serials.get(row["id"], 0))

    found, which = named(name), f"slices.name = {quoted(name)}"
    own, mark, number = name.rpartition("#")
    if not found and mark and number.isdecimal():
        found = [row for row in named(own) if serials.get(row["id"]) == int(number)]
        which = f"slices.name = {quoted(own)} AND slices.context = {found[0]['id']}" if found else which
    for row in found:
        row["name"] += f"#{serials[row['id']]}" if serials.get(row["id"], 1) > 1 else ""
    return found, which


def why_not_fused(session: Session, given: Arguments) -> Arguments:
    """The command `why`."""
    path = session.capture(given)
    found = rows("why", given["a"], given["b"], str(path))
    return session.answer(given, found, path, "schedule", **pair_place(path, found))


def origin(session: Session, given: Arguments) -> Arguments:
    """The command `origin`."""
    return session.ask(given, "origin", given["what"], view="code")


def rules(session: Session, given: Arguments) -> Arguments:
    """The command `rules`, its long lists of contexts counted."""
    path = session.capture(given)
    found = [{**row, "contexts": len(row["contexts"])} for row in rows("rules", str(path))]
    return session.answer(given, found, path, "rewrites")


def rewrites(session: Session, given: Arguments) -> Arguments:
    """The passes of a context, or the matches of one pass with their differences."""
    path = session.capture(given)
    words = [given["context"], *([given["step"]] if "step" in given else [])]
    chosen = ["--match", str(given["match"])] if "match" in given else []
    found = rows("show", str(path), *chosen, "-i", *words)
    passes = rows("show", str(path), "-i", given["context"]) if "step" in given else found
    place = pass_place(passes, given.get("step"), given.get("match"))
    if "step" in given:
        found = [{key: value for key, value in row.items() if key != "nodes" or "match" in given} for row in found]
    else:
        found = [{k: v for k, v in row.items() if v is not None} for row in found if row.get("matches") != 0]
    return session.answer(given, found, path, "rewrites", **place)


def memory_at_peak(session: Session, given: Arguments) -> Arguments:
    """What held the memory at the peak of each device."""
    path = session.capture(given)
    devices = [row["source"] for row in rows("show", "--ls", str(path)) if row["source"].endswith(" Memory")]
    found = [rows("show", "-s", device, "-t", "20", str(path))[0] for device in devices]
    return session.answer(given, found, path, "memory")


def search(session: Session, given: Arguments) -> Arguments:
    """The command `search`."""
    return session.ask(given, "search", given["words"], view="timeline")


def query(session: Session, given: Arguments) -> Arguments:
    """The command `query`, with a limit of time."""
    return session.ask(given, "query", " " + given["sql"], "--limit-time", "30", "--limit-memory", "1GB", view="sql")


def problems(session: Session, given: Arguments) -> Arguments:
    """The command `problems`."""
    return session.ask(given, "problems", view="problems")


def ranks(session: Session, given: Arguments) -> Arguments:
    """The command `ranks`."""
    return session.ask(given, "ranks", view="ranks")


def diff(session: Session, given: Arguments) -> Arguments:
    """The command `diff`: one object, its lists shortened."""
    a, b = session.capture(given, "a"), session.capture(given, "b")
    (found,) = rows("diff", str(a), str(b))
    sides = {"a": session.pages.handle(a), "b": session.pages.handle(b)}
    return _fitted({**session.about(a, "compare", **sides), "a": a.name, "b": b.name, **found}, session.limit(given))
