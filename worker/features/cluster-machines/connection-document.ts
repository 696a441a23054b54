import type { BootMode } from "../../../shared/contract/vocabulary.ts";
import type { HostAddress } from "./host-address.ts";
import { providerOrder } from "./provider-order.ts";
import type { RufioConnection, RufioHomeAssistant, RufioRpc } from "./rufio-connection.ts";
import { timestampLayout } from "./timestamp-layout.ts";

/** What an object says about how to reach its BMC. */
export interface ConnectionSource {
  readonly connection: RufioConnection;
  readonly bootMode?: BootMode | undefined;
  /** SHA-256 fingerprint of the BMC's certificate. */
  readonly fingerprint?: string | undefined;
  /** The address of a BareMetalHost, which can say more than a Rufio connection. */
  readonly address?: HostAddress;
}

export interface SecretPart {
  readonly username?: unknown;
  readonly password?: unknown;
  readonly signing?: { readonly sha256: readonly unknown[]; readonly sha512: readonly unknown[] };
}

/** Builds a document for the schema `Connection`; undefined keys count as absent. */
export function connectionDocument(
  { connection, bootMode, fingerprint, address }: ConnectionSource,
  { username, password, signing }: SecretPart = {},
): Readonly<Record<string, unknown>> {
  const { host, port, insecureTLS, providerOptions = {} } = connection;
  const { preferredOrder = [], redfish, ipmitool, intelAMT, rpc, homeassistant } = providerOptions;
  const hasService = rpc !== undefined || homeassistant !== undefined;
  return {
    host,
    // Rufio ignores the preferred order if the machine is reached through a service.
    providers:
      address?.providers ?? (hasService ? undefined : providerOrder(preferredOrder, intelAMT !== undefined)),
    bootMode,
    // A pinned certificate is always verified, even with insecureTLS.
    tls: { verify: insecureTLS && fingerprint === undefined ? false : undefined, fingerprint },
    redfish:
      address?.redfish ??
      (redfish && {
        port: redfish.port,
        system: redfish.systemName,
        auth: redfish.useBasicAuth ? "basic" : undefined,
      }),
    ipmi: address?.ipmi ?? { port: ipmitool?.port ?? port, cipherSuite: numberOf(ipmitool?.cipherSuite) },
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
    // Like bmclib, ignore a payload without a path and a path without a payload.
    embed: payload !== undefined && path !== undefined ? { payload: jsonOf(payload), path } : undefined,
  };
}

/** bmclib uses the BMC's host as Home Assistant's URL and the password as the token (`registerHomeAssistantProvider`). */
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

/** Parses a number. Leaves other text to the schema, which rejects it. */
function numberOf(text: string | undefined): unknown {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : text;
}

/** Parses JSON. Leaves other text to the schema, which rejects it. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
