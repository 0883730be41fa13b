"""A half's wrapper module as rows: its text, a context for each kernel, and the graph of its calls."""

from __future__ import annotations

from peephole.model.tables import NONE
from peephole.sources.torch.kernels import kernel_graph
from peephole.sources.torch.log.book import Book, Context
from peephole.sources.torch.log.kernels import kernels_of
from peephole.sources.torch.rows import CODEGEN, KERNEL_CONTEXT, SOURCE
from peephole.sources.torch.wrapper import read_wrapper


def write_code(book: Book, half: Context, file: str, content: bytes) -> None:
    """Writes the module of a half; where it is not Python as a whole, its text and the kernels that are found in it."""
    text = content.decode("utf-8", "replace")
    book.artifact(half.id, SOURCE, "python", file, content)
    wrapper = read_wrapper(text)
    for kernel in kernels_of(text):
        own = book.context(kernel.name, KERNEL_CONTEXT, half.id)
        own.keys, own.function = kernel.keys, kernel.name
        known = wrapper.kernels.get(kernel.name) if wrapper is not None else None
        source = known.source if known is not None else kernel.source
        book.artifact(own.id, SOURCE, kernel.language, kernel.name, source.encode("utf-8", "surrogatepass"))
    if wrapper is None:
        if text.strip():
            book.sink.problem("wrapper module that is not Python, kept as text", 1, file)
        return
    if not wrapper.calls:
        return
    step = next((one for one in reversed(half.steps) if one.name == CODEGEN and one.root == NONE), None)
    step = step or book.step(half, CODEGEN)
    step.root = step.after = kernel_graph(wrapper, book.add).root
