/** Whether the server answers. Every request tells; who lost something by a silence waits here for its end. */

export class Connection {
  private silent = false;
  private readonly watchers = new Set<(gone: boolean) => void>();
  private waiting: (() => void)[] = [];

  /** The last request got no answer at all. */
  get gone(): boolean {
    return this.silent;
  }

  /** Calls back whenever the server goes or comes back. */
  onChange(watcher: (gone: boolean) => void): void {
    this.watchers.add(watcher);
  }

  /** A request ended: with any answer, or with none. */
  heard(answered: boolean): void {
    if (this.silent === !answered) return;
    this.silent = !answered;
    for (const watcher of this.watchers) watcher(this.silent);
    if (this.silent) return;
    const { waiting } = this;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }

  /** Resolves when the server answers again; at once when it does. */
  whenBack(): Promise<void> {
    return this.silent ? new Promise((resolve) => this.waiting.push(resolve)) : Promise.resolve();
  }
}

/** The page has one server. */
export const connection = new Connection();
