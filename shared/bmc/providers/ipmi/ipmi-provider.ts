import type { Connection } from "../../../contract/connection.ts";
import { defined } from "../../../defined.ts";
import { untraced } from "../../../tracing/tracer.ts";
import {
  capabilitiesOf,
  defineProvider,
  type ProviderContext,
  type SessionWith,
} from "../../operations/provider.ts";
import { notingChanges } from "./commands/channel.ts";
import { readCredentials } from "./commands/credentials.ts";
import { IpmiConsole } from "./drivers/console-driver.ts";
import { IPMI_DRIVERS, type IpmiCapability, type IpmiHint, ipmiDrivers, parseHint } from "./drivers.ts";
import { type CipherSuiteId, isDowngrade, suitePlan } from "./session/cipher-suite.ts";
import { shakeHands } from "./session/handshake.ts";
import { LastingSession } from "./session/lasting-session.ts";
import { routeTo } from "./session/route.ts";
import { IpmiSession } from "./session/session.ts";
import { UdpTransport } from "./session/transport.ts";

/** The console is a payload of the session, which a program in between does not hand on. */
const CAPABILITIES = [...capabilitiesOf(IPMI_DRIVERS), "console"] as const;

/** IPMI 2.0 over LAN (RMCP+) with cipher suite 17 or 3, encrypted and authenticated, no program needed. */
export const ipmi = defineProvider({ name: "ipmi", capabilities: CAPABILITIES, open });

async function open(
  connection: Connection,
  context: ProviderContext,
  signal: AbortSignal,
): Promise<SessionWith<IpmiCapability | "console">> {
  const { host, connectTimeoutMs, requestTimeoutMs, ipmi: options } = connection;
  const { clock, log, tap, tracer = untraced } = context;
  const { privilege } = options;
  const credentials = readCredentials(connection, options.kg);
  const hint = parseHint(context.hint);
  const route = routeTo(options.bridge);
  const transport = await UdpTransport.open(host, options.port, connectTimeoutMs, signal, context.onReached);

  const establish = async (remembered: CipherSuiteId | undefined, limitMs: number, until: AbortSignal) => {
    const suites = suitePlan(options, remembered);
    const established = await shakeHands(
      { credentials, privilege, suites, limitMs },
      { transport, clock, log, tracer, tap, signal: until },
    );
    const session = new IpmiSession({ established, privilege, route, transport, clock, tracer, tap });
    return { established, session };
  };

  try {
    const { established, session: first } = await establish(hint.cipherSuite, connectTimeoutMs, signal);
    if (isDowngrade(options, established.suite.id))
      log.warn({ host, provider: "ipmi" }, "IPMI cipher suite downgraded to 3 as allowSuite3 allows");
    const renew = async (limitMs: number, until: AbortSignal) =>
      (await establish(established.suite.id, limitMs, until)).session;
    const session = new LastingSession({ first, renew, requestTimeoutMs, clock, log });
    const console = new IpmiConsole(session, { clock, log });
    const channel = notingChanges(session, context.onAccepted);
    const drivers = ipmiDrivers(channel, { clock, hint, privilege, address: options.bridge?.address });
    return {
      provider: "ipmi",
      privilege,
      ...drivers,
      console,
      isForgotten: (looking) => session.isForgotten(looking),
      roundTrips: () => session.flights,
      hint: (): IpmiHint => ({
        ...defined({ cipherSuite: established.preferredSuite, manufacturer: drivers.boot.manufacturer }),
      }),
      async close() {
        await console.close();
        await session.close();
        await transport.close();
      },
    };
  } catch (thrown) {
    await transport.close();
    throw thrown;
  }
}
