import { z } from "zod";
import { Secret } from "../../../shared/secret.ts";
import type { ConfigPart, Loading } from "../../config/part.ts";
import type { SecretFile } from "../../config/pem.ts";
import { type SettingsOf, setting } from "../../config/setting.ts";
import { readTlsFiles, type TlsFiles } from "../../config/tls-files.ts";
import { Text } from "../../document/value-types.ts";
import { type ListenAddress, listenAddress } from "../addresses.ts";
import { addressConcerns, addressRules } from "../served-address.ts";
import { Tokens } from "../tokens.ts";

/** Loopback by default, because the status page needs no authentication there. */
const DEFAULT_ADDRESS: ListenAddress = { host: "127.0.0.1", port: 42_180 };

const HTTP_EXPECTATION = "must be host:port, such as 127.0.0.1:42180 or [::1]:42180, or off";

/** An address as `host:port`, or `off`. */
export const HttpAddress = z.string().transform((text, context): ListenAddress | "off" => {
  if (text.trim().toLowerCase() === "off") return "off";
  const address = listenAddress(text);
  if (address) return address;
  context.issues.push({ code: "custom", message: HTTP_EXPECTATION, input: text });
  return z.NEVER;
});

const settings = {
  httpAddress: setting(HttpAddress.optional(), {
    description: "Address on which to serve the status page, metrics and health; off disables them",
    type: "host:port|off",
    defaultText: "127.0.0.1:42180",
    chart: { derivedFrom: "service.host" },
  }),
  httpAuth: setting(z.enum(["auto", "none"]).prefault("auto"), {
    description:
      "Who can read the status page and metrics: auto requires a token or client certificate beyond loopback, none allows everyone",
    chart: { value: "http.auth" },
  }),
  httpTokenFile: setting(Text.optional(), {
    description:
      "File with the tokens for the status page and metrics, one per line; reloaded when it changes",
    type: "file",
    chart: { derivedFrom: "http.tokenSecret" },
  }),
  httpCertFile: setting(Text.optional(), {
    description: "PEM certificate, with its chain, for HTTPS; reloaded when it changes",
    type: "file",
    chart: { derivedFrom: "http.tlsSecret" },
  }),
  httpKeyFile: setting(Text.optional(), {
    description: "PEM private key of that certificate",
    type: "file",
    chart: { derivedFrom: "http.tlsSecret" },
  }),
  httpClientCaFile: setting(Text.optional(), {
    description:
      "PEM certificates of the authorities for client certificates that can read the status page and metrics; reloaded when it changes",
    type: "file",
    chart: { derivedFrom: "http.clientCaSecret" },
  }),
};
type Given = SettingsOf<typeof settings>;

const SERVED = {
  address: "httpAddress",
  auth: "httpAuth",
  tokens: ["httpTokenFile"],
  certificate: "httpCertFile",
  key: "httpKeyFile",
  ca: "httpClientCaFile",
  risk: "read status page and metrics",
} as const;

/** The files that protect the worker's pages. Without any of them, everyone may use plain HTTP. */
export interface HttpFiles extends TlsFiles {
  readonly token?: SecretFile | undefined;
}

interface HttpConfig extends ListenAddress {
  /** Whether the address was configured, so that the worker does not start without it. */
  readonly required: boolean;
  readonly files: HttpFiles;
}

interface HttpPart {
  /** Absent if nothing is served. */
  readonly http?: HttpConfig;
}

function config(given: Given, { command, read }: Loading): HttpPart {
  const { httpAddress } = given;
  if (httpAddress === "off" || command === "run") return {};
  const token = read("httpTokenFile", given.httpTokenFile, (text, path) => {
    Tokens.parse(text);
    return { path, text: new Secret(text) };
  });
  const files = { token, ...readTlsFiles(SERVED, given, read) };
  return { http: { ...(httpAddress ?? DEFAULT_ADDRESS), required: httpAddress !== undefined, files } };
}

export const httpSettings = {
  group: "Operating",
  not: ["run"],
  settings,
  rules: addressRules(SERVED),
  concerns: addressConcerns(SERVED),
  config,
} satisfies ConfigPart<Given>;
