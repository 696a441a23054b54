import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { textOf } from "../../shared/text-of.ts";
import type { Attack, Setting } from "./attack.ts";
import { buildImages, engineAnswers } from "./engine.ts";
import { oneLine, type Result, table } from "./table.ts";

/**
 * `npm run attack`: attacks a running worker in every way that this folder knows. Exits 0 when all it promises held, 1 when
 * something did not, 2 for flags it does not understand.
 */

const USAGE = "usage: npm run attack -- [--only <name>]... [--minutes <count>] [--list]";
const ATTACKS = join(import.meta.dirname, "attacks");
const DEADLINE_MS = 300_000;
const WHOLE_RUN_MS = 1_200_000;

interface Named extends Attack {
  readonly name: string;
}

process.exit(await main());

async function main(): Promise<number> {
  let options: ReturnType<typeof readOptions>;
  try {
    options = readOptions();
  } catch (thrown) {
    say(`${messageOf(thrown)}\n${USAGE}`);
    return 2;
  }
  const all = await loadAttacks();
  const unknown = options.only.filter((name) => !all.some((attack) => attack.name === name));
  if (unknown.length > 0) {
    say(`no such attack: ${unknown.join(", ")}\nattacks: ${all.map(({ name }) => name).join(", ")}`);
    return 2;
  }
  if (options.list) {
    process.stdout.write(
      all.map(({ name, tries, holds }) => `${name}: ${tries}\n    holds: ${holds}\n`).join(""),
    );
    return 0;
  }
  const limit = setTimeout(() => {
    say("the attacks did not end in time");
    process.exit(1);
  }, WHOLE_RUN_MS + moreMs(options));
  const results = await runAll(
    all.filter(({ name }) => options.only.length === 0 || options.only.includes(name)),
    options,
  );
  clearTimeout(limit);
  process.stdout.write(table(results));
  return results.some(({ verdict }) => verdict === "NOT HELD") ? 1 : 0;
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      only: { type: "string", multiple: true },
      minutes: { type: "string" },
      list: { type: "boolean" },
    },
  });
  const minutes = Number(values.minutes ?? 0);
  if (!Number.isFinite(minutes) || minutes < 0) throw new Error("--minutes must be a number from 0");
  return { only: values.only ?? [], minutes, list: values.list ?? false };
}

function moreMs({ minutes = 0 }: Pick<Setting, "minutes">): number {
  return minutes * 60_000;
}

async function loadAttacks(): Promise<readonly Named[]> {
  const files = (await readdir(ATTACKS)).filter((file) => file.endsWith(".ts")).toSorted();
  return Promise.all(
    files.map(async (file) => {
      const { attack }: { attack: Attack } = await import(join(ATTACKS, file));
      return { ...attack, name: file.replace(/\.ts$/, "") };
    }),
  );
}

/** One after the other, because some measure times. */
async function runAll(
  attacks: readonly Named[],
  { minutes }: { readonly minutes: number },
): Promise<readonly Result[]> {
  const setting: Setting = { containers: await engineAnswers(), minutes };
  if (setting.containers) await buildImages();
  else
    say(
      "NOTICE: no container engine answers, so actions are processes and attacks on containers are skipped",
    );
  const results: Result[] = [];
  for (const attack of attacks) results.push(await runOne(attack, setting));
  return results;
}

async function runOne(attack: Named, setting: Setting): Promise<Result> {
  const { name } = attack;
  if (attack.needsContainers && !setting.containers)
    return { name, verdict: "skipped", reasons: [], tookMs: 0 };
  const from = performance.now();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const limitMs = DEADLINE_MS + moreMs(setting);
  const deadline = setTimeout(() => reject(new Error(`no verdict after ${limitMs / 1_000} s`)), limitMs);
  const reasons = await Promise.race([attack.run(setting), late]).catch((thrown: unknown) => [
    messageOf(thrown),
  ]);
  clearTimeout(deadline);
  const verdict = reasons.length === 0 ? "held" : "NOT HELD";
  say(`${verdict}: ${name}`);
  for (const reason of reasons) say(`  ${oneLine(reason)}`);
  return { name, verdict, reasons, tookMs: performance.now() - from };
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function messageOf(thrown: unknown): string {
  return textOf(thrown);
}
