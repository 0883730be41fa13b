/** Has a page in a notebook's cell ask the cell around it; the first thing that it does. */
import { type Answer, CellSource } from "./data/cell_source.ts";
import { answerFrom } from "./data/source.ts";

const source = new CellSource((question) => window.parent.postMessage(question, "*"));
window.addEventListener("message", (event: MessageEvent<Answer>) => {
  if (event.source === window.parent) source.heard(event.data);
});
answerFrom(source);
