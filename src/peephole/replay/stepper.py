"""What a graph becomes under replacements that arrive one at a time.

Every node in reach has an entry: its value, and the nodes which that value was made from.

    a key of the replacements     value(its replacement)
    any other node                value(the node over the values of its sources), itself when none of them changed

A new replacement spoils the entry of its key and the entries made from that, up to the root, and nothing else; these
are worked out again. Entries that the root no longer needs are dropped, so that old versions of a graph cost nothing.
With `walk` a replacement is taken as it stands, and a rebuilt node is not looked at again.
"""

from __future__ import annotations

from collections.abc import Mapping

from peephole.replay.pool import Pool
from peephole.replay.substitute import Endless

Entry = tuple[int, tuple[int, ...]]


class OrderMatters(Exception):
    """The body of a call was also reached from elsewhere and changed there: `substitute` must decide."""


class Stepper:
    """The value of `root` under the replacements so far."""

    def __init__(self, pool: Pool, root: int, *, walk: bool) -> None:
        self.pool = pool
        self.root = root
        self.replacements: dict[int, int] = {}
        self._walk = walk
        self._entries: dict[int, Entry] = {}
        self._users: dict[int, set[int]] = {}
        self._bodies: dict[int, int] = {}
        self._fresh: dict[int, Entry] = {}

    def replace(self, before: int, after: int) -> None:
        """Adds a replacement; the next `advance` or `value` sees it."""
        if before == after:
            self.replacements.pop(before, None)
        else:
            self.replacements[before] = after

    def update(self, before: int, *, move: bool) -> int:
        """The root's value now that the replacement of `before` has changed; with `move` that is the root from now on.

        Endless, Refused or OrderMatters leave nothing half done: `restart` before the next update.
        """
        spoiled = self._spoil(before)
        fresh = self._fresh = {}
        self._settle(self.root, spoiled)
        value = self._entry(self.root)[0]
        root = value if move else self.root
        if root not in fresh and (root in spoiled or root not in self._entries):
            self._settle(root, spoiled)
        if fresh or root != self.root:
            self._check_bodies()
            self._commit(root, spoiled)
        return value

    @property
    def fresh(self) -> Mapping[int, Entry]:
        """The entries that the last update made."""
        return self._fresh

    def value(self, node: int) -> int:
        """What a node that the root needs has become."""
        return self._entries[node][0]

    def needs(self, node: int) -> tuple[int, ...]:
        """What that was made from: its replacement; or its sources and, last, the node that was built over them."""
        return self._entries[node][1]

    def restart(self, root: int) -> None:
        """Forgets all entries and goes on from another root."""
        self.root = root
        self._entries.clear()
        self._users.clear()
        self._bodies.clear()
        self._fresh = {}

    def _entry(self, node: int) -> Entry:
        return self._fresh.get(node) or self._entries[node]

    def _spoil(self, before: int) -> set[int]:
        """The entries that were made from this node's, itself included."""
        if before not in self._entries:
            return set()
        spoiled = {before}
        stack = [before]
        users = self._users
        while stack:
            for user in users.get(stack.pop(), ()):
                if user not in spoiled:
                    spoiled.add(user)
                    stack.append(user)
        return spoiled

    def _settle(self, start: int, spoiled: set[int]) -> None:
        """Makes the entry of a node and of all it needs, into `fresh`."""
        entries, fresh, pool, walk = self._entries, self._fresh, self.pool, self._walk
        replacements, source = self.replacements, pool.src
        opened: set[int] = set()
        stack = [start]
        while stack:
            node = stack[-1]
            if node in fresh or (node in entries and node not in spoiled):
                stack.pop()
                continue
            target = replacements.get(node)
            if target is not None and walk:
                fresh[node] = (target, ())
                stack.pop()
                continue
            if target is not None:
                needs: tuple[int, ...] = (target,)
            else:
                src = source[node]
                body = pool.body(node)
                needs = src[body:]
            missing = [n for n in needs if n not in fresh and (n not in entries or n in spoiled)]
            if not missing and target is None:
                values = [(fresh.get(n) or entries[n])[0] for n in needs]
                new = tuple(values) if not body else (src[0], *values)
                if new == src:
                    fresh[node] = (node, needs)
                    stack.pop()
                    continue
                built = pool.rebuild(node, new)
                if walk:
                    fresh[node] = (built, needs)
                    stack.pop()
                    continue
                needs = (*needs, built)
                target = built
                if built not in fresh and (built not in entries or built in spoiled):
                    missing = [built]
            if not missing:
                assert target is not None
                fresh[node] = ((fresh.get(target) or entries[target])[0], needs)
                stack.pop()
                continue
            opened.add(node)
            for n in missing:
                if n in opened and n not in fresh:
                    raise Endless("the replacements go round in a circle")
            stack.extend(reversed(missing))

    def _check_bodies(self) -> None:
        """Raises OrderMatters when a call's body has another value than itself."""
        fresh, pool = self._fresh, self.pool
        bodies = {pool.src[node][0] for node in fresh if pool.body(node)}
        for body in bodies:
            entry = fresh.get(body) or self._entries.get(body)
            if entry is not None and entry[0] != body:
                raise OrderMatters
        for node, entry in fresh.items():
            if entry[0] != node and node in self._bodies:
                raise OrderMatters

    def _commit(self, root: int, spoiled: set[int]) -> None:
        """Keeps the fresh entries that the root needs, drops what it does not need any more."""
        entries, users, fresh = self._entries, self._users, self._fresh
        old_root, self.root = self.root, root
        doubtful: list[int] = []
        reached: set[int] = set()
        stack = [root]
        while stack:
            node = stack.pop()
            if node in reached or node not in fresh:
                continue
            reached.add(node)
            entry = fresh[node]
            old = entries.get(node)
            entries[node] = entry
            for need in entry[1]:
                if need in users:
                    users[need].add(node)
                else:
                    users[need] = {node}
            stack.extend(entry[1])
            if old is None:
                self._count_body(node, 1)
            else:
                doubtful.extend(self._unlink(node, [n for n in old[1] if n not in entry[1]]))
        doubtful.extend(node for node in spoiled if node not in reached)
        if old_root != root:
            doubtful.append(old_root)
        self._drop(doubtful, spoiled - reached)

    def _unlink(self, node: int, needs: list[int]) -> list[int]:
        """Takes the node off the users of these; gives those that nobody uses any more."""
        unused = []
        for need in needs:
            mine = self._users.get(need)
            if mine is not None:
                mine.discard(node)
                if not mine:
                    del self._users[need]
                    unused.append(need)
        return unused

    def _drop(self, doubtful: list[int], dead: set[int]) -> None:
        """Removes entries without users (but the root), and those in `dead` in any case."""
        entries, users = self._entries, self._users
        while doubtful:
            node = doubtful.pop()
            if node == self.root or node not in entries or (node in users and node not in dead):
                continue
            needs = entries.pop(node)[1]
            self._count_body(node, -1)
            doubtful.extend(self._unlink(node, list(needs)))

    def _count_body(self, node: int, by: int) -> None:
        if self.pool.body(node):
            body = self.pool.src[node][0]
            count = self._bodies.get(body, 0) + by
            if count:
                self._bodies[body] = count
            else:
                self._bodies.pop(body, None)
