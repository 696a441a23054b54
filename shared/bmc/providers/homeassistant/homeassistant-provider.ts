import { BmcError } from "../../../contract/bmc-error.ts";
import type { Connection } from "../../../contract/connection.ts";
import { INPUT_BYTES } from "../../../input-limits.ts";
import { untraced } from "../../../tracing/tracer.ts";
import { serviceEndpoint } from "../../http/endpoint.ts";
import { HttpConnection } from "../../http/http-connection.ts";
import { openHttpSession } from "../../http/http-session.ts";
import { defineProvider, type ProviderContext, type SessionWith } from "../../operations/provider.ts";
import { HomeAssistantApi } from "./api.ts";
import { homeAssistantBoot, homeAssistantPower } from "./drivers.ts";

/** The answer to a service call contains every state that it changed. */
const MAX_BODY_BYTES = INPUT_BYTES.homeassistantAnswer;

/** Uses a switch of Home Assistant as a machine's power; the connection's password is the access token. */
export const homeAssistant = defineProvider({ name: "homeassistant", capabilities: [], open });

async function open(
  connection: Connection,
  { clock, tracer = untraced, nameOption, onAccepted }: ProviderContext,
  signal: AbortSignal,
): Promise<SessionWith<never>> {
  const { requestTimeoutMs, homeassistant: options, password: token } = connection;
  if (!options) throw new BmcError("usage", "homeassistant.url is missing");
  if (!token) throw new BmcError("usage", "password is missing: Home Assistant's access token");
  if (!/^[\x21-\x7e]+$/.test(token.reveal())) {
    throw new BmcError("usage", "password is not an access token: it must be one word of plain ASCII");
  }
  const endpoint = serviceEndpoint(new URL(options.url), connection, nameOption);
  const http = new HttpConnection({ ...endpoint, requestTimeoutMs, maxBodyBytes: MAX_BODY_BYTES, tracer });
  const api = new HomeAssistantApi(http, options.url, token, clock, onAccepted);
  return openHttpSession(http, async () => {
    const state = await api.readState(options.entity, signal);
    const power = homeAssistantPower(api, options, clock, state);
    return { provider: "homeassistant", power, boot: homeAssistantBoot, hint: () => ({}) };
  });
}
