import { z } from "zod";
import { Host } from "../../shared/contract/connection.ts";

/** An address to listen on. */
export interface ListenAddress {
  /** A name or an address, IPv6 without brackets. */
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
}

/** Formats an address for a URL: IPv6 in brackets. */
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

const LISTEN_EXPECTATION = "must be host:port, such as 127.0.0.1:50051 or [::1]:50051";

/** An address as `host:port`, with IPv6 in brackets. */
export const ListenAddressText = z.string().transform((text, context): ListenAddress => {
  const address = listenAddress(text);
  if (address) return address;
  context.issues.push({ code: "custom", message: LISTEN_EXPECTATION, input: text });
  return z.NEVER;
});

/** Parses `host:port`, with IPv6 in brackets. */
export function listenAddress(text: string): ListenAddress | undefined {
  const [, bracketed, host = bracketed ?? "", port = ""] =
    /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(text.trim()) ?? [];
  const literal = bracketed === undefined ? host : `[${host}]`;
  const isValid = Host.safeParse(literal).success && Number(port) <= 65_535;
  return isValid ? { host, port: Number(port) } : undefined;
}
