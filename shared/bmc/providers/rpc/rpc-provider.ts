import { BmcError } from "../../../contract/bmc-error.ts";
import type { Connection } from "../../../contract/connection.ts";
import { INPUT_BYTES } from "../../../input-limits.ts";
import { untraced } from "../../../tracing/tracer.ts";
import { serviceEndpoint } from "../../http/endpoint.ts";
import { HttpConnection } from "../../http/http-connection.ts";
import { openHttpSession } from "../../http/http-session.ts";
import { defineProvider, type ProviderContext, type SessionWith } from "../../operations/provider.ts";
import { rpcConsumer } from "./consumer.ts";
import { rpcBoot, rpcMedia, rpcPower } from "./drivers.ts";

const MAX_BODY_BYTES = INPUT_BYTES.webhookAnswer;

/** A webhook that controls the machine, wire-compatible with bmclib's `rpc` provider. */
export const rpc = defineProvider({ name: "rpc", capabilities: ["media"], open });

async function open(
  connection: Connection,
  { clock, tracer = untraced, nameOption, onAccepted }: ProviderContext,
  signal: AbortSignal,
): Promise<SessionWith<"media">> {
  const { host, requestTimeoutMs, rpc: options } = connection;
  if (!options) throw new BmcError("usage", "rpc.url is missing");
  const endpoint = serviceEndpoint(new URL(options.url), connection, nameOption);
  const http = new HttpConnection({ ...endpoint, requestTimeoutMs, maxBodyBytes: MAX_BODY_BYTES, tracer });
  const consumer = rpcConsumer(http, options, { host, clock, onAccepted });
  return openHttpSession(http, async () => {
    await consumer.ping(signal);
    return {
      provider: "rpc",
      power: rpcPower(consumer),
      boot: rpcBoot(consumer),
      media: rpcMedia(consumer),
      hint: () => ({}),
    };
  });
}
