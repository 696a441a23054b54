import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { Transport } from "../../core/ports/source.ts";
import { Channel } from "../grpc/channel.ts";
import { createDialer } from "../grpc/dial.ts";
import { currentApi, type TinkTransportOptions } from "../tink/tink-transport.ts";
import { type ApiName, chooseApi } from "./choose-api.ts";
import { withAvailability } from "./with-availability.ts";

/** An API of tink servers. */
export interface ServerApi {
  /** On a channel that the caller closes. */
  connect(channel: Channel): Omit<Transport, "close">;
  /** Asks the server whether it speaks this API. Rejects when it does not answer; has a timeout of its own. */
  speaks(channel: Channel, agentId: string): Promise<boolean>;
}

export interface ConnectOptions extends TinkTransportOptions {
  readonly api: ApiName | "auto";
  readonly legacy: ServerApi;
  readonly clock: Clock;
  readonly log: Logger;
  /** The longest wait between two attempts to reach a server that is unavailable. */
  readonly maxBackoffMs: number;
}

/** A transport that knows whether it is connected. */
export interface ConnectedTransport extends Transport {
  /** Whether the connection that the next call takes is open. */
  connected(): boolean;
}

/**
 * The tink server, with the API that it speaks. Throws a `TypeError` when `options.server` is not an address; connects with the
 * first call.
 */
export function connectServer(options: ConnectOptions): ConnectedTransport {
  const { api, clock, legacy, log, maxBackoffMs } = options;
  const channel = new Channel(createDialer(options), options);
  const apis = { current: currentApi(channel, options), legacy: legacy.connect(channel) };
  const close = () => channel.close();
  const connected = () => channel.connected;
  const transport =
    api === "auto"
      ? chooseApi({
          apis,
          ask: async (agentId) => ((await legacy.speaks(channel, agentId)) ? "legacy" : "current"),
          stillConnected: connected,
          close,
          log,
        })
      : { ...apis[api], close };
  return { ...withAvailability(transport, { clock, log, maxBackoffMs, connected }), connected };
}
