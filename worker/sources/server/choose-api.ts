import { Code } from "@connectrpc/connect";
import type { Logger } from "../../../shared/logger.ts";
import { raceAbort } from "../../../shared/race-abort.ts";
import type { Acknowledgement, Transport } from "../../core/ports/source.ts";
import { codeName, failedPollOfError } from "../grpc/grpc-errors.ts";

export type ApiName = "current" | "legacy";

export interface ApiChoiceOptions {
  readonly apis: Readonly<Record<ApiName, Omit<Transport, "close">>>;
  /** Asks the server which one it speaks. Rejects when it does not answer; has a timeout of its own. */
  readonly ask: (agentId: string) => Promise<ApiName>;
  /** Whether the connection to the server that was asked is still open. */
  readonly stillConnected: () => boolean;
  readonly close: () => Promise<void>;
  readonly log: Logger;
}

/**
 * Uses the API that the server speaks, and asks for it once per connection. The report has the same path in both APIs but
 * different messages, so it is never sent before the API is known.
 */
export function chooseApi({ apis, ask, stillConnected, close, log }: ApiChoiceOptions): Transport {
  /** The last answer, also once `chosen` is revoked. */
  let known: ApiName | undefined;
  let chosen: ApiName | undefined;
  let asking: Promise<ApiName> | undefined;

  async function askNow(agentId: string): Promise<ApiName> {
    try {
      const api = await ask(agentId);
      if (api !== known) log.info({ api }, "tink server API detected");
      known = api;
      chosen = api;
      return api;
    } finally {
      asking = undefined;
    }
  }

  /** One question at a time. Rejects with the signal's reason, and when the server does not answer. */
  async function choice(agentId: string, signal: AbortSignal): Promise<ApiName> {
    signal.throwIfAborted();
    if (!stillConnected()) chosen = undefined;
    if (chosen !== undefined) return chosen;
    asking ??= askNow(agentId);
    return raceAbort(asking, signal);
  }

  /** The choice was wrong; another call may have revoked it already. */
  function revoke(api: ApiName): void {
    if (chosen === api) chosen = undefined;
  }

  return {
    servesSeveral: () => known === "legacy",

    async next(agentId, signal, inFlight) {
      let api: ApiName;
      try {
        api = await choice(agentId, signal);
      } catch (thrown) {
        signal.throwIfAborted();
        return failedPollOfError(thrown);
      }
      const poll = await apis[api].next(agentId, signal, inFlight);
      // The server behind the address was replaced by one of the other API.
      if (poll.kind === "failed" && poll.code === codeName(Code.Unimplemented)) revoke(api);
      return poll;
    },

    async report(status, signal) {
      const { agentId } = status.action;
      try {
        const api = await choice(agentId, signal);
        const answer = await apis[api].report(status, signal);
        if (!isRefusal(answer)) return answer;
        // A proxy may replace the server on an open connection: a refusal counts only from a server of this API.
        revoke(api);
        const now = await choice(agentId, signal);
        if (now === api) return answer;
        return { kind: "retry", code: answer.code, reason: "the server speaks the other API by now" };
      } catch (thrown) {
        signal.throwIfAborted();
        const { code, reason } = failedPollOfError(thrown);
        return { kind: "retry", code, reason };
      }
    },

    async isGone(running, signal) {
      const { agentId } = running.action;
      try {
        const api = await choice(agentId, signal);
        if (!(await apis[api].isGone?.(running, signal))) return false;
        revoke(api);
        return (await choice(agentId, signal)) === api;
      } catch {
        signal.throwIfAborted();
        return false;
      }
    },

    close,
  };
}

function isRefusal(answer: Acknowledgement): answer is Exclude<Acknowledgement, { kind: "acknowledged" }> {
  return (
    answer.kind === "rejected" ||
    answer.kind === "gone" ||
    (answer.kind === "retry" && answer.perhapsRejected === true)
  );
}
