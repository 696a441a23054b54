import { cleanPath, isWithin } from "./path.ts";

/** Folders for the programs of images, and for files of the kernel, the engine and the worker. */
const RESERVED_TARGETS = [
  ...["/action", "/program", "/worker", "/node_modules", "/nodejs"],
  ...[
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/proc",
    "/root",
    "/run",
    "/sbin",
  ],
  ...["/sys", "/usr"],
];

/** The reserved path that a target would hide or be part of. */
export function reservedTarget(target: string): string | undefined {
  const clean = cleanPath(target);
  return RESERVED_TARGETS.find((reserved) => isWithin(clean, reserved) || isWithin(reserved, clean));
}
