/** Queries to begin with. tests/server/test_sql.py runs each of them. */

export const EXAMPLES: readonly (readonly [string, string])[] = [
  [
    "Where the time went",
    `SELECT name, count(*) AS runs, sum(dur) AS ns
FROM slices
GROUP BY name
ORDER BY ns DESC
LIMIT 100`,
  ],
  [
    "Busy time per track",
    `SELECT t.name AS track, t.kind, sum(s.dur) AS busy_ns, count(*) AS slices
FROM slices s JOIN tracks t ON t.id = s.track
WHERE s.depth = 0
GROUP BY ALL
ORDER BY busy_ns DESC`,
  ],
  [
    "The longest slices",
    `SELECT track, depth, start, dur, name, context
FROM slices
ORDER BY dur DESC
LIMIT 100`,
  ],
  [
    "Rules that fired most",
    `SELECT file, line, count(*) AS matches, sum(dur) AS ns
FROM matches
GROUP BY ALL
ORDER BY matches DESC
LIMIT 100`,
  ],
  [
    "Steps with the most matches",
    `SELECT s.id AS step, c.id AS context, c.name, s.name AS pass, s.matches
FROM steps s JOIN contexts c ON c.id = s.context
ORDER BY s.matches DESC
LIMIT 100`,
  ],
  [
    "The largest buffers",
    `SELECT id AS buffer, device, bytes, dtype, name, alloc, free
FROM buffers
ORDER BY bytes DESC
LIMIT 100`,
  ],
  [
    "Gaps between slices of a lane",
    `SELECT track, start, name, start - lag(start + dur) OVER (PARTITION BY track, depth ORDER BY start) AS gap_ns
FROM slices
WHERE depth = 0
ORDER BY gap_ns DESC NULLS LAST
LIMIT 100`,
  ],
];
