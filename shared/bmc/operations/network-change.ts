import { BmcError } from "../../contract/bmc-error.ts";
import { formatSeconds } from "../../duration.ts";
import type { NetworkChange, NetworkPort } from "./network-port.ts";
import { describeNetwork, isAsTarget, type NetworkSettings } from "./network-settings.ts";
import { caught, isDenial, isFinal, unverified } from "./read-back.ts";

/** Result of changing a BMC's network interface. */
export interface NetworkReport {
  /** The settings before the change. */
  readonly before: NetworkSettings;
  /** The settings as read back; absent if the BMC now uses DHCP and no longer answers at the old address. */
  readonly after?: NetworkSettings;
  /** The address at which the BMC was read back; absent if it is unknown. */
  readonly host?: string;
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** How it went, in one line for people. */
  readonly summary: string;
}

/** The stage of a change: about to be sent, or sent. */
export type NetworkStage = "sending" | "sent";

interface AskedChange extends NetworkChange {
  /** Whether the connection uses the interface's own address rather than a translated one. */
  readonly isDirect: boolean;
  readonly timeoutMs: number;
  readonly onStage: (stage: NetworkStage, before: NetworkSettings) => void;
}

const POLL_MS = 2_000;
/**
 * How long new settings must hold. BMCs may report a VLAN before they use it, or an address that they still have from DHCP
 * before they drop the lease (openbmc/phosphor-networkd issue 60), and then be out of reach.
 */
const HOLD_MS = 5_000;
const LONGEST_PROBE_MS = 15_000;
/** The time limit for the last read at the old address. */
const LAST_PROBE_MS = 4_000;
/** How long to wait for a change that the BMC accepted and denied in the same response. */
const DENIED_MS = 1_000;

/**
 * Sends a change once, unless the interface already has the wanted settings, and reads them with new sessions until they are in
 * force. If the response was lost, only these reads show whether the BMC made the change.
 */
export async function setNetwork(port: NetworkPort, change: AskedChange): Promise<NetworkReport> {
  const { before, target, isDirect, onStage } = change;
  const summary = describeNetwork(target);
  if (isAsTarget(before, target)) {
    return { before, after: before, host: port.host, changed: false, summary: `already ${summary}` };
  }
  onStage("sending", before);
  const startedMs = port.clock.monotonicMs();
  // Reserve half of the time for reading back: a BMC whose address changes never answers the request.
  const halfMs = change.timeoutMs / 2;
  const failure = await caught(() => port.write({ before, target }, halfMs));
  // A BMC that was busy has used up the other half.
  const endMs = Math.max(startedMs + change.timeoutMs, port.clock.monotonicMs() + halfMs);
  const lost = failure && (await notRefused(port, change, failure));
  onStage("sent", before);
  const moved = isDirect && target.address !== before.address ? target.address : undefined;
  try {
    return await verify(port, change, { moved, lost, endMs });
  } catch (thrown) {
    await port.useHost(undefined);
    throw thrown;
  }
}

/** Returns a failure after which the BMC may have made the change, because BMCs may report an error afterwards. Throws any other failure. */
async function notRefused(port: NetworkPort, change: AskedChange, failure: BmcError): Promise<BmcError> {
  if (failure.uncertain) return failure;
  const isLocal = ["cancelled", "internal", "tls", "usage"].includes(failure.class);
  if (isLocal || failure.refused === "login") throw failure;
  const seen = await look(port, change.before, port.host, LAST_PROBE_MS).catch(() => undefined);
  if (seen && (seen instanceof BmcError || isAsTarget(seen, change.target))) return failure;
  throw failure;
}

interface SentChange {
  /** The new address, if the change makes the connection's own address invalid. */
  readonly moved: string | undefined;
  /** The error, if the response was lost or denied a change that it accepted. */
  readonly lost: BmcError | undefined;
  /** The end of the wait, by the monotonic clock. */
  readonly endMs: number;
}

async function verify(port: NetworkPort, change: AskedChange, sent: SentChange): Promise<NetworkReport> {
  const { before, target, isDirect } = change;
  const { moved, lost } = sent;
  const nowMs = port.clock.monotonicMs();
  const endMs = lost && isDenial(lost) ? Math.min(sent.endMs, nowMs + DENIED_MS) : sent.endMs;
  const summary = describeNetwork(target);
  const host = moved ?? port.host;
  const leases = isDirect && target.mode === "dhcp" && before.mode !== "dhcp";
  await port.useHost(moved);
  port.progress(`change sent, waiting for the BMC at ${host}`, Math.max(0, endMs - nowMs));
  let seen = await awaitTarget(port, change, host, endMs);
  const isFixed = target.mode === "static" && before.mode !== "static";
  if (isAsked(seen, target) && (isFixed || target.vlan !== before.vlan)) {
    await port.sleep(HOLD_MS);
    seen = await awaitTarget(port, change, host, Math.max(endMs, port.clock.monotonicMs() + HOLD_MS));
  }
  if (isAsked(seen, target)) {
    // The command that ends a change may have been lost with its session.
    if (lost) await port.finish().catch(() => undefined);
    const where = leases ? `read back at ${host}, the new address is not known` : `answers at ${host}`;
    return { before, after: seen, host, changed: true, summary: `${summary}; ${where}` };
  }
  if (leases && !lost && seen instanceof BmcError) {
    const where = `accepted, not read back: the BMC no longer answers at ${host}, the new address is not known`;
    return { before, changed: true, summary: `${summary}; ${where}` };
  }
  throw await failureOf(port, change, { ...sent, host }, seen);
}

function isAsked(seen: NetworkSettings | BmcError, target: NetworkSettings): seen is NetworkSettings {
  return !(seen instanceof BmcError) && isAsTarget(seen, target);
}

/** Reads until the interface has the wanted settings or the time is over. Resolves to the last reading. */
async function awaitTarget(
  port: NetworkPort,
  { before, target }: AskedChange,
  host: string,
  endMs: number,
): Promise<NetworkSettings | BmcError> {
  for (;;) {
    const leftMs = endMs - port.clock.monotonicMs();
    const seen = await look(port, before, host, Math.max(POLL_MS, leftMs));
    if (isAsked(seen, target) || leftMs <= 0) return seen;
    await port.sleep(Math.min(POLL_MS, leftMs));
  }
}

/** Reads the interface. Returns why it cannot be read now; throws if waiting cannot help. */
async function look(
  port: NetworkPort,
  before: NetworkSettings,
  host: string,
  limitMs: number,
): Promise<NetworkSettings | BmcError> {
  const interfaces = await probe(port, host, limitMs);
  if (interfaces instanceof BmcError) return interfaces;
  const found = interfaces.find(({ id }) => id === before.id);
  if (!found) return new BmcError("protocol", `the BMC at ${host} lists no interface ${before.id}`);
  if (found.mac !== undefined && before.mac !== undefined && found.mac !== before.mac) {
    throw new BmcError("verify", `another BMC answers at ${host}: MAC ${found.mac}, not ${before.mac}`);
  }
  return found;
}

async function probe(port: NetworkPort, host: string, limitMs: number) {
  try {
    return await port.probe(Math.min(LONGEST_PROBE_MS, limitMs));
  } catch (thrown) {
    const error = BmcError.from(thrown);
    if (!isFinal(error)) return error;
    if (error.class === "cancelled") throw error;
    throw new BmcError(error.class, `after the change, at ${host}: ${error.message}`, { cause: error });
  }
}

async function failureOf(
  port: NetworkPort,
  { target, timeoutMs }: AskedChange,
  { host, moved, lost }: SentChange & { readonly host: string },
  seen: NetworkSettings | BmcError,
): Promise<BmcError> {
  const asked = describeNetwork(target);
  if (!(seen instanceof BmcError)) {
    // A change that is left in progress locks other consoles out.
    if (lost) await port.finish().catch(() => undefined);
    return unverified(`asked for ${asked}, the BMC keeps ${describeNetwork(seen)}`, denialIn(lost));
  }
  const within = `within ${formatSeconds(timeoutMs)}`;
  const unanswered = lost ? `; ${lost.message}` : "";
  if (moved === undefined) {
    const text = `the BMC did not answer at ${host} ${within}: ${seen.message}${unanswered}`;
    return new BmcError("timeout", text, { cause: seen });
  }
  await port.useHost(undefined);
  const there = await look(port, target, port.host, LAST_PROBE_MS);
  if (there instanceof BmcError) {
    const text = `the BMC answers neither at ${host} ${within}, nor at ${port.host}: ${seen.message}${unanswered}`;
    return new BmcError("timeout", text, { cause: seen });
  }
  if (lost) await port.finish().catch(() => undefined);
  const kept = `still answers at ${port.host} with ${describeNetwork(there)}`;
  return unverified(`asked for ${asked}, the BMC does not answer at ${host} and ${kept}`, denialIn(lost));
}

/** The BMC's own error, if there is one. Whether the change was made is already known by now. */
function denialIn(lost: BmcError | undefined): BmcError | undefined {
  return lost && isDenial(lost) ? lost : undefined;
}
