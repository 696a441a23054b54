import { z } from "zod";
import { parseImageReference } from "../action/image-reference.ts";
import { ContainerCpus, ContainerMemory, ContainerPids } from "../document/container-limits.ts";
import { Toggle } from "../document/value-types.ts";

/** `registry/path`, with `*` for anything within a path segment and `**` across segments; a tag or digest may follow. */
const ImagePattern = z.string().regex(/^[\w.*/:@[\]-]+$/, {
  error: "must be an image name, in which * and ** match parts, such as registry.example/acme/*",
});
const ImagePatterns = z.array(ImagePattern).min(1);

/** One image and no other: a tag may be moved, and a pattern may come to fit more than was meant. */
const PinnedImage = z.string().refine((image) => parseImageReference(image)?.digest !== undefined, {
  error: "must be one image with its digest, such as registry.example/acme/tool@sha256:…",
});

/** The names of machines, and of Kubernetes namespaces, are made of these. */
const NAME_CHARACTERS = /^[a-z0-9.*-]+$/;
const MachinePatterns = z
  .array(
    z.string().regex(NAME_CHARACTERS, {
      error: "must be a machine's name, in which * matches a part, such as rack-1-*",
    }),
  )
  .min(1);
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
  .transform((path) => path.replace(/\/+/g, "/").replace(/(.)\/$/, "$1"));

/** A host path that actions may mount, and everything below it. */
const VolumeRule = z.strictObject({
  path: HostPath,
  access: z.enum(["ro", "rw"]).prefault("ro"),
  /** Of the workflows that may; all when absent. */
  namespaces: NamespacePatterns.optional(),
});
export type VolumeRule = z.infer<typeof VolumeRule>;

/** How containers of some images run. What is not said is as the settings have it. */
const ContainerRule = z
  .strictObject({
    images: ImagePatterns,
    pull: z.enum(["always", "if-missing", "never"]).optional(),
    memory: ContainerMemory.optional(),
    cpus: ContainerCpus.optional(),
    pids: ContainerPids.optional(),
  })
  .refine(({ images: _, ...terms }) => Object.values(terms).some((term) => term !== undefined), {
    error: "says nothing about these images: add pull, memory, cpus or pids",
  });
export type ContainerRule = z.infer<typeof ContainerRule>;

/** Workflows of these namespaces may use these machines, with these images; all that `images` allows when absent. */
const TenantRule = z.strictObject({
  namespaces: NamespacePatterns,
  machines: MachinePatterns,
  images: ImagePatterns.optional(),
});
export type TenantRule = z.infer<typeof TenantRule>;

/** Tasks of these agent IDs may act on these machines. */
const AgentRule = z.strictObject({ agentIds: AgentIdPatterns, machines: MachinePatterns });
export type AgentRule = z.infer<typeof AgentRule>;

/** Variables that these images accept beside the inputs of this project's actions. */
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

export const EVERY_IMAGE = ["**"];

/** Which actions may run, and what they may ask for. */
export const Policy = z.strictObject({
  /** The images that may run; those of `trustedImages` when absent, and without that every image. */
  images: ImagePatterns.optional(),
  /** The images that receive their machine's BMC connection; `settleTrust` decides what absent means. */
  trustedImages: z.array(ImagePattern).optional(),
  /** Which images need a digest: a tag may be moved to something else. */
  digestOnly: z
    .union([z.literal("trusted"), Toggle], { error: "must be true, false or trusted" })
    .prefault(false),
  /** Without containers, also where the files are that an action's variables may name: those with access `rw`. */
  volumes: z.array(VolumeRule).prefault([]),
  /** Exact values such as `host`. */
  networkNamespaces: z.array(z.string().min(1)).prefault([]),
  pidNamespaces: z.array(z.string().min(1)).prefault([]),
  environment: z.array(EnvironmentRule).prefault([]),
  /** Whether an action may say itself where a BMC is; when absent, only as long as there are no tenants. */
  ownConnections: z.enum(["allow", "deny"]).optional(),
  /** The first that fits an image applies to it. */
  containers: z.array(ContainerRule).prefault([]),
  /** Images that run with every right on the worker's host. */
  privileged: z
    .array(PinnedImage, {
      error: "must be a list of images, each with its digest: nothing else runs privileged",
    })
    .prefault([]),
  /** When given, a workflow of any other namespace runs nothing. */
  tenants: z.array(TenantRule).min(1).optional(),
  /** When given, a task of any other agent ID acts on no machine. */
  agents: z.array(AgentRule).min(1).optional(),
});
export type Policy = z.infer<typeof Policy>;

export const defaultPolicy: Policy = Policy.parse({});
