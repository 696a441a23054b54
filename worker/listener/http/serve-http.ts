import { defined } from "../../../shared/defined.ts";
import type { Logger } from "../../../shared/logger.ts";
import { addressText, listenProblem } from "../addresses.ts";
import type { Access } from "./access.ts";
import { HttpListener } from "./http-listener.ts";
import type { HttpConfig } from "./http-settings.ts";
import type { Route } from "./route.ts";

/**
 * Listens on the configured address. Rejects with one line if a configured address is not available; undefined if the
 * default one is not.
 */
export async function serveHttp(
  { host, port, required }: Pick<HttpConfig, "host" | "port" | "required">,
  routes: readonly Route[],
  log: Logger,
  access?: Access,
): Promise<HttpListener | undefined> {
  const listener = new HttpListener({ routes, log, ...defined({ access }) });
  try {
    await listener.listen({ host, port });
  } catch (thrown) {
    const reason = listenProblem(thrown);
    const where = addressText({ host, port });
    if (required) throw new Error(`cannot listen on ${where} (http-address): ${reason}`, { cause: thrown });
    log.warn(
      { address: where, reason, hint: "give it a free one with --http-address, or off" },
      "status page, metrics and health not served",
    );
    return undefined;
  }
  log.info({ address: listener.url }, "serving the status page, metrics and health");
  return listener;
}
