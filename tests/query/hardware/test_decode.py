"""The decoder against tinygrad's own, packet for packet, and against damage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.query.hardware import streams
from tinygrad.renderer.amd import sqtt as reference

from peephole.query.hardware.decode import SILENT, Decoder, Packets, decode
from peephole.query.hardware.packets import BY_CODE, OPS, PACKETS, Arch, op_name


def field(packet: Any, name: str) -> int:
    found = type(packet)._fields[name]
    return int((packet._raw >> found.lo) & found.mask)


def assert_equal(blob: bytes, found: Packets) -> int:
    """Compares every packet and field with the reference; gives the number of packets."""
    expected = list(reference.decode(blob))
    assert len(expected) == len(found)
    for i, packet in enumerate(expected):
        name = type(packet).__name__.replace("_RDNA4", "")
        assert found.name(i) == name, i
        assert int(found.time[i]) == packet._time, (i, name)
        bits = min(BY_CODE[int(found.kind[i])].bits, 64)
        assert int(found.raw[i]) == packet._raw & ((1 << bits) - 1), (i, name)
        fields = type(packet)._fields
        assert int(found.wave[i]) == (field(packet, "wave") if "wave" in fields else -1), (i, name)
        assert int(found.simd[i]) == (field(packet, "simd") if "simd" in fields else -1), (i, name)
        assert int(found.cu[i]) == getattr(packet, "cu", -1), (i, name)
        op = "op" if "op" in fields else "src" if "src" in fields else None
        assert int(found.op[i]) == (field(packet, op) if op else -1), (i, name)
    return len(expected)


@pytest.mark.parametrize("arch", list(Arch))
def test_every_type_of_packet(arch: Arch) -> None:
    for seed in range(20):
        stream = streams.random_stream(arch, seed, 400)
        found = decode(stream.blob())
        assert found.arch == arch
        assert assert_equal(stream.blob(), found) >= len(stream.packets)
        names = {packet.name for packet, _ in stream.packets}
    assert len(names) == len(PACKETS[arch])


@pytest.mark.parametrize("arch", [Arch.RDNA3, Arch.RDNA4])
def test_72_bits_on_a_byte(arch: Arch) -> None:
    """The packet that the reference stumbles over: checked against the encoder instead."""
    stream = streams.Stream(arch)
    stream.header()
    for i in range(50):
        stream.named("TS_DELTA_S8_W3", rest=0x5A5A << 16, delta=i % 8)
        stream.named("VALUINST", wave=i % 32, delta=1)
        if i % 3 == 0:
            stream.named("NOP")
    found = decode(stream.blob(), skip={"NOP"})
    wanted = [p.name for p, _ in stream.packets if p.name != "NOP"]
    assert [found.name(i) for i in range(len(wanted))] == wanted
    assert found.wave[found.is_kind("VALUINST")].tolist() == [i % 32 for i in range(50)]
    assert int(found.time[len(wanted) - 1]) == sum(i % 8 + 1 for i in range(50))


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300))
def test_noise(blob: bytes) -> None:
    found = decode(blob)
    aligned_72 = any(type(p).__name__ == "TS_DELTA_S8_W3" for p in reference.decode(blob))
    if not aligned_72 and not found.is_kind("TS_DELTA_S8_W3").any():
        assert_equal(blob, found)


@pytest.mark.parametrize("arch", list(Arch))
def test_any_prefix_decodes_to_a_prefix(arch: Arch) -> None:
    blob = streams.random_stream(arch, 7, 200).blob()
    whole = decode(blob)
    for size in range(0, len(blob), 13):
        part = decode(blob[:size])
        assert np.array_equal(part.raw, whole.raw[: len(part)])
        assert np.array_equal(part.time, whole.time[: len(part)])


def test_parts_are_one_stream() -> None:
    blob = streams.random_stream(Arch.RDNA4, 1, 3000).blob()
    whole = decode(blob)
    decoder = Decoder(blob)
    parts = list(decoder.parts(size=17))
    assert max(len(part) for part in parts) <= 17
    assert np.concatenate([part.time for part in parts]).tolist() == whole.time.tolist()
    assert sum(decoder.counts().values()) == len(whole)
    assert decoder.left_over < 9


def test_skipped_packets_still_pass_time() -> None:
    blob = streams.random_stream(Arch.RDNA3, 5, 2000).blob()
    whole, few = decode(blob), decode(blob, SILENT)
    flags = (whole.raw >> np.uint64(8)) & np.uint64(3)
    # samples of the clock and marks of lost packets are no mere passing of time
    marks = whole.is_kind("TS_DELTA_OR_MARK") & ((flags == np.uint64(1)) | (flags == np.uint64(2)))
    kept = ~whole.is_kind(*SILENT) | marks
    assert few.time.tolist() == whole.time[kept].tolist()
    assert few.raw.tolist() == whole.raw[kept].tolist()


def test_names_of_operations_are_the_references() -> None:
    enums = {Arch.RDNA3: reference.InstOp, Arch.RDNA4: reference.InstOpRDNA4, Arch.CDNA: reference.InstOpCDNA}
    for arch, enum in enums.items():
        assert OPS[arch] == {value: member.name for value, member in enum._value2member_map_.items()}
    assert op_name(Arch.RDNA3, "ALUEXEC", 2) == "VALU"
    assert op_name(Arch.RDNA3, "VMEMEXEC", 1) == "LDS_ALT"
    assert op_name(Arch.CDNA, "CDNA_INST", 30) == "0x1e"


@pytest.mark.parametrize("arch", list(Arch))
def test_damage_ends_a_stream_and_is_placed(arch: Arch) -> None:
    """Bits that are no packet: in RDNA a prefix that no type has, in CDNA a wave beyond the ten that there are."""
    stream = streams.Stream(arch)
    stream.header()
    good = "CDNA_EVENT" if arch is Arch.CDNA else "VALUINST"
    for _ in range(40):
        stream.named(good, **({} if arch is Arch.CDNA else {"delta": 2}))
    byte = stream.nibbles // 2
    if arch is Arch.CDNA:
        stream.named("CDNA_WAVESTART", wave=10)
    else:
        stream.value |= 0x7 << 4 * stream.nibbles
        stream.nibbles += 1
    for _ in range(10):
        stream.named(good)
    blob = stream.blob()
    decoder = Decoder(blob, stop=True)
    assert len(decoder.rest()) == 41
    assert decoder.damage == (byte, 0 if arch is Arch.CDNA else 80)
    assert assert_equal(blob, decode(blob)) > 50  # without `stop` it is passed over, as the reference does
    passing = Decoder(blob)
    passing.rest()
    assert passing.damage == decoder.damage
    whole = Decoder(blob[:byte], stop=True)
    whole.rest()
    assert whole.damage is None


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=400), st.sampled_from(list(Arch)))
def test_noise_behind_a_header_ends_in_order(noise: bytes, arch: Arch) -> None:
    """Whatever comes, what is decoded up to the damage is what the whole decoding has up to there."""
    stream = streams.Stream(arch)
    stream.header()
    blob = stream.blob()[:8] + noise
    decoder = Decoder(blob, stop=True)
    part, whole = decoder.rest(), decode(blob)
    assert np.array_equal(part.raw, whole.raw[: len(part)])
    assert decoder.damage is not None or len(part) == len(whole)
