import { BmcError } from "../../contract/bmc-error.ts";
import type { OfferedDriver } from "./finding.ts";

/** What a console gives while it is watched. */
export interface ConsoleSink {
  /** The console is open: what the machine sends from now on arrives. */
  opened(): void;
  /** Bytes of the machine, in order and each once. */
  output(bytes: Uint8Array): void;
  /** Output was lost here. */
  gap(reason: string): void;
}

/** The machine's serial console through one provider. */
export interface ConsoleDriver extends OfferedDriver {
  /** Who has the console open, for people; undefined if it is free, and where the BMC cannot say. */
  holder(signal: AbortSignal): Promise<string | undefined>;
  /** What `takeOver` and `watch` would send, in one line each for people. */
  plan(takesOver: boolean): readonly string[];
  /** Ends the session that has the console open. */
  takeOver(signal: AbortSignal): Promise<void>;
  /**
   * Opens the console, sends nothing to it, and resolves once `until` has aborted and the console is released. Rejects with
   * `busy` if another session has it, and with `timeout` or `unreachable` once it is lost. Released on every way out.
   */
  watch(sink: ConsoleSink, until: AbortSignal, signal: AbortSignal): Promise<void>;
}

/** The watch of a session, which ends with it. */
export class SessionWatch {
  readonly #closing = new AbortController();
  #watching: Promise<unknown> = Promise.resolve();

  run(watch: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const watching = watch(AbortSignal.any([signal, this.#closing.signal]));
    this.#watching = watching.catch(() => undefined);
    return watching;
  }

  /** Ends a watch and resolves once its console is released. Never throws. */
  async close(): Promise<void> {
    this.#closing.abort(new BmcError("cancelled", "the session was closed"));
    await this.#watching;
  }
}
