import { BmcError } from "../../../contract/bmc-error.ts";
import { type Connection, nodeOf } from "../../../contract/connection.ts";
import { openHttpSession } from "../../http/http-session.ts";
import { defineProvider, type ProviderContext, type SessionWith } from "../../operations/provider.ts";
import { ironicBoot } from "./boot-driver.ts";
import { ironicIndicator } from "./indicator-driver.ts";
import { ironicInventory } from "./inventory-driver.ts";
import { ironicMedia } from "./media-driver.ts";
import { ironicNmi } from "./nmi-driver.ts";
import { IronicNode } from "./node.ts";
import { openApi } from "./open-api.ts";
import { IronicPower } from "./power-driver.ts";
import { ironicSecureBoot } from "./secureboot-driver.ts";

const CAPABILITIES = ["media", "inventory", "secureboot", "indicator", "nmi"] as const;

/** Accesses a machine that Ironic manages through Ironic, because two masters of one BMC would undo each other's work. */
export const ironic = defineProvider({
  name: "ironic",
  capabilities: CAPABILITIES,
  open,
});

async function open(
  connection: Connection,
  context: ProviderContext,
  signal: AbortSignal,
): Promise<SessionWith<(typeof CAPABILITIES)[number]>> {
  const { clock } = context;
  const name = nodeOf(connection);
  if (name === undefined) throw new BmcError("usage", "ironic.node is missing");
  const { api, http, authentication } = openApi(connection, context);
  const node = new IronicNode(api, name, connection.ironic?.allow ?? [], clock);
  const session = await openHttpSession(http, async () => {
    const state = await node.read(signal);
    return {
      provider: "ironic" as const,
      power: new IronicPower(node, state, clock),
      boot: ironicBoot(node),
      media: ironicMedia(node),
      inventory: ironicInventory(node),
      secureboot: ironicSecureBoot(node),
      indicator: ironicIndicator(node),
      nmi: ironicNmi(node),
      hint: () => ({}),
    };
  });
  return { ...session, roundTrips: () => session.roundTrips() + authentication.roundTrips() };
}
