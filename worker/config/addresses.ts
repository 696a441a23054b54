import { z } from "zod";
import { Host } from "../../shared/contract/connection.ts";

const HTTP_EXPECTATION = "must be host:port, such as 127.0.0.1:42180 or [::1]:42180, or off";

/** An address to listen on. */
export interface ListenAddress {
  /** A name or an address, IPv6 without brackets. */
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
}

/** As in a URL: IPv6 in brackets. */
export function addressText({ host, port }: ListenAddress): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

const LISTEN_PROBLEMS: Readonly<Record<string, string>> = {
  EADDRINUSE: "it is in use, by another worker or program",
  EADDRNOTAVAIL: "this machine has no such address",
  EACCES: "the system does not permit it",
  ENOTFOUND: "the name is unknown",
};

/** Why listening on an address failed. */
export function listenProblem(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const code = "code" in thrown ? String(thrown.code) : "";
  return LISTEN_PROBLEMS[code] ?? thrown.message;
}

/** Loopback, because the status page needs no authentication there. */
export const DEFAULT_HTTP_ADDRESS: ListenAddress = { host: "127.0.0.1", port: 42_180 };

/** Loopback, because the API needs no authentication there. The port is PBnJ's. */
export const DEFAULT_PBNJ_ADDRESS: ListenAddress = { host: "127.0.0.1", port: 50_051 };

/** `host:port`, or `off`. */
export const HttpAddress = z.string().transform((text, context): ListenAddress | "off" => {
  if (text.trim().toLowerCase() === "off") return "off";
  const address = listenAddress(text);
  if (address) return address;
  context.issues.push({ code: "custom", message: HTTP_EXPECTATION, input: text });
  return z.NEVER;
});

const LISTEN_EXPECTATION = "must be host:port, such as 127.0.0.1:50051 or [::1]:50051";

/** `host:port`, IPv6 in brackets. */
export const ListenAddressText = z.string().transform((text, context): ListenAddress => {
  const address = listenAddress(text);
  if (address) return address;
  context.issues.push({ code: "custom", message: LISTEN_EXPECTATION, input: text });
  return z.NEVER;
});

function listenAddress(text: string): ListenAddress | undefined {
  const [, bracketed, host = bracketed ?? "", port = ""] =
    /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(text.trim()) ?? [];
  const literal = bracketed === undefined ? host : `[${host}]`;
  const isValid = Host.safeParse(literal).success && Number(port) <= 65_535;
  return isValid ? { host, port: Number(port) } : undefined;
}

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
