import { Code } from "@connectrpc/connect";
import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { raceAbort } from "../../../shared/race-abort.ts";
import type { ActionId, ActionStatus, RunningStatus } from "../../core/action/action.ts";
import type {
  Acknowledgement,
  Deletions,
  Poll,
  Source,
  Waking,
  WorkflowSet,
} from "../../core/ports/source.ts";
import { Channel } from "../grpc/channel.ts";
import { createDialer } from "../grpc/dial.ts";
import { codeName, failedPollOfError } from "../grpc/grpc-errors.ts";
import { currentApi, type TinkApi, type TinkApiOptions } from "../tink/tink-api.ts";
import { Availability, type Failure } from "./availability.ts";

type ApiName = "current" | "legacy";

/** An API of tink servers in addition to the current one. */
export interface ServerApi {
  /** Uses a channel that the caller closes. */
  connect(channel: Channel): TinkApi;
  /** Asks the server whether it speaks this API. Rejects if it does not answer; has its own timeout. */
  speaks(channel: Channel, agentId: string): Promise<boolean>;
}

interface TinkServerTerms {
  readonly api: ApiName | "auto";
  readonly clock: Clock;
  readonly log: Logger;
  /** The longest wait between two attempts to reach an unavailable server. */
  readonly maxBackoffMs: number;
  /** Whether this worker leads, if only one of several may send anything. */
  readonly isLeading?: () => boolean;
  /** Whether other workers report to the server, too. */
  readonly isShared?: boolean;
  readonly waking?: Waking | undefined;
  readonly deletions?: Deletions | undefined;
}

export interface TinkServerOptions extends TinkServerTerms {
  readonly apis: Readonly<Record<ApiName, TinkApi>>;
  /** Asks the server whether it speaks the deprecated API. Rejects if it does not answer; has its own timeout. */
  readonly speaksLegacy: (agentId: string) => Promise<boolean>;
  /** The connection to the server. While it is open, it leads to the server that was asked last. */
  readonly connection: Connection;
}

interface Connection {
  readonly connected: boolean;
  close(): Promise<void>;
}

export interface ConnectOptions extends TinkServerTerms, TinkApiOptions {
  readonly legacy: ServerApi;
}

const NOT_LEADING = "another worker may lead";
const LONGEST_WAIT_MS = 60_000;

/** Opens a tink server. Throws a `TypeError` if `options.server` is not an address. Connects with the first call. */
export function connectTinkServer(options: ConnectOptions): TinkServer {
  const { legacy } = options;
  const channel = new Channel(createDialer(options), options);
  return new TinkServer({
    ...options,
    apis: { current: currentApi(channel, options), legacy: legacy.connect(channel) },
    speaksLegacy: (agentId) => legacy.speaks(channel, agentId),
    connection: channel,
  });
}

/**
 * The tink server that all lanes share. It detects the API that the server speaks once per connection. While the server is
 * unavailable, it makes no calls: a poll fails immediately with the outage, which its lane waits for; a report waits itself.
 * With several workers, it sends only what the leader may send, because this process may have been suspended or without a
 * network. The next leader then adopts its actions and reports them; a report is repeated here only in case this worker
 * leads again.
 */
export class TinkServer implements Source {
  readonly isShared: boolean;
  readonly waking: Waking | undefined;
  readonly deletions: Deletions | undefined;
  readonly #options: TinkServerOptions;
  readonly #isLeading: () => boolean;
  readonly #availability: Availability;
  /** The API that the server spoke last, even after `#chosen` was revoked. */
  #known: ApiName | undefined;
  #chosen: ApiName | undefined;
  #asking: Promise<ApiName> | undefined;

  constructor(options: TinkServerOptions) {
    const { clock, connection, deletions, isLeading = () => true, isShared = false, waking } = options;
    this.#options = options;
    this.#isLeading = isLeading;
    this.isShared = isShared;
    this.waking = waking;
    this.deletions = deletions;
    this.#known = options.api === "auto" ? undefined : options.api;
    const { log, maxBackoffMs } = options;
    const connected = () => connection.connected;
    this.#availability = new Availability({ clock, log, maxBackoffMs, connected });
  }

  /** Whether the connection for the next call is open. */
  get connected(): boolean {
    return this.#options.connection.connected;
  }

  servesSeveral(): boolean {
    return this.#known === "legacy";
  }

  async next(agentId: string, signal: AbortSignal, inFlight?: WorkflowSet): Promise<Poll> {
    signal.throwIfAborted();
    if (!this.#isLeading()) return IDLE;
    const availability = this.#availability;
    const refusal = availability.refusal(agentId);
    if (refusal) return { kind: "failed", ...refusal, outage: availability };
    const poll = () => this.#poll(agentId, signal, inFlight);
    const { result, failure } = await availability.call(agentId, poll, (answer) => this.#pollFailure(answer));
    if (failure) return { kind: "failed", ...failure, outage: availability };
    return result.kind === "action" && !this.#isLeading() ? IDLE : result;
  }

  async report(status: ActionStatus, signal: AbortSignal): Promise<Acknowledgement> {
    signal.throwIfAborted();
    const { agentId } = status.action;
    while (this.#isLeading() && this.#availability.refusal(agentId)) {
      await this.#availability.over(LONGEST_WAIT_MS, signal);
    }
    if (!this.#isLeading()) {
      const kind = status.state === "running" ? "rejected" : "retry";
      return { kind, code: "not-leading", reason: NOT_LEADING };
    }
    const report = () => this.#report(status, signal);
    const { result, failure } = await this.#availability.call(agentId, report, (answer) =>
      this.#reportFailure(answer),
    );
    return failure ? { kind: "retry", ...failure, outage: true } : result;
  }

  async isGone(running: RunningStatus, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const { agentId } = running.action;
    if (!this.#isLeading() || this.#availability.refusal(agentId)) return false;
    try {
      const api = await this.#api(agentId, signal);
      if (!(await this.#options.apis[api].isGone?.(running, signal))) return false;
      return (await this.#apiAgain(api, agentId, signal)) === api;
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }

  isUnavailable({ agentId }: ActionId): boolean {
    return this.#availability.refusal(agentId) !== undefined;
  }

  /** Probes the server during an outage, because something that usually fails with it works again. */
  probeNow(): void {
    this.#availability.probeNow();
  }

  async close(): Promise<void> {
    this.#availability.close();
    await this.#options.connection.close();
  }

  async #poll(agentId: string, signal: AbortSignal, inFlight: WorkflowSet | undefined): Promise<Poll> {
    let api: ApiName;
    try {
      api = await this.#api(agentId, signal);
    } catch (thrown) {
      signal.throwIfAborted();
      return failedPollOfError(thrown);
    }
    const poll = await this.#options.apis[api].next(agentId, signal, inFlight);
    // The server at this address was replaced by one with the other API.
    if (poll.kind === "failed" && poll.code === codeName(Code.Unimplemented)) this.#revoke(api);
    return poll;
  }

  async #report(status: ActionStatus, signal: AbortSignal): Promise<Acknowledgement> {
    const { agentId } = status.action;
    try {
      const api = await this.#api(agentId, signal);
      const answer = await this.#options.apis[api].report(status, signal);
      if (!isRefusal(answer)) return answer;
      // A proxy may replace the server on an open connection: a refusal counts only from a server of this API.
      if ((await this.#apiAgain(api, agentId, signal)) === api) return answer;
      return { kind: "retry", code: answer.code, reason: "the server speaks the other API by now" };
    } catch (thrown) {
      signal.throwIfAborted();
      const { code, reason } = failedPollOfError(thrown);
      return { kind: "retry", code, reason };
    }
  }

  #pollFailure(poll: Poll): Failure | undefined {
    if (poll.kind !== "failed") return undefined;
    // A poll that the server holds longer than its deadline is idle, not failed.
    const isOutage = poll.code === "Unavailable" || poll.code === "DeadlineExceeded" || !this.connected;
    return isOutage ? { code: poll.code, reason: poll.reason } : undefined;
  }

  #reportFailure(answer: Acknowledgement): Failure | undefined {
    if (answer.kind === "acknowledged" || (answer.code !== "Unavailable" && this.connected)) return undefined;
    return { code: answer.code, reason: answer.reason };
  }

  /**
   * The API that the server speaks. Reports have the same path in both APIs but different messages, so none is sent before
   * the API is known. Asks one question at a time. Rejects with the signal's reason, and if the server does not answer.
   */
  async #api(agentId: string, signal: AbortSignal): Promise<ApiName> {
    const { api } = this.#options;
    if (api !== "auto") return api;
    signal.throwIfAborted();
    if (!this.connected) this.#chosen = undefined;
    if (this.#chosen !== undefined) return this.#chosen;
    this.#asking ??= this.#ask(agentId);
    return raceAbort(this.#asking, signal);
  }

  async #ask(agentId: string): Promise<ApiName> {
    const { log, speaksLegacy } = this.#options;
    try {
      const api = (await speaksLegacy(agentId)) ? "legacy" : "current";
      if (api !== this.#known) log.info({ api }, "tink server API detected");
      this.#known = api;
      this.#chosen = api;
      return api;
    } finally {
      this.#asking = undefined;
    }
  }

  #apiAgain(api: ApiName, agentId: string, signal: AbortSignal): Promise<ApiName> {
    this.#revoke(api);
    return this.#api(agentId, signal);
  }

  /** Revokes a wrong choice, which another call may have revoked already. */
  #revoke(api: ApiName): void {
    if (this.#chosen === api) this.#chosen = undefined;
  }
}

const IDLE = { kind: "idle", reason: NOT_LEADING } satisfies Poll;

function isRefusal(answer: Acknowledgement): answer is Exclude<Acknowledgement, { kind: "acknowledged" }> {
  return (
    answer.kind === "rejected" ||
    answer.kind === "gone" ||
    (answer.kind === "retry" && answer.perhapsRejected === true)
  );
}

/** Replaces a tink server that is not configured. An earlier worker may have left actions to report. */
export const noTinkServer: Source = {
  servesSeveral: () => false,
  next: async (_agentId, signal) => raceAbort(new Promise<never>(() => undefined), signal),
  report: async () => ({ kind: "retry", code: "Unavailable", reason: "no tink server is configured" }),
};
