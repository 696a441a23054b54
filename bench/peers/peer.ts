import type { Operation } from "../../scripts/performance/operations.ts";
import type { Protocol } from "./recorder.ts";
import type { Command } from "./run-child.ts";

/** What a peer is asked to do, once or several times over one connection. */
export interface Order {
  readonly protocol: Protocol;
  readonly port: number;
  readonly username: string;
  readonly passwordFile: string;
  readonly cipherSuite: 3 | 17;
  readonly operation: Operation;
  readonly mediaUrl: string;
  readonly repeat: number;
  /** The scheme of Redfish. Default: `http`. */
  readonly scheme?: "http" | "https";
  /** What to try if the protocol does not answer, with the same login. */
  readonly fallback?: { readonly protocol: Protocol; readonly port: number };
}

/** A peer that is installed. */
export interface Installed {
  readonly version: string;
  command(order: Order): Command;
  /** The program itself, for the sections whose work is not an order. */
  readonly argv?: readonly string[];
  /** The result that a line of its output has; the line itself when absent. */
  read?(line: string, order: Order): string;
}

/** A program that the benchmarks compare. */
export interface Peer {
  readonly name: string;
  /** How a run gets it. */
  readonly source: string;
  readonly protocols: readonly Protocol[];
  /** Why it does not do an operation. */
  readonly lacks?: Readonly<Partial<Record<Operation, string>>>;
  /** Whether it tries a second protocol when the first one does not answer. */
  readonly fallsBack?: boolean;
  /** Whether one process can do an operation several times, on one connection. */
  readonly repeats: boolean;
  /** Rejects when it is missing, with the reason. */
  install(folder: string): Promise<Installed>;
}

/** The environment of our programs for peers and those of `--peer`, as bench/peers/README.md describes. */
export function environmentOf(order: Order): Readonly<Record<string, string>> {
  return {
    PEER_PROTOCOL: order.protocol,
    PEER_SCHEME: order.scheme ?? "http",
    PEER_HOST: "127.0.0.1",
    PEER_PORT: String(order.port),
    PEER_USERNAME: order.username,
    PEER_PASSWORD_FILE: order.passwordFile,
    PEER_CIPHER_SUITE: String(order.cipherSuite),
    PEER_OPERATION: order.operation,
    PEER_MEDIA_URL: order.mediaUrl,
    PEER_REPEAT: String(order.repeat),
    ...(order.fallback && {
      PEER_FALLBACK_PROTOCOL: order.fallback.protocol,
      PEER_FALLBACK_PORT: String(order.fallback.port),
    }),
  };
}
