import { defined } from "../../shared/defined.ts";
import type { Problem } from "../../shared/document/problem.ts";
import { version } from "../../shared/version.ts";
import { parseImageReference } from "../action/image-reference.ts";
import { matchesAnyImage } from "./image-rule.ts";
import { EVERY_IMAGE, type Policy } from "./policy.ts";

/** The settings that determine which images are trusted. */
export interface TrustSettings {
  readonly runtime: "docker" | "in-process" | "kubernetes" | "process";
  readonly unsafeAnyImage: boolean;
  /** With `{action}` and optionally `{version}`; absent without Rufio. */
  readonly rufioImage?: string;
}

const FIX = `Add these lines to the policy, with your registry:

    trustedImages:
      - registry.example/pbnj-worker/*

or trust every image with --unsafe-any-image.`;

export type SettledPolicy =
  | { readonly ok: true; readonly policy: Policy }
  | ({ readonly ok: false } & Pick<Problem, "message" | "fix">);

/**
 * Adds to a policy the images that these settings allow and trust. Without containers the worker runs only its own actions;
 * with containers the policy must list the images that receive BMC connections.
 */
export function settleTrust(
  policy: Policy,
  { runtime, unsafeAnyImage, rufioImage }: TrustSettings,
): SettledPolicy {
  const { trustedImages, images = trustedImages ?? EVERY_IMAGE } = policy;
  const hasContainers = runtime === "docker" || runtime === "kubernetes";
  if (!hasContainers || (unsafeAnyImage && trustedImages === undefined)) {
    return { ok: true, policy: { ...policy, images, trustedImages: EVERY_IMAGE } };
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
  if (rufioImage !== undefined && !trustsRufio(trustedImages, rufioImage)) {
    return refused(
      `trustedImages lacks ${rufioImage}, which does Rufio's work: add ${rufioImage.replace("{action}", "*").replace(/:[^/]*$/, "")}`,
    );
  }
  return { ok: true, policy: { ...policy, images, trustedImages } };
}

/** Checks one of the images that Rufio's Tasks need. */
function trustsRufio(trustedImages: readonly string[], rufioImage: string): boolean {
  const image = rufioImage.replaceAll("{action}", "power-on").replaceAll("{version}", version);
  const reference = parseImageReference(image);
  return reference !== undefined && matchesAnyImage(trustedImages, reference);
}

function refused(message: string, fix?: string): SettledPolicy {
  return { ok: false, message, ...defined({ fix }) };
}
