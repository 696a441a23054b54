import { BmcError } from "../../../../contract/bmc-error.ts";
import type { WriteEffect } from "../../../operations/write-proof.ts";
import { ActionInfo, type ResetAction } from "../service/schema.ts";
import type { Service } from "../service/service.ts";
import type { ManagedSystem } from "./system.ts";
import type { Writer } from "./writer.ts";

/** The request of a reset, and the types to try after it if the BMC lists none. */
interface ResetPlan {
  readonly path: string;
  readonly types: readonly string[];
  /** Whether the BMC lists the types, which determines how its refusal is judged. */
  readonly isListed: boolean;
}

/** The target of resets and the listed types, for the next call. */
export interface ResetHint {
  readonly target: string;
  readonly values?: readonly string[] | undefined;
}

/** ComputerSystem.Reset of one system. */
export class SystemReset {
  readonly #system: ManagedSystem;
  readonly #writer: Writer;
  /** Values from ActionInfo; undefined in it if it is known that there are none. */
  #looked: { readonly target: string; readonly values: readonly string[] | undefined } | undefined;

  constructor(system: ManagedSystem, writer: Writer) {
    this.#system = system;
    this.#writer = writer;
  }

  /** Undefined while an ActionInfo with further values was not read. */
  get hint(): ResetHint | undefined {
    const action = this.#action();
    if (!action) return undefined;
    const target = this.#target();
    const looked = this.#looked?.target === target ? this.#looked : undefined;
    const values = action["ResetType@Redfish.AllowableValues"] ?? looked?.values;
    if (!values && !looked && action["@Redfish.ActionInfo"] !== undefined) return undefined;
    return values ? { target, values } : { target };
  }

  /**
   * The request for the first suitable type of `wanted`. Throws `unsupported`, with `what` in its message, if none is
   * listed.
   */
  async plan(wanted: readonly string[], what: string, signal: AbortSignal): Promise<string> {
    const { path, types } = await this.#plan(wanted, what, signal);
    return `POST ${path} ${JSON.stringify({ ResetType: types[0] })}`;
  }

  /** Whether a type of `wanted` is listed; undefined if the BMC lists none. Throws like `plan`. */
  async offered(wanted: readonly string[], what: string, signal: AbortSignal): Promise<true | undefined> {
    await this.#plan(wanted, what, signal);
    return (await this.#listed(signal)) ? true : undefined;
  }

  /**
   * Sends the first listed type of `wanted`; if none is listed, each one until one is accepted. Its task continues to run,
   * unless `needsTask`, as in `WriteRequest`.
   */
  async send(wanted: readonly string[], what: string, signal: AbortSignal, needsTask = false): Promise<void> {
    await this.#system.confirm(signal);
    const plan = await this.#plan(wanted, what, signal);
    const refused = await this.#attempt(plan, what, signal, needsTask);
    if (!refused) return;
    // The target does not exist or is not offered. If a hint caused that, the system itself is read.
    if (!(await this.#system.refresh(signal))) throw refused;
    const seen = await this.#plan(wanted, what, signal);
    if (JSON.stringify(seen) === JSON.stringify(plan)) throw refused;
    const refusedAgain = await this.#attempt(seen, what, signal, needsTask);
    if (refusedAgain) throw refusedAgain;
  }

  /**
   * Sends one type. Resolves to undefined if the BMC accepted it, and to the error if it does not offer it; throws other
   * refusals.
   */
  async #attempt(
    plan: ResetPlan,
    what: string,
    signal: AbortSignal,
    needsTask: boolean,
  ): Promise<BmcError | undefined> {
    let refused: BmcError | undefined;
    for (const ResetType of plan.types) {
      const body = { ResetType };
      const { path } = plan;
      const follows = { needsTask, background: !needsTask };
      const effect = plan.isListed ? effectOfType(ResetType) : "setting";
      const request = { method: "POST", path, body, tagPath: this.#system.path, ...follows, effect } as const;
      try {
        await this.#writer.write(request, signal);
        return undefined;
      } catch (error) {
        if (!(error instanceof BmcError) || error.class !== "unsupported") throw error;
        refused = error;
      }
    }
    return refused ?? noResetType(what, undefined);
  }

  async #plan(wanted: readonly string[], what: string, signal: AbortSignal): Promise<ResetPlan> {
    if (!this.#action()) await this.#system.refresh(signal);
    const listed = await this.#listed(signal);
    const { unlistedResets } = this.#system.behaviour;
    const types = listed
      ? wanted.filter((type) => listed.includes(type)).slice(0, 1)
      : wanted.filter((type) => !unlistedResets.includes(type));
    if (types.length > 0) return { path: this.#target(), types, isListed: listed !== undefined };
    if (await this.#system.refresh(signal)) return await this.#plan(wanted, what, signal);
    throw noResetType(what, listed);
  }

  async #listed(signal: AbortSignal): Promise<readonly string[] | undefined> {
    const action = this.#action();
    const advertised = action?.["ResetType@Redfish.AllowableValues"];
    if (advertised || this.#system.isRemembered) return advertised;
    const target = this.#target();
    if (this.#looked?.target !== target) {
      this.#looked = { target, values: await listedResetTypes(this.#system.service, action, signal) };
    }
    return this.#looked.values;
  }

  #action(): ResetAction | undefined {
    return this.#system.last.value.Actions?.["#ComputerSystem.Reset"];
  }

  #target(): string {
    const { service, path } = this.#system;
    const name = "#ComputerSystem.Reset";
    // A resource that lists no actions may still have them.
    return service.actionPath(path, name, this.#action() ?? {}) ?? path;
  }
}

/** The effect of sending a type again: types that lead to a state have none, others act each time. */
function effectOfType(type: string): WriteEffect {
  return ["On", "ForceOn", "ForceOff"].includes(type) ? "setting" : "command";
}

/**
 * The reset types of an action: on the resource, otherwise in its ActionInfo (DSP0266 section 7.8.3), which costs a request.
 * Undefined if neither lists any.
 */
export async function listedResetTypes(
  service: Service,
  action: ResetAction | undefined,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const advertised = action?.["ResetType@Redfish.AllowableValues"];
  if (advertised) return advertised;
  const path = service.localPath(action?.["@Redfish.ActionInfo"]);
  if (path === undefined) return undefined;
  const info = await service.find(path, ActionInfo, signal);
  return info?.value.Parameters.find(({ Name }) => Name === "ResetType")?.AllowableValues;
}

/** The error about a missing reset type. */
export function noResetType(what: string, listed: readonly string[] | undefined): BmcError {
  const offers = listed ? `, only ${listed.join(", ")}` : "";
  return new BmcError("unsupported", `the BMC offers no reset type for ${what}${offers}`);
}
