import { HttpListener } from "../../../simulators/http-listener.ts";
import { type Attack, unless } from "../attack.ts";
import { openForeignHost } from "../foreign-host.ts";
import { type Entry, openLab } from "../lab.ts";

export const attack: Attack = {
  tries: "a BMC names members, actions and sessions at another host",
  holds: "the other host is never contacted",
  async run(setting) {
    await using foreign = await openForeignHost();
    const targets = [
      `${foreign.http.url}/x`,
      `//127.0.0.1:${foreign.http.port}/x`,
      `\\\\127.0.0.1:${foreign.http.port}\\x`,
      `/\\127.0.0.1:${foreign.http.port}/x`,
    ];
    const bmcs = targets.map(linking);
    const entries: Record<string, Entry> = {};
    for (const [index, bmc] of bmcs.entries()) {
      await bmc.listen();
      entries[`node-${index}`] = { providers: ["redfish"], redfish: { port: bmc.port, scheme: "http" } };
    }
    await using lab = await openLab({ setting, machines: [], entries });
    await Promise.all(
      Object.keys(entries).map((name) => lab.run(name, { name: "power-reset", timeout: 10 })),
    );
    const leaks = await lab.leaks();
    for (const bmc of bmcs) await bmc.close();

    return [
      ...leaks,
      ...unless(foreign.contacts === 0, `the foreign host was contacted ${foreign.contacts} times`),
    ];
  },
};

/** Everything that it names is at the target. */
function linking(target: string): HttpListener {
  const link = { "@odata.id": target };
  const body = JSON.stringify({
    ...{ "@odata.id": "/redfish/v1", RedfishVersion: "1.9.0", Systems: link, Managers: link, Chassis: link },
    ...{ SessionService: link, Links: { Sessions: link }, Members: [link], "Members@odata.nextLink": target },
    ...{ PowerState: "On", Actions: { "#ComputerSystem.Reset": { target } } },
  });
  return new HttpListener({ tls: "http" }, () => ({
    status: 200,
    headers: { "Content-Type": "application/json" },
    body,
  }));
}
