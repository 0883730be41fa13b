"""Dynamo's texts in parts, of several releases."""

from __future__ import annotations

import pytest

from peephole.compilers.torch.problems import phase_words, problem_words


@pytest.mark.parametrize(
    ("reason", "why", "wanted", "got", "hint"),
    [
        (
            "5/0: tensor 'x' size mismatch at index 1. expected 4, actual 6",
            "size of x changed in dimension 1: the guard wanted 4, got 6",
            "x.size(1) == 4",
            "x.size(1) == 6",
            "Mark the size as dynamic before the first call: `torch._dynamo.mark_dynamic(x, 1)`",
        ),
        (
            "2/0: tensor 'L['x']' size mismatch at index 0. expected 8, actual 1",
            "size of x changed in dimension 0: the guard wanted 8, got 1 "
            "(sizes 0 and 1 always get a graph of their own)",
            "x.size(0) == 8",
            "x.size(0) == 1",
            "",
        ),
        (
            "5/1: tensor 'x' dtype mismatch. expected Float, actual Double",
            "dtype of x changed: the guard wanted Float, got Double",
            "x.dtype == Float",
            "x.dtype == Double",
            "",
        ),
        (
            "5/1: L['factor'] == 1.5        # return x * factor  # prog.py:21 in scaled",
            "factor is another than before: the guard wanted 1.5, in `return x * factor`",
            "factor == 1.5",
            "",
            "Pass factor as a tensor, or set `torch._dynamo.config.specialize_float = False`",
        ),
        (
            "0/0: 6 <= L['x'].size()[0]",
            "the guard 6 <= L['x'].size()[0] does not hold",
            "6 <= L['x'].size()[0]",
            "",
            "",
        ),
        (
            "0/0: GLOBAL_STATE changed: autocast(cpu)_enabled ",
            "a setting of torch is another than before: autocast(cpu)_enabled",
            "GLOBAL_STATE changed: autocast(cpu)_enabled",
            "",
            "",
        ),
        (
            "3/2: tensor 'x' requires_grad mismatch. expected requires_grad=0",
            "x has a gradient now: the guard wanted no gradient",
            "tensor 'x' requires_grad mismatch. expected requires_grad=0",
            "",
            "",
        ),
        (
            "1/0: Unexpected recompilation: runtime guards failed even though they passed. Please open an issue.",
            "Unexpected recompilation: runtime guards failed even though they passed",
            "",
            "",
            "",
        ),
        ("", "torch gives no reason", "", "", ""),
    ],
)
def test_guards(reason: str, why: str, wanted: str, got: str, hint: str) -> None:
    words = problem_words("recompile", reason)
    assert words is not None
    assert (words.reason, words.wanted, words.got, words.hint) == (why, wanted, got, hint)


def test_a_break_of_an_older_torch() -> None:
    text = (
        "Graph break in user code at /p/prog.py:8\nReason: Unsupported: builtin: print [<class 'str'>] False\n"
        'User code traceback:\n  File "/p/prog.py", line 8, in f\n    print("x")\n'
    )
    words = problem_words("break", text)
    assert words is not None and words.title == "Unsupported: builtin: print [<class 'str'>] False"
    assert [(frame.file, frame.line, frame.source) for frame in words.stack] == [("/p/prog.py", 8, 'print("x")')]


def test_failures() -> None:
    words = problem_words("fallback", "BackendCompilerFailed: backend='mine' raised:\nRuntimeError: not today")
    assert words is not None and words.title == "BackendCompilerFailed"
    assert words.reason == "backend='mine' raised: RuntimeError: not today"
    bare = problem_words("fallback", "Dynamo found nothing to compile")
    assert bare is not None and bare.title == "Dynamo found nothing to compile"


def test_what_is_no_problem() -> None:
    assert problem_words("cached", "it came from a cache") is None and problem_words("fused", "") is None
    restart = problem_words("restart", "Restarting because of tensorify")
    assert restart is not None and restart.kind == "slow"


def test_phases() -> None:
    assert phase_words("compile_file") == "the C++ compiler" and phase_words("pass.post_grad_passes.x")
    assert phase_words("what is this") == ""
