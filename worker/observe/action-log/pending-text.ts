/** How much may wait to be written, of all files together. */
export class WaitingRoom {
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get isFull(): boolean {
    return this.#bytes > this.#mostBytes;
  }

  /** Negative for what leaves. */
  add(bytes: number): void {
    this.#bytes += bytes;
  }
}

/** What is to be written next, and how many lines before it gave way. */
export interface TakenText {
  readonly text: string;
  readonly lines: number;
  readonly lost: number;
}

/** Lines of one file that wait to be written. When there are too many, the oldest give way: the end says more. */
export class PendingText {
  readonly #mostBytes: number;
  readonly #room: WaitingRoom;
  #lines: { readonly text: string; readonly bytes: number }[] = [];
  #bytes = 0;
  #lost = 0;

  constructor(mostBytes: number, room: WaitingRoom) {
    this.#mostBytes = mostBytes;
    this.#room = room;
  }

  /** Gives how many lines had to give way. */
  push(text: string): number {
    const bytes = Buffer.byteLength(text);
    this.#lines.push({ text, bytes });
    this.#add(bytes);
    const lostBefore = this.#lost;
    while (this.#bytes > this.#mostBytes || (this.#room.isFull && this.#lines.length > 0)) {
      const oldest = this.#lines.shift();
      if (oldest === undefined) break;
      this.#add(-oldest.bytes);
      this.#lost += 1;
    }
    return this.#lost - lostBefore;
  }

  take(): TakenText {
    const taken = {
      text: this.#lines.map(({ text }) => text).join(""),
      lines: this.#lines.length,
      lost: this.#lost,
    };
    this.#lines = [];
    this.#lost = 0;
    this.#add(-this.#bytes);
    return taken;
  }

  /** Lines that were taken and could not be written. */
  lose(lines: number): void {
    this.#lost += lines;
  }

  #add(bytes: number): void {
    this.#bytes += bytes;
    this.#room.add(bytes);
  }
}
