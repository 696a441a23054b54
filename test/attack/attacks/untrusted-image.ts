import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";
import { UNTRUSTED } from "../policy.ts";

export const attack: Attack = {
  tries:
    "an image that may run, and is not trusted with credentials, names a machine and asks for its connection",
  holds: "it gets no connection, and the password appears nowhere",
  needsContainers: true,
  async run(setting) {
    await using lab = await openLab({ setting });
    const image = `${UNTRUSTED}/hostile:test`;
    const { message } = await lab.run("node-1", {
      name: "hostile",
      image,
      command: ["connection", "form:hex", "exit:1"],
    });

    return [
      ...(await lab.leaks()),
      ...unless(!/got a connection/.test(`${message}\n${lab.worker.stderr}`), "it got the connection"),
    ];
  },
};
