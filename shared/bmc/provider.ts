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
import type { Tracer } from "../tracing/tracer.ts";

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

/** What trying a user's password out has shown; `unknown` where the BMC does not let anybody try. */
export type PasswordTrial = "accepted" | "refused" | "unknown";

/** The BMC's own user accounts. A call is one attempt; upsert and verification are the client's. */
export interface UserDriver {
  /** Throws `usage` for a name or password that the protocol cannot carry. Sends nothing. */
  checkUser?(user: Pick<NewUser, "name"> & Partial<NewUser>): void;
  /** Throws `auth` where the session is known not to be allowed to change users. Sends nothing. */
  checkRights?(): void;
  /** Accounts that have a name; empty slots are left out. */
  list(signal: AbortSignal): Promise<readonly BmcUser[]>;
  create(user: NewUser, signal: AbortSignal): Promise<void>;
  change(user: BmcUser, change: UserChange, signal: AbortSignal): Promise<void>;
  remove(user: BmcUser, signal: AbortSignal): Promise<void>;
  /** Whether the BMC has this password for the user. A password that is wrong may count as a failed login. */
  tryPassword(user: BmcUser, password: Secret, signal: AbortSignal): Promise<PasswordTrial>;
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
  /** What `reset` would send, in one line for people. Throws `unsupported` where the BMC is known not to offer it. */
  plan(kind: BmcResetKind, signal: AbortSignal): Promise<string>;
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

/** What the settings are to become; without servers, those there are stay. */
export interface NtpRequest {
  readonly enabled: boolean;
  readonly servers?: readonly string[];
}

export interface NtpDriver {
  read(signal: AbortSignal): Promise<NtpSettings>;
  /** What `write` would send, in one line for people. */
  plan(request: NtpRequest, signal: AbortSignal): Promise<string>;
  write(request: NtpRequest, signal: AbortSignal): Promise<void>;
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
  /** Number of entries, in a few round trips however many there are; at least one of them was readable. */
  count(signal: AbortSignal): Promise<number>;
  /** What `clear` would send, in one line for people. Throws `unsupported` where the BMC is known not to offer it. */
  plan(signal: AbortSignal): Promise<string>;
  clear(signal: AbortSignal): Promise<void>;
}

/** Whether a BMC has what only using it would prove: it says so, or `unknown` where it does not say. */
export type Offer = "offered" | "unknown";

/** Something that changes the machine, or takes its time, even when it is only tried out. */
export interface Offering {
  /** Asks the BMC without doing it. Throws `unsupported` where the BMC is known not to offer it. */
  offer(signal: AbortSignal): Promise<Offer>;
}

/** Serial over LAN. */
export interface SolDriver extends Offering {
  /** The instances in use; undefined where the BMC cannot say. */
  active(signal: AbortSignal): Promise<readonly number[] | undefined>;
  /** Ends these instances, or without any given all that are in use; that one is not in use is success. */
  deactivate(signal: AbortSignal, instances?: readonly number[]): Promise<void>;
}

export interface NmiDriver extends Offering {
  /** What `send` would put on the wire, in one line for people. Throws as `offer` does. */
  plan(signal: AbortSignal): Promise<string>;
  /** Raises a non-maskable interrupt. Not idempotent: never repeated after a lost answer. */
  send(signal: AbortSignal): Promise<void>;
}

export interface Screenshot {
  /** Such as `image/png`. */
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

export interface ScreenshotDriver extends Offering {
  /** What `take` would send, in one line for people. Throws as `offer` does. */
  plan(signal: AbortSignal): Promise<string>;
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

/** What a session may do at most (IPMI 2.0 section 6.8). */
export type SessionPrivilege = "user" | "operator" | "administrator";

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
  /** The level that the session asks for, where the protocol has such levels. */
  readonly privilege?: SessionPrivilege;
  /** When the BMC's certificate expires, milliseconds since the epoch; undefined without TLS. */
  certificateExpiresMs?(): number | undefined;
  /** Requests (or packets) so far that waited for an answer. */
  roundTrips(): number;
  /** What was learned and is worth keeping for the next call; plain JSON. */
  hint(): unknown;
  /** Logs out and frees sockets within a few seconds, whatever state the session is in. Never throws. */
  close(): Promise<void>;
}

/** The optional drivers of a session, by which a provider says what it can do. */
export const CAPABILITIES = [
  "media",
  "users",
  "manager",
  "ntp",
  "sel",
  "sol",
  "nmi",
  "screenshot",
  "inventory",
] as const;
export type Capability = (typeof CAPABILITIES)[number];

/** Those of which only using them would prove that the BMC has them; see `Offering`. */
export type OfferedCapability = "sol" | "nmi" | "screenshot";

export interface ProviderContext {
  readonly clock: Clock;
  readonly log: Logger;
  /** This provider's part of an earlier hint; anything, validated by the provider. */
  readonly hint?: unknown;
  /** Is told of every request. */
  readonly tracer?: Tracer;
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
