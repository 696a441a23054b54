import * as z from "zod/mini";
import { controllerPause } from "./pausing-annotation.ts";

const Text = z.optional(z.string());

/** The fields of a BareMetalHost that are read, `metal3.io/v1alpha1`. */
export const HostObject = z.object({
  metadata: z.object({
    annotations: z.optional(z.record(z.string(), z.string())),
    resourceVersion: Text,
    deletionTimestamp: Text,
  }),
  spec: z.object({
    online: z._default(z.boolean(), false),
    bmc: z.optional(
      z.object({
        address: Text,
        credentialsName: Text,
        disableCertificateVerification: z.optional(z.boolean()),
      }),
    ),
    bootMode: Text,
    disablePowerOff: z.optional(z.boolean()),
    consumerRef: z.optional(z.object({ apiVersion: Text, kind: Text, namespace: Text, name: Text })),
  }),
  status: z.optional(
    z.object({
      operationalStatus: Text,
      poweredOn: z.optional(z.boolean()),
      provisioning: z.optional(z.object({ state: Text })),
    }),
  ),
});
export type HostObject = z.infer<typeof HostObject>;

export const DETACHED = "baremetalhost.metal3.io/detached";

/** With any key, the operator powers a host off until the annotation is removed. */
export const REBOOT = "reboot.metal3.io";
/** Before the key of an action of this project's workers. */
export const OWN_REBOOT = `${REBOOT}/pbnj-worker-`;

/** Who decides about a host's power. */
export type Management =
  /** This worker alone: the operator does not touch the host. */
  | { readonly kind: "released" }
  /** Externally provisioned: the operator sets only the power, to `spec.online`. */
  | { readonly kind: "power"; readonly online: boolean }
  | { readonly kind: "managed"; readonly state: string }
  /** The operator is about to release it, or the host is being deleted. */
  | { readonly kind: "blocked"; readonly problem: string };

/** Why the operator does nothing with a host; undefined if it is not paused. */
export function operatorPause(host: HostObject): string | undefined {
  const pause = controllerPause(host);
  if (!pause) return undefined;
  return `is paused by the annotation ${pause.name}. Fix: wait until the pause ends, or remove the annotation`;
}

/** Paused or not. By annotations and `status`; see docs/baremetalhost-states.md and `checkDetachedHost` in the operator. */
export function managementOf({ metadata, spec, status }: HostObject): Management {
  const { annotations = {}, deletionTimestamp } = metadata;
  const has = (name: string) => Object.hasOwn(annotations, name);
  const state = status?.provisioning?.state ?? "";
  if (deletionTimestamp !== undefined) return { kind: "blocked", problem: "is being deleted" };
  if (has(DETACHED)) {
    // Until the status says so, the operator may still change the host.
    if (status?.operationalStatus === "detached") return { kind: "released" };
    const problem = `has the annotation ${DETACHED}, but Metal3 has not detached it yet (state ${state || "unknown"})`;
    return { kind: "blocked", problem };
  }
  if (state === "unmanaged") return { kind: "released" };
  if (state === "externally provisioned") return { kind: "power", online: spec.online };
  return { kind: "managed", state: state || "unknown" };
}
