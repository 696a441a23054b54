/** The registry of this project's images and of the hostile one. */
export const TRUSTED = "localhost/pbnj-worker-attack";

/** Has a worker serve PBnJ's API, with the images that the policy trusts. */
export const PBNJ_API = ["--pbnj-address", "127.0.0.1:0", "--pbnj-image", `${TRUSTED}/{action}:test`];

/** The policy that the worker under attack has: what an operator would write who read the manual. */
export function policyText(more: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    // The hostile one has arguments.
    trustedImages: [`${TRUSTED}/*`, `${TRUSTED}/hostile`],
    ownConnections: "deny",
    ...more,
  });
}
