import * as z from "zod/mini";
import { controllerPause } from "./pausing-annotation.ts";

const Text = z.optional(z.string());

/** A BareMetalHost (`metal3.io/v1alpha1`), reduced to the fields that the worker reads. */
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

/**
 * Metal3's reboot annotation. Alone or followed by a slash and a key, it makes the operator power the host off until it is
 * removed.
 */
export const REBOOT = "reboot.metal3.io";
/** The beginning of the reboot annotations that this project's workers set; the action's key follows. */
export const OWN_REBOOT = `${REBOOT}/pbnj-worker-`;

/** Who controls a host's power. */
export type Management =
  /** Only this worker: the operator does not touch the host. */
  | { readonly kind: "released" }
  /** The operator of an externally provisioned host, which only sets the power to `spec.online`. */
  | { readonly kind: "power"; readonly online: boolean }
  | { readonly kind: "managed"; readonly state: string }
  /** Neither of them yet: the operator is about to release the host, or the host is being deleted. */
  | { readonly kind: "blocked"; readonly problem: string };

/** Explains why the operator ignores a paused host; undefined if the host is not paused. */
export function operatorPause(host: HostObject): string | undefined {
  const pause = controllerPause(host);
  if (!pause) return undefined;
  return `is paused by the annotation ${pause.name}. Fix: wait until the pause ends, or remove the annotation`;
}

/**
 * Decides who controls a host's power, whether or not the host is paused, from its annotations and `status`. See
 * docs/baremetalhost-states.md and `checkDetachedHost` in the operator.
 */
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
