import { neverAborted } from "../../never-aborted.ts";
import { type Access, defineOperations, type Patience, type Plan, type Run } from "./access.ts";
import { ok } from "./finding.ts";
import { unverified, writeSetting } from "./read-back.ts";

/** The BMC's time servers. */
export interface NtpSettings {
  /** Whether the BMC uses them. */
  readonly enabled: boolean;
  /** Names or addresses, in order of preference. */
  readonly servers: readonly string[];
}

/** The time servers to set. */
export interface NtpRequest {
  /** Whether the BMC shall use them. */
  readonly enabled: boolean;
  /** Names or addresses, in order of preference. Default: the present ones. */
  readonly servers?: readonly string[];
}

export interface NtpDriver {
  read(signal: AbortSignal): Promise<NtpSettings>;
  /** What `write` would send, in one line for people. */
  plan(request: NtpRequest, signal: AbortSignal): Promise<string>;
  write(request: NtpRequest, signal: AbortSignal): Promise<void>;
  /** Whether DHCP may supply servers, which the BMC lists beside its own; undefined if the BMC does not say. */
  hasDhcp?(signal: AbortSignal): Promise<boolean | undefined>;
}

/** Result of setting time servers. */
export interface NtpReport {
  /** The settings before the change. */
  readonly before: NtpSettings;
  /** The settings as read back. */
  readonly after: NtpSettings;
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** How it went, in one line for people. */
  readonly summary: string;
}

type NtpDrivers = { readonly ntp: NtpDriver };

export const ntpOperations = defineOperations({
  title: "NTP servers",
  methods: (run: Run<NtpDrivers>) => ({
    /** Reads the BMC's time servers. */
    getNtp: (signal: AbortSignal = neverAborted()): Promise<NtpSettings> =>
      run(signal, ({ read }) => read(({ ntp }) => ntp.read(signal))),

    /** Sets the time servers and reads them back; without servers, the present ones stay. */
    setNtp: (request: NtpRequest, signal: AbortSignal = neverAborted()): Promise<NtpReport> =>
      run(signal, (access) => setNtp(portOf(access, signal), request)),

    /** What `setNtp` would send. */
    planNtp: (request: NtpRequest, signal: AbortSignal = neverAborted()): Promise<Plan<NtpSettings>> =>
      run(signal, (access) => planNtp(portOf(access, signal), request)),
  }),
  check: async ({ read }, signal) => ok(describeNtp(await read(({ ntp }) => ntp.read(signal)))),
});

/** The BMC's time servers with retries in place; what `setNtp` needs and no more. */
type NtpPort = ReturnType<typeof portOf>;

function portOf({ read, write, sleep }: Access<NtpDrivers>, signal: AbortSignal) {
  return {
    read: () => read(({ ntp }) => ntp.read(signal)),
    plan: (request: NtpRequest) => read(({ ntp }) => ntp.plan(request, signal)),
    write: (request: NtpRequest, patience?: Patience) =>
      write(({ ntp }) => ntp.write(request, signal), patience),
    hasDhcp: () => read(async ({ ntp }) => ntp.hasDhcp?.(signal)),
    sleep,
  };
}

/**
 * Sets the time servers, or keeps the present ones if none are given, and reads them back. Sends nothing if they are already
 * set.
 */
export async function setNtp(port: NtpPort, request: NtpRequest): Promise<NtpReport> {
  const before = await port.read();
  const asked = settingsFor(request, before);
  const summary = describeNtp(asked);
  if (hasNtp(before, request))
    return { before, after: before, changed: false, summary: `already ${summary}` };
  const present = before.enabled === asked.enabled ? othersIn(before, asked) : undefined;
  const isSuppliedBefore = present && (await port.hasDhcp());
  if (isSuppliedBefore) {
    const already = `already ${summary}; ${beside(present)}`;
    return { before, after: before, changed: false, summary: already };
  }
  const after = await writeSetting(
    { ...port, write: (patience) => port.write(withoutRepeats(request), patience) },
    {
      asked: summary,
      isSet: (settings) => settings.enabled === asked.enabled && othersIn(settings, asked) !== undefined,
      describe: describeNtp,
    },
  );
  const others = othersIn(after, asked) ?? [];
  if (others.length === 0) return { before, after, changed: true, summary };
  // Without DHCP, the additional servers are some that the BMC did not remove.
  const isSupplied = (await port.hasDhcp()) ?? !same(after, before);
  if (!isSupplied) throw unverified(`asked for ${summary}, the BMC keeps ${describeNtp(after)}`, undefined);
  return { before, after, changed: true, summary: `${summary}; ${beside(others)}` };
}

const beside = (others: readonly string[]) =>
  `the BMC also lists ${others.join(", ")}, which DHCP may supply`;

export async function planNtp(port: NtpPort, request: NtpRequest): Promise<Plan<NtpSettings>> {
  const before = await port.read();
  if (hasNtp(before, request)) return { before, steps: [] };
  return { before, steps: [await port.plan(withoutRepeats(request))] };
}

/** For people: `NTP on (a, b)`, `NTP off`. */
export function describeNtp({ enabled, servers }: NtpSettings): string {
  const named = servers.length > 0 ? ` (${servers.join(", ")})` : "";
  return `NTP ${enabled ? "on" : "off"}${named}`;
}

/** Whether `setNtp` would send nothing. */
export function hasNtp(settings: NtpSettings, request: NtpRequest): boolean {
  return same(settings, settingsFor(request, settings));
}

function settingsFor(request: NtpRequest, before: NtpSettings): NtpSettings {
  const { enabled, servers } = withoutRepeats(request);
  return { enabled, servers: servers ?? before.servers };
}

/** Removes duplicates, because BMCs keep only one of two equal servers or refuse both. */
function withoutRepeats({ enabled, servers }: NtpRequest): NtpRequest {
  if (servers === undefined) return { enabled };
  const first = servers.filter((server, index) => {
    return servers.findIndex((other) => other.toLowerCase() === server.toLowerCase()) === index;
  });
  return { enabled, servers: first };
}

function same(a: NtpSettings, b: NtpSettings): boolean {
  return a.enabled === b.enabled && othersIn(a, b)?.length === 0;
}

/**
 * Returns the servers that the BMC lists after the wanted ones, such as those from DHCP (ibm-openbmc/bmcweb pull request 314).
 * Undefined if the wanted ones are not the first, in their order. Names and IPv6 addresses are compared without case.
 */
function othersIn(settings: NtpSettings, asked: NtpSettings): readonly string[] | undefined {
  const listed = settings.servers.filter((server) => server !== "");
  const wanted = asked.servers.filter((server) => server !== "");
  const isFirst = wanted.every((server, index) => server.toLowerCase() === listed[index]?.toLowerCase());
  const others = listed.slice(wanted.length);
  return isFirst && (wanted.length > 0 || others.length === 0) ? others : undefined;
}
