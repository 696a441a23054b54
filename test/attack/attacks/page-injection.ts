import { type Attack, unless } from "../attack.ts";
import { openLab, printing } from "../lab.ts";

const SCRIPT = `<script>alert(1)</script><img src=x onerror=alert(1)>"'><svg/onload=alert(1)>`;
const RAW = /<script>alert|<img src=x|<svg\/onload/;

export const attack: Attack = {
  tries:
    "workflows, actions, images, log lines and reasons have HTML in them, and so have the page's queries",
  holds: "it appears as text alone, and the page's policy allows no script of others",
  async run(setting) {
    await using lab = await openLab({ setting, hostile: true });
    const result = JSON.stringify({ action: SCRIPT, ok: false, class: "internal", message: SCRIPT });
    await lab.run("node-1", {
      name: "hostile",
      command: [printing(`${SCRIPT}\n`), printing(`${result}\n`), "exit:1"],
    });
    await lab
      .run("node-1", { name: SCRIPT, image: `registry.example/${SCRIPT}`, environment: { [SCRIPT]: SCRIPT } })
      .catch(() => undefined);
    const url = await lab.url();
    const status = await lab.page("/status.json");
    const keys = [...status.matchAll(/"key":"([0-9a-f]{32})"/g)].map(([, key]) => `/actions/${key}`);
    const encoded = encodeURIComponent(SCRIPT);
    const paths = [
      "/",
      "/actions",
      "/agent-ids",
      ...keys,
      `/?q=${encoded}`,
      `/?state=${encoded}`,
      `/machines/${encoded}`,
    ];
    const reasons = await Promise.all(
      paths.map(async (path) => {
        const response = await fetch(`${url}${path}`);
        const policy = response.headers.get("content-security-policy") ?? "";
        return [
          ...unless(!RAW.test(await response.text()), `${path.slice(0, 40)} has it as HTML`),
          ...unless(
            /default-src 'none'/.test(policy) && !policy.includes("unsafe"),
            `${path.slice(0, 40)}: ${policy}`,
          ),
          ...unless(response.headers.get("x-frame-options") === "DENY", `${path.slice(0, 40)} may be framed`),
        ];
      }),
    );
    return [...reasons.flat(), ...unless(keys.length > 0, "there is no action's page")];
  },
};
