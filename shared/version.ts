import manifest from "../package.json" with { type: "json" };

/** The version of the worker, the actions and their images. */
export const version: string = manifest.version;
