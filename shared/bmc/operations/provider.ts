import type { Clock } from "../../clock.ts";
import type { Connection } from "../../contract/connection.ts";
import type { NameOption } from "../../contract/name-option.ts";
import type { SessionProvider } from "../../contract/vocabulary.ts";
import { defined } from "../../defined.ts";
import type { Logger } from "../../logger.ts";
import type { Tracer } from "../../tracing/tracer.ts";
import type { WireTap } from "../../tracing/wire-tap.ts";
import type { SessionBase, SessionPrivilege } from "./access.ts";
import { CAPABILITIES, type Capability, DRIVER_NAMES, type DriverName, type Drivers } from "./table.ts";

/** A session with these drivers beyond power and boot. */
export type SessionWith<Name extends Capability> = SessionBase &
  Omit<Drivers, Capability> &
  Pick<Drivers, Name>;

/** A BMC that answered and accepted the credentials, or that a hint says will (see `Provider.open`). */
export interface Session extends SessionWith<never>, Partial<Pick<Drivers, Capability>> {}

export interface ProviderContext {
  readonly clock: Clock;
  readonly log: Logger;
  /** This provider's part of an earlier hint; any value, validated by the provider. */
  readonly hint?: unknown;
  /** The hint of the session that accepted a change of this operation: the session must be about the same machine. */
  readonly changed?: unknown;
  /** Called with every request. */
  readonly tracer?: Tracer;
  /** Is told of every exchange, for a recording. */
  readonly tap?: WireTap | undefined;
  /** Called when the BMC first answers `open` in any way: a connection, a packet. */
  readonly onReached?: () => void;
  /** Called when the BMC accepts a request that changes something, also one of several of a write. */
  readonly onAccepted?: () => void;
  /** How the user sets an option of the connection, for errors; as in the inventory when absent. */
  readonly nameOption?: NameOption | undefined;
}

/** One way to talk to a BMC. */
export interface Provider {
  readonly name: SessionProvider;
  /** What a session may have beyond power and boot. A session of a BMC that lacks it throws `unsupported`. */
  readonly capabilities: ReadonlySet<Capability>;
  /**
   * Reaches the BMC and proves the credentials with as few round trips as the protocol allows, one attempt.
   * With a hint that makes its first request certain, a provider without login may open without any.
   * When it fails or the signal aborts, nothing stays open, neither here nor on the BMC.
   */
  open(connection: Connection, context: ProviderContext, signal: AbortSignal): Promise<Session>;
}

interface ProviderDefinition<Name extends Capability> {
  readonly name: SessionProvider;
  readonly capabilities: readonly Name[];
  open(
    connection: Connection,
    context: ProviderContext,
    signal: AbortSignal,
  ): Promise<SessionWith<NoInfer<Name>>>;
}

/** A provider whose sessions have the drivers that it names, which the compiler checks. */
export function defineProvider<const Name extends Capability>({
  name,
  capabilities,
  open,
}: ProviderDefinition<Name>): Provider {
  return { name, capabilities: new Set<Capability>(capabilities), open };
}

/** How a provider makes each of its drivers of what a session has. */
export type DriverFactories<Parts> = {
  readonly [Name in DriverName]?: (parts: Parts) => Drivers[Name];
};

type Made<Factories> = {
  readonly [Name in keyof Factories]: Factories[Name] extends (parts: never) => infer Driver ? Driver : never;
};

/** The drivers of one session. */
export function makeDrivers<Parts, Factories extends DriverFactories<Parts>>(
  factories: Factories & DriverFactories<Parts>,
  parts: Parts,
): Made<Factories> {
  const made = DRIVER_NAMES.map((name) => [name, factories[name]?.(parts)] as const);
  return Object.fromEntries(made.filter(([, driver]) => driver !== undefined)) as Made<Factories>;
}

/** What these drivers make possible beyond power and boot. */
export function capabilitiesOf<Factories extends DriverFactories<never>>(
  factories: Factories,
): readonly Extract<keyof Factories, Capability>[] {
  type Name = Extract<keyof Factories, Capability>;
  return CAPABILITIES.filter((name): name is Name => factories[name] !== undefined);
}

/** What is known of an open session and its BMC without a request. */
export interface SessionDescription {
  /** What the provider can do beyond power and boot; whether this BMC offers it may take a request to know. */
  readonly capabilities: readonly Capability[];
  /** The level that the session asked for, if the protocol has such levels. */
  readonly privilege?: SessionPrivilege;
  /** When the BMC's certificate expires, milliseconds since the epoch; absent without TLS. */
  readonly certificateExpiresMs?: number;
}

export function describeSession(session: Session): SessionDescription {
  const { privilege } = session;
  const certificateExpiresMs = session.certificateExpiresMs?.();
  return {
    capabilities: CAPABILITIES.filter((name) => session[name] !== undefined),
    ...defined({ privilege, certificateExpiresMs }),
  };
}
