import type { SessionBase } from "../operations/access.ts";
import type { HttpConnection } from "./http-connection.ts";

/** The common part of a session for every provider with one connection. It is closed if opening fails. */
export async function openHttpSession<Drivers>(
  http: HttpConnection,
  open: () => Promise<Drivers>,
): Promise<Drivers & Pick<SessionBase, "certificateExpiresMs" | "roundTrips" | "close">> {
  try {
    return {
      ...(await open()),
      certificateExpiresMs: () => http.certificateExpiresMs,
      roundTrips: () => http.roundTrips,
      close: () => http.close(),
    };
  } catch (thrown) {
    await http.close();
    throw thrown;
  }
}
