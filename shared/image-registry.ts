/**
 * The prefix of the released images' names. Templates, manuals and manifests repeat it, which test/docs/image-names.test.ts
 * checks.
 */
export const IMAGE_REGISTRY = "registry.example/pbnj-worker";
