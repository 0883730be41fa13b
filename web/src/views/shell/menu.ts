/** A button that opens a small menu: arrows move, Enter chooses, Escape closes. */
import { fill, h } from "../../base/dom.ts";

export interface MenuItem {
  label: string;
  note?: string;
  checked?: boolean;
  /** One of several (radio) or by itself (checkbox). */
  role: "menuitemradio" | "menuitemcheckbox" | "menuitem";
  act: () => void;
}

/** Makes a button open a menu whose items are asked for each time. */
export function attachMenu(button: HTMLElement, label: string, items: () => MenuItem[]): void {
  const menu = h("div.menu", { role: "menu", "aria-label": label, hidden: true });
  button.setAttribute("aria-haspopup", "menu");
  button.setAttribute("aria-expanded", "false");
  button.after(menu);

  const close = (back: boolean): void => {
    if (menu.hidden) return;
    menu.hidden = true;
    button.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", outside, true);
    if (back) button.focus();
  };
  const outside = (event: Event): void => {
    if (!menu.contains(event.target as Node) && !button.contains(event.target as Node)) close(false);
  };
  const open = (): void => {
    fill(
      menu,
      ...items().map((item) =>
        h(
          "button.mi",
          {
            role: item.role,
            type: "button",
            tabindex: -1,
            "aria-checked": item.checked === undefined ? null : String(item.checked),
            onclick: () => {
              close(true);
              item.act();
            },
          },
          h("span.tick", item.checked ? "✓" : ""),
          h("span.ell", item.label),
          item.note !== undefined && h("span.n", item.note),
        ),
      ),
    );
    menu.hidden = false;
    const at = button.getBoundingClientRect();
    menu.style.top = `${at.bottom + 4}px`;
    menu.style.left = `${Math.max(4, Math.min(at.left, window.innerWidth - menu.offsetWidth - 8))}px`;
    button.setAttribute("aria-expanded", "true");
    document.addEventListener("pointerdown", outside, true);
    (menu.querySelector<HTMLElement>("[aria-checked=true]") ?? menu.querySelector<HTMLElement>(".mi"))?.focus();
  };

  button.addEventListener("click", () => (menu.hidden ? open() : close(true)));
  menu.addEventListener("keydown", (event) => {
    const all = [...menu.querySelectorAll<HTMLElement>(".mi")];
    const now = all.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to !== undefined) all.at(to % all.length)?.focus();
    else if (event.key === "Escape" || event.key === "Tab") close(true);
    else if (event.key !== "Enter" && event.key !== " ") return;
    if (event.key !== "Enter" && event.key !== " ") event.preventDefault();
    event.stopPropagation();
  });
}
