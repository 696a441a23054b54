import type { Clock } from "../../../clock.ts";
import { BmcError } from "../../../contract/bmc-error.ts";
import type { IronicAllowance } from "../../../contract/ironic-options.ts";
import { ChangeFailed, isFinal } from "../../operations/read-back.ts";
import { type IronicApi, type IronicRequest, NotFound } from "./api.ts";
import { NodeState, refusalOf } from "./node-state.ts";

/** The first versions with fields that older ones refuse to list. */
const SINCE: Readonly<Record<string, number>> = { lessee: 65, boot_mode: 75, secure_boot: 75 };

/** No other change of a node is expected within a second or two. */
const RECENT_MS = 2_000;
/** The conductor's own work on a node takes a few requests to its BMC. */
const SETTLE_MS = 120_000;
const POLL_MS = [300, 700, 1_500, 3_000] as const;

/** One node through Ironic's API. */
export class IronicNode {
  readonly #api: IronicApi;
  readonly #clock: Clock;
  readonly #name: string;
  readonly #allowed: readonly IronicAllowance[];
  #latest: { readonly state: NodeState; readonly atMs: number } | undefined;

  constructor(api: IronicApi, name: string, allowed: readonly IronicAllowance[], clock: Clock) {
    this.#api = api;
    this.#clock = clock;
    this.#name = name;
    this.#allowed = allowed;
  }

  get api(): IronicApi {
    return this.#api;
  }

  /** The node's path below `/v1`. */
  path(rest = ""): string {
    return `/nodes/${this.#name}${rest}`;
  }

  async read(signal: AbortSignal): Promise<NodeState> {
    const request = () => ({ method: "GET", path: this.path(), query: fieldsOf(this.#api.minor) }) as const;
    const parsed = NodeState.safeParse(await this.#existing(request, signal));
    if (!parsed.success) throw new BmcError("protocol", `GET /v1${this.path()} did not return a node`);
    this.#latest = { state: parsed.data, atMs: this.#clock.monotonicMs() };
    return parsed.data;
  }

  /** Returns the last reading if it is recent enough; otherwise reads the node. */
  async recent(signal: AbortSignal): Promise<NodeState> {
    const latest = this.#latest;
    const isYoung = latest && this.#clock.monotonicMs() - latest.atMs <= RECENT_MS;
    return isYoung ? latest.state : this.read(signal);
  }

  /**
   * Checks that the node may be changed. Throws `usage`, which no later reading disproves, if the node is in use and the
   * machine's entry does not allow changes.
   */
  async permit(signal: AbortSignal): Promise<NodeState> {
    const state = await this.recent(signal);
    const refusal = refusalOf(state, this.#allowed);
    if (refusal !== undefined) throw new BmcError("usage", `node ${this.#name} ${refusal}`);
    return state;
  }

  /** Makes a change that Ironic carries out after its answer, and waits for its end. Throws the error of a failed one. */
  async change(request: IronicRequest, signal: AbortSignal): Promise<void> {
    await this.write(request, signal);
    const endMs = this.#clock.monotonicMs() + SETTLE_MS;
    for (let poll = 0; ; poll += 1) {
      const state = await this.#look(signal);
      if (!(state instanceof BmcError) && !state.reservation) {
        if (state.last_error) throw new ChangeFailed(`Ironic reports: ${state.last_error}`);
        return;
      }
      if (this.#clock.monotonicMs() > endMs) {
        const why = state instanceof BmcError ? state.message : `it is locked by ${state.reservation}`;
        const message = `node ${this.#name} did not end the change within ${SETTLE_MS / 1_000} s: ${why}`;
        throw new BmcError("timeout", message, { uncertain: true });
      }
      await this.#clock.sleep(POLL_MS[Math.min(poll, POLL_MS.length - 1)] ?? 0, signal);
    }
  }

  /** Reads the node after an accepted change. Returns the error of an Ironic that does not answer now. */
  async #look(signal: AbortSignal): Promise<NodeState | BmcError> {
    try {
      return await this.read(signal);
    } catch (thrown) {
      signal.throwIfAborted();
      const error = BmcError.from(thrown);
      if (isFinal(error)) throw error;
      return error;
    }
  }

  /** Makes a change that a reading shows. */
  async write(request: IronicRequest, signal: AbortSignal): Promise<void> {
    this.#latest = undefined;
    await this.#api.call(request, signal);
  }

  async #existing(request: () => IronicRequest, signal: AbortSignal): Promise<unknown> {
    try {
      return await this.#api.call(request, signal);
    } catch (thrown) {
      if (thrown instanceof NotFound) throw new BmcError("usage", thrown.message, { cause: thrown });
      throw thrown;
    }
  }
}

function fieldsOf(minor: number): string {
  const names = Object.keys(NodeState.shape).filter((name) => minor >= (SINCE[name] ?? 0));
  return `fields=${names.join(",")}`;
}
