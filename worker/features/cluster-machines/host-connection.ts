import * as z from "zod/mini";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { Connection } from "../../../shared/contract/connection.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import type { Logger } from "../../../shared/logger.ts";
import { withTimeout } from "../../../shared/timeout.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { HostObject, managementOf } from "../../kubernetes/client/host-object.ts";
import { KINDS, keyOf, type ObjectName } from "../../kubernetes/client/kinds.ts";
import { isKubernetesError, KubernetesError } from "../../kubernetes/client/kubernetes-error.ts";
import type { Machine } from "../../machines/inventory.ts";
import { MachinePaused, refusePaused } from "../../machines/pause.ts";
import type { ReferenceRefusal } from "../../policy/reference.ts";
import { checkClaim } from "./claim-permit.ts";
import { readConnection } from "./cluster-connection.ts";
import { HOST_PAUSED, HOST_REFUSED } from "./described-claim.ts";
import { describeHost, type Managed } from "./described-host.ts";
import type { BmcTarget } from "./described-machine.ts";
import { actionOf, isPowerAction, onlineAfter, POWER_ACTIONS } from "./host-actions.ts";
import type { Metal3Machine, ObjectOrigin } from "./machine-index.ts";
import { withMetadata } from "./paused.ts";
import { reasonOf } from "./warning-log.ts";

type Usable = Extract<BmcTarget, { readonly kind: "usable" }>;

/** A machine that is a BareMetalHost or a HostClaim. */
export interface UsableHost extends ObjectOrigin {
  readonly machine: Machine;
  readonly content: Usable;
  readonly metal3: Metal3Machine;
}

export interface HostReading {
  /** The image of the action that needs the connection. */
  readonly image?: string | undefined;
  readonly managed: Managed;
  /** The policy for references between objects of the cluster. */
  readonly references: ReferenceRefusal;
  readonly log: Logger;
  readonly whilePaused?: true | undefined;
  readonly signal: AbortSignal;
}

const READ_TIMEOUT_MS = 10_000;

/**
 * Reads the connection of a host. Reads the host's state first, so that nothing is sent to a BMC that the operator manages
 * meanwhile. Errors reveal nothing about the host of a claim. Throws like `readConnection`.
 */
export async function readHostConnection(
  found: UsableHost,
  cluster: Cluster,
  reading: HostReading,
): Promise<Connection> {
  const { at, metal3 } = found;
  const { log, signal } = reading;
  if (metal3.claim === undefined) return read(found, cluster, reading);
  try {
    return await read(found, cluster, reading);
  } catch (thrown) {
    signal.throwIfAborted();
    const { class: errorClass, message } = BmcError.from(thrown);
    const [claim, host] = [keyOf(at), keyOf(metal3.host)];
    log.warn({ claim, host, error: message }, "host of a claim refused");
    if (thrown instanceof MachinePaused) throw new MachinePaused(found.machine.name, HOST_PAUSED);
    const problem = thrown instanceof HostRefusal ? `has a host that ${thrown.problem}` : HOST_REFUSED;
    throw new BmcError(errorClass, `${found.object} ${claim}: ${problem}`);
  }
}

/** A refusal whose problem does not reveal the host. */
class HostRefusal extends BmcError {
  readonly problem: string;

  constructor(errorClass: ErrorClass, called: ObjectOrigin, problem: string) {
    super(errorClass, reasonOf(called, [problem]));
    this.problem = problem;
  }
}

/** Whether an action with this image goes through the BareMetalHost instead of its BMC. */
export function goesViaHost({ viaHost }: Usable, image: string | undefined): boolean {
  return viaHost === "all" || (viaHost === "power" && isPowerAction(image));
}

async function read(
  found: UsableHost,
  cluster: Cluster,
  { image, managed, references, signal, ...terms }: HostReading,
): Promise<Connection> {
  const { machine, content, metal3 } = found;
  const { host, claim } = metal3;
  const object = await withTimeout(READ_TIMEOUT_MS, signal, async (bound) => {
    if (claim) await checkClaim(cluster, { claim, host, references }, bound);
    return readHost(cluster, host, bound);
  });
  const seen = withMetadata(KINDS.bareMetalHost, describeHost(managed))(object, host);
  refusePaused({ ...machine, paused: seen?.paused ?? machine.paused }, terms);
  const described = seen?.content;
  const called = { object: "BareMetalHost", at: host, source: found.source } as const;
  if (!described) throw new BmcError("usage", reasonOf(called, ["has no BMC any more"]));
  const { target } = described;
  if (target.kind === "unusable") throw new BmcError("usage", reasonOf(called, target.problems));
  const isOther = target.lockKey !== content.lockKey || target.viaHost !== content.viaHost;
  const isTaken = claim !== undefined && (!described.claim || keyOf(described.claim) !== keyOf(claim));
  if (isOther || isTaken) {
    throw new HostRefusal("state", called, "changed while the action waited: nothing was sent");
  }
  if (goesViaHost(target, image)) return viaHost(machine.name, called, image);
  checkOnline(HostObject.parse(object), called, image);
  const connectable = { machine, object: called.object, at: host, source: target.source, references };
  return readConnection(connectable, cluster, signal);
}

async function readHost(cluster: Cluster, host: ObjectName, signal: AbortSignal): Promise<unknown> {
  try {
    return await cluster.get(KINDS.bareMetalHost, host, z.unknown(), signal);
  } catch (thrown) {
    if (isKubernetesError(thrown, "not-found")) {
      throw new BmcError("usage", `BareMetalHost ${keyOf(host)} does not exist any more`);
    }
    if (thrown instanceof KubernetesError) throw new BmcError(thrown.class, thrown.message);
    throw thrown;
  }
}

/** A connection without a login. The action uses the worker's own provider, which goes through the BareMetalHost. */
function viaHost(machine: string, called: ObjectOrigin, image: string | undefined): Connection {
  if (image !== undefined && !isPowerAction(image)) {
    const allowed = POWER_ACTIONS.join(", ");
    const problem = `is managed by Metal3, which allows only ${allowed}, not ${actionOf(image) ?? image}`;
    throw new HostRefusal("unsupported", called, `${problem}. Fix: detach the host`);
  }
  return Connection.parse({ machine, host: machine, rpc: { url: "http://baremetalhost.invalid" } });
}

/** Rejects a power action that contradicts `spec.online`: on an externally provisioned host, the operator would undo it. */
function checkOnline(host: HostObject, called: ObjectOrigin, image: string | undefined): void {
  const management = managementOf(host);
  const wanted = onlineAfter(image);
  if (management.kind !== "power" || wanted === undefined || wanted === management.online) return;
  const problem = `is externally provisioned: Metal3 keeps its power at spec.online, ${management.online}, and would undo ${actionOf(image)}`;
  const fix = `Fix: set spec.online to ${wanted}, detach the host, or set metal3Managed to via-host`;
  throw new HostRefusal("state", called, `${problem}. ${fix}`);
}
