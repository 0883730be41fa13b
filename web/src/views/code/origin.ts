/** The chain from the user's program to a kernel: stack, tensor operations, schedule. */
import { fill, h } from "../../base/dom.ts";
import { clip, counted, isOwnFile } from "../../base/format.ts";
import type { ContextWire } from "../../wire/capture.ts";
import type { OriginWire } from "../../wire/code.ts";
import type { Page } from "../registry.ts";
import { locationLink } from "../common/location.ts";

/** Fills itself when the server has answered. */
export function originSections(page: Page, context: ContextWire): HTMLElement {
  const host = h("div");
  page.client.once<OriginWire>(`contexts/${context.id}/origin`).then(
    (origin) => fill(host, chain(page, context, origin)),
    () => fill(host, chain(page, context, null)),
  );
  return host;
}

function chain(page: Page, context: ContextWire, origin: OriginWire | null): HTMLElement {
  const stack = origin && origin.stack.length > 0 ? origin.stack : context.stack;
  const own = stack.find((frame) => isOwnFile(frame.file)) ?? stack.at(-1);
  const links: HTMLElement[] = [];
  if (own) {
    links.push(h("div", h("b", "Your program"), h("div.dim.ell", locationLink(own.file, own.line), " in ", h("span.mono", clip(own.function, 80))), own.source !== "" && h("div.src", clip(own.source.trim(), 300))));
  }
  if (origin && origin.operations.length > 0) {
    links.push(h("div", h("b", "Tensor operations"), ...origin.operations.slice(0, 40).map((operation) =>
      h("div.dim.ell", h("span.mono", clip(operation.name, 80)), " ", operation.file !== "" && locationLink(operation.file, operation.line), operation.nodes > 1 && h("span.faint", ` ${counted(operation.nodes, "node")}`)),
    )));
  }
  if (origin && origin.schedule >= 0) {
    links.push(h("div", h("b", "Schedule"), h("div.dim", "in ", h("a.name", { href: page.nav.address(page.has("schedule") ? "schedule" : "rewrites", { context: String(origin.schedule) }) }, clip(origin.scheduleName, 120)))));
  }
  links.push(h("div.on", h("b", "This kernel"), h("div.dim.mono.ell.name", clip(context.function, 80) || context.kind)));
  return h("div.sec", h("div.chain", ...links));
}
