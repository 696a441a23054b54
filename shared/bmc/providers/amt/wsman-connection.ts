import { BmcError } from "../../../contract/bmc-error.ts";
import { AMT_PORTS, type Connection } from "../../../contract/connection.ts";
import { defined } from "../../../defined.ts";
import { INPUT_BYTES } from "../../../input-limits.ts";
import { untraced } from "../../../tracing/tracer.ts";
import { HttpConnection } from "../../http/http-connection.ts";
import type { ProviderContext } from "../../operations/provider.ts";
import type { DigestAccount } from "./digest.ts";
import { WsmanClient } from "./wsman.ts";

/** The maximum size of an envelope that AMT sends. */
const MAX_BODY_BYTES = INPUT_BYTES.amtAnswer;

/** Opens WS-Management to the connection's device. Sends nothing; the caller closes `http`. */
export function connectWsman(
  connection: Connection,
  context: ProviderContext,
): { readonly http: HttpConnection; readonly wsman: WsmanClient } {
  const { host, tls, connectTimeoutMs, requestTimeoutMs, amt } = connection;
  const { clock, tracer = untraced } = context;
  const { scheme, port = AMT_PORTS[scheme] } = amt;
  const account = accountOf(connection);
  const limits = { connectTimeoutMs, requestTimeoutMs, maxBodyBytes: MAX_BODY_BYTES };
  const { onReached, nameOption, tap } = context;
  const told = defined({ onReached, nameOption, tap });
  const http = new HttpConnection({ scheme, host, port, tls, ...limits, ...told, tracer });
  return { http, wsman: new WsmanClient(http, account, clock, context.onAccepted) };
}

/** The login for the digest. Other characters would have to be encoded in the header, which AMT does not understand. */
function accountOf({ username = "", password }: Connection): DigestAccount {
  if (/[^\x20-\x7e]/.test(username)) {
    throw new BmcError("usage", "the user name of an AMT device must be plain ASCII");
  }
  return { username, password: password?.reveal() ?? "" };
}
