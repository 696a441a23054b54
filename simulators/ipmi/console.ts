import type { SimulatedSession } from "./sessions.ts";

export interface ConsoleOptions {
  /** The time before an unacknowledged packet is sent again, and the number of repetitions. */
  readonly retryMs: number;
  readonly retries: number;
  /** The largest number of characters in a packet. */
  readonly packetBytes: number;
  /** Whether a repeated packet also contains the characters that have arrived since. */
  readonly growingCopies: boolean;
  /** How much of the latest output is kept while no console is open, to be sent to the next console. */
  readonly historyBytes: number;
}

/** The largest amount of output that the BMC buffers for a slow console. */
const BUFFER_BYTES = 65_536;
const DEACTIVATED = 0x10;
const OVERRUN = 0x08;

/**
 * The single serial-over-LAN instance of the BMC (IPMI 2.0 section 15): stop-and-wait, with retransmission of what is not
 * acknowledged.
 */
export class SimulatedConsole {
  /** The characters that consoles have sent to the machine. */
  written = Buffer.alloc(0);
  /** The number of retransmitted packets with characters. */
  copies = 0;
  readonly #options: ConsoleOptions;
  readonly #send: (session: SimulatedSession, payload: Buffer) => void;
  #session: SimulatedSession | undefined;
  #waiting = Buffer.alloc(0);
  #sequence = 0;
  /** The number of characters in the unacknowledged packet. */
  #pending = 0;
  #status = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ConsoleOptions, send: (session: SimulatedSession, payload: Buffer) => void) {
    this.#options = options;
    this.#send = send;
  }

  get session(): SimulatedSession | undefined {
    return this.#session;
  }

  activate(session: SimulatedSession): void {
    const history = this.#waiting;
    this.#clear();
    this.#session = session;
    // The answer to the activation is sent first.
    if (history.length > 0) setImmediate(() => this.print(history));
  }

  /** Deactivates the console, and notifies it if another console is the cause. */
  deactivate(by?: SimulatedSession): void {
    const session = this.#session;
    this.#clear();
    if (session && session !== by) this.#send(session, Buffer.of(0, 0, 0, DEACTIVATED));
  }

  /** Deactivates the console without a notice. */
  drop(): void {
    this.#clear();
  }

  /** Handles output of the machine. */
  print(output: Buffer): void {
    if (!this.#session) {
      const { historyBytes } = this.#options;
      this.#waiting =
        historyBytes === 0 ? this.#waiting : Buffer.concat([this.#waiting, output]).subarray(-historyBytes);
      return;
    }
    const all = Buffer.concat([this.#waiting, output]);
    if (all.length > BUFFER_BYTES) this.#status |= OVERRUN;
    this.#waiting = all.subarray(0, BUFFER_BYTES);
    if (this.#pending === 0) this.#next();
  }

  /** Handles a packet of the console. */
  receive(session: SimulatedSession, payload: Buffer): void {
    if (session !== this.#session || payload.length < 4) return;
    const [sequence = 0, acknowledged = 0, accepted = 0] = payload;
    const data = payload.subarray(4);
    if (sequence !== 0 && data.length > 0) {
      this.written = Buffer.concat([this.written, data]);
      this.#send(session, Buffer.of(0, sequence, data.length, 0));
    }
    if (this.#pending === 0 || acknowledged !== this.#sequence) return;
    // The answer to a shorter copy of the packet.
    if (this.#options.growingCopies && accepted < this.#pending) return;
    clearTimeout(this.#timer);
    this.#waiting = this.#waiting.subarray(Math.min(accepted, this.#pending));
    this.#pending = 0;
    this.#status = 0;
    if (this.#waiting.length > 0) this.#next();
  }

  #next(): void {
    this.#sequence = (this.#sequence % 15) + 1;
    this.#pending = Math.min(this.#waiting.length, this.#options.packetBytes);
    this.#transmit(0);
  }

  #transmit(copy: number): void {
    const session = this.#session;
    if (!session) return;
    const { growingCopies, packetBytes, retries, retryMs } = this.#options;
    if (copy > retries) {
      this.#waiting = this.#waiting.subarray(this.#pending);
      this.#pending = 0;
      if (this.#waiting.length > 0) this.#next();
      return;
    }
    if (copy > 0) this.copies += 1;
    if (growingCopies) this.#pending = Math.min(this.#waiting.length, packetBytes);
    const data = this.#waiting.subarray(0, this.#pending);
    this.#timer = setTimeout(() => this.#transmit(copy + 1), retryMs);
    this.#send(session, Buffer.concat([Buffer.of(this.#sequence, 0, 0, this.#status), data]));
  }

  #clear(): void {
    clearTimeout(this.#timer);
    this.#session = undefined;
    this.#waiting = Buffer.alloc(0);
    this.#pending = 0;
    this.#sequence = 0;
    this.#status = 0;
  }
}
