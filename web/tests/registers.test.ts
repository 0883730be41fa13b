import { expect, test } from "vitest";
import { share, tokens } from "../src/data/registers.ts";

const keys = (text: string): string[][] =>
  tokens(text)
    .map((token) => token.keys)
    .filter((own) => own.length > 0);

test("registers of an instruction are found with all that a range of them holds", () => {
  expect(keys("global_load_b128 v[4:7], v0, s[2:3] offset:16")).toEqual([
    ["v4", "v5", "v6", "v7"],
    ["v0"],
    ["s2", "s3"],
  ]);
  expect(keys("v_cmp_gt_i32 vcc_lo, s5, v12")).toEqual([["vcc_lo"], ["s5"], ["v12"]]);
  expect(keys("s_and_b64 exec, exec, vcc")[0]).toEqual(["exec_lo", "exec_hi"]);
  expect(keys("s_add_u32(s[0], s[10:11], 4)")).toEqual([["s0"], ["s10", "s11"]]);
  expect(keys("s_waitcnt lgkmcnt(0)")).toEqual([]);
  expect(keys("v_mov_b32 v1, 0x3f800000")).toEqual([["v1"]]);
});

test("a part of a register is that register, on machines that name parts", () => {
  expect(keys("vfmadd231ps (%rsi,%r8d,4),%xmm1,%ymm12")).toEqual([["%rsi"], ["%r8"], ["%zmm1"], ["%zmm12"]]);
  expect(keys("mov %eax,%al")).toEqual([["%rax"], ["%rax"]]);
  expect(keys("movzbl %sil,%ebp")).toEqual([["%rsi"], ["%rbp"]]);
  expect(keys("add x3, x0, w3, uxtw #2")).toEqual([["x3"], ["x0"], ["x3"]]);
  expect(keys("ld.global.f32 %f1, [%rd4+16];")).toEqual([["%f1"], ["%rd4"]]);
});

test("the pieces are the text, and two that name a register in common are told", () => {
  const text = "v_fma_f32 v1, v[2:3], s4, 1.0";
  expect(
    tokens(text)
      .map((token) => token.text)
      .join(""),
  ).toBe(text);
  expect(share(["v2", "v3"], ["v3"])).toBe(true);
  expect(share(["v2", "v3"], ["s3"])).toBe(false);
});
