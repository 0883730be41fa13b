/** The frame around every view: top bar, panes, status bar, keys, and which capture and view are shown. */
import { fill, h } from "../../base/dom.ts";
import { count, knowPackages, shellWord } from "../../base/format.ts";
import { icon, mark, type IconName } from "../../base/icons.ts";
import { CaptureClient, getJson } from "../../data/client.ts";
import { connection } from "../../data/connection.ts";
import { notebook } from "../../data/notes.ts";
import { source } from "../../data/source.ts";
import { Navigator } from "../../state/navigator.ts";
import type { Place } from "../../state/place.ts";
import { applyTheme, chosenTheme, onTheme, theme } from "../../state/settings.ts";
import type { CaptureInfo, CaptureRow } from "../../wire/capture.ts";
import type { Hit } from "../../wire/search.ts";
import { emptyState, waitFor } from "../common/states.ts";
import { startReleases } from "../common/released.ts";
import { startTooltips, tip } from "../common/tooltip.ts";
import type { Page, StatusPart, View, ViewDef } from "../registry.ts";
import { paneItems, pictureItems, themeItems } from "./bar_menus.ts";
import { captureState } from "./capture_state.ts";
import { pictureCommands, type Command } from "./commands.ts";
import { placeOf } from "./hits.ts";
import { openKeys } from "./keys_help.ts";
import { fetchScripts, makeView } from "./make_view.ts";
import { attachMenu, type MenuItem } from "./menu.ts";
import { NoteCard, noteCommands, noteItems, noteKey } from "./notes.ts";
import { overlayOpen } from "./overlay.ts";
import { openPalette } from "./palette.ts";
import { Panes } from "./panes.ts";
import { Partners, type CapturesWire } from "./partners.ts";
import { openProblems } from "./problems.ts";
import { TabBar } from "./tab_bar.ts";

const LIVE_MS = 1000;
/** A sealed capture is looked after every so many polls: whether the server is there, and still has the same one. */
const QUIET_POLLS = 3;
const SAID_MS = 6000;

const HOME = ["rewrites", "timeline"];

export class App {
  private readonly nav = new Navigator(window);
  private readonly panes = new Panes();
  private readonly statusBar = h("footer.status", { "aria-label": "Status" });
  private readonly captureName = h("span.ell.name");
  private readonly captureNote = h("small");
  private readonly tabs = new TabBar();
  private readonly captureButton = h(
    "button.cap",
    { type: "button" },
    h("span.offscreen", "Capture"),
    this.captureName,
    this.captureNote,
    h("span.faint.caret", { "aria-hidden": "true" }, "▾"),
  );
  private readonly searchButton = h(
    "button.search",
    {
      type: "button",
      title: "Search the capture",
      "aria-keyshortcuts": "/ Control+K",
      onclick: () => this.search(),
    },
    icon("search", 14),
    h("span.grow", "Search the capture"),
    h("kbd", { "aria-hidden": "true" }, "/"),
    h("kbd.wide", { "aria-hidden": "true" }, "Ctrl K"),
  );
  private readonly panesButton = iconButton("panes", "Panes");
  private readonly notesButton = iconButton("note", "Notes (M)");
  private readonly pictureButton = iconButton("picture", "Save a picture");
  private captures: CaptureRow[] = [];
  private readonly partners = new Partners(this.nav);
  private info: CaptureInfo | null = null;
  private client: CaptureClient | null = null;
  private view: { def: ViewDef; view: View } | null = null;
  private parts: [StatusPart[], StatusPart[]] = [[], []];
  private heard = performance.now();
  private said = "";
  private polls = 0;
  private polling = false;

  constructor(private readonly defs: readonly ViewDef[]) {
    applyTheme();
    startTooltips();
    startReleases();
    document.body.replaceChildren(this.topBar(), this.panes.element, this.statusBar);
    this.panes.element.append(new NoteCard(this.nav).element);
    this.panes.use(null, null, "Capture");
    this.nav.listen((place, before) => this.arrive(place, before));
    document.addEventListener("keydown", (event) => this.onKey(event));
    document.addEventListener("keyup", (event) => this.view?.view.keyUp?.(event));
    connection.onChange((gone) => (gone ? this.drawStatus() : this.back()));
    window.setInterval(() => void this.poll(), LIVE_MS);
  }

  /** Asks for the captures and shows the place that the address names. */
  async start(): Promise<void> {
    const middle = this.panes.middle;
    const { capture, view } = this.nav.place;
    if (capture !== "") new CaptureClient(capture).early("", ...this.firstOf(view));
    fetchScripts(this.defs.filter((def) => def.id === view));
    const reply = await waitFor(
      middle,
      { title: "Asking for the captures", again: () => void this.start() },
      (signal) => getJson<CapturesWire>("captures", signal),
    );
    this.captureButton.hidden = reply === null;
    if (!reply) return this.offer(false);
    this.captures = reply.captures;
    this.partners.start(reply);
    knowPackages(reply.packages);
    if (this.captures.length === 0) {
      this.captureButton.hidden = true;
      this.offer(false);
      fill(
        middle,
        h(
          "div.layer",
          emptyState(
            "No capture yet",
            "Record a program, or open a file: a tinygrad pickle, a GT tape, a Chrome trace. The format is found by content.",
            ["peephole demo", "peephole run script.py", "peephole import trace.json.gz"],
          ),
        ),
      );
      return;
    }
    await this.open(this.nav.place);
    // when there is nothing to do: a tab then opens at once, and without the server too
    requestIdleCallback(() => fetchScripts(this.defs));
  }

  /** Whether there is a capture that can be searched, with panes to shut. */
  private offer(open: boolean): void {
    for (const button of [this.searchButton, this.panesButton, this.pictureButton, this.notesButton])
      button.toggleAttribute("disabled", !open);
  }

  /** What a view asks for first. */
  private firstOf(view: string): readonly string[] {
    return this.defs.find((def) => def.id === view)?.first ?? [];
  }

  private arrive(place: Place, before: Place): void {
    if (this.info === null ? place.capture !== before.capture : place.capture !== this.info.id) void this.open(place);
    else if (this.info !== null) this.enter(place);
  }

  private async open(place: Place): Promise<void> {
    const id = place.capture || this.captures[0]!.id;
    this.info = this.client = null;
    this.leave();
    const client = new CaptureClient(id);
    client.early("", ...this.firstOf(place.view));
    this.name(this.captures.find((row) => row.id === id)?.name ?? id);
    const info = await waitFor(
      this.panes.middle,
      { title: `Opening ${this.captureName.textContent}`, again: () => void this.open(this.nav.place) },
      (signal) => client.get<CaptureInfo>("", signal),
    );
    if (!info) {
      this.tabs.show([]);
      this.offer(false);
      return;
    }
    this.offer(true);
    this.client = client;
    this.info = info;
    void notebook.open(client).catch(() => undefined);
    this.captureNote.textContent =
      Object.entries(info.frameworks)
        .map(([name, version]) => `${name} ${version}`)
        .join(" · ") || info.source;
    this.enter({ ...this.nav.place, capture: id });
  }

  /** Shows the view of a place, or tells the one on the screen that its parameters changed. */
  private enter(place: Place): void {
    const views = this.available();
    const def =
      views.find((view) => view.id === place.view) ??
      HOME.map((id) => views.find((view) => view.id === id)).find(Boolean) ??
      views[0];
    if (!def) {
      this.leave();
      fill(
        this.panes.middle,
        h(
          "div.layer",
          emptyState(
            this.info!.advice === "" ? "Nothing to show yet" : "No events",
            this.info!.advice ||
              `${this.captureName.textContent} has no rows that a view could show. ` +
                "Record with rewrites or a profile, or see what it holds.",
            [`peephole info ${shellWord(this.info!.path)}`],
          ),
        ),
      );
      this.drawStatus();
      return;
    }
    if (place.view !== def.id || place.capture !== this.nav.place.capture) {
      // a place that the address did not spell out: complete it without a step in the history
      this.nav.go(
        { capture: this.info!.id, view: def.id, params: place.view === def.id ? place.params : {} },
        "replace",
      );
      return;
    }
    if (this.view?.def !== def) {
      this.leave();
      this.panes.use(def.panes.left, def.panes.right, def.title);
      this.view = { def, view: this.create(def) };
    }
    document.title = `${def.title} · ${this.captureName.textContent} · Peephole`;
    this.drawTabs(views, def);
    this.view.view.show(this.nav.place.params);
  }

  private create(def: ViewDef): View {
    const current = (): CaptureInfo => this.info!;
    const page: Page = {
      // asked anew each time: a live capture grows
      get info() {
        return current();
      },
      partner: () => this.partners.of(this.info!.id) ?? "",
      client: this.client!,
      nav: this.nav,
      left: this.panes.left,
      middle: this.panes.middle,
      right: this.panes.right,
      status: (left, right) => {
        this.parts = [left, right];
        this.drawStatus();
      },
      has: (id) => this.available().some((view) => view.id === id),
    };
    return makeView(def, page, (waiting, make) => {
      if (this.view?.view !== waiting) return;
      this.view = { def, view: make() };
      this.view.view.show(this.nav.place.params);
    });
  }

  private leave(): void {
    this.view?.view.dispose();
    this.view = null;
    this.parts = [[], []];
    for (const pane of [this.panes.left, this.panes.middle, this.panes.right]) pane.replaceChildren();
    // what was shown is gone, and what comes has not arrived
    delete this.panes.middle.dataset["shown"];
    this.drawStatus();
  }

  private available(): ViewDef[] {
    const info = this.info && this.partners.told(this.info);
    const inside = source().copy?.views;
    return info === null ? [] : this.defs.filter((def) => (inside?.includes(def.id) ?? true) && def.available(info));
  }

  private drawTabs(views: ViewDef[], current: ViewDef): void {
    const address = (def: ViewDef): string =>
      this.nav.address(def.id, def === current ? this.nav.place.params : undefined);
    this.tabs.show(views.map((def) => ({ title: def.title, href: address(def), current: def === current })));
  }

  private drawStatus(): void {
    const { info } = this;
    const [left, right] = this.parts;
    const state = info && captureState(info, this.captures, this.heard);
    const lost = info === null ? 0 : info.dropped + info.problems.reduce((sum, problem) => sum + problem.count, 0);
    const spans = (parts: readonly StatusPart[]): Node[] =>
      parts.map((part) => (typeof part === "string" ? h("span", part) : part));
    fill(
      this.statusBar,
      h("span.parts.grow", ...spans(left)),
      h("span", { role: "status" }, this.said),
      h("span.parts", ...spans(right)),
      lost > 0 &&
        h(
          "span.warnt",
          `! ${count(lost)} not understood or lost · `,
          h("button.link", { type: "button", onclick: () => openProblems(info!) }, "list"),
        ),
      state && h(`span.live${state.mark && `.${state.mark}`}`, { role: "status" }, state.text),
    );
  }

  /** Looks whether the server is there, whether a live capture has grown, and a sealed one is still the same. */
  private async poll(): Promise<void> {
    const { info } = this;
    if (!info || document.hidden || this.polling) return;
    const due = connection.gone || ++this.polls % QUIET_POLLS === 0;
    if (!info.live && !due) return;
    this.polling = true;
    try {
      if (due) await this.lookAtCaptures(info);
      if (info.live && this.info === info) await this.lookAtLive(info);
    } catch {
      // the next poll will tell whether it is back
    } finally {
      this.polling = false;
    }
    if (this.info !== null) this.drawStatus();
  }

  /** Opens a capture anew that was replaced on disk: nothing on the screen may be of both. */
  private async lookAtCaptures(info: CaptureInfo): Promise<void> {
    const { captures } = await getJson<CapturesWire>("captures");
    if (this.info !== info) return;
    const stampOf = (rows: CaptureRow[]): string | undefined => rows.find((row) => row.id === info.id)?.stamp;
    const before = stampOf(this.captures);
    const now = stampOf(captures);
    this.captures = captures;
    if (!info.live && before && now && now !== before) await this.open(this.nav.place);
  }

  private async lookAtLive(info: CaptureInfo): Promise<void> {
    const client = this.client!;
    const now = await client.get<CaptureInfo>("");
    if (this.info !== info) return;
    const grown = JSON.stringify(now.tables) !== JSON.stringify(info.tables) || now.live !== info.live;
    if (!grown) return;
    this.heard = performance.now();
    client.forget();
    this.info = now;
    if (!now.live) this.captures = (await getJson<CapturesWire>("captures")).captures; // sealed now: not replaced
    this.view?.view.grown?.(now);
    if (this.view) this.drawTabs(this.available(), this.view.def);
  }

  /** The server answers again: what could not be read meanwhile is asked for. */
  private back(): void {
    this.client?.forget();
    if (this.info) this.view?.view.grown?.(this.info);
    this.drawStatus();
  }

  private topBar(): HTMLElement {
    const { captureButton: capture, searchButton: find, panesButton: panes } = this;
    const colours = iconButton(theme(), "Theme");
    onTheme(() => fill(colours, icon(chosenTheme() === "system" ? theme() : chosenTheme())));
    const keys = iconButton("keys", "Keys (?)");
    keys.addEventListener("click", () => openKeys(this.available()));
    const bar = h(
      "header.top",
      h("div.brand", mark(), h("div.hold", capture)),
      this.tabs.element,
      h("div.grow"),
      find,
      h("div.hold", this.notesButton),
      h("div.hold", this.pictureButton),
      h("div.hold", panes),
      h("div.hold", colours),
      keys,
    );
    this.tabs.watch(bar);
    attachMenu(capture, "Captures", () => [...this.captureItems(), ...this.partners.items(this.info, this.captures)]);
    attachMenu(this.notesButton, "Notes", () => noteItems(this.nav));
    attachMenu(this.pictureButton, "Save a picture", () => pictureItems(this.pictures()));
    attachMenu(panes, "Panes", () => paneItems(this.panes));
    attachMenu(colours, "Theme", themeItems);
    tip(capture, () => (this.info ? `${this.info.path}\n${[this.info.program, ...this.info.argv].join(" ")}` : null));
    return bar;
  }

  /** Names the capture in the bar: as its file is called, wherever it is named. */
  private name(name: string): void {
    this.captureName.textContent = name;
    this.captureNote.textContent = "";
  }

  private captureItems(): MenuItem[] {
    const several = (name: string): boolean => this.captures.filter((row) => row.name === name).length > 1;
    return this.captures.map((row) => ({
      label: row.name,
      ...(several(row.name) ? { note: row.id } : {}),
      role: "menuitemradio",
      checked: row.id === this.info?.id,
      act: () => this.nav.go({ capture: row.id, view: "", params: {} }),
    }));
  }

  private search(): void {
    if (this.client) openPalette(this.client, this.commands(), (hit) => this.take(hit));
  }

  private take(hit: Hit): void {
    const place = placeOf(hit, (id) => this.available().some((view) => view.id === id));
    if (place) this.nav.go({ capture: this.info!.id, ...place });
  }

  /** What can be done with what is on the screen. */
  private commands(): Command[] {
    return [...noteCommands(this.nav), ...this.pictures()];
  }

  private pictures(): Command[] {
    return pictureCommands(this.panes.element, this.captureName.textContent.replace(/\.peep$/, ""), (text) =>
      this.say(text),
    );
  }

  /** A sentence in the status bar, for a while. */
  private say(text: string): void {
    this.said = text;
    this.drawStatus();
    window.setTimeout(() => {
      if (this.said !== text) return;
      this.said = "";
      this.drawStatus();
    }, SAID_MS);
  }

  private onKey(event: KeyboardEvent): void {
    if (overlayOpen() || event.defaultPrevented || event.isComposing) return;
    const target = event.target as HTMLElement;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k" && !event.altKey) {
      event.preventDefault();
      return this.search();
    }
    const field = target.closest("input, textarea, select, [contenteditable]");
    if (
      (event.ctrlKey || event.metaKey) &&
      event.key.toLowerCase() === "f" &&
      !event.altKey &&
      !event.shiftKey &&
      !field &&
      this.view?.view.focusFind?.()
    ) {
      event.preventDefault();
      return;
    }
    if (field) {
      if (event.key === "Escape") target.blur();
      return;
    }
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const pressable = target.closest("button, a, [role=separator]");
    if (pressable && (event.key === " " || event.key === "Enter")) return;
    if (this.shellKey(event) || this.view?.view.key?.(event)) event.preventDefault();
  }

  private shellKey(event: KeyboardEvent): boolean {
    switch (event.key) {
      case "/":
        this.search();
        return true;
      case "?":
        openKeys(this.available());
        return true;
      case "[":
      case "]":
        return this.neighbour(event.key === "]" ? 1 : -1);
      case "f":
      case "F":
        this.view?.view.filter?.();
        return this.view?.view.filter !== undefined;
      case "m":
      case "M":
        if (!noteKey(this.nav)) this.notesButton.click(); // it says what to do, and lists the notes
        return true;
      case "Escape":
        return this.view?.view.escape?.() ?? false;
      default:
        return false;
    }
  }

  private neighbour(by: number): boolean {
    const views = this.available();
    const now = views.findIndex((view) => view === this.view?.def);
    const next = views[(now + by + views.length) % views.length];
    if (next && next !== this.view?.def) window.location.hash = this.nav.address(next.id).slice(1);
    return true;
  }
}

function iconButton(name: IconName, label: string): HTMLElement {
  return h("button.icon", { type: "button", "aria-label": label, title: label }, icon(name));
}
