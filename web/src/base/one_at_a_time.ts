/** Runs something once at a time; who asks meanwhile has it run once more, for what came back may be older than that. */
export class OneAtATime {
  private running = false;
  private again = false;

  constructor(private readonly work: () => Promise<void>) {}

  ask(): void {
    this.again = this.running;
    if (!this.running) void this.run();
  }

  private async run(): Promise<void> {
    this.running = true;
    try {
      await this.work();
    } catch {
      this.again = false; // the server is gone: who notices that it is back asks anew
    }
    this.running = false;
    if (this.again) this.ask();
  }
}
