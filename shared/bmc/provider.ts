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
import type { Secret } from "../secret.ts";

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

/**
 * What a write is worth where it cannot be read back: `accepted` by something that does not tell what it keeps, or
 * `ignored`, as there is nothing to set and nothing is sent.
 */
export type Unverified = "accepted" | "ignored";

/** The boot override through one provider, under the same terms as `PowerDriver`. */
export interface BootDriver {
  /** Absent where writes can be read back; where they cannot, `read` is `unsupported`. */
  readonly unverified?: Unverified;
  read(signal: AbortSignal): Promise<BootOverride>;
  plan(request: BootRequest, signal: AbortSignal): Promise<string>;
  /** May send several forms of the request until the BMC takes one; reads nothing back. */
  write(request: BootRequest, signal: AbortSignal): Promise<void>;
}

/** An image for a virtual CD or DVD drive. */
export interface MediaImage {
  /** `http`, `https`, `nfs` or `cifs`; what the BMC takes is its own matter. */
  readonly url: string;
}

/** What is in the virtual drive; the image's URL where the BMC reports it. */
export interface MediaState {
  readonly inserted: boolean;
  readonly image?: string;
}

/** Virtual media through one provider: the first drive that takes a CD or DVD. */
export interface MediaDriver {
  /** As in `BootDriver`. */
  readonly unverified?: Unverified;
  read(signal: AbortSignal): Promise<MediaState>;
  plan(image: MediaImage | undefined, signal: AbortSignal): Promise<string>;
  /** May try several drives and forms of the request until the BMC takes one; reads nothing back. */
  insert(image: MediaImage, signal: AbortSignal): Promise<void>;
  eject(signal: AbortSignal): Promise<void>;
}

export type UserRole = "administrator" | "operator" | "readonly";

export interface BmcUser {
  /** The BMC's own: a slot number or a resource path. */
  readonly id: string;
  readonly name: string;
  readonly role: UserRole | "none" | "unknown";
  readonly enabled: boolean;
}

export interface NewUser {
  readonly name: string;
  readonly password: Secret;
  readonly role: UserRole;
}

/** What is to change; what is absent stays as it is. */
export interface UserChange {
  readonly password?: Secret;
  readonly role?: UserRole;
}

/** The BMC's own user accounts. A call is one attempt; upsert and verification are the client's. */
export interface UserDriver {
  /** Accounts that have a name; empty slots are left out. */
  list(signal: AbortSignal): Promise<readonly BmcUser[]>;
  create(user: NewUser, signal: AbortSignal): Promise<void>;
  change(user: BmcUser, change: UserChange, signal: AbortSignal): Promise<void>;
  remove(user: BmcUser, signal: AbortSignal): Promise<void>;
}

export type BmcResetKind = "cold" | "warm";

/** What the BMC says of itself; a field it does not report is absent. */
export interface BmcInfo {
  readonly vendor?: string;
  readonly model?: string;
  readonly firmware?: string;
  /** Redfish version or IPMI version. */
  readonly protocolVersion?: string;
  readonly serial?: string;
  readonly uuid?: string;
}

/** The BMC itself. */
export interface ManagerDriver {
  /** Resolves when the BMC accepted; it then goes away for a while and this session with it. */
  reset(kind: BmcResetKind, signal: AbortSignal): Promise<void>;
  info(signal: AbortSignal): Promise<BmcInfo>;
  /** The BMC's clock, milliseconds since the epoch; undefined where it tells none. */
  clockMs(signal: AbortSignal): Promise<number | undefined>;
}

export interface NtpSettings {
  readonly enabled: boolean;
  readonly servers: readonly string[];
}

export interface NtpDriver {
  read(signal: AbortSignal): Promise<NtpSettings>;
  write(settings: NtpSettings, signal: AbortSignal): Promise<void>;
}

export interface SelEntry {
  readonly id: string;
  /** ISO 8601; absent where the entry carries none. */
  readonly at?: string;
  readonly severity?: "ok" | "warning" | "critical";
  readonly message: string;
}

/** The system event log. */
export interface SelDriver {
  /** Oldest first. */
  list(signal: AbortSignal): Promise<readonly SelEntry[]>;
  clear(signal: AbortSignal): Promise<void>;
}

/** Serial over LAN. */
export interface SolDriver {
  /** Ends a session that somebody left open; that there is none is success. */
  deactivate(signal: AbortSignal): Promise<void>;
}

export interface NmiDriver {
  /** Raises a non-maskable interrupt. Not idempotent: never repeated after a lost answer. */
  send(signal: AbortSignal): Promise<void>;
}

export interface Screenshot {
  /** Such as `image/png`. */
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

export interface ScreenshotDriver {
  take(signal: AbortSignal): Promise<Screenshot>;
}

/** What is built into a machine; a field that the BMC does not report is absent. */
export interface Hardware {
  readonly system: {
    readonly vendor?: string;
    readonly model?: string;
    readonly serial?: string;
    readonly uuid?: string;
    readonly biosVersion?: string;
  };
  readonly processors: readonly {
    readonly name: string;
    readonly model?: string;
    readonly cores?: number;
    readonly threads?: number;
  }[];
  readonly memory: readonly {
    readonly name: string;
    readonly bytes?: number;
    readonly kind?: string;
    readonly serial?: string;
  }[];
  readonly disks: readonly {
    readonly name: string;
    readonly model?: string;
    readonly serial?: string;
    readonly bytes?: number;
    readonly kind?: string;
  }[];
  readonly nics: readonly {
    readonly name: string;
    readonly mac?: string;
    readonly speedMbps?: number;
    readonly up?: boolean;
  }[];
  readonly firmware: readonly { readonly name: string; readonly version: string }[];
}

export interface InventoryDriver {
  read(signal: AbortSignal): Promise<Hardware>;
}

/** A BMC that answered and accepted the credentials, or that a hint says will (see `Provider.open`). */
export interface Session {
  readonly provider: ProviderName;
  readonly power: PowerDriver;
  readonly boot: BootDriver;
  readonly media?: MediaDriver;
  readonly users?: UserDriver;
  readonly manager?: ManagerDriver;
  readonly ntp?: NtpDriver;
  readonly sel?: SelDriver;
  readonly sol?: SolDriver;
  readonly nmi?: NmiDriver;
  readonly screenshot?: ScreenshotDriver;
  readonly inventory?: InventoryDriver;
  /** Requests (or packets) so far that waited for an answer. */
  roundTrips(): number;
  /** What was learned and is worth keeping for the next call; plain JSON. */
  hint(): unknown;
  /** Logs out and frees sockets within a few seconds, whatever state the session is in. Never throws. */
  close(): Promise<void>;
}

/** The optional drivers of a session, by which a provider says what it can do. */
export type Capability =
  | "media"
  | "users"
  | "manager"
  | "ntp"
  | "sel"
  | "sol"
  | "nmi"
  | "screenshot"
  | "inventory";

export interface ProviderContext {
  readonly clock: Clock;
  readonly log: Logger;
  /** This provider's part of an earlier hint; anything, validated by the provider. */
  readonly hint?: unknown;
  /** To be called when the BMC first gives any sign of life to `open`: a connection, an answer. */
  readonly onReached?: () => void;
}

/** One way to talk to a BMC. */
export interface Provider {
  readonly name: ProviderName;
  /** What a session may have beyond power and boot. A session of a BMC that lacks it throws `unsupported`. */
  readonly capabilities: ReadonlySet<Capability>;
  /**
   * Reaches the BMC and proves the credentials with as few round trips as the protocol allows, one attempt.
   * With a hint that makes its first request certain, a provider without login may open without any.
   * When it fails or the signal aborts, nothing stays open, neither here nor on the BMC.
   */
  open(connection: Connection, context: ProviderContext, signal: AbortSignal): Promise<Session>;
}
