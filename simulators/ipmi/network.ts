export interface NetworkOptions {
  /** The time added to every answer. */
  readonly latencyMs: number;
  /** The shares (0 to 1) of datagrams in each direction that are lost, duplicated or delayed. */
  readonly loss: number;
  readonly duplication: number;
  readonly reordering: number;
  /** The shares of answers that are preceded by a forged one, and of datagrams that arrive truncated. */
  readonly forgery: number;
  readonly truncation: number;
  /** The seed of the random choices. */
  readonly seed: number;
}

const LATE_MS = 30;
const CONSOLE_ID_OFFSET = 20;

/** The network between client and BMC, which loses, duplicates and delays datagrams at random, with a seed. */
export class Network {
  readonly #options: NetworkOptions;
  readonly #timers = new Set<NodeJS.Timeout>();
  #state: number;

  constructor(options: NetworkOptions) {
    this.#options = options;
    this.#state = options.seed;
  }

  receive(datagram: Buffer, deliver: (datagram: Buffer) => void): void {
    this.#carry(0, datagram, deliver);
  }

  send(datagram: Buffer, deliver: (datagram: Buffer) => void): void {
    if (this.#roll() < this.#options.forgery) this.#carry(0, this.#forged(datagram), deliver);
    this.#carry(this.#options.latencyMs, datagram, deliver);
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #carry(delayMs: number, datagram: Buffer, deliver: (datagram: Buffer) => void): void {
    const { loss, duplication, reordering, truncation } = this.#options;
    if (this.#roll() < loss) return;
    const cut = this.#roll() < truncation ? this.#pick(datagram.length) : datagram.length;
    const copies = this.#roll() < duplication ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      this.#after(delayMs + (this.#roll() < reordering ? LATE_MS : 0), () =>
        deliver(datagram.subarray(0, cut)),
      );
    }
  }

  /**
   * Makes a packet of an attacker who knows the packets' format but not the session: in the handshake it has another
   * console's session ID, and within a session a changed byte that the check value covers.
   */
  #forged(datagram: Buffer): Buffer {
    const forged = Buffer.from(datagram);
    const isHandshake = (datagram[5] ?? 0) >= 0x10 && (datagram[5] ?? 0) <= 0x15;
    const at = isHandshake ? CONSOLE_ID_OFFSET : 16 + this.#pick(Math.max(1, forged.length - 16));
    if (at < forged.length) forged[at] = forged.readUInt8(at) ^ (1 + this.#pick(255));
    return forged;
  }

  #pick(below: number): number {
    return Math.floor(this.#roll() * below);
  }

  #after(ms: number, run: () => void): void {
    if (ms === 0) {
      run();
      return;
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, ms);
    this.#timers.add(timer);
  }

  /** Returns the next random number (Mulberry32, which is the same on every platform). */
  #roll(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}
