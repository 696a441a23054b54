import { EventEmitter } from "node:events";

interface Entry {
  readonly at: number;
  readonly line: string;
}

/** How much of a log is wanted; the query of `containerLogs`. */
export interface LogRange {
  readonly tailLines?: number;
  readonly sinceMs?: number;
  readonly timestamps: boolean;
  readonly limitBytes?: number;
}

/** What one container wrote, line by line with its time, as a container engine keeps it. */
export class ContainerLog extends EventEmitter<{ line: [string]; end: [] }> {
  readonly #entries: Entry[] = [];
  #rest = "";
  #ended = false;

  constructor() {
    super();
    this.setMaxListeners(0);
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** A last line without its end waits for the rest of it. */
  write(text: string, at: number): void {
    const lines = `${this.#rest}${text}`.split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#add({ at, line: `${line}\n` });
  }

  /** Nothing comes any more. */
  end(at: number): void {
    if (this.#ended) return;
    if (this.#rest !== "") this.#add({ at, line: this.#rest });
    this.#rest = "";
    this.#ended = true;
    this.emit("end");
  }

  read({ tailLines, sinceMs = 0, timestamps }: LogRange): string[] {
    const since = this.#entries.filter(({ at }) => at >= sinceMs);
    const tail =
      tailLines === undefined ? since : since.slice(since.length - Math.min(tailLines, since.length));
    return tail.map((entry) => shown(entry, timestamps));
  }

  /** Calls `onLine` for every line to come, and `onEnd` once; the caller ends it with what is returned. */
  follow(timestamps: boolean, onLine: (line: string) => void, onEnd: () => void): () => void {
    const last = () => this.#entries.at(-1);
    const forward = () => {
      const entry = last();
      if (entry) onLine(shown(entry, timestamps));
    };
    this.on("line", forward);
    this.once("end", onEnd);
    return () => {
      this.off("line", forward);
      this.off("end", onEnd);
    };
  }

  #add(entry: Entry): void {
    this.#entries.push(entry);
    this.emit("line", entry.line);
  }
}

function shown({ at, line }: Entry, timestamps: boolean): string {
  return timestamps ? `${new Date(at).toISOString().slice(0, -1)}000000Z ${line}` : line;
}
