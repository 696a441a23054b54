import type { BootMode } from "../../../shared/contract/vocabulary.ts";
import { providerOrder } from "./provider-order.ts";
import type { RufioConnection, RufioHomeAssistant, RufioRpc } from "./rufio-connection.ts";
import { timestampLayout } from "./timestamp-layout.ts";

/** Where an object of the cluster says how its BMC is reached. */
export interface ConnectionSource {
  readonly connection: RufioConnection;
  /** Of the machine's firmware, where the object says so. */
  readonly bootMode?: BootMode;
  /** SHA-256 of the BMC's certificate. */
  readonly fingerprint?: string;
}

/** The secret part: put where it belongs, whether it is the secrets themselves or references to files. */
export interface SecretPart {
  readonly username?: unknown;
  readonly password?: unknown;
  readonly signing?: { readonly sha256: readonly unknown[]; readonly sha512: readonly unknown[] };
}

/** A connection as `Connection` reads it; keys that are undefined count as absent. */
export function connectionDocument(
  { connection, bootMode, fingerprint }: ConnectionSource,
  { username, password, signing }: SecretPart = {},
): Readonly<Record<string, unknown>> {
  const { host, port, insecureTLS, providerOptions = {} } = connection;
  const { preferredOrder = [], redfish, ipmitool, intelAMT, rpc, homeassistant } = providerOptions;
  const hasService = rpc !== undefined || homeassistant !== undefined;
  return {
    host,
    // Where a service stands for the BMC Rufio tries nothing else, whatever it is told to prefer.
    providers: hasService ? undefined : providerOrder(preferredOrder, intelAMT !== undefined),
    bootMode,
    // Whoever pins a certificate wants it looked at, whatever Rufio is told.
    tls: { verify: insecureTLS && fingerprint === undefined ? false : undefined, fingerprint },
    redfish: redfish && {
      port: redfish.port,
      system: redfish.systemName,
      auth: redfish.useBasicAuth ? "basic" : undefined,
    },
    ipmi: { port: ipmitool?.port ?? port, cipherSuite: numberOf(ipmitool?.cipherSuite) },
    amt: intelAMT && { port: intelAMT.port, scheme: intelAMT.hostScheme },
    username,
    password,
    rpc: rpc && rpcDocument(rpc, signing),
    homeassistant: homeassistant && homeAssistantDocument(homeassistant, host),
  };
}

function rpcDocument(
  { consumerURL, request = {}, signature = {}, hmac = {}, experimental = {} }: RufioRpc,
  secrets: SecretPart["signing"],
) {
  const { customRequestPayload: payload, dotPath: path } = experimental;
  const { timestampFormat, staticHeaders } = request;
  return {
    url: consumerURL,
    naming: "rufio",
    method: request.httpMethod,
    contentType: request.httpContentType,
    headers: staticHeaders,
    timestampHeader: request.timestampHeader,
    timestampFormat: timestampFormat && timestampLayout(timestampFormat),
    signature: {
      secrets,
      header: signature.headerName,
      algorithmInHeader: signature.appendAlgoToHeaderDisabled ? false : undefined,
      algorithmInValue: hmac.prefixSigDisabled ? false : undefined,
      includedHeaders: signature.includedPayloadHeaders?.length
        ? [...new Set(signature.includedPayloadHeaders)]
        : undefined,
    },
    // One without the other does nothing in bmclib, either.
    embed: payload !== undefined && path !== undefined ? { payload: jsonOf(payload), path } : undefined,
  };
}

/** bmclib takes the BMC's host for Home Assistant's URL and its password for the token (`registerHomeAssistantProvider`). */
function homeAssistantDocument(
  { switchEntityID, powerOperationDelaySeconds }: RufioHomeAssistant,
  host: string,
) {
  return {
    url: host,
    entity: switchEntityID,
    powerOperationDelayMs:
      powerOperationDelaySeconds === undefined ? undefined : powerOperationDelaySeconds * 1_000,
  };
}

/** What is no number is left for the schema to refuse. */
function numberOf(text: string | undefined): unknown {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : text;
}

/** What is no JSON is left for the schema to refuse. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
