import type { BmcClient } from "../../../shared/bmc/client.ts";
import type { Tracer } from "../../../shared/tracing/tracer.ts";

/** Wraps a client so that each operation is a span with its name, such as `setPower`. */
export function tracedClient(client: BmcClient, tracer: Tracer): BmcClient {
  return new Proxy(client, {
    get(target, name) {
      // Its private fields know no proxy.
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      const call = (given: readonly unknown[]) => Reflect.apply(member, target, given);
      if (typeof name !== "string" || name === "close") return (...given: unknown[]) => call(given);
      return (...given: unknown[]) => tracer.span({ name, kind: "internal" }, () => call(given));
    },
  });
}
