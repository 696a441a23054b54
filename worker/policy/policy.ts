import { z } from "zod";
import { Toggle } from "../document/value-types.ts";

/** `registry/path`, with `*` for anything within a path segment and `**` across segments; a tag or digest may follow. */
const ImagePattern = z.string().regex(/^[\w.*/:@[\]-]+$/, {
  error: "must be an image name, in which * and ** may stand for parts, such as registry.example/acme/*",
});

const HostPath = z
  .string()
  .regex(/^\//, { error: "must be an absolute path" })
  .refine((path) => !path.split("/").includes(".."), { error: "must not contain .." })
  .transform((path) => path.replace(/\/+/g, "/").replace(/(.)\/$/, "$1"));

/** A host path that actions may mount, and everything below it. */
const VolumeRule = z.strictObject({
  path: HostPath,
  access: z.enum(["ro", "rw"]).prefault("ro"),
});
export type VolumeRule = z.infer<typeof VolumeRule>;

/** Which actions may run, and what they may ask for. What is not named is not allowed, except for images. */
export const Policy = z.strictObject({
  images: z.array(ImagePattern).min(1).prefault(["**"]),
  /** Only images that a digest names: a tag may be moved to something else. */
  digestOnly: Toggle.prefault(false),
  /** Without containers, also where the files are that an action's variables may name: those with access `rw`. */
  volumes: z.array(VolumeRule).prefault([]),
  /** Exact values such as `host`. */
  networkNamespaces: z.array(z.string().min(1)).prefault([]),
  pidNamespaces: z.array(z.string().min(1)).prefault([]),
  /** Names of variables an action must not set, in which `*` stands for any part. */
  environmentDenied: z
    .array(
      z.string().regex(/^[A-Za-z0-9_*]+$/, {
        error: "must be the name of a variable, in which * may stand for a part",
      }),
    )
    .prefault([]),
});
export type Policy = z.infer<typeof Policy>;

export const defaultPolicy: Policy = Policy.parse({});
