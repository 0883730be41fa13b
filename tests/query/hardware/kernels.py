"""Small RDNA3 kernels for the tests: assembled by tinygrad, wrapped into an ELF file of our own making, and walked."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

from tests.query.hardware.streams import Stream
from tinygrad.renderer.amd.dsl import s, v
from tinygrad.runtime.autogen.amd.rdna3 import ins

from peephole.query.hardware.packets import Arch
from peephole.query.hardware.program import Program, disassemble
from peephole.store.writer import CaptureWriter

Unit = tuple[int, int, int]


def elf(code: bytes, address: int = 0x1600, wave32: bool = True) -> bytes:
    """An ELF file with a .text, a kernel descriptor in .rodata, and names."""
    descriptor = struct.pack("<II", 1024, 64) + bytes(40) + struct.pack("<IIH", 3, 0, wave32 << 10) + bytes(6)
    names = b"\0.text\0.rodata\0.shstrtab\0"
    parts = [(1, address, code), (7, 0x400, descriptor), (15, 0, names)]
    out, table = bytearray(64), b"\0" * 64
    for name, at, content in parts:
        table += struct.pack("<IIQQQQIIQQ", name, 1, 0, at, len(out), len(content), 0, 0, 1, 0)
        out += content
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 224, 1, 0, 0, len(out), 0, 64, 0, 0, 64, 4, 3)
    out[:64] = header
    return bytes(out + table)


def assemble(lines: list[Any]) -> bytes:
    """Instructions, labels (texts) and branches ((function, label)) to code."""
    places, at = {}, 0
    for line in lines:
        if isinstance(line, str):
            places[line] = at
        else:
            at += 4 if isinstance(line, tuple) else line.size()
    code = b""
    for line in lines:
        if isinstance(line, str):
            continue
        inst = line[0]((places[line[1]] - len(code) - 4) // 4 & 0xFFFF) if isinstance(line, tuple) else line
        code += inst.to_bytes()
    return code


def straight() -> list[Any]:
    return [ins.s_mov_b32(s[0], 1), ins.v_mov_b32_e32(v[0], v[1]), ins.s_endpgm()]


def diamond() -> list[Any]:
    return [
        ins.s_mov_b32(s[0], 1), (ins.s_cbranch_scc0, "other"), ins.v_mov_b32_e32(v[0], v[1]), (ins.s_branch, "end"),
        "other", ins.v_mov_b32_e32(v[0], v[2]), "end", ins.s_endpgm(),
    ]  # fmt: skip


def loop() -> list[Any]:
    return [
        ins.s_mov_b32(s[0], 4), "top", ins.v_mov_b32_e32(v[0], v[1]), ins.s_delay_alu(1),
        ins.s_add_i32(s[0], s[0], s[1]), (ins.s_cbranch_scc1, "top"), ins.s_endpgm(),
    ]  # fmt: skip


def loop_with_break() -> list[Any]:
    return [
        "top", ins.s_add_i32(s[0], s[0], s[1]), (ins.s_cbranch_scc0, "out"), ins.v_mov_b32_e32(v[0], v[1]),
        (ins.s_branch, "top"), "out", ins.s_endpgm(),
    ]  # fmt: skip


def switch() -> list[Any]:
    return [
        (ins.s_cbranch_scc0, "one"), (ins.s_cbranch_vccz, "two"), ins.s_mov_b32(s[0], 3), (ins.s_branch, "end"),
        "one", ins.s_mov_b32(s[0], 1), (ins.s_branch, "end"), "two", ins.s_mov_b32(s[0], 2), "end", ins.s_endpgm(),
    ]  # fmt: skip


def registers() -> list[Any]:
    """A pair of registers, one of them alone, and a constant."""
    return [ins.v_lshlrev_b64(v[3:4], 2, v[5:6]), ins.v_mov_b32_e32(v[0], v[4]), ins.s_endpgm()]


def computed_jump() -> list[Any]:
    """Jumps to an address in a register; where to, only the trace knows."""
    return [
        ins.s_mov_b32(s[0], 1), ins.s_setpc_b64(s[2:3]), ins.s_mov_b32(s[0], 2), ins.s_mov_b32(s[0], 3),
        ins.v_mov_b32_e32(v[0], v[1]), ins.s_endpgm(),
    ]  # fmt: skip


def kernel(name: str) -> tuple[bytes, Program]:
    """One of the kernels above, by its name: the binary, and what is read out of it."""
    binary = elf(assemble(globals()[name]()))
    return binary, disassemble(binary, "gfx1100")


def walk_waves(program: Program, seed: int, count: int = 40, arch: Arch = Arch.RDNA3, unit: Unit = (0, 0, 0)) -> Stream:
    """A trace of waves that run through a program at random, with execution packets behind the dispatches.

    `unit` is the workgroup processor, the half of the engine and the SIMD that is traced.
    """
    rng = random.Random(seed)
    stream = Stream(arch)
    stream.traces(*unit)
    place = {"cu": unit[0], "sa": unit[1], "simd": unit[2]}
    other = {**place, "simd": unit[2] ^ 1}
    flying: dict[int, int] = {}
    started = 0
    while started < count or flying:
        if started < count and len(flying) < 8 and rng.random() < 0.3:
            wave = next(w for w in range(16) if w not in flying)
            stream.named("WAVESTART", wave=wave, delta=rng.randrange(4), **place)
            flying[wave] = 0
            started += 1
            if rng.random() < 0.5:  # waves of other units are none of the walk's business
                stream.named("WAVESTART", wave=wave, **other)
                stream.named("WAVEEND", wave=wave, **other)
            continue
        if not flying:
            continue
        wave = rng.choice(list(flying))
        at = flying[wave]
        while program.skipped[at]:
            at += 1
        op = program.op[at]
        if op == "S_ENDPGM":
            stream.named("WAVEEND", wave=wave, delta=rng.randrange(8), **place)
            del flying[wave]
        elif "BRANCH" in op:
            taken = op == "S_BRANCH" or rng.random() < 0.6
            stream.named("INST", wave=wave, op=3 if taken else 4, delta=rng.randrange(8))
            flying[wave] = int(program.target[at]) if taken else at + 1
        elif op.startswith("V_"):
            stream.named("VALUINST", wave=wave, delta=rng.randrange(8))
            stream.named("TS_DELTA_SHORT", delta=rng.randrange(16))
            stream.named("ALUEXEC", op=2, delta=1)
            flying[wave] = at + 1
        else:
            stream.named("INST", wave=wave, op=0, delta=rng.randrange(8))
            stream.named("ALUEXEC", op=1, delta=3)
            flying[wave] = at + 1
    return stream


def write_traced(path: Path) -> None:
    """A capture of a kernel that loops, with its hardware trace and nothing else."""
    binary, program = kernel("loop")
    with CaptureWriter(path) as writer:
        artifact = {"kind": ["binary"], "name": ["gemm"], "language": ["gfx1100"], "content": [binary]}
        writer.append("artifacts", artifact)
        trace = {"kernel": ["gemm"], "device": ["AMD"], "run": [0], "kind": ["sqtt"], "unit": ["SE:0"]}
        more = {"arch": ["gfx1100"], "props": [json.dumps({"itrace": True})]}
        writer.append("hardware", {**trace, **more, "content": [walk_waves(program, 1, 300).blob()]})
