import type { Clock } from "../../../clock.ts";
import { BmcError } from "../../../contract/bmc-error.ts";
import type { PowerState } from "../../../contract/vocabulary.ts";
import { defined } from "../../../defined.ts";
import { FirstReading } from "../../http/first-reading.ts";
import type { PowerCommand, PowerDriver } from "../../operations/power.ts";
import { ChangeFailed } from "../../operations/read-back.ts";
import { effectOfPower } from "../../operations/write-proof.ts";
import { describeRequest, type IronicRequest } from "./api.ts";
import type { IronicNode } from "./node.ts";
import type { NodeState } from "./node-state.ts";

/** Most drivers of Ironic carry out a reboot as off and on. None of them guarantees a cycle. */
const TARGETS: ReadonlyMap<PowerCommand, string> = new Map([
  ["on", "power on"],
  ["off", "power off"],
  ["soft-off", "soft power off"],
  ["reset", "rebooting"],
]);

interface Pending {
  readonly command: PowerCommand;
  /** The node's error before the command. */
  readonly error: string | null | undefined;
}

/** A node's power. Ironic accepts a command and carries it out later; a failure appears in the next reading. */
export class IronicPower implements PowerDriver {
  readonly #node: IronicNode;
  readonly #first: FirstReading<NodeState>;
  #last: NodeState | undefined;
  #pending: Pending | undefined;

  /** Creates a driver. `state` is the latest state of the node. */
  constructor(node: IronicNode, state: NodeState, clock: Clock) {
    this.#node = node;
    this.#first = new FirstReading(state, clock);
  }

  async read(signal: AbortSignal): Promise<PowerState> {
    const state = this.#first.take() ?? (await this.#node.read(signal));
    this.#last = state;
    if (state.target_power_state) return "unknown";
    if (this.#pending) {
      // The node is locked before the answer, and until the end.
      if (state.reservation) return "unknown";
      const { command, error } = this.#pending;
      this.#pending = undefined;
      const problem = failureOf(command, error, state);
      if (problem) throw new ChangeFailed(`Ironic could not carry out "${TARGETS.get(command)}": ${problem}`);
    }
    return powerOf(state);
  }

  stateName(): string | undefined {
    const { target_power_state: target, power_state: state } = this.#last ?? {};
    return target ? `changing to "${target}"` : (state ?? undefined);
  }

  async plan(command: PowerCommand, signal: AbortSignal): Promise<string> {
    const request = this.#request(command);
    await this.#node.permit(signal);
    return describeRequest(request);
  }

  async send(command: PowerCommand, signal: AbortSignal, softTimeoutMs?: number): Promise<void> {
    const request = this.#request(command, softTimeoutMs);
    this.#first.drop();
    const { last_error: error } = await this.#node.permit(signal);
    await this.#node.write(request, signal);
    this.#pending = { command, error };
  }

  #request(command: PowerCommand, softTimeoutMs?: number): IronicRequest {
    const target = TARGETS.get(command);
    if (target === undefined) throw new BmcError("unsupported", `Ironic has no ${command}`);
    // Ironic locks the node for this long. Its own default would delay a forced power off.
    const timeout = softTimeoutMs === undefined ? undefined : Math.max(1, Math.ceil(softTimeoutMs / 1_000));
    return {
      method: "PUT",
      path: this.#node.path("/states/power"),
      body: { target, ...defined({ timeout }) },
      effect: effectOfPower(command),
    };
  }
}

function powerOf({ power_state: state }: NodeState): PowerState {
  if (state === "power on") return "on";
  return state === "power off" ? "off" : "unknown";
}

/** The failure of a command. The operation decides about a machine that does not shut down by itself. */
function failureOf(command: PowerCommand, before: Pending["error"], state: NodeState): string | undefined {
  const { last_error: problem, provision_state: provision } = state;
  if (command === "soft-off" || command === powerOf(state) || !problem) return undefined;
  // Ironic keeps the error of a failed deployment and of similar failures.
  const isKept = problem === before && /( failed|^error)$/.test(provision ?? "");
  return isKept ? undefined : problem;
}
