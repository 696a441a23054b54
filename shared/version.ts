import manifest from "../package.json" with { type: "json" };

/** This project's version: of the worker, the actions and their images. */
export const version: string = manifest.version;
