import type { Connection } from "../../contract/connection.ts";
import { IpmiBoot } from "../ipmi/boot-driver.ts";
import { request } from "../ipmi/channel.ts";
import { GET_CHASSIS_STATUS } from "../ipmi/chassis.ts";
import { cipherSuitesToTry } from "../ipmi/cipher-suite.ts";
import { type IpmiHint, parseHint } from "../ipmi/hint.ts";
import { IpmiPower } from "../ipmi/power-driver.ts";
import type { Provider, ProviderContext, Session } from "../provider.ts";
import { IpmitoolChannel } from "./channel.ts";
import { ipmitoolEnvironment } from "./environment.ts";
import { probe } from "./probe.ts";

/** IPMI 2.0 over LAN through the ipmitool program, for BMCs that get along with nothing else. */
export const ipmitool: Provider = { name: "ipmitool", capabilities: new Set(), open };

const PROBE_ROUND_TRIPS = 1;

async function open(connection: Connection, context: ProviderContext, signal: AbortSignal): Promise<Session> {
  const hint = parseHint(context.hint);
  const suites = cipherSuitesToTry(connection.ipmitool.cipherSuite, hint.cipherSuite).map(({ id }) => id);
  const environment = ipmitoolEnvironment(connection, process.env["PATH"]);
  const channel = new IpmitoolChannel(connection, environment, suites);
  await probe(connection, context, signal);
  // Nothing stays open between runs; one that reads proves address, cipher suite and credentials.
  await request(channel, GET_CHASSIS_STATUS, signal);
  const boot = new IpmiBoot(channel, hint.manufacturer);
  return {
    provider: "ipmitool",
    power: new IpmiPower(channel),
    boot,
    roundTrips: () => PROBE_ROUND_TRIPS + channel.runs,
    hint: (): IpmiHint => ({
      ...(channel.suite === undefined ? {} : { cipherSuite: channel.suite }),
      ...(boot.manufacturer === undefined ? {} : { manufacturer: boot.manufacturer }),
    }),
    close: async () => undefined,
  };
}
