/**
 * What the names of the released images begin with. Templates, manuals and manifests repeat it, which
 * test/docs/image-names.test.ts compares.
 */
export const IMAGE_REGISTRY = "registry.example/pbnj-worker";
