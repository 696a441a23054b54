import { type CrossCheck, needs } from "../config/cross-check.ts";
import { type TlsSettings, tlsRules } from "../config/tls-files.ts";
import { namesLoopback } from "./loopback.ts";

/** The settings of an address that the worker serves. */
export interface ServedAddress<Name extends string> extends TlsSettings<Name> {
  readonly address: Name;
  readonly auth: Name;
  /** The settings for token files. */
  readonly tokens: readonly Name[];
  /** The authorities of client certificates. */
  readonly ca: Name;
  /** What anyone who reaches the address can do without authentication. */
  readonly risk: string;
}

type Values<Name extends string> = Readonly<Record<Name, unknown>>;

export function addressRules<Name extends string>(
  served: ServedAddress<Name>,
): readonly CrossCheck<Values<Name>>[] {
  const { address, auth, tokens, certificate, key, ca, risk } = served;
  const credentials = [...tokens, ca];
  const isAuthenticated = (settings: Values<Name>) =>
    credentials.some((name) => settings[name] !== undefined);
  return [
    {
      settings: [address, auth, ...credentials],
      not: ["run"],
      broken: (settings) =>
        isExposed(settings[address]) && settings[auth] !== "none" && !isAuthenticated(settings),
      message: `is not a loopback address, so it needs authentication. Fix: set ${listed(credentials, "or")}; or set {${auth}} to none, and everyone who reaches the address can ${risk}`,
    },
    {
      settings: [auth, ...credentials],
      broken: (settings) => settings[auth] === "none" && isAuthenticated(settings),
      message: `is none, so ${listed(credentials, "and")} have no effect: remove one or the other`,
    },
    ...tlsRules(served),
    needs(ca, certificate, `needs TLS: set {${certificate}} and {${key}}`),
  ];
}

/** Warnings about values that are valid but probably not intended. */
export function addressConcerns<Name extends string>({
  address,
  tokens,
  certificate,
}: ServedAddress<Name>): readonly CrossCheck<Values<Name>>[] {
  return tokens.map((token) => ({
    settings: [token, address, certificate],
    not: ["run"],
    broken: (settings) =>
      isExposed(settings[address]) && settings[token] !== undefined && settings[certificate] === undefined,
    message: `is used without TLS: anyone who can read the traffic can read the token. Set {${certificate}}, unless a proxy encrypts the traffic`,
  }));
}

/** Whether other hosts can reach the address. */
function isExposed(address: unknown): boolean {
  if (typeof address !== "object" || address === null || !("host" in address)) return false;
  const host = String(address.host);
  return !namesLoopback(host.includes(":") ? `[${host}]` : host);
}

/** Joins names as `{a}, {b} and {c}`. */
function listed(names: readonly string[], word: "and" | "or"): string {
  const shown = names.map((name) => `{${name}}`);
  return `${shown.slice(0, -1).join(", ")} ${word} ${shown.at(-1)}`;
}
