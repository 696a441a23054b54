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

/** A session with a BMC that has accepted the credentials, or will do so according to a hint (see `Provider.open`). */
export interface Session extends SessionWith<never>, Partial<Pick<Drivers, Capability>> {}

export interface ProviderContext {
  readonly clock: Clock;
  readonly log: Logger;
  /** This provider's part of an earlier hint; any value, validated by the provider. */
  readonly hint?: unknown;
  /** The hint of the session that made a change in this operation. The new session must be for the same machine. */
  readonly changed?: unknown;
  /** Called with every request. */
  readonly tracer?: Tracer;
  /** Receives every exchange, for a recording. */
  readonly tap?: WireTap | undefined;
  /** Called when the BMC first answers in any way, for example with a TCP connection or a packet. */
  readonly onReached?: () => void;
  /** Called each time the BMC accepts a request that changes something. */
  readonly onAccepted?: () => void;
  /** Names an option of the connection in errors, in the form that the user sets. Default: the form of the inventory. */
  readonly nameOption?: NameOption | undefined;
}

/** One way to talk to a BMC. */
export interface Provider {
  readonly name: SessionProvider;
  /** The capabilities beyond power and boot. An operation throws `unsupported` if the BMC itself lacks the capability. */
  readonly capabilities: ReadonlySet<Capability>;
  /**
   * Reaches the BMC and proves the credentials in one attempt, with as few round trips as the protocol allows. A provider
   * without login may send nothing if its hint makes the first request certain. After a failure or an abort nothing stays open,
   * neither here nor on the BMC.
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

/** Defines a provider. The compiler checks that its sessions have the drivers that it names. */
export function defineProvider<const Name extends Capability>({
  name,
  capabilities,
  open,
}: ProviderDefinition<Name>): Provider {
  return { name, capabilities: new Set<Capability>(capabilities), open };
}

/** Functions that create a provider's drivers from the parts of a session. */
export type DriverFactories<Parts> = {
  readonly [Name in DriverName]?: (parts: Parts) => Drivers[Name];
};

type Made<Factories> = {
  readonly [Name in keyof Factories]: Factories[Name] extends (parts: never) => infer Driver ? Driver : never;
};

/** Creates the drivers of one session. */
export function makeDrivers<Parts, Factories extends DriverFactories<Parts>>(
  factories: Factories & DriverFactories<Parts>,
  parts: Parts,
): Made<Factories> {
  const made = DRIVER_NAMES.map((name) => [name, factories[name]?.(parts)] as const);
  return Object.fromEntries(made.filter(([, driver]) => driver !== undefined)) as Made<Factories>;
}

/** The capabilities beyond power and boot that these drivers provide. */
export function capabilitiesOf<Factories extends DriverFactories<never>>(
  factories: Factories,
): readonly Extract<keyof Factories, Capability>[] {
  type Name = Extract<keyof Factories, Capability>;
  return CAPABILITIES.filter((name): name is Name => factories[name] !== undefined);
}

/** Facts about an open session and its BMC that need no request. */
export interface SessionDescription {
  /** The provider's capabilities beyond power and boot. Finding out whether this BMC offers one may need a request. */
  readonly capabilities: readonly Capability[];
  /** The privilege level that the session requested, if the protocol has such levels. */
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
