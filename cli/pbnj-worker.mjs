#!/usr/bin/env node
// JavaScript, because an older Node cannot load TypeScript, and could only show a stack trace.
const [major, minor] = process.versions.node.split(".").map(Number);
const isRecent = major > 22 || (major === 22 && minor >= 19);
if (isRecent && process.features.typescript) {
  await import("./main.ts");
} else {
  process.stderr.write(
    `pbnj-worker: Node ${process.version} cannot run the sources: use npm run -s pbnj-worker -- <command>, which has its own Node\n`,
  );
  process.exitCode = 2;
}
