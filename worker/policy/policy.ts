import { z } from "zod";
import { parseImageReference } from "../../shared/contract/image-reference.ts";
import { MOST_RETRIES } from "../../shared/contract/retries.ts";
import type { ActionSecrets, WorkflowMember } from "../core/action/action.ts";
import {
  ContainerCpus,
  ContainerMemory,
  ContainerPids,
  Count,
  Duration,
  Toggle,
} from "../document/value-types.ts";
import { parseNetwork } from "./address-rule.ts";
import { MachinePattern, NAME_CHARACTERS } from "./machine-rule.ts";
import { REFERENCE_KINDS } from "./reference.ts";
import { reservedTarget } from "./reserved-target.ts";

/** `registry/path`, optionally with a tag or digest; `*` matches within a path segment, `**` across segments. */
const ImagePattern = z.string().regex(/^[\w.*/:@[\]-]+$/, {
  error: "must be an image name, in which * and ** match parts, such as registry.example/acme/*",
});
const ImagePatterns = z.array(ImagePattern).min(1);

/** Exactly one image: a tag can be moved, and a pattern can match more than intended. */
const PinnedImage = z.string().refine((image) => parseImageReference(image)?.digest !== undefined, {
  error: "must be one image with its digest, such as registry.example/acme/tool@sha256:…",
});

const MachinePatterns = z.array(MachinePattern).min(1);
const NamespacePatterns = z
  .array(
    z.string().regex(NAME_CHARACTERS, {
      error: "must be the name of a namespace, in which * matches a part, such as team-a-*",
    }),
  )
  .min(1);
const AgentIdPatterns = z
  .array(
    z.string().regex(/^[^\s\p{Cc}]+$/u, {
      error: "must be an agent ID, in which * matches a part, such as pbnj-*",
    }),
  )
  .min(1);

const HostPath = z
  .string()
  .regex(/^\//, { error: "must be an absolute path" })
  .refine((path) => !path.split("/").includes(".."), { error: "must not contain .." })
  .refine((path) => !path.replace(/\/\*$/, "").includes("*"), {
    error: "may contain * only as its last part",
  })
  .transform((path) => path.replace(/\/+/g, "/").replace(/(.)\/$/, "$1"));

/** A path in containers that volumes may be mounted below. */
const TargetPath = HostPath.refine((path) => !path.includes("*"), { error: "must not contain *" }).refine(
  (path) => reservedTarget(path) === undefined,
  { error: "is reserved for images and the system: choose a folder that only holds data, such as /data" },
);

/**
 * A host path that actions may mount: this path, and what is below it unless actions may write there. With `/*` at its end,
 * each folder in it on its own.
 */
const VolumeRule = z.strictObject({
  path: HostPath,
  access: z.enum(["ro", "rw"]).prefault("ro"),
  /** Namespaces whose workflows may mount it; absent means all. */
  namespaces: NamespacePatterns.optional(),
});
export type VolumeRule = z.infer<typeof VolumeRule>;

/** How containers of some images run. The settings fill in what is absent. */
const ContainerRule = z
  .strictObject({
    images: ImagePatterns,
    pull: z.enum(["always", "if-missing", "never"]).optional(),
    memory: ContainerMemory.optional(),
    cpus: ContainerCpus.optional(),
    pids: ContainerPids.optional(),
  })
  .refine(({ images: _, ...terms }) => Object.values(terms).some((term) => term !== undefined), {
    error: "sets nothing for these images: add pull, memory, cpus or pids",
  });
export type ContainerRule = z.infer<typeof ContainerRule>;

/** Workflows of these namespaces may use these machines, with these images; absent `images` means all that the policy allows. */
const TenantRule = z.strictObject({
  namespaces: NamespacePatterns,
  machines: MachinePatterns,
  images: ImagePatterns.optional(),
});
export type TenantRule = z.infer<typeof TenantRule>;

/** Tasks of these agent IDs may use these machines. */
const AgentRule = z.strictObject({ agentIds: AgentIdPatterns, machines: MachinePatterns });
export type AgentRule = z.infer<typeof AgentRule>;

/** Objects of some namespaces may refer to objects of others. */
const ReferenceRule = z.strictObject({
  from: NamespacePatterns,
  to: NamespacePatterns,
  kinds: z.array(z.enum(REFERENCE_KINDS)).min(1),
  /** Names of the objects that may be referred to; absent means all. */
  names: z
    .array(
      z.string().regex(NAME_CHARACTERS, {
        error: "must be the name of an object, in which * matches a part, such as bmc-*",
      }),
    )
    .min(1)
    .optional(),
  /** Machine sources of other clusters; absent means the worker's own cluster. */
  sources: z.array(z.string().min(1)).min(1).optional(),
});
export type ReferenceRule = z.infer<typeof ReferenceRule>;

/** Objects of some namespaces may name these networks and names as a BMC's or service's address. */
const AddressRule = z.strictObject({
  namespaces: NamespacePatterns,
  addresses: z
    .array(
      z
        .string()
        .refine(
          (text) => parseNetwork(text) !== undefined || /^[a-z0-9_.*-]*[a-z_*-][a-z0-9_.*-]*$/i.test(text),
          {
            error:
              "must be a network such as 10.1.0.0/16, an address, or a name in which * matches a part, such as *.bmc.example",
          },
        ),
    )
    .min(1),
});

/** Variables that these images accept in addition to the inputs of this project's actions. */
const EnvironmentRule = z.strictObject({
  images: ImagePatterns,
  names: z
    .array(
      z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*\*?$/, {
        error: "must be the name of a variable, or the beginning of one followed by *, such as ACME_*",
      }),
    )
    .min(1),
});

const MOST_TIMEOUT_MS = 30 * 24 * 60 * 60_000;

export const EVERY_IMAGE = ["**"];

/** Which actions may run, and what they may use. */
export const Policy = z.strictObject({
  /** Images that may run. Absent means those of `trustedImages` or, without these, every image. */
  images: ImagePatterns.optional(),
  /** Images that receive their machine's BMC connection; `settleTrust` gives the default. */
  trustedImages: z.array(ImagePattern).optional(),
  /** Images that need a digest, because a tag can be moved. */
  digestOnly: z
    .union([z.literal("trusted"), Toggle], { error: "must be true, false or trusted" })
    .prefault(false),
  /** Without containers, the ones with access `rw` also limit the files that an action's variables may name. */
  volumes: z.array(VolumeRule).prefault([]),
  /** Where volumes may be mounted in containers, in addition to their path on the host. */
  volumeTargets: z.array(TargetPath).min(1).prefault(["/data"]),
  /** Exact values such as `host`. */
  networkNamespaces: z.array(z.string().min(1)).prefault([]),
  pidNamespaces: z.array(z.string().min(1)).prefault([]),
  environment: z.array(EnvironmentRule).prefault([]),
  /** Whether an action may contain its own BMC address. Absent means only without tenants. */
  ownConnections: z.enum(["allow", "deny"]).optional(),
  /** The first match applies. */
  containers: z.array(ContainerRule).prefault([]),
  /** Images that run with full rights on the worker's host. */
  privileged: z
    .array(PinnedImage, {
      error: "must be a list of images, each with its digest: nothing else runs privileged",
    })
    .prefault([]),
  /** The longest `timeout` of an action. Absent means a day with tenants, and any without. */
  maxTimeout: Duration(1_000, MOST_TIMEOUT_MS).optional(),
  /** The most retries that `RETRIES` may ask an idempotent action of this project for. */
  maxRetries: Count(0, MOST_RETRIES).prefault(3),
  /** Machines whose drives the action `erase-drives` may erase. */
  eraseDrives: z.array(MachinePattern).prefault([]),
  /** Whether an action whose machine is out of service fails, or waits for as long as it may run. */
  pausedMachines: z.enum(["fail", "wait"]).prefault("fail"),
  /** Every other reference stays in its namespace. */
  references: z.array(ReferenceRule).prefault([]),
  /** If present, Machines and other objects of a cluster may name only these addresses. */
  bmcAddresses: z.array(AddressRule).min(1).optional(),
  /** If present, workflows of other namespaces run nothing. */
  tenants: z.array(TenantRule).min(1).optional(),
  /** If present, tasks of other agent IDs can use no machine. */
  agents: z.array(AgentRule).min(1).optional(),
});
export type Policy = z.infer<typeof Policy>;

export const defaultPolicy: Policy = Policy.parse({});

/** The part of an action that the tenant rules judge. */
export interface TenantAction extends WorkflowMember {
  readonly image: string;
}

/** An image and what it is started with. */
export interface ImageCommand {
  readonly image: string;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** The part of an action that the policy judges, for any machine. Hooks are checked as separate actions. */
export interface JudgedAction extends TenantAction, ImageCommand {
  readonly volumes: readonly string[];
  readonly networkNamespace?: string | undefined;
  readonly pidNamespace?: string | undefined;
  readonly secrets?: ActionSecrets | undefined;
  readonly timeoutMs?: number | undefined;
}
