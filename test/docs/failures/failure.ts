import type { Stage } from "./stage.ts";

/** What an operator sees of a failure, in the places where it shows. */
export interface Seen {
  /** The status of the action in the workflow. */
  readonly status?: { readonly action: string; readonly state: string; readonly message: string };
  /** Lines of the worker's log. */
  readonly log?: readonly LogRecord[];
  /** A command that ended at once. */
  readonly terminal?: { readonly command: string; readonly text: string; readonly exitCode: number | null };
}

export type LogRecord = Readonly<Record<string, unknown>>;

/**
 * What a failure needs beside Node: `engine`, a container engine that answers; `disk`, the right to mount a file system;
 * `user`, the right to become another user.
 */
export type Need = "engine" | "disk" | "user";

export interface Failure {
  /** Its mark in the manual. */
  readonly name: string;
  readonly needs?: Need;
  /** Makes it happen, with real programs and simulated machines. Rejects when it does not. */
  provoke(stage: Stage): Promise<Seen>;
}
