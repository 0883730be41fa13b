import { expect, test } from "vitest";
import { familyOf } from "../../src/draw/families.ts";
import { addressSpace, fullLabel, label } from "../../src/layout/labels.ts";

const text = (op: string, arg = "", dtype = "dtypes.float", shape = "(4,)"): Parameters<typeof label>[0] => ({
  op,
  arg,
  dtype,
  shape,
  tag: "",
});

test.each([
  [text("MUL"), [null, "4"], "× 4"],
  [text("SUB"), ["1", null], "1 −"],
  [text("RANGE", "(0, AxisType.REDUCE)"), ["64"], "r0 reduce 64"],
  [text("PARAM", "ParamArg(1, dtypes.float, device='NULL')"), ["256"], "data1"],
  [text("BUFFER", "ParamArg(0, dtypes.float, addrspace=AddrSpace.REG)"), ["1"], "REG acc0"],
  [text("DEFINE_GLOBAL", "2"), [], "data2"],
  [text("STAGE", "BufferizeOpts(device='NULL', addrspace=AddrSpace.GLOBAL, removable=True)"), [null], "GLOBAL NULL"],
  [text("REDUCE", "(Ops.ADD, 1)"), [null], "ADD"],
  [text("RESHAPE", ""), [null, "{2,2}"], "→ (4)"],
  [text("STORE"), [null, "0.0"], "← 0.0"],
  [text("INDEX"), [null, "3"], "[3]"],
  [text("WHERE"), [null, "1", null], "? 1 : ·"],
  [text("CAST", "dtypes.float"), [null], ""],
  [text("SINK", "KernelInfo(name='r\\x1b[90m_\\x1b[0m4', axis_types=())"), [null], "r_4"],
  [text("CALL", "CallInfo(None, None, False, False)"), [null], ""],
  [text("MYOP", "anything = 3"), [], "anything = 3"],
])("%o with %o", (node, constants, arg) => {
  expect(label(node, constants).arg).toBe(arg);
});

test("the type line has type and shape; the full label has everything", () => {
  expect(label(text("ADD")).type).toBe("float (4)");
  const node = { ...text("BUFFER", "ParamArg(0, dtypes.float, addrspace=AddrSpace.LOCAL)"), tag: "'mergeable'" };
  expect(fullLabel(node)).toContain("tag 'mergeable'");
  expect(addressSpace(node)).toBe("LOCAL");
});

test("a kernel's name keeps both ends", () => {
  const long = "r_16_32_64_128_4_4_8_16_32_64_128_4_4_99";
  expect(label(text("SINK", `KernelInfo(name='${long}')`)).arg).toMatch(/^r_16.*….*_99$/);
});

test("families", () => {
  expect([familyOf("PARAM"), familyOf("ADD"), familyOf("RESHAPE"), familyOf("CALL"), familyOf("SOMETHING")]).toEqual([
    1, 2, 7, 11, 12,
  ]);
});
