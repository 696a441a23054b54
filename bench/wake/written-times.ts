/** By workflow, in milliseconds of the worker's own clock. */
export interface SocketTimes {
  /** When the answer to its poll was read from the socket. */
  readonly answered: Readonly<Record<string, number>>;
  /** When its first report was written to the socket. */
  readonly reported: Readonly<Record<string, number>>;
}

export const WRITTEN_EVERY_MS = 1_000;
