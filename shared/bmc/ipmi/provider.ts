import type { Connection } from "../../contract/connection.ts";
import type { Provider, ProviderContext, Session } from "../provider.ts";
import { IpmiBoot } from "./boot-driver.ts";
import { cipherSuitesToTry } from "./cipher-suite.ts";
import { readCredentials } from "./credentials.ts";
import { shakeHands } from "./handshake.ts";
import { type IpmiHint, parseHint } from "./hint.ts";
import { IpmiPower } from "./power-driver.ts";
import { IpmiSession } from "./session.ts";
import { UdpTransport } from "./transport.ts";

/** IPMI 2.0 over LAN (RMCP+) with cipher suite 17 or 3, encrypted and authenticated, no program needed. */
export const ipmi: Provider = { name: "ipmi", capabilities: new Set(), open };

async function open(connection: Connection, context: ProviderContext, signal: AbortSignal): Promise<Session> {
  const { host, connectTimeoutMs, requestTimeoutMs, ipmi: options } = connection;
  const { clock, log } = context;
  const credentials = readCredentials(connection, options.kg);
  const hint = parseHint(context.hint);
  const suites = cipherSuitesToTry(options.cipherSuite, hint.cipherSuite);
  const transport = await UdpTransport.open(host, options.port, connectTimeoutMs, signal);
  try {
    const { privilege } = options;
    const established = await shakeHands(
      { credentials, privilege, suites, limitMs: connectTimeoutMs },
      { transport, clock, log, signal },
    );
    const session = new IpmiSession({ established, privilege, requestTimeoutMs, transport, clock });
    const boot = new IpmiBoot(session, hint.manufacturer);
    return {
      provider: "ipmi",
      power: new IpmiPower(session),
      boot,
      roundTrips: () => session.flights,
      hint: (): IpmiHint => ({
        ...(established.preferredSuite === undefined ? {} : { cipherSuite: established.preferredSuite }),
        ...(boot.manufacturer === undefined ? {} : { manufacturer: boot.manufacturer }),
      }),
      async close() {
        session.close();
        await transport.close();
      },
    };
  } catch (thrown) {
    await transport.close();
    throw thrown;
  }
}
