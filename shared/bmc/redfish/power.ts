import type { PowerState } from "../../contract/vocabulary.ts";
import { BmcError } from "../errors.ts";
import type { PowerCommand, PowerDriver } from "../provider.ts";
import { ActionInfo } from "./schema.ts";
import type { ManagedSystem } from "./system.ts";
import { awaitTask } from "./task.ts";

/** Reset types (DSP0268, Resource.ResetType) that carry out a command, best first. */
const RESET_TYPES: Readonly<Record<PowerCommand, readonly string[]>> = {
  on: ["On", "ForceOn"],
  off: ["ForceOff"],
  "soft-off": ["GracefulShutdown", "PushPowerButton"],
  cycle: ["PowerCycle"],
  reset: ["ForceRestart", "GracefulRestart"],
};

/** Reset types that came from ActionInfo, and the target they belong to. */
export interface ResetHint {
  readonly target: string;
  readonly values?: readonly string[] | undefined;
}

export class RedfishPower implements PowerDriver {
  readonly #system: ManagedSystem;
  /** Values from ActionInfo; null once it is known that there are none. */
  #looked: { readonly target: string; readonly values: readonly string[] | null } | undefined;

  constructor(system: ManagedSystem, hint: ResetHint | undefined) {
    this.#system = system;
    if (hint?.values) this.#looked = { target: hint.target, values: hint.values };
  }

  get hint(): ResetHint {
    const target = this.#target();
    const values = this.#advertised() ?? (this.#looked?.target === target ? this.#looked.values : undefined);
    return values ? { target, values } : { target };
  }

  async read(signal: AbortSignal): Promise<PowerState> {
    const { value } = await this.#system.read(signal);
    return powerState(value.PowerState);
  }

  async plan(command: PowerCommand, signal: AbortSignal): Promise<string> {
    const [first] = await this.#choose(command, signal);
    return `POST ${this.#target()} ${JSON.stringify({ ResetType: first })}`;
  }

  async send(command: PowerCommand, signal: AbortSignal): Promise<void> {
    const { service, clock } = this.#system;
    const path = this.#target();
    let refused: BmcError | undefined;
    for (const ResetType of await this.#choose(command, signal)) {
      this.#system.markChanged();
      const request = { method: "POST", path, body: { ResetType } } as const;
      const answer = await service.send(request, signal);
      if (answer.status < 300) {
        await awaitTask(service, answer, clock, signal);
        return;
      }
      refused = service.refusal(answer, request);
      if (refused.class !== "unsupported") throw refused;
    }
    throw refused ?? unsupported(command, undefined);
  }

  /** The reset types to try, never none: one where the BMC lists its own, else all that may do. */
  async #choose(command: PowerCommand, signal: AbortSignal): Promise<readonly string[]> {
    const listed = await this.#listed(signal);
    const wanted = RESET_TYPES[command];
    if (listed) {
      const fitting = wanted.find((type) => listed.includes(type));
      if (fitting === undefined) throw unsupported(command, listed);
      return [fitting];
    }
    const { unlistedResets } = this.#system.behaviour;
    return wanted.filter((type) => !unlistedResets.includes(type));
  }

  async #listed(signal: AbortSignal): Promise<readonly string[] | undefined> {
    const advertised = this.#advertised();
    if (advertised) return advertised;
    const target = this.#target();
    if (this.#looked?.target !== target) {
      this.#looked = { target, values: (await this.#readActionInfo(signal)) ?? null };
    }
    return this.#looked.values ?? undefined;
  }

  async #readActionInfo(signal: AbortSignal): Promise<readonly string[] | undefined> {
    const { service } = this.#system;
    const path = service.localPath(this.#action()?.["@Redfish.ActionInfo"]);
    if (path === undefined) return undefined;
    const info = await service.find(path, ActionInfo, signal);
    return info?.value.Parameters.find(({ Name }) => Name === "ResetType")?.AllowableValues;
  }

  #action() {
    return this.#system.last.value.Actions?.["#ComputerSystem.Reset"];
  }

  #advertised(): readonly string[] | undefined {
    return this.#action()?.["ResetType@Redfish.AllowableValues"];
  }

  #target(): string {
    const { service, path } = this.#system;
    return (
      service.localPath(this.#action()?.target) ?? `${path.replace(/\/$/, "")}/Actions/ComputerSystem.Reset`
    );
  }
}

/** Only the two settled states; `PoweringOn`, `PoweringOff`, `Paused` and anything else are neither. */
function powerState(text: string | undefined): PowerState {
  if (text === "On") return "on";
  if (text === "Off") return "off";
  return "unknown";
}

function unsupported(command: PowerCommand, listed: readonly string[] | undefined): BmcError {
  const offers = listed ? `, only ${listed.join(", ")}` : "";
  return new BmcError("unsupported", `the BMC offers no reset type for ${command}${offers}`);
}
