"""A function of any kind with a span around every call: plain, generator, coroutine, asynchronous generator."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, Final, TypeVar, cast

from peephole.record import active
from peephole.record.collection import set_outside
from peephole.record.span import current, span

_GENERATOR: Final = 0x20
_COROUTINE: Final = 0x80
_ASYNC_GENERATOR: Final = 0x200

Function = TypeVar("Function", bound=Callable[..., Any])


def wrapped(function: Function, name: str, args: dict[str, Any]) -> Function:
    """The function, recorded. A generator's span lasts from its first value to its end, on a lane of its own."""
    if not callable(function):
        raise TypeError(f'span decorates a function, not {function!r}; write @span("name")')
    name = name or getattr(function, "__qualname__", None) or type(function).__name__
    target: Any = function
    while isinstance(target, functools.partial):
        target = target.func
    flags = getattr(getattr(target, "__code__", None), "co_flags", 0)
    if flags & _COROUTINE:
        make = _coroutine
    elif flags & _ASYNC_GENERATOR:
        make = _async_generator
    elif flags & _GENERATOR:
        make = _generator
    else:
        make = _plain
    return cast("Function", functools.wraps(function)(make(function, name, args)))


def _plain(function: Callable[..., Any], name: str, args: dict[str, Any]) -> Callable[..., Any]:
    def call(*values: Any, **keywords: Any) -> Any:
        if active.recorder is None:
            return function(*values, **keywords)
        with span(name, **args):
            return function(*values, **keywords)

    return call


def _coroutine(function: Callable[..., Any], name: str, args: dict[str, Any]) -> Callable[..., Any]:
    async def call(*values: Any, **keywords: Any) -> Any:
        with span(name, **args):
            return await function(*values, **keywords)

    return call


def _generator(function: Callable[..., Any], name: str, args: dict[str, Any]) -> Callable[..., Any]:
    def call(*values: Any, **keywords: Any) -> Generator[Any, Any, Any]:
        iterator = function(*values, **keywords)
        if active.recorder is None:
            return (yield from iterator)
        aside = _Aside(span(name, **args))
        step: Callable[[], Any] = functools.partial(next, iterator)
        try:
            while True:
                try:
                    value = aside.run(step)
                except StopIteration as stop:
                    aside.end(None)
                    return stop.value
                try:
                    sent = yield value
                except GeneratorExit:
                    aside.run(iterator.close)
                    raise
                except BaseException as error:
                    step = functools.partial(iterator.throw, error)
                else:
                    step = functools.partial(iterator.send, sent)
        except BaseException as error:
            aside.end(error)
            raise

    return call


def _async_generator(function: Callable[..., Any], name: str, args: dict[str, Any]) -> Callable[..., Any]:
    async def call(*values: Any, **keywords: Any) -> AsyncGenerator[Any, Any]:
        iterator = function(*values, **keywords)
        aside = _Aside(span(name, **args))
        step: Callable[[], Any] = iterator.__anext__
        try:
            while True:
                try:
                    value = await aside.run_async(step)
                except StopAsyncIteration:
                    aside.end(None)
                    return
                try:
                    sent = yield value
                except GeneratorExit:
                    await aside.run_async(iterator.aclose)
                    raise
                except BaseException as error:
                    step = functools.partial(iterator.athrow, error)
                else:
                    step = functools.partial(iterator.asend, sent)
        except BaseException as error:
            aside.end(error)
            raise

    return call


class _Aside:
    """A span that is the current one only while its generator runs, not while the caller uses what it gave."""

    def __init__(self, of: span) -> None:
        self.of = of
        self.inside = of if of.enter_aside() else current.get()

    def run(self, step: Callable[[], Any]) -> Any:
        outside = current.get()
        set_outside(current, self.inside)
        try:
            return step()
        finally:
            self.inside = current.get()
            set_outside(current, outside)

    async def run_async(self, step: Callable[[], Any]) -> Any:
        outside = current.get()
        set_outside(current, self.inside)
        try:
            return await step()
        finally:
            self.inside = current.get()
            set_outside(current, outside)

    def end(self, error: BaseException | None) -> None:
        kind = None if error is None or isinstance(error, GeneratorExit) else type(error)
        self.of.__exit__(kind, error, None)
