import { Code } from "@connectrpc/connect";
import type { Logger } from "../../../shared/logger.ts";
import { codeName, failedPollOfError } from "../grpc/errors.ts";
import type { Acknowledgement, Transport } from "../source.ts";

export type ApiName = "current" | "legacy";

export interface ApiChoiceOptions {
  readonly apis: Readonly<Record<ApiName, Omit<Transport, "close">>>;
  /** Asks the server which one it speaks. Rejects when it does not answer; takes its own time and no longer. */
  readonly ask: (agentId: string) => Promise<ApiName>;
  /** Whether the server that was asked is still at the other end. */
  readonly stillConnected: () => boolean;
  readonly close: () => Promise<void>;
  readonly log: Logger;
}

/**
 * The API that the server speaks, found out by asking once for each connection. The report has the same path in both and
 * different messages, so it is never tried on an API that was not chosen.
 */
export function chooseApi({ apis, ask, stillConnected, close, log }: ApiChoiceOptions): Transport {
  /** The last answer; it stands while `chosen` does. */
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

  /** One question at a time, whoever asks first. Rejects with the signal's reason, and when the server does not answer. */
  async function choice(agentId: string, signal: AbortSignal): Promise<ApiName> {
    signal.throwIfAborted();
    if (!stillConnected()) chosen = undefined;
    if (chosen !== undefined) return chosen;
    asking ??= askNow(agentId);
    return untilAborted(asking, signal);
  }

  /** What was chosen has turned out not to be so, unless somebody found that out before. */
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
        // Behind a proxy the server may be replaced on an open connection: its own refusals count, the other API's do not.
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

    close,
  };
}

function isRefusal(answer: Acknowledgement): answer is Exclude<Acknowledgement, { kind: "acknowledged" }> {
  return answer.kind === "rejected" || (answer.kind === "retry" && Boolean(answer.bounded || answer.missing));
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
