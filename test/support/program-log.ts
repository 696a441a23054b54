import { EventEmitter, once } from "node:events";

const WAIT_MS = 60_000;

export type LogRecord = Readonly<Record<string, unknown>>;

/** `pbnj-worker`, as a process or inside the test's. */
export interface StartedProgram extends AsyncDisposable {
  readonly stdout: string;
  readonly stderr: string;
  /** The JSON lines of its log so far. */
  readonly log: readonly LogRecord[];
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  untilLogged(message: string, fields?: LogRecord): Promise<LogRecord>;
  kill(signal: NodeJS.Signals): void;
}

/** What a program writes to stderr: its log as JSON lines, and other text. */
export class ProgramLog {
  readonly records: LogRecord[] = [];
  text = "";
  #unfinishedLine = "";
  readonly #events = new EventEmitter<{ added: [] }>().setMaxListeners(0);

  add(text: string): void {
    this.text += text;
    const lines = `${this.#unfinishedLine}${text}`.split("\n");
    this.#unfinishedLine = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("{") && line.endsWith("}")) this.records.push(JSON.parse(line));
    }
    this.#events.emit("added");
  }

  /** The first record with this message and these fields; waits for it. */
  async untilLogged(message: string, fields: LogRecord = {}): Promise<LogRecord> {
    const fits = (record: LogRecord) =>
      record["msg"] === message && Object.entries(fields).every(([name, value]) => record[name] === value);
    const signal = AbortSignal.timeout(WAIT_MS);
    for (;;) {
      const found = this.records.find(fits);
      if (found) return found;
      await once(this.#events, "added", { signal }).catch(() => {
        throw new Error(`never logged ${message}:\n${this.text}`);
      });
    }
  }
}
