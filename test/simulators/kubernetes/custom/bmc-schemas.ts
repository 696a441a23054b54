import {
  flag,
  integer,
  listOf,
  mapOf,
  matching,
  object,
  oneOf,
  type Rule,
  type Schema,
  text,
  time,
} from "./schema.ts";

const providers = listOf(matching("(?i)^(ipmitool|asrockrack|gofish|IntelAMT|dell|supermicro|openbmc)$"));
const secretName = object({ name: text, namespace: text });
const headers = mapOf(listOf(text));

const rpc = object({
  "consumerURL!": text,
  experimental: object({ customRequestPayload: text, dotPath: text }),
  hmac: object({
    prefixSigDisabled: flag,
    secrets: mapOf(listOf(object({ name: text, namespace: text }))),
  }),
  logNotificationsDisabled: flag,
  request: object({
    httpContentType: text,
    httpMethod: text,
    staticHeaders: headers,
    timestampFormat: text,
    timestampHeader: text,
  }),
  signature: object({
    appendAlgoToHeaderDisabled: flag,
    headerName: text,
    includedPayloadHeaders: listOf(text),
  }),
});

const commonProviders = {
  intelAMT: object({
    hostScheme: { type: "string", enum: ["http", "https"], default: "http" },
    port: integer,
  }),
  ipmitool: object({ cipherSuite: text, port: integer }),
  preferredOrder: providers,
  redfish: object({ port: integer, systemName: text, useBasicAuth: flag }),
  rpc,
};

const connection = object({
  authSecretRef: secretName,
  "host!": { type: "string", minLength: 1 },
  "insecureTLS!": flag,
  port: { type: "integer", default: 623 },
  providerOptions: object({
    ...commonProviders,
    homeassistant: object({ powerOperationDelaySeconds: integer, "switchEntityID!": text }),
  }),
});

const powerAction = oneOf("on", "off", "soft", "status", "cycle", "reset");
const virtualMedia = object({ "kind!": text, mediaURL: text });

/** One step of v1alpha1, also in a Workflow's boot options. */
export const actionV1 = object(
  {
    bootDevice: object({ device: text, efiBoot: flag, persistent: flag }),
    oneTimeBootDeviceAction: object({ "device!": listOf(text), efiBoot: flag }),
    powerAction,
    virtualMediaAction: virtualMedia,
  },
  { maxProperties: 1 },
);

const progress = {
  completionTime: time,
  conditions: listOf(object({ message: text, "status!": text, "type!": text })),
  startTime: time,
};

export const machineV1: Schema = object({
  spec: object({ "connection!": connection }),
  status: object({
    conditions: listOf(object({ lastUpdateTime: time, message: text, "status!": text, "type!": text })),
    powerState: oneOf("on", "off", "unknown"),
  }),
});

export const jobV1: Schema = object({
  spec: object({
    "machineRef!": object({ "name!": text, "namespace!": text }),
    "tasks!": listOf(actionV1, { minItems: 1 }),
  }),
  status: object(progress),
});

export const taskV1: Schema = object({
  spec: object({ connection, "task!": actionV1 }),
  status: object(progress),
});

/** Both names or none: the definition's rule for a reference. */
const wholeReference: Rule = {
  message: "name and namespace must both be non-empty or both be empty",
  holds: ({ name, namespace }) => (name !== "") === (namespace !== ""),
};

const reference = object({ "name!": text, "namespace!": text }, { rules: [wholeReference] });

export const connectionV2 = object({
  credentialsRef: reference,
  "host!": { type: "string", minLength: 1 },
  insecureTLS: flag,
  providerOptions: object(commonProviders),
});

const operation = ["powerAction", "bootDevice", "virtualMediaAction"];

/** One step of v1alpha2. */
export const operationV2 = object(
  {
    bootDevice: object({ efiBoot: flag, name: text, persistent: flag }),
    powerAction,
    timeoutSeconds: integer,
    virtualMediaAction: virtualMedia,
  },
  {
    rules: [
      {
        message: "only one of powerAction, bootDevice, or virtualMediaAction can be specified",
        holds: (self) => operation.filter((name) => self[name] !== undefined).length === 1,
      },
    ],
  },
);

export const jobV2: Schema = object({
  spec: object(
    { connection: connectionV2, hardwareRef: reference, "operations!": listOf(operationV2, { minItems: 1 }) },
    {
      rules: [
        {
          message: "hardwareRef and connection are mutually exclusive",
          holds: (self) => self["hardwareRef"] === undefined || self["connection"] === undefined,
        },
      ],
    },
  ),
  status: object({
    completedOperations: integer,
    completionTime: time,
    conditions: listOf(
      object({
        lastUpdateTime: time,
        message: text,
        observedGeneration: integer,
        "status!": text,
        "type!": text,
      }),
    ),
    startTime: time,
  }),
});
