import { chmod, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { openFolder } from "../../support/folder.ts";
import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

export const attack: Attack = {
  tries: "an action puts a link to the host into its folder, and another mounts a path through it",
  holds: "only folders that the policy names are mounted, and no path below one that actions may write",
  needsContainers: true,
  async run(setting) {
    await using place = await openFolder();
    const { folder } = place;
    const [shared, each] = [join(folder, "shared"), join(folder, "each")];
    // Also for an engine of another user.
    await chmod(folder, 0o755);
    for (const path of [shared, each, join(each, "node-1")]) await mkdir(path);
    for (const path of [shared, join(each, "node-1")]) {
      await chmod(path, 0o777);
      await symlink("/etc", join(path, "x"));
    }
    const volumes = [
      { path: shared, access: "rw" },
      { path: join(shared, "x"), access: "ro" },
      { path: `${each}/*`, access: "rw" },
    ];
    await using lab = await openLab({ setting, policy: { volumes } });
    const reasons = [];
    for (const source of [`${shared}/x`, `${shared}/x/ssl`, `${shared}/./x`, `${each}/node-1/x`, each]) {
      for (const options of ["", ":ro"]) {
        const step = { name: "power-status", volumes: [`${source}:/data${options}`] };
        const { state, message } = await lab.run("node-1", step);
        const refused = state === "FAILED" && /policy volumes/.test(message);
        reasons.push(...unless(refused, `${source}${options} not refused: ${state} ${message}`));
      }
    }
    for (const source of [shared, `${each}/node-1`]) {
      const step = { name: "power-status", volumes: [`${source}:/data`] };
      const { state, message } = await lab.run("node-1", step);
      reasons.push(...unless(state === "SUCCESS", `${source}: ${state} ${message}`));
    }
    return reasons;
  },
};
