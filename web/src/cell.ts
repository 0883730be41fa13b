/**
 * The cell around a bridged page, as a module of anywidget: passes questions on to the kernel, and answers back.
 *
 * The page stands in a frame without an origin, so that it reaches nothing of the notebook but this.
 */
import type { Answer, Question } from "./data/cell_source.ts";

interface Model {
  get(name: "page"): string;
  get(name: "height"): number;
  send(question: Question): void;
  on(event: "msg:custom", hear: (answer: Omit<Answer, "body">, bodies: readonly DataView[]) => void): void;
  off(event: "msg:custom", hear: unknown): void;
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const frame = document.createElement("iframe");
  frame.title = "Peephole";
  frame.style.cssText = `width: 100%; height: ${model.get("height")}px; border: 0`;
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  const ask = (event: MessageEvent<Question>): void => {
    if (event.source === frame.contentWindow) model.send(event.data);
  };
  const hear = (answer: Omit<Answer, "body">, [body]: readonly DataView[]): void => {
    const bytes = body ? body.buffer.slice(body.byteOffset, body.byteOffset + body.byteLength) : new ArrayBuffer(0);
    frame.contentWindow?.postMessage({ ...answer, body: bytes }, "*");
  };
  window.addEventListener("message", ask);
  model.on("msg:custom", hear);
  frame.src = model.get("page");
  el.append(frame);
  return () => {
    window.removeEventListener("message", ask);
    model.off("msg:custom", hear);
  };
}

export default { render };
