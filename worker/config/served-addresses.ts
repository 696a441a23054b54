import type { ListenAddress } from "./addresses.ts";
import { type CrossCheck, needs } from "./cross-check.ts";
import { namesLoopback } from "./loopback.ts";
import type { SettingName, Settings } from "./schema.ts";

/** An address that the worker serves, with the settings that protect it. */
interface ServedAddress {
  readonly address: "httpAddress" | "pbnjAddress";
  readonly auth: "httpAuth" | "pbnjAuth";
  /** Files for tokens. */
  readonly tokens: readonly SettingName[];
  readonly certificate: SettingName;
  readonly key: SettingName;
  readonly clientCa: SettingName;
  /** What everyone can do who reaches it without authentication. */
  readonly risk: string;
}

export const servedAddresses: readonly ServedAddress[] = [
  {
    address: "httpAddress",
    auth: "httpAuth",
    tokens: ["httpTokenFile"],
    certificate: "httpCertFile",
    key: "httpKeyFile",
    clientCa: "httpClientCaFile",
    risk: "read status page and metrics",
  },
  {
    address: "pbnjAddress",
    auth: "pbnjAuth",
    tokens: ["pbnjJwtKeyFile", "pbnjJwtSecretFile"],
    certificate: "pbnjCertFile",
    key: "pbnjKeyFile",
    clientCa: "pbnjClientCaFile",
    risk: "control machines",
  },
];

export function addressRules(served: ServedAddress): readonly CrossCheck[] {
  const { address, auth, tokens, certificate, key, clientCa, risk } = served;
  const credentials = [...tokens, clientCa];
  const isAuthenticated = (settings: Settings) => credentials.some((name) => settings[name] !== undefined);
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
    needs(certificate, key, `needs its private key: set {${key}}`),
    needs(key, certificate, `needs its certificate: set {${certificate}}`),
    needs(clientCa, certificate, `needs TLS: set {${certificate}} and {${key}}`),
  ];
}

/** What is valid but probably not intended. */
export function addressConcerns({ address, tokens, certificate }: ServedAddress): readonly CrossCheck[] {
  return tokens.map((token) => ({
    settings: [token, address, certificate],
    not: ["run"],
    broken: (settings) =>
      isExposed(settings[address]) && settings[token] !== undefined && settings[certificate] === undefined,
    message: `is used without TLS: anyone who can read the traffic can read the token. Set {${certificate}}, unless a proxy encrypts the traffic`,
  }));
}

/** Whether other hosts can reach the address. */
function isExposed(address: ListenAddress | "off" | undefined): boolean {
  if (typeof address !== "object") return false;
  const { host } = address;
  return !namesLoopback(host.includes(":") ? `[${host}]` : host);
}

function listed(names: readonly SettingName[], word: "and" | "or"): string {
  const shown = names.map((name) => `{${name}}`);
  return `${shown.slice(0, -1).join(", ")} ${word} ${shown.at(-1)}`;
}
