import { describe, expect, it } from "vitest";
import { pieces, plain } from "../src/base/ansi.ts";
import {
  bufferHandle,
  bytes,
  count,
  duration,
  editorLink,
  endsAsKernel,
  location,
  micros,
  isOwnFile,
  knowPackages,
  shortPath,
} from "../src/base/format.ts";
import { languageOf, tokens, type Language } from "../src/base/highlight.ts";

describe("figures", () => {
  it("takes the unit that fits", () => {
    expect([0, 940, 12_345, 1_604_000, 2_410_000_000].map(duration)).toEqual([
      "0 ns",
      "940 ns",
      "12.3 µs",
      "1.60 ms",
      "2.41 s",
    ]);
    expect(duration(-1)).toBe("");
    expect([99_999e9, 9_223_372e9].map(duration)).toEqual(["99999.00 s", "106.75 d"]);
    expect([
      bufferHandle(7, false),
      bufferHandle(2 * 2 ** 40 + 6225, false),
      bufferHandle(2 * 2 ** 40 + 6225, true),
    ]).toEqual(["b7", "b6225", "p2.b6225"]);
    expect(micros(1_604_000)).toBe("1,604 µs");
    expect([3, 196_600, 26_920_000].map(bytes)).toEqual(["3 B", "196.6 kB", "26.92 MB"]);
    expect(count(122_833)).toBe("122,833");
  });
});

describe("paths", () => {
  it("keeps what tells files apart", () => {
    knowPackages(["tinygrad"]);
    expect(shortPath("/usr/lib/python3.11/site-packages/tinygrad/codegen/__init__.py")).toBe("codegen/__init__.py");
    expect(shortPath("/srv/me/tinygrad/tinygrad/uop/ops.py")).toBe("uop/ops.py");
    expect(shortPath("C:\\work\\model\\train.py")).toBe("model/train.py");
    expect(location("/a/b.py", 3)).toBe("a/b.py:3");
    expect(location(null, 3)).toBe("");
    expect(["/me/tinygrad/tinygrad/uop/ops.py", "/me/prog.py", "<string>"].map(isOwnFile)).toEqual([
      false,
      true,
      false,
    ]);
  });

  it("makes a link of absolute paths only, with the path encoded", () => {
    expect(editorLink("/a b/<c>\"'.py", 7)).toBe("vscode://file/a%20b/%3Cc%3E%22'.py:7");
    expect(editorLink("C:\\x\\y.py", 1)).toBe("vscode://file/C:/x/y.py:1");
    expect(editorLink("javascript:alert(1)", 1)).toBeNull();
    expect(editorLink("relative.py", 1)).toBeNull();
  });
});

describe("names that keep both ends", () => {
  it("are kernels and what ends with one, not a function behind its file", () => {
    for (const name of ["r_16_32", "flash_attn_fwd", "multiply_add_fusion.2", "do_to_program for r_16_4"])
      expect(endsAsKernel(name)).toBe(true);
    for (const name of ["$pjit.py:250 cache_miss", "train step", "PjitFunction(f)"])
      expect(endsAsKernel(name)).toBe(false);
  });
});

describe("names with colours", () => {
  it("keeps the text and maps the colours", () => {
    expect(plain("\x1b[34mr\x1b[0m_\x1b[31m64\x1b[0m")).toBe("r_64");
    expect(pieces("\x1b[31m64\x1b[0m_4").map((piece) => piece.style)).toEqual(["axis-red", ""]);
    expect(plain("no codes")).toBe("no codes");
  });
});

describe("syntax colours", () => {
  it("never changes the text", () => {
    const lines = [
      "void r_64(float* restrict data0) { for (int i = 0; i < 0x10; i++) { data0[i] = 1.0f; } } // end",
      "def f(x): return 'a' + \"b\" # comment",
      "  v_add_f32 v1, v2, s[4:5] ; note",
      "\"unterminated /* ' <img src=x>",
      "",
    ];
    for (const language of ["c", "python", "asm", "text"] as Language[]) {
      for (const line of lines)
        expect(
          tokens(line, language)
            .map((token) => token.text)
            .join(""),
        ).toBe(line);
    }
  });

  it("knows keywords, types, calls, numbers and comments", () => {
    const found = new Map(tokens("for (int i = 12; f(i);) // x", "c").map((token) => [token.text, token.style]));
    expect([found.get("for"), found.get("int"), found.get("12"), found.get("f"), found.get("// x")]).toEqual([
      "k",
      "ty",
      "no",
      "f",
      "c",
    ]);
  });

  it("takes what a binary holds for assembly, offsets and all", () => {
    expect(languageOf("x86_64,native", "binary")).toBe("asm");
    const styles = ["  11:\tsub", "   d:\tand"].map((line) => tokens(line, "asm").map((token) => token.style));
    expect(styles[0]).toEqual(styles[1]);
  });
});
