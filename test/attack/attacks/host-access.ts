import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

export const attack: Attack = {
  tries: "a template mounts the engine's socket and the host's root, and joins the host's processes",
  holds: "each is refused by the policy, and nothing runs",
  needsContainers: true,
  async run(setting) {
    await using lab = await openLab({ setting });
    const wanted = [
      { volumes: ["/var/run/docker.sock:/var/run/docker.sock"] },
      { volumes: ["/:/host:rw"] },
      { volumes: ["/tmp/../etc:/host"] },
      { pid: "host" },
    ];
    const reasons = [];
    for (const access of wanted) {
      const { state, message } = await lab.run("node-1", {
        name: "hostile",
        command: ["connection"],
        ...access,
      });
      const refused = state === "FAILED" && /policy|not allowed|may not/.test(message);
      reasons.push(...unless(refused, `${JSON.stringify(access)} not refused: ${state} ${message}`));
    }
    return reasons;
  },
};
