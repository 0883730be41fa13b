/** Answers that are kept up to a number of bytes; the least recently used go first. */
export class Kept<T> {
  /** `Map` keeps the order of use. */
  private readonly values = new Map<string, { value: T; bytes: number }>();
  private bytes = 0;

  constructor(private readonly limit: number) {}

  /** A value, which counts as used then. */
  get(key: string): T | undefined {
    const found = this.values.get(key);
    if (!found) return undefined;
    this.values.delete(key);
    this.values.set(key, found);
    return found.value;
  }

  /** A value, without using it. */
  peek(key: string): T | undefined {
    return this.values.get(key)?.value;
  }

  put(key: string, value: T, bytes: number): void {
    this.bytes += bytes - (this.values.get(key)?.bytes ?? 0);
    this.values.delete(key);
    this.values.set(key, { value, bytes });
    for (const [old, gone] of this.values) {
      if (this.bytes <= this.limit) break;
      this.values.delete(old);
      this.bytes -= gone.bytes;
    }
  }

  clear(): void {
    this.values.clear();
    this.bytes = 0;
  }
}
