import { type Attack, unless } from "../attack.ts";
import { openLab, printing } from "../lab.ts";

/** Clears a screen, sets a title, turns the reading direction, overwrites a line. */
const TEXT = "bad\x1b[2J\x1b]0;title\x07\u202etxt.exe\u2066\x9b31m\rover\u200f\x08\x7f end";
const DANGEROUS = /[\p{Cc}\p{Cf}]/u;

export const attack: Attack = {
  tries:
    "an action prints control and bidirectional characters as log lines and as the reason of its failure",
  holds: "none of them is in the worker's log, on its pages or in a status message",
  async run(setting) {
    await using lab = await openLab({ setting, hostile: true });
    const result = JSON.stringify({ action: "hostile", ok: false, class: "internal", message: TEXT });
    const command = [
      printing(`${TEXT}\n`),
      printing(`${JSON.stringify({ level: 40, msg: TEXT })}\n`),
      printing(`${result}\n`),
      "exit:1",
    ];
    const { message } = await lab.run("node-1", { name: "hostile", command });
    const url = await lab.url();
    const status = await (await fetch(`${url}/status.json`)).text();
    const [, key = ""] = /"key":"([0-9a-f]{32})"/.exec(status) ?? [];
    const places = {
      "the log": lab.worker.stderr,
      "a message": message,
      "the page": await lab.page(`/actions/${key}`),
      status,
    };

    return Object.entries(places).flatMap(([place, text]) =>
      unless(!DANGEROUS.test(text.replace(/[\n\t]/g, "")), `${place} has ${codeOf(text)}`),
    );
  },
};

function codeOf(text: string): string {
  const [found = ""] = DANGEROUS.exec(text.replace(/[\n\t]/g, "")) ?? [];
  return `U+${(found.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
}
