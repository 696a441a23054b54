import type { Clock } from "../../../clock.ts";
import { BmcError } from "../../../contract/bmc-error.ts";
import type { Connection } from "../../../contract/connection.ts";
import { defined } from "../../../defined.ts";
import { TimeoutReached } from "../../../timeout.ts";
import { type SpanStart, untraced } from "../../../tracing/tracer.ts";
import { FirstReading } from "../../http/first-reading.ts";
import {
  capabilitiesOf,
  defineProvider,
  type ProviderContext,
  type SessionWith,
} from "../../operations/provider.ts";
import {
  type Answer,
  type CommandChannel,
  dataOf,
  exchange,
  notingChanges,
} from "../ipmi/commands/channel.ts";
import { GET_CHASSIS_STATUS } from "../ipmi/commands/chassis.ts";
import { IPMI_DRIVERS, type IpmiCapability, type IpmiHint, ipmiDrivers, parseHint } from "../ipmi/drivers.ts";
import { isDowngrade, suitePlan } from "../ipmi/session/cipher-suite.ts";
import { sendUntilAnswered } from "../ipmi/session/retransmission.ts";
import { UdpTransport } from "../ipmi/session/transport.ts";
import { VERSION_QUESTION } from "../ipmi/session/version-question.ts";
import { IpmitoolChannel } from "./channel.ts";
import { ipmitoolSecrets } from "./secrets.ts";

/** IPMI 2.0 over LAN through the ipmitool program, for BMCs that work with nothing else. */
export const ipmitool = defineProvider({
  name: "ipmitool",
  capabilities: capabilitiesOf(IPMI_DRIVERS),
  open,
});

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
  // Nothing stays open between runs. A run that reads proves address, cipher suite and credentials.
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

/** How long an answer may replace the next command, which needs a run of the program. */
const FRESH_MS = 1_000;

/**
 * Wraps a channel with an answer from the run that proved the credentials. It is used if the first command is the same one
 * and follows soon; afterwards every command is run.
 */
export function withFreshAnswer(channel: CommandChannel, answer: Answer, clock: Clock): CommandChannel {
  const first = new FirstReading(answer, clock, FRESH_MS);
  return {
    async run(commands, signal) {
      const fresh = first.take();
      const isSame = commands.length === 1 && commands[0] === answer.command;
      return fresh && isSame ? [fresh] : channel.run(commands, signal);
    },
  };
}

/**
 * Checks whether anything answers, with the packet that the program itself sends first. The program takes 12 s or more to
 * notice a closed port or a dead host, and reports both like a wrong password. Throws `unreachable`.
 */
async function probe(connection: Connection, { clock }: ProviderContext, signal: AbortSignal): Promise<void> {
  const { host, connectTimeoutMs: limitMs } = connection;
  const transport = await UdpTransport.open(host, connection.ipmitool.port, limitMs, signal);
  const { answer, stop } = transport.first((datagram) => (datagram.length > 0 ? true : undefined));
  try {
    const send = () => transport.send(VERSION_QUESTION);
    await sendUntilAnswered({ send, answer, limitMs, repeat: true }, clock, signal);
  } catch (thrown) {
    if (!(thrown instanceof TimeoutReached)) throw thrown;
    throw new BmcError("unreachable", `no IPMI answer within ${limitMs} ms`, { cause: thrown });
  } finally {
    stop();
    await transport.close();
  }
}
