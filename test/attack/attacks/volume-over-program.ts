import { chmod, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openFolder } from "../../support/folder.ts";
import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

const THIEF = `import { readFileSync, writeFileSync } from "node:fs";
writeFileSync("/data/stolen", readFileSync(0));
`;

export const attack: Attack = {
  tries:
    "a template mounts a folder that actions may write over the program of a trusted image, or its system, also through a link in another folder",
  holds: "each target is refused by the policy, and the image runs no other program",
  needsContainers: true,
  async run(setting) {
    await using place = await openFolder();
    const { folder: root } = place;
    // Also for an engine of another user.
    await chmod(root, 0o755);
    const [folder, links] = [join(root, "folder"), join(root, "links")];
    for (const path of [folder, links]) {
      await mkdir(path);
      await chmod(path, 0o777);
    }
    for (const name of ["action.mjs", "node", "ld.so.preload", "connection"]) {
      await writeFile(join(folder, name), THIEF, { mode: 0o755 });
    }
    await symlink("/action", join(links, "x"));
    const rules = [folder, links].map((path) => ({ path, access: "rw" }));
    await using lab = await openLab({ setting, policy: { volumes: rules } });
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
    for (const options of ["", ":ro"]) {
      const direct = [...targets, "/proc/self", "/sys", "/dev", "/node_modules", "/opt"].map((target) => [
        `${folder}:${target}${options}`,
      ]);
      for (const volumes of [...direct, [`${links}:/data`, `${folder}:/data/x${options}`]]) {
        const { state, message } = await lab.run("node-1", { name: "power-status", volumes });
        const refused = state === "FAILED" && /policy volumes/.test(message);
        reasons.push(...unless(refused, `${volumes.join(" and ")} not refused: ${state} ${message}`));
      }
    }
    const { state } = await lab.run("node-1", { name: "power-status", volumes: [`${folder}:/data`] });
    return [
      ...reasons,
      ...unless(state === "SUCCESS", "a folder for data was refused"),
      ...unless(!(await readdir(folder)).includes("stolen"), "the connection was stolen"),
      ...(await lab.leaks()),
    ];
  },
};
