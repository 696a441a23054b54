import { parseImageReference } from "../../shared/contract/image-reference.ts";
import { version } from "../../shared/version.ts";
import type { OwnImage } from "../config/part.ts";
import { matchesAnyImage } from "./image-rule.ts";
import { EVERY_IMAGE, type Policy } from "./policy.ts";

/** The settings that determine which images are trusted. */
export interface TrustSettings {
  readonly runtime: "docker" | "in-process" | "kubernetes" | "process";
  readonly unsafeAnyImage: boolean;
  readonly ownImages: readonly OwnImage[];
}

const FIX = `Add these lines to the policy, with your registry:

    trustedImages:
      - registry.example/pbnj-worker/*

or trust every image with --unsafe-any-image.`;

export type SettledPolicy =
  | { readonly ok: true; readonly policy: Policy }
  | { readonly ok: false; readonly message: string; readonly fix?: string | undefined };

/**
 * Adds to a policy the images that these settings allow and trust. Without containers the worker runs only its own actions;
 * with containers the policy must list the images that receive BMC connections.
 */
export function settleTrust(policy: Policy, settings: TrustSettings): SettledPolicy {
  const { runtime, unsafeAnyImage } = settings;
  const { trustedImages, images = trustedImages ?? EVERY_IMAGE } = policy;
  const hasContainers = runtime === "docker" || runtime === "kubernetes";
  if (!hasContainers || (unsafeAnyImage && trustedImages === undefined)) {
    const settled = { ok: true, policy: { ...policy, images, trustedImages: EVERY_IMAGE } } as const;
    return lacking(policy.images ? "images" : "trustedImages", images, settings) ?? settled;
  }
  if (unsafeAnyImage) {
    return refused(
      "trustedImages contradicts --unsafe-any-image, which trusts every image: remove one of them",
    );
  }
  if (trustedImages === undefined) {
    const message = `trustedImages is missing: the ${runtime} runtime needs the images that receive BMC connections`;
    return refused(message, FIX);
  }
  const settled = { ok: true, policy: { ...policy, images, trustedImages } } as const;
  return lacking("trustedImages", trustedImages, settings) ?? settled;
}

/** Refuses a list that lacks the images of the settings, because all of their actions would be denied. */
function lacking(
  list: string,
  patterns: readonly string[],
  { ownImages }: TrustSettings,
): SettledPolicy | undefined {
  for (const { image, use } of ownImages) {
    if (trusts(patterns, image)) continue;
    const pattern = image.replace("{action}", "*").replace(/:[^/]*$/, "");
    return refused(`${list} lacks ${image}, which ${use}: add ${pattern}`);
  }
  return undefined;
}

/** Examples of actions. A policy may allow only actions that read. */
const SOME_ACTIONS = ["power-on", "power-status"];

/** Whether the patterns trust at least one of the images that a setting names. */
function trusts(patterns: readonly string[], pattern: string): boolean {
  return SOME_ACTIONS.some((action) => {
    const image = pattern.replaceAll("{action}", action).replaceAll("{version}", version);
    const reference = parseImageReference(image);
    return reference !== undefined && matchesAnyImage(patterns, reference);
  });
}

function refused(message: string, fix?: string): SettledPolicy {
  return { ok: false, message, fix };
}
