import type { Connection } from "../../../contract/connection.ts";
import { defined } from "../../../defined.ts";
import { type SpanStart, untraced } from "../../../tracing/tracer.ts";
import {
  capabilitiesOf,
  defineProvider,
  type ProviderContext,
  type SessionWith,
} from "../../operations/provider.ts";
import { dataOf, exchange, notingChanges } from "../ipmi/commands/channel.ts";
import { GET_CHASSIS_STATUS } from "../ipmi/commands/chassis.ts";
import {
  IPMI_DRIVERS,
  type IpmiCapability,
  type IpmiHint,
  ipmiDrivers,
  parseHint,
} from "../ipmi/drivers.ts";
import { isDowngrade, suitePlan } from "../ipmi/session/cipher-suite.ts";
import { IpmitoolChannel } from "./channel.ts";
import { withFreshAnswer } from "./fresh-answer.ts";
import { probe } from "./probe.ts";
import { ipmitoolSecrets } from "./secrets.ts";

/** IPMI 2.0 over LAN through the ipmitool program, for BMCs that get along with nothing else. */
export const ipmitool = defineProvider({ name: "ipmitool", capabilities: capabilitiesOf(IPMI_DRIVERS), open });

const PROBE_ROUND_TRIPS = 1;
const PROBING: SpanStart = { name: "Get Channel Authentication Capabilities", kind: "client" };

async function open(
  connection: Connection,
  context: ProviderContext,
  signal: AbortSignal,
): Promise<SessionWith<IpmiCapability>> {
  const hint = parseHint(context.hint);
  const { clock, log, tracer = untraced } = context;
  const { host, ipmitool: options } = connection;
  const { asked, allowed } = suitePlan(options, hint.cipherSuite);
  const suites = asked.map(({ id }) => id).filter((id) => allowed.has(id));
  const channel = new IpmitoolChannel(connection, ipmitoolSecrets(connection), suites, tracer);
  await tracer.span(PROBING, () => probe(connection, context, signal));
  context.onReached?.();
  // Nothing stays open between runs; one that reads proves address, cipher suite and credentials.
  const status = await exchange(channel, GET_CHASSIS_STATUS, signal);
  dataOf(status);
  if (isDowngrade(options, channel.suite))
    log.warn({ host, provider: "ipmitool" }, "IPMI cipher suite downgraded to 3 as allowSuite3 allows");
  const { privilege } = options;
  const fresh = notingChanges(withFreshAnswer(channel, status, clock), context.onAccepted);
  const drivers = ipmiDrivers(fresh, { clock, hint, privilege });
  return {
    provider: "ipmitool",
    privilege,
    ...drivers,
    roundTrips: () => PROBE_ROUND_TRIPS + channel.runs,
    hint: (): IpmiHint => ({
      ...defined({ cipherSuite: channel.suite, manufacturer: drivers.boot.manufacturer }),
    }),
    close: async () => undefined,
  };
}
