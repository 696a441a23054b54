import type { PassedRequest } from "./request-reader.ts";

/** What becomes of a request or its answer on the way. */
type TcpFaultKind =
  /** Resets the connection; the request never arrives. */
  | "reset-before"
  /** Lets the request arrive and be carried out, then resets the connection without an answer. */
  | "reset-after"
  /** Resets the connection after `bytes` of the answer. */
  | "reset-within"
  /** Ends the connection in order after `bytes` of the answer. */
  | "truncate"
  /** Passes `bytes` of the answer, then one more every `dripMs`: a slow loris that never ends in time. */
  | "stall"
  /** Swallows the request and leaves the connection open. */
  | "black-hole";

export interface TcpFault {
  readonly kind: TcpFaultKind;
  readonly method?: string;
  readonly path?: RegExp;
  /** How many requests the fault affects. Default: 1. */
  readonly times?: number;
  /** How many bytes of the answer to pass on, including its head. Default: 0. */
  readonly bytes?: number;
  /** For `stall`; nothing more comes when absent. */
  readonly dripMs?: number;
}

/** Faults that wait for the requests they fit, in the order they were added. */
export class TcpFaults {
  readonly #waiting: { readonly fault: TcpFault; left: number }[] = [];

  add(fault: TcpFault): void {
    this.#waiting.push({ fault, left: fault.times ?? 1 });
  }

  take({ method, path }: PassedRequest): TcpFault | undefined {
    const met = this.#waiting.find(
      ({ fault, left }) =>
        left > 0 && (fault.method ?? method) === method && (fault.path?.test(path) ?? true),
    );
    if (met) met.left -= 1;
    return met?.fault;
  }
}
