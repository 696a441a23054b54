import { spawnSync } from "node:child_process";
import { projectRoot } from "./project-root.ts";

/**
 * Part of the images' build: uses the dependencies of the build context if they work here, and installs them otherwise (there
 * are none, or they are for another platform). Imports built-in modules only.
 */

async function dependenciesWork(): Promise<boolean> {
  try {
    const { transform } = await import("esbuild");
    await transform("0");
    await Promise.all([import("undici"), import("commander"), import("zod")]);
    return true;
  } catch {
    return false;
  }
}

if (await dependenciesWork()) {
  process.stderr.write("using the dependencies that came with the sources\n");
} else {
  process.stderr.write("installing dependencies\n");
  // No package needs its install script.
  const { status, error } = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: projectRoot,
    stdio: "inherit",
  });
  if (error) process.stderr.write(`npm could not be run: ${error.message}; run npm ci before the build\n`);
  process.exit(status ?? 1);
}
