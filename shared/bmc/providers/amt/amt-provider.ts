import * as z from "zod/mini";
import { BmcError } from "../../../contract/bmc-error.ts";
import { AMT_PORTS, type Connection } from "../../../contract/connection.ts";
import { defined } from "../../../defined.ts";
import { untraced } from "../../../tracing/tracer.ts";
import { HttpConnection } from "../../http/http-connection.ts";
import { openHttpSession } from "../../http/http-session.ts";
import { defineProvider, type ProviderContext, type SessionWith } from "../../operations/provider.ts";
import { AmtBoot } from "./boot-driver.ts";
import type { DigestAccount } from "./digest.ts";
import { AmtPower, readPowerStatus } from "./power-driver.ts";
import { WsmanClient } from "./wsman.ts";

/** What AMT itself sends at most in one envelope. */
const MAX_BODY_BYTES = 512_000;

const Hint = z.object({ reading: z.enum(["get", "enumerate"]) });

/** Intel Active Management Technology: WS-Management with digest authentication. */
export const amt = defineProvider({ name: "amt", capabilities: [], open });

async function open(
  connection: Connection,
  context: ProviderContext,
  signal: AbortSignal,
): Promise<SessionWith<never>> {
  const { host, tls, connectTimeoutMs, requestTimeoutMs, amt: options } = connection;
  const { clock, tracer = untraced } = context;
  const { scheme, port = AMT_PORTS[scheme] } = options;
  const account = accountOf(connection);
  const hint = Hint.safeParse(context.hint);
  const limits = { connectTimeoutMs, requestTimeoutMs, maxBodyBytes: MAX_BODY_BYTES };
  const told = defined({ onReached: context.onReached, nameOption: context.nameOption });
  const http = new HttpConnection({ scheme, host, port, tls, ...limits, ...told, tracer });
  const wsman = new WsmanClient(http, account, clock, context.onAccepted);
  return openHttpSession(http, async () => {
    const opened = await readPowerStatus(wsman, hint.success ? hint.data.reading : "get", signal);
    return {
      provider: "amt",
      power: new AmtPower(wsman, clock, opened),
      boot: new AmtBoot(wsman),
      hint: () => ({ reading: opened.reading }),
    };
  });
}

/** Other characters would have to be encoded in the header, which AMT does not understand. */
function accountOf({ username = "", password }: Connection): DigestAccount {
  if (/[^\x20-\x7e]/.test(username)) {
    throw new BmcError("usage", "the user name of an AMT device must be plain ASCII");
  }
  return { username, password: password?.reveal() ?? "" };
}
