/** For a worker that works only while it leads. */
export interface Leadership {
  /** Certainly, at this moment. */
  readonly isLeading: boolean;
  /** Resolves to the reason when this worker does not lead any more: it must exit, because another one may lead. */
  readonly lost: Promise<string>;
  /** Resolves when this worker leads, or when the signal aborts. Never rejects. */
  acquire(stop: AbortSignal): Promise<void>;
  /** Lets another worker lead at once. Call when nothing is started any more. Never rejects. */
  release(): Promise<void>;
}
