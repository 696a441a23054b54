import { z } from "zod";
import { Host } from "../../../shared/contract/connection.ts";

const DEFAULT_PORT = 42_113;

const SERVER_EXPECTATION = "must be host:port, such as tinkerbell.example.org:42113 or [2001:db8::1]:42113";

/** `host`, `host:port` or `[IPv6]:port`; the parsed value always has a port. */
export const ServerAddress = z.string().transform((text, context) => {
  const match = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text.trim());
  const [, host = "", port = String(DEFAULT_PORT)] = match ?? [];
  if (Host.safeParse(host).success && Number(port) >= 1 && Number(port) <= 65_535) {
    return `${host}:${Number(port)}`;
  }
  context.issues.push({ code: "custom", message: SERVER_EXPECTATION, input: text });
  return z.NEVER;
});
