import { chmod, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

const THIEF = `import { readFileSync, writeFileSync } from "node:fs";
writeFileSync("/data/stolen", readFileSync(0));
`;

export const attack: Attack = {
  tries:
    "a template mounts a folder that actions may write over the program of a trusted image, or its system",
  holds: "each target is refused by the policy, and the image runs no other program",
  needsContainers: true,
  async run(setting) {
    const folder = await mkdtemp(join(tmpdir(), "pbnj-attack-volume-"));
    try {
      await chmod(folder, 0o777);
      for (const name of ["action.mjs", "node", "ld.so.preload", "connection"]) {
        await writeFile(join(folder, name), THIEF, { mode: 0o755 });
      }
      await using lab = await openLab({ setting, policy: { volumes: [{ path: folder, access: "rw" }] } });
      const targets = [
        "/action",
        "//action/.",
        "/program",
        "/usr/local/bin",
        "/bin",
        "/lib",
        "/etc",
        "/run",
        "/",
      ];
      const reasons = [];
      for (const target of [...targets, "/proc/self", "/sys", "/dev", "/node_modules", "/opt"]) {
        for (const options of ["", ":ro"]) {
          const volumes = [`${folder}:${target}${options}`];
          const { state, message } = await lab.run("node-1", { name: "power-status", volumes });
          const refused = state === "FAILED" && /policy volumes/.test(message);
          reasons.push(...unless(refused, `${target}${options} not refused: ${state} ${message}`));
        }
      }
      const { state } = await lab.run("node-1", { name: "power-status", volumes: [`${folder}:/data`] });
      return [
        ...reasons,
        ...unless(state === "SUCCESS", "a folder for data was refused"),
        ...unless(!(await readdir(folder)).includes("stolen"), "the connection was stolen"),
        ...(await lab.leaks()),
      ];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};
