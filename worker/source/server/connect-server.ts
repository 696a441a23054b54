import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { type ApiName, chooseApi } from "./choose-api.ts";
import { createChannel, currentApi, type TinkTransportOptions } from "../tink/tink-transport.ts";
import { legacyApi } from "../tink-legacy/legacy-transport.ts";
import { speaksLegacy } from "../tink-legacy/speaks-legacy.ts";
import type { Transport } from "../source.ts";
import { withAvailability } from "./with-availability.ts";

export interface ConnectOptions extends TinkTransportOptions {
  readonly api: ApiName | "auto";
}

export interface ConnectParts {
  readonly clock: Clock;
  readonly log: Logger;
  /** The longest wait between two attempts to reach a server that is unavailable. */
  readonly maxBackoffMs: number;
}

/** A transport that tells whether the server is there. */
export interface ConnectedTransport extends Transport {
  /** Whether the connection that the next call takes is open. */
  connected(): boolean;
}

/** The tink server, by whichever API it speaks. Throws a `TypeError` for what is no address; connects with the first call. */
export function connectServer({ api, ...options }: ConnectOptions, parts: ConnectParts): ConnectedTransport {
  const channel = createChannel(options);
  const apis = { current: currentApi(channel, options), legacy: legacyApi(channel) };
  const close = () => channel.close();
  const connected = () => channel.connected;
  const transport =
    api === "auto"
      ? chooseApi({
          apis,
          ask: async (agentId) => ((await speaksLegacy(channel, agentId)) ? "legacy" : "current"),
          stillConnected: connected,
          close,
          log: parts.log,
        })
      : { ...apis[api], close };
  return { ...withAvailability(transport, { ...parts, connected }), connected };
}
