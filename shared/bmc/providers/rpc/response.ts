import * as z from "zod/mini";
import { BmcError } from "../../../contract/bmc-error.ts";
import { oneLine } from "../../../contract/result.ts";
import type { HttpAnswer } from "../../http/http-connection.ts";
import { statusError } from "../../http/status-error.ts";

/** What a consumer answers. Its ID and host are not compared with the request's, as the peers do not either. */
export const RpcResponse = z.object({
  result: z.optional(z.unknown()),
  error: z.nullish(z.object({ code: z.optional(z.number()), message: z.optional(z.string()) })),
});
export type RpcResponse = z.infer<typeof RpcResponse>;

interface Exchange {
  readonly answer: HttpAnswer;
  /** What was asked, for messages. */
  readonly doing: string;
  readonly isWrite: boolean;
  readonly nowMs: number;
}

/**
 * Reads an answer; its `error` is left to `refusalOf`. Throws on any status but 200 and on anything but the shape.
 */
export function readResponse({ answer, doing, isWrite, nowMs }: Exchange): RpcResponse {
  const text = answer.body.toString("utf8");
  const parsed = parse(text);
  if (answer.status !== 200) {
    throw statusError(answer, doing, parsed.ok ? describeError(parsed.response) : "", { isWrite, nowMs });
  }
  if (parsed.ok) return parsed.response;
  throw new BmcError("protocol", oneLine(`${doing} answered 200 with ${parsed.problem}`), {
    uncertain: isWrite,
  });
}

/** The consumer's refusal, if it is one: a code that is not 0. */
export function refusalOf(response: RpcResponse, doing: string): BmcError | undefined {
  if ((response.error?.code ?? 0) === 0) return undefined;
  return new BmcError("bmc", oneLine(`${doing}: the consumer refused: ${describeError(response)}`));
}

function parse(text: string): { ok: true; response: RpcResponse } | { ok: false; problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, problem: text === "" ? "no body" : "a body that is not JSON" };
  }
  const parsed = RpcResponse.safeParse(value);
  if (parsed.success) return { ok: true, response: parsed.data };
  return { ok: false, problem: "JSON without id, host, result and error" };
}

function describeError({ error }: RpcResponse): string {
  if (!error) return "";
  const { code, message } = error;
  return [message, code === undefined ? "" : `(code ${code})`].filter(Boolean).join(" ");
}
