import { EventEmitter } from "node:events";

interface Entry {
  readonly at: number;
  readonly line: string;
}

/** What one container wrote, by line and with times, as a container engine keeps it. Emits each line, and its end. */
export class ContainerLog extends EventEmitter<{ entry: [Entry]; end: [] }> {
  readonly entries: Entry[] = [];
  ended = false;
  #partialLine = "";

  /** A last line without its end waits for the rest. */
  write(text: string, at: number): void {
    const lines = `${this.#partialLine}${text}`.split("\n");
    this.#partialLine = lines.pop() ?? "";
    for (const line of lines) this.#add({ at, line: `${line}\n` });
  }

  end(at: number): void {
    if (this.ended) return;
    if (this.#partialLine !== "") this.#add({ at, line: this.#partialLine });
    this.ended = true;
    this.emit("end");
  }

  #add(entry: Entry): void {
    this.entries.push(entry);
    this.emit("entry", entry);
  }
}
