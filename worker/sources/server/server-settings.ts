import { z } from "zod";
import { Host } from "../../../shared/contract/connection.ts";
import { defined } from "../../../shared/defined.ts";
import type { Problem } from "../../../shared/document/problem.ts";
import { Secret } from "../../../shared/secret.ts";
import type { Environment } from "../../../shared/tracing/variables.ts";
import { type CrossCheck, needs } from "../../config/cross-check.ts";
import type { ConfigPart, Loading } from "../../config/part.ts";
import { type SettingsOf, setting } from "../../config/setting.ts";
import { readTlsFiles, tlsRules } from "../../config/tls-files.ts";
import { Duration, Text, Toggle } from "../../document/value-types.ts";
import type { HttpProxy } from "../grpc/http-proxy.ts";

const DEFAULT_PORT = 42_113;

const SERVER_EXPECTATION = "must be host:port, such as tinkerbell.example.org:42113 or [2001:db8::1]:42113";

/** An address as `host`, `host:port` or `[IPv6]:port`. The parsed value always has a port. */
export const ServerAddress = z.string().transform((text, context) => {
  const match = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text.trim());
  const [, host = "", port = String(DEFAULT_PORT)] = match ?? [];
  if (Host.safeParse(host).success && Number(port) >= 1 && Number(port) <= 65_535) {
    return `${host}:${Number(port)}`;
  }
  context.issues.push({ code: "custom", message: SERVER_EXPECTATION, input: text });
  return z.NEVER;
});

const EXPECTATION =
  "must be http://host:port or https://host:port, perhaps with user:password@ before the host, or off";

/** The URL of an HTTP proxy, which may contain a password; undefined for `off`. */
const ProxyAddress = z.string().transform((text, context) => {
  const given = text.trim();
  if (given === "off") return undefined;
  // The scheme is optional, like in Go.
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(given) ? given : `http://${given}`;
  if (isProxy(url)) return new Secret(url);
  context.issues.push({ code: "custom", message: EXPECTATION, input: text });
  return z.NEVER;
});

function isProxy(text: string): boolean {
  try {
    const { protocol, hostname, pathname, username, password, search, hash } = new URL(text);
    decodeURIComponent(username + password);
    return /^https?:$/.test(protocol) && hostname !== "" && pathname === "/" && search === "" && hash === "";
  } catch {
    return false;
  }
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

const settings = {
  grpcServer: setting(ServerAddress.optional(), {
    description: "Address of the tink server; the default port is 42113; write IPv6 addresses in brackets",
    type: "host:port",
    aliases: ["AGENT_GRPC_SERVER", "TINKERBELL_GRPC_AUTHORITY"],
    chart: { value: "tink.address" },
  }),
  grpcApi: setting(z.enum(["auto", "current", "legacy"]).prefault("auto"), {
    description:
      "Workflow API of the tink server: current (Tinkerbell 0.17 and later), legacy (tink 0.8 to 0.12), or auto to detect it",
    chart: { value: "tink.api" },
  }),
  grpcTls: setting(Toggle.prefault(false), {
    description: "Use TLS to connect to the tink server",
    aliases: ["AGENT_GRPC_TLS", "TINKERBELL_TLS"],
    chart: { value: "tink.tls.enabled" },
  }),
  grpcInsecureTls: setting(Toggle.prefault(false), {
    description: "Accept any certificate from the tink server",
    aliases: ["AGENT_GRPC_INSECURE_TLS", "TINKERBELL_INSECURE_TLS"],
    chart: { value: "tink.tls.insecure" },
  }),
  grpcCaFile: setting(Text.optional(), {
    description: "PEM certificates to trust instead of the system's trust store",
    type: "file",
    chart: { derivedFrom: "tink.tls.ca" },
  }),
  grpcClientCertFile: setting(Text.optional(), {
    description: "PEM client certificate of the worker, with its chain",
    type: "file",
    chart: { derivedFrom: "tink.tls.clientSecret" },
  }),
  grpcClientKeyFile: setting(Text.optional(), {
    description: "PEM private key of that certificate",
    type: "file",
    chart: { derivedFrom: "tink.tls.clientSecret" },
  }),
  grpcServerName: setting(Text.optional(), {
    description: "Host name that the tink server's certificate must contain",
    type: "name",
    defaultText: "the server's host",
    chart: { value: "tink.tls.serverName" },
  }),
  grpcProxy: setting(ProxyAddress.optional(), {
    description: "HTTP proxy to the tink server, with CONNECT; BMCs and the cluster are reached directly",
    type: "URL|off",
    aliases: ["grpc_proxy", "HTTPS_PROXY", "https_proxy"],
  }),
  grpcNoProxy: setting(Text.optional(), {
    description: "Hosts, domains and networks to reach without that proxy, separated by commas; * means all",
    type: "hosts",
    aliases: ["no_grpc_proxy", "NO_PROXY", "no_proxy"],
  }),
  pollTimeout: setting(Duration(SECOND_MS, 10 * MINUTE_MS).prefault("75s"), {
    description: "Timeout of one poll; the server holds a poll for up to one minute, so use a longer time",
    type: "duration",
  }),
  backoffMaxInterval: setting(Duration(100, 60 * MINUTE_MS).prefault("30s"), {
    description:
      "Maximum backoff between attempts of a call that the server refuses; a server that does not answer is tried every 5 s",
    type: "duration",
    aliases: ["AGENT_BACKOFF_MAX_INTERVAL"],
  }),
};
type Given = SettingsOf<typeof settings>;

const TLS = { certificate: "grpcClientCertFile", key: "grpcClientKeyFile", ca: "grpcCaFile" } as const;

const needsTls = <Name extends string>(name: Name) =>
  needs(name, "grpcTls", "has no meaning without TLS: set {grpcTls} as well");

const rules: readonly CrossCheck<Given>[] = [
  needsTls("grpcInsecureTls"),
  needsTls("grpcCaFile"),
  needsTls("grpcClientCertFile"),
  needsTls("grpcServerName"),
  {
    settings: ["grpcInsecureTls", "grpcCaFile"],
    broken: ({ grpcInsecureTls, grpcCaFile }) => grpcInsecureTls && grpcCaFile !== undefined,
    message: "accepts any certificate, so {grpcCaFile} has no effect: set only one of them",
  },
  ...tlsRules(TLS),
];

const concerns: readonly CrossCheck<Given>[] = [
  {
    settings: ["pollTimeout"],
    broken: ({ pollTimeout }) => pollTimeout < 61_000,
    message: "is shorter than one minute, for which the tink server holds a poll: polls will time out",
  },
  {
    settings: ["grpcInsecureTls"],
    broken: ({ grpcInsecureTls, grpcTls }) => grpcInsecureTls && grpcTls,
    message: "accepts any certificate: a man in the middle can make this worker run actions",
  },
];

/** The tink server and its TLS settings. */
export interface ServerConfig {
  /** `host:port`, IPv6 in brackets. */
  readonly server: string;
  readonly tls: boolean;
  readonly insecureTls: boolean;
  /** PEM. */
  readonly ca?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: Secret;
  readonly serverName?: string;
  readonly proxy?: HttpProxy;
  readonly pollTimeoutMs: number;
  readonly api: Given["grpcApi"];
}

interface ServerPart {
  /** Absent without a tink server to poll. */
  readonly server?: ServerConfig;
  /** The longest pause between attempts of a call. */
  readonly backoffMaxIntervalMs: number;
}

function config(given: Given, { read }: Loading): ServerPart {
  const { ca, certificate, key } = readTlsFiles(TLS, given, read);
  const { backoffMaxInterval: backoffMaxIntervalMs } = given;
  if (given.grpcServer === undefined) return { backoffMaxIntervalMs };
  const { grpcProxy: url, grpcNoProxy: noProxy = "" } = given;
  const tls = {
    ...{ ca: ca?.text, clientCertificate: certificate?.text, clientKey: key?.text },
    serverName: given.grpcServerName,
  };
  return {
    backoffMaxIntervalMs,
    server: {
      server: given.grpcServer,
      tls: given.grpcTls,
      insecureTls: given.grpcInsecureTls,
      ...defined({ ...tls, proxy: url && { url, noProxy } }),
      pollTimeoutMs: given.pollTimeout,
      api: given.grpcApi,
    },
  };
}

/** Warns about a transport of Tinkerbell's agent that this worker does not have. */
function variableProblems({ AGENT_TRANSPORT: transport }: Environment): readonly Problem[] {
  if (!transport || transport.toLowerCase() === "grpc") return [];
  return [{ source: "AGENT_TRANSPORT", message: "must be grpc: other transports are not supported" }];
}

export const serverSettings = {
  group: "Tink server",
  not: ["run", "serve"],
  settings,
  rules,
  concerns,
  variableProblems,
  config,
} satisfies ConfigPart<Given>;
