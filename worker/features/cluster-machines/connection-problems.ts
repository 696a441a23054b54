import { Connection, requiredCredentials } from "../../../shared/contract/connection.ts";
import { valueProblems } from "../../../shared/document/issue-problems.ts";
import type { RufioConnection } from "./rufio-connection.ts";
import { algorithmOf } from "./secret-uses.ts";

/** Maps the fields of a connection to the object's fields below `connection`. */
const FIELDS: Readonly<Record<string, string>> = {
  providers: "providerOptions.preferredOrder",
  "redfish.port": "providerOptions.redfish.port",
  "redfish.system": "providerOptions.redfish.systemName",
  "ipmi.cipherSuite": "providerOptions.ipmitool.cipherSuite",
  "amt.port": "providerOptions.intelAMT.port",
  "amt.scheme": "providerOptions.intelAMT.hostScheme",
  rpc: "providerOptions.rpc",
  "rpc.url": "providerOptions.rpc.consumerURL",
  "rpc.method": "providerOptions.rpc.request.httpMethod",
  "rpc.contentType": "providerOptions.rpc.request.httpContentType",
  "rpc.headers": "providerOptions.rpc.request.staticHeaders",
  "rpc.timestampHeader": "providerOptions.rpc.request.timestampHeader",
  "rpc.timestampFormat": "providerOptions.rpc.request.timestampFormat",
  "rpc.signature.header": "providerOptions.rpc.signature.headerName",
  "rpc.signature.includedHeaders": "providerOptions.rpc.signature.includedPayloadHeaders",
  "rpc.embed.payload": "providerOptions.rpc.experimental.customRequestPayload",
  "rpc.embed.path": "providerOptions.rpc.experimental.dotPath",
  homeassistant: "providerOptions.homeassistant",
  "homeassistant.url": "host",
  "homeassistant.entity": "providerOptions.homeassistant.switchEntityID",
  "homeassistant.powerOperationDelayMs": "providerOptions.homeassistant.powerOperationDelaySeconds",
};

/** Messages for fields that have a different form in the object. */
const MESSAGES: Readonly<Record<string, string>> = { "rpc.embed.payload": "is not a JSON object" };

export interface Checked {
  readonly problems: readonly string[];
  readonly connection?: Connection;
}

/**
 * Finds all problems of an object's connection, each with its field. `where` is the path of `connection`; `login` is the field
 * below it that names the Secret.
 */
export function checkConnection(
  raw: RufioConnection,
  document: Readonly<Record<string, unknown>>,
  { where, login }: { readonly where: string; readonly login: string },
): Checked {
  const parsed = Connection.safeParse(document);
  const issues = parsed.success ? [] : parsed.error.issues;
  const problems = [
    ...valueProblems(Connection, document, issues).map(
      ({ path, message }) => `${fieldOf(path, raw, where)} ${MESSAGES[path.join(".")] ?? message}`,
    ),
    ...secretProblems(raw, login).map((problem) => `${where}.${problem}`),
  ];
  return parsed.success ? { problems, connection: parsed.data } : { problems };
}

function secretProblems(raw: RufioConnection, login: string): readonly string[] {
  const { authSecretRef, providerOptions = {} } = raw;
  const required = requiredCredentials(providerOptions);
  const problems = required.length > 0 && !authSecretRef?.name ? [`${login}.name is missing`] : [];
  for (const [algorithm, references] of Object.entries(providerOptions.rpc?.hmac?.secrets ?? {})) {
    const field = `providerOptions.rpc.hmac.secrets.${algorithm}`;
    if (!algorithmOf(algorithm)) problems.push(`${field} is not an algorithm: write sha256 or sha512`);
    for (const [index, { name }] of references.entries()) {
      if (!name) problems.push(`${field}.${index}.name is missing`);
    }
  }
  return problems;
}

/** The object's field for a path in the connection. */
function fieldOf(path: readonly PropertyKey[], raw: RufioConnection, where: string): string {
  const keys = path.map(String);
  const given = keys.join(".");
  if (given === "tls.fingerprint") return `metadata.annotations.${FINGERPRINT_ANNOTATION}`;
  if (given === "ipmi.port" && raw.providerOptions?.ipmitool?.port === undefined) return `${where}.port`;
  if (given === "ipmi.port") return `${where}.providerOptions.ipmitool.port`;
  for (let length = keys.length; length > 0; length -= 1) {
    const field = FIELDS[keys.slice(0, length).join(".")];
    if (field !== undefined) return [where, field, ...keys.slice(length)].join(".");
  }
  return [where, ...keys].join(".");
}

/** The annotation with the fingerprint of the BMC's certificate, because the objects have no field for it. */
export const FINGERPRINT_ANNOTATION = "pbnj-worker/tls-fingerprint";
