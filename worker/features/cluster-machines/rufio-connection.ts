import * as z from "zod/mini";

// Go programs omit unset fields or write the zero value: both count as absent.
const Text = z.optional(
  z.pipe(
    z.string(),
    z.transform((text) => text || undefined),
  ),
);
const Port = z.optional(
  z.pipe(
    z.int(),
    z.transform((port) => port || undefined),
  ),
);
const Flag = z.optional(z.boolean());
const Reference = z.strictObject({ name: Text, namespace: Text });
export type Reference = z.infer<typeof Reference>;

const RpcOptions = z.strictObject({
  consumerURL: z.string(),
  logNotificationsDisabled: Flag,
  request: z.optional(
    z.strictObject({
      httpContentType: Text,
      httpMethod: Text,
      staticHeaders: z.optional(z.record(z.string(), z.array(z.string()))),
      timestampFormat: Text,
      timestampHeader: Text,
    }),
  ),
  signature: z.optional(
    z.strictObject({
      headerName: Text,
      appendAlgoToHeaderDisabled: Flag,
      includedPayloadHeaders: z.optional(z.array(z.string())),
    }),
  ),
  hmac: z.optional(
    z.strictObject({
      prefixSigDisabled: Flag,
      secrets: z.optional(z.record(z.string(), z.array(Reference))),
    }),
  ),
  experimental: z.optional(z.strictObject({ customRequestPayload: Text, dotPath: Text })),
});
export type RufioRpc = z.infer<typeof RpcOptions>;

const HomeAssistantOptions = z.strictObject({
  switchEntityID: z.string(),
  powerOperationDelaySeconds: z.optional(z.int()),
});
export type RufioHomeAssistant = z.infer<typeof HomeAssistantOptions>;

const ProviderOptions = z.strictObject({
  preferredOrder: z.optional(z.array(z.string())),
  redfish: z.optional(z.strictObject({ port: Port, useBasicAuth: Flag, systemName: Text })),
  ipmitool: z.optional(z.strictObject({ port: Port, cipherSuite: Text })),
  intelAMT: z.optional(z.strictObject({ port: Port, hostScheme: Text })),
  rpc: z.optional(RpcOptions),
  homeassistant: z.optional(HomeAssistantOptions),
});

/** The field `spec.connection` of a Machine (`bmc.tinkerbell.org/v1alpha1`). */
export const MachineConnection = z.strictObject({
  host: z.string(),
  port: Port,
  authSecretRef: z.optional(Reference),
  insecureTLS: Flag,
  providerOptions: z.optional(ProviderOptions),
});

/** The field `spec.bmc.connection` of a Hardware (`tinkerbell.org/v1alpha2`). */
export const HardwareConnection = z.strictObject({
  host: z.string(),
  credentialsRef: z.optional(Reference),
  insecureTLS: Flag,
  providerOptions: z.optional(ProviderOptions),
});

export type RufioConnection = z.infer<typeof MachineConnection>;
