import { BmcError } from "../../../contract/bmc-error.ts";
import { type Connection, nodeOf } from "../../../contract/connection.ts";
import { untraced } from "../../../tracing/tracer.ts";
import { serviceEndpoint } from "../../http/endpoint.ts";
import { HttpConnection } from "../../http/http-connection.ts";
import { openHttpSession } from "../../http/http-session.ts";
import { defineProvider, type ProviderContext, type SessionWith } from "../../operations/provider.ts";
import { IronicApi } from "./api.ts";
import { authenticationOf } from "./authentication.ts";
import { ironicBoot } from "./boot-driver.ts";
import { ironicInventory } from "./inventory-driver.ts";
import { ironicMedia } from "./media-driver.ts";
import { ironicNmi } from "./nmi-driver.ts";
import { IronicNode } from "./node.ts";
import { IronicPower } from "./power-driver.ts";

/** The inventory of a large machine, with its links and sensors, takes some hundred kilobytes. */
const MAX_BODY_BYTES = 4 * 1_048_576;

type Offered = "media" | "inventory" | "nmi";

/** A machine that Ironic manages, through Ironic: two masters of one BMC undo each other's work. */
export const ironic = defineProvider({ name: "ironic", capabilities: ["media", "inventory", "nmi"], open });

async function open(
  connection: Connection,
  context: ProviderContext,
  signal: AbortSignal,
): Promise<SessionWith<Offered>> {
  const { requestTimeoutMs, ironic: options } = connection;
  const { clock, tracer = untraced, nameOption } = context;
  const name = nodeOf(connection);
  if (!options || name === undefined) throw new BmcError("usage", "ironic.url is missing");
  const authentication = authenticationOf(options, connection, context);
  const endpoint = serviceEndpoint(new URL(options.url), connection, nameOption);
  const http = new HttpConnection({ ...endpoint, requestTimeoutMs, maxBodyBytes: MAX_BODY_BYTES, tracer });
  const api = new IronicApi({ http, url: options.url, authentication, clock });
  const node = new IronicNode(api, name, options.allow, clock);
  const session = await openHttpSession(http, async () => {
    const state = await node.read(signal);
    return {
      provider: "ironic" as const,
      power: new IronicPower(node, state, clock),
      boot: ironicBoot(node),
      media: ironicMedia(node),
      inventory: ironicInventory(node),
      nmi: ironicNmi(node),
      hint: () => ({}),
    };
  });
  return { ...session, roundTrips: () => session.roundTrips() + authentication.roundTrips() };
}
