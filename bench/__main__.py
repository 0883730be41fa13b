"""Runs the measurements, all or those named: `python -m bench [NAME…]`. Each prints JSON objects, one a line.

Every measurement is a program of its own, so that none disturbs the next. Larger sizes are options of the programs:
`python bench/seal.py --slices 24000000`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
HELPERS = {"__init__", "__main__", "generate"}


def names() -> list[str]:
    """The measurements: every program of this folder that is no helper of others."""
    found = [path.stem for path in sorted(HERE.glob("*.py")) if path.stem not in HELPERS]
    return [name for name in found if "__main__" in (HERE / f"{name}.py").read_text("utf-8")]


def main() -> int:
    """The exit code: 0 when every measurement ended well."""
    wanted = sys.argv[1:] or names()
    unknown = [name for name in wanted if name not in names()]
    if unknown:
        print(f"There is no measurement {unknown[0]!r}; there are {', '.join(names())}.", file=sys.stderr)
        return 2
    failed = 0
    for name in wanted:
        print(f"# {name}", file=sys.stderr, flush=True)
        code = subprocess.run([sys.executable, str(HERE / f"{name}.py")], check=False, cwd=HERE.parent).returncode
        if code:
            failed += 1
            print(json.dumps({"bench": name, "error": f"exit code {code}"}), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
