"""The switches and lists that tinygrad records with, hidden from the program. Standard library only.

The program finds VIZ, PROFILE, `cpu_events` and the others as without a recording: its own values, plain lists, and in
them what it asked for itself. tinygrad's functions use those that are made here (recode.py). What the program
switches on for itself is put into its lists too; what it switches off, with `Context`, is off here as well.
"""

from __future__ import annotations

import copy
import itertools
import sys
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from peephole.record import active
from peephole.record.unseen import hide, unseen
from peephole.sources.tinygrad.live.recode import ATTRIBUTES, GLOBALS, PREFIX, recode, renamed

_SWITCHES: Final = ("VIZ", "TRACK_MATCH_STATS", "PROFILE", "TRACEMETA", "PARALLEL")
_TRACKS: Final = 2
"""The level of TRACK_MATCH_STATS at which rewrites are kept."""
_hidden: dict[str, Any] = {}
"""Ours by their name."""
_public: dict[str, Any] = {}
"""The program's, of the same names."""
_running: Final[list[dict[str, Any]]] = []
"""The names of the modules that have not run to their end yet."""
ran: Final[set[str]] = set()
"""The modules of tinygrad that have run to their end with hidden names."""


def recodes(name: str) -> bool:
    """Whether a module of tinygrad's is one whose functions may use hidden names: the viewer shows the program's."""
    early = "tinygrad.helpers" not in sys.modules
    return (early or bool(_hidden)) and not name.startswith(("tinygrad.viz", "tinygrad.runtime.autogen"))


def code_of(code: CodeType) -> CodeType:
    """The code of a module with hidden names."""
    return recode(code)


def begin(module: ModuleType) -> None:
    """Gives a module, before it runs, the hidden names that there are."""
    _running.append(vars(module))
    _give(vars(module))


def end(module: ModuleType) -> None:
    """Makes what is hidden of a module that has run; where that cannot be, its functions use what the program sees."""
    own = vars(module)
    ran.add(module.__name__)
    _running[:] = [other for other in _running if other is not own]
    try:
        _hide(module.__name__, own)
    except Exception as error:  # another release may be unlike the ones we know
        if active.recorder is not None:
            active.recorder.problem(f"{module.__name__} is not as known: {type(error).__name__}: {error}")
    for name in (*GLOBALS, "getenv"):
        if name in own:
            ours = _hidden.get(name)
            own[PREFIX + name] = ours if ours is not None and own[name] is _public.get(name, own[name]) else own[name]
    for other in _running:  # modules that import this one
        _give(other)


def _give(own: dict[str, Any]) -> None:
    own.update({PREFIX + name: value for name, value in _hidden.items()})


def _hide(name: str, own: dict[str, Any]) -> None:
    if name == "tinygrad.helpers":
        _hide_switches(own)
        _hide_context(own)
        if "PROFILE" in _hidden and type(own.get("cpu_events")) is list:
            _add("cpu_events", own["cpu_events"], Events(lambda: own["cpu_events"], _public["PROFILE"]))
        if "getenv" in own and "VIZ" in _hidden:
            _hidden["getenv"] = _asking(own["getenv"], _hidden["VIZ"])
    elif name == "tinygrad.uop.ops":
        _hide_switches(own)
        _hide_rewrites(own)
    elif name == "tinygrad.device" and "PROFILE" in _hidden:
        for owner in (own.get("Compiled"), own.get("Buffer")):
            if type(getattr(owner, "profile_events", None)) is list:
                _hide_events(owner)


def of(module: Any, name: str) -> Any:
    """What tinygrad records with: the hidden one, the program's where there is none."""
    found = getattr(module, PREFIX + name, None)
    return getattr(module, name) if found is None else found


def recorded(module: Any, name: str) -> Any:
    """The list or dictionary that everything is in."""
    found = of(module, name)
    return getattr(found, "kept", found)


def by_the_program(name: str) -> Any:
    """The value that the program sees of a switch; None where it is ours as well."""
    found = _public.get(name)
    return None if found is None else found.value


def was_mirrored(owner: Any, name: str, event: Any) -> bool:
    """Whether an event of the program's list is one that we have too."""
    ours = of(owner, name)
    return isinstance(ours, Events) and id(event) in ours.mirrored


class Events(list[Any]):
    """Everything that tinygrad tells; what the program wants as well goes into its own list too."""

    __slots__ = ("_copies", "_find", "_switch", "mirrored")

    def __init__(self, find: Callable[[], list[Any]], switch: Any) -> None:
        super().__init__()
        self._find = find
        self._switch = switch
        self.mirrored: set[int] = set()
        """The ids of what is in both; all of it stays, so that an id is one event's."""
        self._copies: list[Any] = []

    @unseen
    def append(self, event: Any) -> None:
        """Adds one."""
        try:
            list.append(self, event)
            if self._switch.value or event.__class__.__name__ == "ProfileDeviceEvent" or _is_marker(event):
                shown = event if getattr(event, "device", None) != "TINY" else _untracked(event)
                if shown is not None:
                    if shown is not event:
                        self._copies.append(shown)
                    self.mirrored.add(id(shown))
                    self._find().append(shown)
        except BaseException as error:
            hide(error)
            raise

    @unseen
    def __iadd__(self, events: Any) -> Any:
        try:
            for event in events:
                self.append(event)
            return self
        except BaseException as error:
            hide(error)
            raise


def _untracked(event: Any) -> Any:
    """A range of the compiler's as it is without tracking: a context's is named by its function, a step has none."""
    switch, ops = _public.get("TRACK_MATCH_STATS"), sys.modules.get("tinygrad.uop.ops")
    if switch is None or switch.value >= _TRACKS or ops is None:
        return event
    steps, groups, keys = ops.active_rewrites, getattr(ops, "active_group", ()), _hidden["tracked_keys"].kept
    if steps and event.name is steps[-1].name:
        return None
    if groups and groups[-1] < len(keys) and event.name is keys[groups[-1]]:
        shown = copy.copy(event)
        shown.name = event.name.display_name.rpartition(" n")[0]
        return shown
    return event


def _is_marker(event: Any) -> bool:
    """Whether tinygrad tells it whatever the level of PROFILE is."""
    return getattr(event, "name", None) == "marker"


class Tracked:
    """`tracked_keys` or `tracked_ctxs`: a context's place in it stays, whatever the program does to its own list."""

    def __init__(
        self, find: Callable[[], list[Any]], switch: Any, keys: Tracked | None = None, fields: Fields | None = None
    ) -> None:
        """`keys` and `fields` are those of the same rewrites, for `tracked_ctxs`."""
        self.kept: list[Any] = []
        self._find = find
        self._switch = switch
        self._keys = keys
        self._fields = fields
        self._places: dict[int, int] = {}

    @unseen
    def append(self, item: Any) -> None:
        """Adds a context."""
        try:
            if self._keys is not None:  # the program may have been interrupted between a name and its steps
                self.kept += [[] for _ in range(len(self._keys.kept) - 1 - len(self.kept))]
            self._places[id(item)] = len(self.kept)
            self.kept.append(item)
            if self._switch.value >= _TRACKS:
                self._find().append(item)
                if self._fields is not None:
                    self._fields.copy_all()
        except BaseException as error:
            hide(error)
            raise

    @unseen
    def __len__(self) -> int:
        try:
            if self._switch.value >= _TRACKS:
                own = self._find()
                return self._places.get(id(own[-1]), len(self.kept) - 1) + 1 if own else 0
            return len(self.kept)
        except BaseException as error:
            hide(error)
            raise

    @unseen
    def __getitem__(self, place: int) -> Any:
        try:
            return self.kept[place if place >= 0 else len(self) + place]
        except BaseException as error:
            hide(error)
            raise

    @unseen
    def __setitem__(self, place: int, item: Any) -> None:
        try:
            place = place if place >= 0 else len(self) + place
            before, self.kept[place] = self.kept[place], item
            self._places[id(item)] = place
            if self._switch.value >= _TRACKS:
                own = self._find()
                at = next((at for at in range(len(own) - 1, -1, -1) if own[at] is before), None)
                if at is not None:
                    own[at] = item
        except BaseException as error:
            hide(error)
            raise


class Fields:
    """`uop_fields`: the nodes by their number, and a copy of them for a program that tracks rewrites itself."""

    def __init__(self, find: Callable[[], dict[int, Any]], switch: Any) -> None:
        self.kept: dict[int, Any] = {}
        self.switch = switch
        self._find = find
        self._copied = 0
        self.nodes: Any = None
        """Who knows how the fields are kept; None while nobody has read them."""
        self.by_node = False
        """Whether whoever numbers a node in the program's own tracking shows it."""

    @unseen
    def __setitem__(self, number: int, node: Any) -> None:
        try:
            self.kept[number] = node
            if self.switch.value >= _TRACKS:
                self._find()[number] = node
        except BaseException as error:
            hide(error)
            raise

    def show(self, number: int) -> None:
        """Puts a node, and all that are below it, into the program's."""
        own, wanted = self._find(), [number]
        while wanted:
            number = wanted.pop()
            if number not in own:
                own[number] = node = (self.nodes or self.kept)[number]
                wanted += node[2]

    def copy_all(self) -> None:
        """Puts the nodes there that were numbered while only we wanted them."""
        if self.by_node:
            return
        self._find().update({n: (self.nodes or self.kept)[n] for n in itertools.islice(self.kept, self._copied, None)})
        self._copied = len(self.kept)


class Counts(dict[str, Any]):
    """`_name_cnt`: how many contexts there are of a name; a program that tracks rewrites itself counts its own."""

    def __init__(self, find: Callable[[], dict[str, Any]], switch: Any) -> None:
        super().__init__()
        self._find = find
        self._switch = switch

    @unseen
    def setdefault(self, name: str, count: Any) -> Any:  # type: ignore[override]
        """The count of a name."""
        try:
            return dict.setdefault(self._find() if self._switch.value >= _TRACKS else self, name, count)
        except BaseException as error:
            hide(error)
            raise


class _Pair(tuple[Any, Any]):
    """The values of the program's switch and of ours, which `Context` puts back together."""

    __slots__ = ()


class _Both:
    """A switch as the program's `Context` sets it."""

    __slots__ = ("_ours", "_public")

    def __init__(self, public: Any, ours: Any) -> None:
        self._public = public
        self._ours = ours

    @property
    @unseen
    def value(self) -> Any:
        try:
            return _Pair((self._public.value, self._ours.value))
        except BaseException as error:
            hide(error)
            raise

    @value.setter
    @unseen
    def value(self, value: Any) -> None:
        try:
            self._public.value, self._ours.value = value if type(value) is _Pair else (value, value)
        except BaseException as error:
            hide(error)
            raise


class _Switches(dict[str, Any]):
    """tinygrad's switches by name, some of them others."""

    def __init__(self, all_of_them: dict[str, Any]) -> None:
        super().__init__()
        self._all = all_of_them

    @unseen
    def __missing__(self, name: str) -> Any:
        try:
            found = self[name] = self._all[name]
            return found
        except BaseException as error:
            hide(error)
            raise


def _add(name: str, public: Any, ours: Any) -> None:
    _public[name], _hidden[name] = public, ours


def _hide_switches(own: dict[str, Any]) -> None:
    kind = own.get("ContextVar")
    for name in _SWITCHES:
        public = own.get(name)
        if kind is None or type(public) is not kind or name in _hidden:
            continue
        ours = object.__new__(kind)
        ours.__dict__.update(public.__dict__)
        _add(name, public, ours)
        for cache, value in (("cache", ours), ("both", _Both(public, ours))):
            if (switches := getattr(kind, PREFIX + cache, None)) is not None:
                switches[name] = value


def _hide_context(own: dict[str, Any]) -> None:
    """Makes tinygrad's own `Context` set our switches, and the program's both."""
    public: Any = own.get("Context")
    kind: Any = own.get("ContextVar")
    if not isinstance(public, type) or not isinstance(getattr(kind, "_cache", None), dict):
        return
    ours, both = _Switches(kind._cache), _Switches(kind._cache)
    for name in _SWITCHES:
        if name in _hidden:
            ours[name], both[name] = _hidden[name], _Both(_public[name], _hidden[name])
    kind.peephole_cache, kind.peephole_both = ours, both
    members = {name: value for name, value in vars(public).items() if name not in ("__dict__", "__weakref__")}
    for name, method in list(members.items()):
        if type(method) is FunctionType:
            code = renamed(method.__code__, {"_cache": f"{PREFIX}cache"})
            members[name] = FunctionType(code, method.__globals__, method.__name__, method.__defaults__)
            method.__code__ = renamed(method.__code__, {"_cache": f"{PREFIX}both"})
    _add("Context", public, type(public)(public.__name__, public.__bases__, members))


def _hide_rewrites(own: dict[str, Any]) -> None:
    switch = _public.get("TRACK_MATCH_STATS")
    if switch is None or any(name not in own for name in ("tracked_keys", "tracked_ctxs", "uop_fields")):
        return
    fields = Fields(lambda: own["uop_fields"], switch)
    _add("uop_fields", own["uop_fields"], fields)
    keys = Tracked(lambda: own["tracked_keys"], switch)
    _add("tracked_keys", own["tracked_keys"], keys)
    _add("tracked_ctxs", own["tracked_ctxs"], Tracked(lambda: own["tracked_ctxs"], switch, keys, fields))
    if "_name_cnt" in own:
        _add("_name_cnt", own["_name_cnt"], Counts(lambda: own["_name_cnt"], switch))


def _hide_events(owner: Any) -> None:
    events = Events(lambda: owner.profile_events, _public["PROFILE"])
    list.extend(events, owner.profile_events)
    events.mirrored.update(map(id, events))
    for name in ATTRIBUTES:
        setattr(owner, PREFIX + name, events)


def _asking(own: Any, switch: Any) -> Callable[..., Any]:
    @unseen
    def getenv(name: str, *otherwise: Any) -> Any:
        try:
            return switch.value if name == "VIZ" else own(name, *otherwise)
        except BaseException as error:
            hide(error)
            raise

    return getenv


def is_hidden() -> bool:
    """Whether the program sees none of this: tinygrad was not there before the recording."""
    return "tinygrad.helpers" in ran and bool(_hidden) and "tinygrad.helpers" in sys.modules
