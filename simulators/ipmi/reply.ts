/** The answer of a command handler: the completion code, which defaults to 0, and data. */
export interface Reply {
  readonly code?: number;
  readonly data?: Buffer;
  /** Whether no answer is sent. */
  readonly isLost?: boolean;
}
