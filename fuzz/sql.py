"""SQL that a curious, a careless or a hostile person may type."""

from __future__ import annotations

from typing import Final

from fuzz.edits import TEXTS, Draw
from hypothesis import strategies as st

_TABLES: Final = ("slices", "tracks", "contexts", "steps", "matches", "nodes", "artifacts", "buffers", "markers", "x")
_WORDS: Final = (
    "SELECT", "*", "FROM", "WHERE", "name", "sum(dur)", "start", "GROUP BY", "ORDER BY", "LIMIT", "10", "1e9", "(", ")",
    ",", "UNION ALL", "JOIN", "ON", "true", "NULL", "'x'", "WITH RECURSIVE", "AS", "range(1000000000)", "CAST",
    "::BIGINT",
    "CREATE TABLE", "DROP VIEW", "COPY", "TO", "ATTACH", "INSTALL", "LOAD", "PRAGMA", "SET", "EXPLAIN", "ANALYZE",
    "DESCRIBE", "SHOW TABLES", "SUMMARIZE", ";", "--", "/*", "read_csv('/etc/passwd')", "glob('*')", "PIVOT", "unnest",
    "CALL", "VACUUM", "CHECKPOINT", "EXPORT DATABASE", "INSERT INTO", "UPDATE", "DELETE FROM", "PREPARE", "EXECUTE",
    "BEGIN", "getenv('HOME')", "current_setting('memory_limit')", "duckdb_settings()", "python_enable_replacements",
)  # fmt: skip
_WHOLE: Final = (
    "SELECT count(*) FROM {t}",
    "SELECT * FROM {t} ORDER BY 1 LIMIT 5",
    "SELECT a.* FROM {t} a, {t} b, {t} c, slices d, slices e",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r",
    "WITH RECURSIVE r(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM r) SELECT count(*) FROM r",
    "SELECT count(*) FROM range(100000000000)",
    "SELECT list(range) FROM range(1000000000)",
    "SELECT repeat('x', 1000000000) FROM range(100)",
    "SELECT string_agg(name, ',') FROM slices, range(100000000)",
    "EXPLAIN ANALYZE CREATE TABLE x AS SELECT * FROM {t}",
    "EXPLAIN ANALYZE INSERT INTO {t} SELECT * FROM {t}",
    "EXPLAIN ANALYZE SELECT count(*) FROM {t}",
    "EXPLAIN SELECT * FROM {t}",
    "SELECT * FROM read_parquet('c.peep/*.parquet')",
    "SELECT * FROM 'c.peep/slices.parquet'",
    "COPY (SELECT 1) TO 'out.csv'",
    "SELECT regexp_replace(repeat('a', 60), '(a*)*b', 'x')",
    "SELECT array_agg(x) FROM (SELECT unnest(range(10000000)) AS x) GROUP BY x % 3",
    "SELECT json('{{' || repeat('[', 100000))",
    "SELECT 9223372036854775807 + 1, 1/0, sqrt(-1), 'x'::BIGINT",
    "SELECT '\x1b[31m', 'a\nb', chr(0), '\x00'::BLOB",
    "SELECT {{'a': [1, NULL], 'b': {{'c': DATE '9999-12-31'}}}}, INTERVAL 1 YEAR, TIMESTAMP 'infinity'",
    "SELECT " + "(" * 2000 + "1" + ")" * 2000,
    "SELECT " + "+".join(["1"] * 3000),
    "",
    ";",
)


def some_sql(draw: Draw) -> str:
    """A statement: one of those that matter, or words in any order."""
    if draw(st.integers(0, 2)):
        text: str = draw(st.sampled_from(_WHOLE)).format(t=draw(st.sampled_from(_TABLES)))
        if draw(st.booleans()):
            at = draw(st.integers(0, len(text)))
            some = draw(st.sampled_from((*_WORDS, *TEXTS)))
            text = text[:at] + some + text[at + draw(st.sampled_from((0, 0, 1, 5))) :]
    else:
        text = " ".join(draw(st.lists(st.sampled_from((*_WORDS, *_TABLES)), max_size=14)))
    return text.encode("utf-8", "replace").decode().replace("\x00", "")
