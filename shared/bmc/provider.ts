import type { Clock } from "../clock.ts";
import type { Connection } from "../contract/connection.ts";
import type {
  BootDevice,
  BootMode,
  BootModeChoice,
  PowerState,
  ProviderName,
} from "../contract/vocabulary.ts";
import type { Logger } from "../logger.ts";

/** One command to a BMC, with the provider's own best way to carry it out. */
export type PowerCommand = "on" | "off" | "soft-off" | "cycle" | "reset";

/** What a boot override is to become. */
export interface BootRequest {
  readonly device: BootDevice;
  readonly persistent: boolean;
  readonly mode: BootModeChoice;
}

/** A boot override as the BMC reports it; a field it does not report is absent. */
export interface BootOverride {
  readonly device: BootDevice | "unknown";
  /** False is once. Absent when there is no override, too. */
  readonly persistent?: boolean;
  readonly mode?: BootMode;
}

/**
 * Power through one provider. A call is one attempt: no retry of a write, no verification, no waiting for
 * the machine; those are the client's and the same for all providers. Errors are `BmcError`s.
 */
export interface PowerDriver {
  read(signal: AbortSignal): Promise<PowerState>;
  /**
   * What `send` would put on the wire, in one line for people. Changes nothing.
   * Throws `unsupported` when the BMC is known not to offer the command.
   */
  plan(command: PowerCommand, signal: AbortSignal): Promise<string>;
  /** Resolves when the BMC accepted the command, which is not yet that the machine obeyed. */
  send(command: PowerCommand, signal: AbortSignal): Promise<void>;
}

/** The boot override through one provider, under the same terms as `PowerDriver`. */
export interface BootDriver {
  read(signal: AbortSignal): Promise<BootOverride>;
  plan(request: BootRequest, signal: AbortSignal): Promise<string>;
  /** May send several forms of the request until the BMC takes one; reads nothing back. */
  write(request: BootRequest, signal: AbortSignal): Promise<void>;
}

/** A BMC that answered and accepted the credentials. */
export interface Session {
  readonly provider: ProviderName;
  readonly power: PowerDriver;
  readonly boot: BootDriver;
  /** Requests (or packets) so far that waited for an answer. */
  roundTrips(): number;
  /** What was learned and is worth keeping for the next call; plain JSON. */
  hint(): unknown;
  /** Logs out and frees sockets within a few seconds, whatever state the session is in. Never throws. */
  close(): Promise<void>;
}

export interface ProviderContext {
  readonly clock: Clock;
  readonly log: Logger;
  /** This provider's part of an earlier hint; anything, validated by the provider. */
  readonly hint?: unknown;
}

/** One way to talk to a BMC. */
export interface Provider {
  readonly name: ProviderName;
  /**
   * Reaches the BMC and proves the credentials with as few round trips as the protocol allows, one attempt.
   * When it fails or the signal aborts, nothing stays open, neither here nor on the BMC.
   */
  open(connection: Connection, context: ProviderContext, signal: AbortSignal): Promise<Session>;
}
