import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

const FORMS = [
  ...["plain", "json", "html", "html-numbers", "percent", "percent-lower"],
  ...["base64", "base64-wrapped", "base64-url", "hex", "hex-upper"],
];

export const attack: Attack = {
  tries: "a trusted action prints its password in every usual encoding, wrapped over lines and in its result",
  holds: "the password is in no log, page, file or message",
  async run(setting) {
    await using lab = await openLab({ setting, hostile: true, reach: "promised" });
    const newline = `out:${Buffer.from("\n").toString("base64")}`;
    const result = JSON.stringify({
      action: "hostile",
      ok: false,
      class: "internal",
      message: "failed with SECRET",
    });
    const { state } = await lab.run("node-1", {
      name: "hostile",
      command: [
        ...FORMS.flatMap((form) => [`form:${form}`, newline]),
        `err:${Buffer.from("on stderr: SECRET\n").toString("base64")}`,
        `out:${Buffer.from(`${result}\n`).toString("base64")}`,
        "exit:1",
      ],
    });

    return [...(await lab.leaks()), ...unless(state === "FAILED", `it ended with ${state}`)];
  },
};
