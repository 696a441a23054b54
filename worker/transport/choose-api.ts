import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import type { Logger } from "../../shared/logger.ts";
import { withTimeout } from "../../shared/timeout.ts";
import type { Channel } from "./tink/channel.ts";
import { codeName, pollOfError } from "./tink/errors.ts";
import { WorkflowService } from "./tink-legacy/gen/workflow_pb.ts";
import type { Transport } from "./transport.ts";

export type ApiName = "current" | "legacy";

export interface ApiChoiceOptions {
  readonly channel: Channel;
  readonly apis: Readonly<Record<ApiName, Omit<Transport, "close">>>;
  readonly log: Logger;
}

const QUESTION_TIMEOUT_MS = 15_000;

/**
 * The API that the server speaks, found out by asking once: a server of the current API does not implement
 * `GetWorkflowContexts`, and one of the deprecated API answers it at once. The report has the same path in both, so it is
 * never tried on one that has not been chosen.
 */
export function chooseApi({ channel, apis, log }: ApiChoiceOptions): Transport {
  const client = createClient(
    WorkflowService,
    createGrpcTransport({ baseUrl: channel.authority, sessionManager: channel }),
  );
  let chosen: ApiName | undefined;
  let asking: Promise<ApiName> | undefined;

  async function ask(agentId: string): Promise<ApiName> {
    const never = new AbortController().signal;
    const api = await withTimeout(QUESTION_TIMEOUT_MS, never, async (signal): Promise<ApiName> => {
      try {
        for await (const _ of client.getWorkflowContexts({ workerId: agentId }, { signal })) break;
        return "legacy";
      } catch (thrown) {
        if (ConnectError.from(thrown).code === Code.Unimplemented) return "current";
        throw thrown;
      }
    });
    log.info({ api }, "tink server asked for its API");
    return api;
  }

  /** One question at a time, whoever asks first. */
  async function choice(agentId: string): Promise<ApiName> {
    if (chosen) return chosen;
    asking ??= ask(agentId);
    try {
      chosen = await asking;
      return chosen;
    } finally {
      asking = undefined;
    }
  }

  return {
    servesSeveral: () => chosen === "legacy",

    async next(agentId, signal, atHand) {
      signal.throwIfAborted();
      let api: ApiName;
      try {
        api = await untilAborted(choice(agentId), signal);
      } catch (thrown) {
        signal.throwIfAborted();
        const poll = pollOfError(thrown);
        return {
          kind: "failed",
          code: poll.kind === "failed" ? poll.code : "Unavailable",
          reason: poll.reason,
        };
      }
      const poll = await apis[api].next(agentId, signal, atHand);
      // The server behind the address was replaced by one of the other API.
      if (poll.kind === "failed" && poll.code === codeName(Code.Unimplemented)) chosen = undefined;
      return poll;
    },

    async report(status, signal) {
      let api: ApiName;
      try {
        api = await untilAborted(choice(status.action.agentId), signal);
      } catch (thrown) {
        signal.throwIfAborted();
        const { reason } = pollOfError(thrown);
        return { kind: "retry", code: "Unavailable", reason };
      }
      return apis[api].report(status, signal);
    },

    close: () => channel.close(),
  };
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
