import { EventEmitter } from "node:events";

interface Entry {
  readonly at: number;
  readonly line: string;
}

/** The output of one container in lines with times, as a container engine keeps it. Emits each line and the end. */
export class ContainerLog extends EventEmitter<{ entry: [Entry]; end: [] }> {
  readonly entries: Entry[] = [];
  ended = false;
  #partialLine = "";

  /** Adds output. An incomplete last line waits for the rest. */
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
