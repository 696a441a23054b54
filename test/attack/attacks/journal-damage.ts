import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

const damages: readonly ((text: string) => string)[] = [
  (text) => text.slice(0, text.length / 2),
  () => "",
  () => "\0\xff\0\xff not an entry",
  (text) => text.replace(/"version":\s*\d+/g, '"version":99'),
  (text) => text.replace(/"phase":\s*"\w+"/g, '"phase":"unheard-of"'),
];
const machines = damages.map((_, index) => `node-${index}`);

export const attack: Attack = {
  tries: "a worker is killed while resets are under way, its journal is damaged, and it is started again",
  holds: "no machine is reset twice, and no workflow is stuck",
  async run(setting) {
    await using lab = await openLab({ setting, runtime: "process", machines });
    // Carried out, and never answered: the actions are under way for as long as they wait.
    for (const name of machines)
      lab.bmc(name).fail({ kind: "silent", method: "POST", path: /ComputerSystem\.Reset$/ });
    const workflows = machines.map((name) => lab.submit(name, { name: "power-reset", timeout: 25 }));
    const deadline = performance.now() + 20_000;
    while (!machines.every((name) => lab.machine(name).count("reset") === 1)) {
      if (performance.now() > deadline) return ["the resets did not begin"];
      await sleep(50);
    }
    lab.worker.kill("SIGKILL");
    await lab.worker.ended;
    const journal = join(lab.stateDirectory, "journal");
    const files = (await readdir(journal)).filter((file) => file.endsWith(".json")).toSorted();
    for (const [index, file] of files.entries()) {
      const text = await readFile(join(journal, file), "utf8");
      await writeFile(join(journal, file), damages[index]?.(text) ?? "");
    }
    lab.start();
    const ends = await Promise.all(workflows.map((workflow) => lab.ended(workflow, 32_000)));

    return [
      ...unless(files.length === machines.length, `${files.length} entries in the journal`),
      ...machines.flatMap((name) =>
        unless(
          lab.machine(name).count("reset") === 1,
          `${name} was reset ${lab.machine(name).count("reset")} times`,
        ),
      ),
      ...ends.flatMap(({ state }, index) =>
        unless(state !== "STUCK", `${machines[index]}: the workflow is stuck`),
      ),
    ];
  },
};
