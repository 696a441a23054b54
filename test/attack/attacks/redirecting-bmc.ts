import { type Attack, unless } from "../attack.ts";
import { openForeignHost } from "../foreign-host.ts";
import { openLab } from "../lab.ts";

export const attack: Attack = {
  tries: "a BMC redirects requests, the login included, to another host",
  holds: "the other host is never contacted",
  async run(setting) {
    await using foreign = await openForeignHost();
    await using lab = await openLab({ setting, machines: ["node-1", "node-2", "node-3"] });
    const statuses = { "node-1": 307, "node-2": 308, "node-3": 302 };
    await Promise.all(
      Object.entries(statuses).map(([name, status]) => {
        const location = `${foreign.http.url}/redfish/v1`;
        lab
          .bmc(name)
          .fail({ kind: "redirect", status, location, times: 100, ...(status === 308 && { skip: 1 }) });
        return lab.run(name, { name: "power-status", timeout: 10 });
      }),
    );

    return [
      ...unless(foreign.contacts === 0, `the foreign host was contacted ${foreign.contacts} times`),
      ...(await lab.leaks()),
    ];
  },
};
