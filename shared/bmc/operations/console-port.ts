import { BmcError } from "../../contract/bmc-error.ts";
import type { OfferedDriver } from "./finding.ts";

/** Receives what a console sends while it is watched. */
export interface ConsoleSink {
  /** Called when the console is open. Later output of the machine arrives. */
  opened(): void;
  /** Receives bytes of the machine in order, each once. */
  output(bytes: Uint8Array): void;
  /** Called where output was lost. */
  gap(reason: string): void;
}

/** The machine's serial console through one provider. */
export interface ConsoleDriver extends OfferedDriver {
  /** Returns who has the console open, for display; undefined if it is free or the BMC cannot say. */
  holder(signal: AbortSignal): Promise<string | undefined>;
  /** Returns what `takeOver` and `watch` would send, in one line each for display. */
  plan(takesOver: boolean): readonly string[];
  /** Ends the session that has the console open. */
  takeOver(signal: AbortSignal): Promise<void>;
  /**
   * Opens the console, sends nothing to it, and resolves when `until` has aborted and the console is released. Rejects with
   * `busy` if another session has it, and with `timeout` or `unreachable` if it is lost. The console is always released.
   */
  watch(sink: ConsoleSink, until: AbortSignal, signal: AbortSignal): Promise<void>;
}

/** The watch of a session. It ends with the session. */
export class SessionWatch {
  readonly #closing = new AbortController();
  #watching: Promise<unknown> = Promise.resolve();

  run(watch: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const watching = watch(AbortSignal.any([signal, this.#closing.signal]));
    this.#watching = watching.catch(() => undefined);
    return watching;
  }

  /** Ends a watch and resolves when its console is released. Never throws. */
  async close(): Promise<void> {
    this.#closing.abort(new BmcError("cancelled", "the session was closed"));
    await this.#watching;
  }
}
