/** What a command handler answers: completion code (0 when absent) and data. */
export interface Reply {
  readonly code?: number;
  readonly data?: Buffer;
  /** Nothing is answered. */
  readonly isLost?: boolean;
}
