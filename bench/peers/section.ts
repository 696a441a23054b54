import type { Row } from "./figures.ts";
import type { Installed, Peer } from "./peer.ts";

/** A peer, installed or missing. */
export interface InstalledPeer extends Peer {
  readonly installed?: Installed;
  /** Why it is not installed. */
  readonly missing?: string;
}

export interface SectionContext {
  /** Ours first. */
  readonly peers: readonly InstalledPeer[];
  /** One round, and fewer networks. */
  readonly quick: boolean;
  /** Number of workflows in the section `engine`. */
  readonly workflows: number;
  /** For files of this run, removed at its end. */
  readonly folder: string;
  /** Nothing new begins after it. */
  readonly deadline: AbortSignal;
  add(scenario: string, rows: readonly Row[]): Promise<void>;
}

/** A part of `npm run bench:peers`. */
export interface Section {
  readonly name: string;
  readonly title: string;
  /** The scenarios whose wall times are in the picture. */
  readonly charted: RegExp;
  run(context: SectionContext): Promise<void>;
}
