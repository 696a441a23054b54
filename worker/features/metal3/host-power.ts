import type { PowerCommand, PowerDriver } from "../../../shared/bmc/operations/power.ts";
import type { Clock } from "../../../shared/clock.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { PowerState } from "../../../shared/contract/vocabulary.ts";
import { formatSeconds } from "../../../shared/duration.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import type { HostAccess } from "../../core/ports/runtime.ts";
import { HostObject, managementOf, operatorPause, REBOOT } from "../../kubernetes/client/host-object.ts";
import { isKubernetesError, KubernetesError } from "../../kubernetes/client/kubernetes-error.ts";
import { LAST_REBOOT, type RebootAnnotation } from "./reboot-annotation.ts";

export interface HostPowerOptions {
  readonly host: HostAccess;
  readonly reboot: RebootAnnotation;
  /** Whether an earlier run of the action may have had the same key, so that `LAST_REBOOT` proves nothing. */
  readonly keyMayReturn: boolean;
  /** Removes the annotation. Rejects if the first attempt fails; retries continue in the background. */
  readonly release: (host: HostAccess, name: string) => Promise<void>;
  readonly clock: Clock;
}

/** The states in which the operator follows `spec.online`. In earlier states, it controls the power for its own work. */
const STEADY: ReadonlySet<string> = new Set(["available", "ready", "provisioned", "externally provisioned"]);
/** The only states in which the operator obeys reboot annotations (`manageHostPower`). */
const REBOOTS: ReadonlySet<string> = new Set(["provisioned", "externally provisioned"]);

/** How long the operator may take to power a host off. */
const OFF_MS = 10 * 60_000;
const LOOK_MS = 2_000;
/** The most attempts of a write. The operator changes the status often, and each change causes a conflict. */
const WRITES = 20;
const CONFLICT_PAUSE_MS = 200;

/**
 * Reads and changes a host's power through its BareMetalHost. Writes only if the host is unchanged since the last read. The
 * power is known only while the operator has no change left to make.
 */
export class HostPower implements PowerDriver {
  readonly #options: HostPowerOptions;
  #desired: boolean | undefined;
  #requests = 0;
  #annotating: Promise<void> | undefined;
  /** Whether a command has powered the host off. The next read returns this, because Metal3 may already have powered it on. */
  #wasOff = false;

  constructor(options: HostPowerOptions) {
    this.#options = options;
  }

  get requests(): number {
    return this.#requests;
  }

  /** Waits until all annotations are removed. Never rejects. */
  async close(): Promise<void> {
    await this.#annotating?.catch(() => undefined);
  }

  async read(signal: AbortSignal): Promise<PowerState> {
    if (this.#wasOff) {
      this.#wasOff = false;
      return "off";
    }
    const { metadata, spec, status } = await this.#get(signal);
    if (this.#desired !== undefined && spec.online !== this.#desired) {
      throw new BmcError("state", `something else set spec.online of the BareMetalHost to ${spec.online}`);
    }
    const isRebooting = Object.keys(metadata.annotations ?? {}).some(
      (name) => name === REBOOT || name.startsWith(`${REBOOT}/`),
    );
    if (status?.poweredOn === undefined || status.poweredOn !== spec.online || isRebooting) return "unknown";
    return status.poweredOn ? "on" : "off";
  }

  async plan(command: PowerCommand, signal: AbortSignal): Promise<string> {
    const host = await this.#get(signal);
    check(host, command);
    if (command === "on") return "set spec.online of the BareMetalHost to true";
    if (isReboot(command)) return `add the annotation ${this.#options.reboot.name} until the host is off`;
    return "set spec.online of the BareMetalHost to false";
  }

  async send(command: PowerCommand, signal: AbortSignal): Promise<void> {
    if (isReboot(command)) return this.#reboot(command, signal);
    const online = command === "on";
    // Only with the annotation does the operator power off by force at once.
    const isForced = command === "off" && REBOOTS.has(stateOf(await this.#get(signal)));
    if (isForced) await this.#annotate(command, { spec: { online } }, signal);
    else await this.#write(command, () => ({ spec: { online } }), signal);
    this.#desired = online;
  }

  async #reboot(command: PowerCommand, signal: AbortSignal): Promise<void> {
    const { key } = this.#options.reboot;
    await this.#annotate(command, { metadata: { annotations: { [LAST_REBOOT]: key } } }, signal);
  }

  #annotate(command: PowerCommand, change: Change, signal: AbortSignal): Promise<void> {
    this.#annotating = this.#annotateUntilOff(command, change, signal);
    return this.#annotating;
  }

  /** Writes the change together with the annotation, waits until the host is off, and removes the annotation in any case. */
  async #annotateUntilOff(command: PowerCommand, change: Change, signal: AbortSignal): Promise<void> {
    const { host, keyMayReturn, reboot, release } = this.#options;
    const annotations = { ...change.metadata?.annotations, [reboot.name]: reboot.value };
    let isWritten = false;
    try {
      await this.#write(
        command,
        ({ metadata }) => {
          if (isReboot(command) && !keyMayReturn && metadata.annotations?.[LAST_REBOOT] === reboot.key) {
            throw new BmcError(
              "state",
              "an earlier run of this action has rebooted the host: not sent again",
            );
          }
          isWritten = true;
          return { ...change, metadata: { annotations } };
        },
        signal,
      );
      await this.#untilOff(signal);
      this.#wasOff = true;
    } finally {
      if (isWritten) await release(host, reboot.name);
    }
  }

  async #untilOff(signal: AbortSignal): Promise<void> {
    const { clock, reboot } = this.#options;
    try {
      await withTimeout(
        OFF_MS,
        signal,
        async (bound) => {
          for (;;) {
            const host = await this.#getPatiently(bound);
            if (host?.status?.poweredOn === false) return;
            if (host && !Object.hasOwn(host.metadata.annotations ?? {}, reboot.name)) {
              throw new BmcError("state", `something else removed ${reboot.name} before the host was off`);
            }
            await clock.sleep(LOOK_MS, bound);
          }
        },
        clock,
      );
    } catch (thrown) {
      if (!(thrown instanceof TimeoutReached)) throw thrown;
      throw new BmcError("timeout", `Metal3 did not power the host off within ${formatSeconds(OFF_MS)}`);
    }
  }

  async #write(
    command: PowerCommand,
    change: (host: HostObject) => Change,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, host } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const now = await this.#get(signal);
      check(now, command);
      const { metadata, ...rest } = change(now);
      const { resourceVersion } = now.metadata;
      try {
        this.#requests += 1;
        await host.patch({ metadata: { ...metadata, resourceVersion }, ...rest }, signal);
        return;
      } catch (thrown) {
        if (!isKubernetesError(thrown, "conflict") || attempt === WRITES) throw errorOf(thrown, true);
        await clock.sleep(CONFLICT_PAUSE_MS, signal);
      }
    }
  }

  async #get(signal: AbortSignal): Promise<HostObject> {
    this.#requests += 1;
    let object: unknown;
    try {
      object = await this.#options.host.get(signal);
    } catch (thrown) {
      throw errorOf(thrown, false);
    }
    const parsed = HostObject.safeParse(object);
    if (parsed.success) return parsed.data;
    throw new BmcError("protocol", "the BareMetalHost is not valid");
  }

  /** Reads the host; undefined while the API server is unavailable, because the annotation is already in place. */
  async #getPatiently(signal: AbortSignal): Promise<HostObject | undefined> {
    try {
      return await this.#get(signal);
    } catch (thrown) {
      signal.throwIfAborted();
      const { cause } = BmcError.from(thrown);
      if (cause instanceof KubernetesError && cause.passing) return undefined;
      throw thrown;
    }
  }
}

interface Change {
  readonly metadata?: { readonly annotations: Readonly<Record<string, string>> };
  readonly spec?: { readonly online: boolean };
}

function isReboot(command: PowerCommand): boolean {
  return command === "cycle" || command === "reset";
}

function stateOf({ status }: HostObject): string {
  return status?.provisioning?.state ?? "";
}

/** Throws a `BmcError` if the operator would not execute the command. */
function check(host: HostObject, command: PowerCommand): void {
  const management = managementOf(host);
  const refuse = (problem: string) => new BmcError("state", `the BareMetalHost ${problem}`);
  const pause = operatorPause(host);
  if (pause !== undefined) throw refuse(pause);
  if (management.kind === "blocked") throw refuse(management.problem);
  if (management.kind === "released") throw refuse("was released by Metal3 meanwhile: run the action again");
  const state = stateOf(host);
  if (!STEADY.has(state)) throw refuse(`is in state ${state}, in which Metal3 needs its power itself`);
  if (host.status?.operationalStatus === "servicing") throw refuse("is being serviced by Metal3");
  if (command !== "on" && host.spec.disablePowerOff) {
    throw refuse("has disablePowerOff, so that Metal3 never powers it off");
  }
  if (!isReboot(command)) return;
  if (!REBOOTS.has(state)) {
    throw new BmcError("unsupported", `Metal3 reboots no host in state ${state}: power it off and on`);
  }
  if (!host.spec.online) throw refuse("has spec.online false, so that Metal3 would leave it off");
}

/** Translates an error. A write without a response may have been executed. */
function errorOf(thrown: unknown, isWrite: boolean): BmcError {
  if (!(thrown instanceof KubernetesError)) return BmcError.from(thrown);
  const uncertain = isWrite && ["unreachable", "timeout", "unavailable"].includes(thrown.reason);
  const errorClass = thrown.passing && thrown.reason !== "timeout" ? "unreachable" : thrown.class;
  // The error's own message names the host, which the tenant of a claim must not know.
  const message = `the BareMetalHost cannot be ${isWrite ? "patched" : "read"}: ${thrown.reason}`;
  return new BmcError(errorClass, message, { cause: thrown, uncertain });
}
