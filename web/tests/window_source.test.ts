import { describe, expect, it } from "vitest";
import { Kept } from "../src/data/kept.ts";
import { StretchSource, type Wanted } from "../src/data/stretch_source.ts";
import { WindowSource, type ByteClient } from "../src/data/window_source.ts";

/** A server that answers when it is told to. */
class Server implements ByteClient {
  readonly asked: string[] = [];
  readonly aborted: string[] = [];
  private readonly open = new Map<string, { answer: (data: ArrayBuffer) => void; fail: (error: unknown) => void }>();

  bytes(path: string, signal?: AbortSignal): Promise<ArrayBuffer> {
    this.asked.push(path);
    return new Promise((answer, fail) => {
      this.open.set(path, { answer, fail });
      signal?.addEventListener("abort", () => {
        this.aborted.push(path);
        fail(new DOMException("stopped", "AbortError"));
      });
    });
  }

  async answer(path: string, bytes = 8): Promise<void> {
    this.open.get(path)!.answer(new ArrayBuffer(bytes));
    await settled();
  }

  async fail(path: string): Promise<void> {
    this.open.get(path)!.fail(new Error(`${path} failed`));
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

describe("what is kept", () => {
  it("is forgotten by its last use, within its bytes", () => {
    const kept = new Kept<number>(100);
    kept.put("a", 1, 40);
    kept.put("b", 2, 40);
    expect(kept.get("a")).toBe(1);
    kept.put("c", 3, 40);
    expect([kept.peek("a"), kept.peek("b"), kept.peek("c")]).toEqual([1, undefined, 3]);
    kept.put("c", 4, 10); // another one of that name takes its room
    kept.put("d", 5, 50);
    expect([kept.peek("a"), kept.peek("c"), kept.peek("d")]).toEqual([1, 4, 5]);
    kept.put("huge", 6, 1000);
    expect(kept.peek("huge")).toBeUndefined();
  });
});

describe("a source of pieces", () => {
  function setUp(): { server: Server; source: WindowSource<string>; said: string[]; ask: (...keys: string[]) => void } {
    const server = new Server();
    const said: string[] = [];
    const source = new WindowSource<string>(
      server,
      new Kept(1000),
      () => said.push("data"),
      (error) => said.push(String(error)),
    );
    const ask = (...keys: string[]): void =>
      source.ask({ path: keys.join(), keys, read: () => keys.map((key) => ({ key, value: key, bytes: 1 })) });
    return { server, source, said, ask };
  }
  it("knows what is here and what is coming", async () => {
    const { server, source, said, ask } = setUp();
    ask("a", "b");
    expect([source.isComing("a"), source.isComing("c"), source.waiting]).toEqual([true, false, true]);
    await server.answer("a,b");
    expect([source.kept.peek("b"), source.isComing("a"), source.waiting]).toEqual(["b", false, false]);
    expect(said).toEqual(["data"]);
  });
  it("cancels what brings nothing that is wanted, and nothing else", async () => {
    const { server, source, said, ask } = setUp();
    ask("a", "b");
    ask("c");
    source.keepOnly(new Set(["b"]));
    expect(server.aborted).toEqual(["c"]);
    await server.answer("a,b");
    await server.answer("c"); // too late
    expect(source.kept.peek("c")).toBeUndefined();
    expect(said).toEqual(["data"]); // an abort is no error
  });
  it("tells of a failure once, and can be asked again", async () => {
    const { server, source, said, ask } = setUp();
    ask("a");
    await server.fail("a");
    expect(said).toEqual(["Error: a failed"]);
    expect([source.waiting, source.isComing("a")]).toEqual([false, false]);
    ask("a");
    await server.answer("a");
    expect(source.kept.peek("a")).toBe("a");
  });
  it("tells of an answer that cannot be read", async () => {
    const { server, source, said } = setUp();
    const read = (): never => {
      throw new Error("cut off");
    };
    source.ask({ path: "a", keys: ["a"], read });
    await server.answer("a");
    expect(said).toEqual(["Error: cut off"]);
    expect(source.waiting).toBe(false);
  });
});

describe("a source of one window at a time", () => {
  function setUp(enough?: (have: Wanted, wanted: Wanted) => boolean): {
    server: Server;
    source: StretchSource<number>;
    said: string[];
  } {
    const server = new Server();
    const said: string[] = [];
    const source = new StretchSource<number>(
      server,
      {
        decode: (data) => data.byteLength,
        onData: (data, wanted) => said.push(`${wanted.path}: ${data}`),
        onError: (error) => said.push(String(error)),
        ...(enough ? { enough } : {}),
      },
      100,
    );
    return { server, source, said };
  }
  /** Ten in sight, ten more on either side. */
  const at = (t0: number, of = "x", scale = 1): Wanted => {
    const path = `${of}@${t0}/${scale}`;
    return { path, of, span: { t0, t1: t0 + 10 }, stretch: { t0: t0 - 10, t1: t0 + 20 }, scale };
  };
  it("lets a request finish that still has what is in sight, and then asks for the last one", async () => {
    const { server, source, said } = setUp();
    source.need(at(0));
    source.need(at(3));
    source.need(at(6));
    expect(server.asked).toEqual(["x@0/1"]);
    await server.answer("x@0/1");
    expect(server.asked).toEqual(["x@0/1", "x@6/1"]);
    await server.answer("x@6/1");
    expect(said).toEqual(["x@0/1: 8", "x@6/1: 8"]);
    expect([server.aborted, source.waiting]).toEqual([[], false]);
  });
  it("cancels one that was overtaken: elsewhere, nearer, or about something else", () => {
    const { server, source } = setUp();
    source.need(at(0));
    source.need(at(100));
    source.need(at(100, "x", 0.4));
    source.need(at(100, "y", 0.4));
    expect(server.aborted).toEqual(["x@0/1", "x@100/1", "x@100/0.4"]);
    expect(source.waiting).toBe(true);
  });
  it("asks for nothing that is here, on the screen or kept", async () => {
    const { server, source, said } = setUp();
    source.need(at(0));
    await server.answer("x@0/1");
    source.need(at(0));
    source.need(at(100));
    await server.answer("x@100/1");
    source.need(at(0)); // back again
    expect(said).toEqual(["x@0/1: 8", "x@100/1: 8", "x@0/1: 8"]);
    expect(server.asked.length).toBe(2);
  });
  it("keeps no more than its bytes", async () => {
    const { server, source } = setUp();
    for (const t0 of [0, 100, 200]) {
      source.need(at(t0));
      await server.answer(`x@${t0}/1`, 45);
    }
    source.need(at(100));
    source.need(at(0));
    expect(server.asked).toEqual(["x@0/1", "x@100/1", "x@200/1", "x@0/1"]);
  });
  it("makes do with what a view calls enough, and cancels what is wanted no more", async () => {
    const { server, source, said } = setUp((have, wanted) => Math.abs(have.span.t0 - wanted.span.t0) < 5);
    source.need(at(0));
    await server.answer("x@0/1");
    source.need(at(4));
    expect(server.asked.length).toBe(1);
    source.need(at(9));
    source.need(at(2));
    expect(server.aborted).toEqual(["x@9/1"]);
    expect(said).toEqual(["x@0/1: 8"]);
  });
  it("tells of a failure and asks again when it is wanted again", async () => {
    const { server, source, said } = setUp();
    source.need(at(0));
    await server.fail("x@0/1");
    expect(said).toEqual(["Error: x@0/1 failed"]);
    expect(source.waiting).toBe(false);
    source.need(at(0));
    await server.answer("x@0/1");
    expect(said.at(-1)).toBe("x@0/1: 8");
  });
  it("forgets what a capture that has grown answered, and is silent when it is over", async () => {
    const { server, source, said } = setUp();
    source.need(at(0));
    await server.answer("x@0/1");
    source.forget();
    source.need(at(0));
    expect(server.asked.length).toBe(2);
    source.dispose();
    await server.answer("x@0/1");
    expect(said).toEqual(["x@0/1: 8"]);
  });
});
