import { Connection } from "../../../shared/contract/connection.ts";
import type { BootMode } from "../../../shared/contract/vocabulary.ts";
import { excessOf } from "../../../shared/input-limits.ts";
import { DETACHED, HostObject, managementOf, OWN_REBOOT } from "../../kubernetes/client/host-object.ts";
import { keyOf, type ObjectName } from "../../kubernetes/client/kinds.ts";
import { connectionLockKey } from "../../machines/lock-key.ts";
import { connectionDocument } from "./connection-document.ts";
import { FINGERPRINT_ANNOTATION } from "./connection-problems.ts";
import type { BmcTarget, Describe } from "./described-machine.ts";
import { readAddress } from "./host-address.ts";

/** How to treat hosts whose power Metal3's operator manages. */
export type Managed = "refuse" | "via-host";

export interface HostContent {
  readonly target: BmcTarget;
  /** The HostClaim in `spec.consumerRef`. */
  readonly claim?: ObjectName | undefined;
  /** The reboot annotations of this project's workers, with their values. */
  readonly reboots?: Readonly<Record<string, string>> | undefined;
}

/** The boot modes of Metal3, whose default is UEFI (`BareMetalHost.BootMode`). UEFISecureBoot does not change Secure Boot. */
const BOOT_MODES: Readonly<Record<string, BootMode>> = {
  UEFI: "uefi",
  UEFISecureBoot: "uefi",
  legacy: "legacy",
};

/** Reads a BareMetalHost; undefined for one without a BMC. */
export function describeHost(managed: Managed): Describe<HostContent> {
  return (object, name) => {
    const parsed = HostObject.safeParse(object);
    if (!parsed.success) {
      const fields = parsed.error.issues.map(({ path }) => path.map(String).join(".") || "the object");
      return { name, content: { target: unusable(fields.map((field) => `${field} is not valid`)) } };
    }
    const host = parsed.data;
    const excess = excessOf(host.spec, "host");
    if (excess !== undefined) return { name, content: { target: unusable([`spec ${excess}`]) } };
    const { address, credentialsName } = host.spec.bmc ?? {};
    if (!address && !credentialsName) return undefined;
    const target = targetOf(host, name, managed);
    return { name, content: { target, claim: claimOf(host), reboots: ownReboots(host) } };
  };
}

function targetOf(host: HostObject, name: ObjectName, managed: Managed): BmcTarget {
  const management = managementOf(host);
  switch (management.kind) {
    case "blocked":
      return unusable([management.problem]);
    case "managed":
      return managed === "via-host" ? viaHost(host, name) : unusable([refusal(management.state)]);
    case "power": {
      const target = direct(host);
      const isVia = managed === "via-host" && target.kind === "usable";
      return isVia ? { ...target, viaHost: "power" } : target;
    }
    case "released":
      return direct(host);
    default:
      return management satisfies never;
  }
}

function refusal(state: string): string {
  return (
    `is managed by Metal3 (state ${state}), which sets its power to spec.online. Fix: detach it with the annotation ` +
    `${DETACHED}, set spec.externallyProvisioned, or set metal3Managed to via-host`
  );
}

/** The target for actions that go through the BareMetalHost. The BMC's address serves only to identify the BMC. */
function viaHost(host: HostObject, name: ObjectName): BmcTarget {
  const known = direct(host);
  const lockKey = known.kind === "usable" ? known.lockKey : `baremetalhost ${keyOf(name)}`;
  const source = known.kind === "usable" ? known.source : { connection: { host: name.name } };
  return { kind: "usable", source, lockKey, viaHost: "all" };
}

function direct({ metadata, spec }: HostObject): BmcTarget {
  const { address: text = "", credentialsName, disableCertificateVerification } = spec.bmc ?? {};
  const read = readAddress(text);
  if (!("ok" in read)) return unusable([`spec.bmc.address ${read.problem}`]);
  if (!credentialsName) return unusable(["spec.bmc.credentialsName is missing"]);
  const { address } = read;
  const fingerprint = metadata.annotations?.[FINGERPRINT_ANNOTATION]?.trim() || undefined;
  const source = {
    connection: {
      host: address.host,
      authSecretRef: { name: credentialsName },
      insecureTLS: disableCertificateVerification,
    },
    bootMode: BOOT_MODES[spec.bootMode || "UEFI"] ?? "uefi",
    address,
    fingerprint,
  } as const;
  const parsed = Connection.safeParse(connectionDocument(source));
  if (parsed.success) {
    return { kind: "usable", source, lockKey: connectionLockKey(parsed.data, parsed.data.providers) };
  }
  const problems = parsed.error.issues.map(({ path, message }) =>
    path[0] === "tls"
      ? `metadata.annotations.${FINGERPRINT_ANNOTATION} ${message}`
      : `spec.bmc.address: ${path.map(String).join(".")} ${message}`,
  );
  return unusable(problems);
}

function claimOf({ spec }: HostObject): ObjectName | undefined {
  const { apiVersion = "", kind, namespace, name } = spec.consumerRef ?? {};
  const isClaim = kind === "HostClaim" && apiVersion.startsWith("metal3.io/");
  return isClaim && namespace !== undefined && name !== undefined ? { namespace, name } : undefined;
}

function ownReboots({ metadata }: HostObject): HostContent["reboots"] {
  const own = Object.entries(metadata.annotations ?? {}).filter(([name]) => name.startsWith(OWN_REBOOT));
  return own.length > 0 ? Object.fromEntries(own) : undefined;
}

function unusable(problems: readonly string[]): BmcTarget {
  return { kind: "unusable", problems };
}
