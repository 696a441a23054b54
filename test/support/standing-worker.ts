import { EventEmitter } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { catalogue } from "../../actions/catalogue.ts";
import { type Clock, systemClock } from "../../shared/clock.ts";
import type { LogFields, Logger } from "../../shared/logger.ts";
import { addConfigOptions } from "../../worker/commands/define-commands.ts";
import { openStateDirectory } from "../../worker/core/journal/state-directory.ts";
import { loadConfig } from "../../worker/main/load-config.ts";
import { openCluster } from "../../worker/main/open-cluster.ts";
import { openWorker } from "../../worker/main/open-worker.ts";
import { settings } from "../../worker/main/settings.ts";
import { PROGRAM } from "../cli/program.ts";
import { quickLibrary } from "./quick-actions.ts";

const WAIT_MS = 60_000;
/** Pino's numbers of levels. */
const LEVELS = { debug: 20, info: 30, warn: 40, error: 50 } as const;

export interface Logged extends Readonly<Record<string, unknown>> {
  readonly level: number;
  readonly msg: string;
}

/**
 * A whole worker inside this process, with the arguments of `pbnj-worker start` or `serve`. Actions run inside this process, too,
 * unless the arguments choose another runtime. Cancelled when disposed.
 */
export async function standingWorker(
  argv: readonly string[],
  { clock = systemClock }: { readonly clock?: Clock } = {},
) {
  const stateHome = await mkdtemp(join(tmpdir(), "pbnj-state-"));
  const command = addConfigOptions(new Command(), settings).exitOverride();
  command.parse(["--runtime", "in-process", ...argv.filter((word) => word !== "start" && word !== "serve")], {
    from: "user",
  });
  const env = { PATH: process.env["PATH"], XDG_STATE_HOME: stateHome, PBNJ_HTTP_ADDRESS: "off" };
  const loaded = loadConfig({ flags: command.opts(), env }, argv.includes("serve") ? "serve" : "start");
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const { config } = loaded;
  const logged: Logged[] = [];
  const events = new EventEmitter<{ logged: [] }>().setMaxListeners(0);
  const keeper = (level: number) => (fields: LogFields, msg: string) => {
    logged.push({ ...fields, level, msg });
    events.emit("logged");
  };
  const log: Logger = {
    debug: keeper(LEVELS.debug),
    info: keeper(LEVELS.info),
    warn: keeper(LEVELS.warn),
    error: keeper(LEVELS.error),
  };
  const state = await openStateDirectory(config.stateDirectory);
  const own = { file: PROGRAM, actions: catalogue, library: quickLibrary };
  const opening = await openCluster(config);
  if (!opening.ok) throw new Error(opening.reason);
  const { cluster } = opening;
  const opened = await openWorker(config, { cluster, log, own, state, clock, env });
  const { worker, journal } = opened;
  await worker.open();
  await opened.serve();
  const ended = worker.run();
  return {
    journal,
    log: logged,
    ended,
    /** Stops the worker, like the first SIGTERM. */
    stop: () => worker.stop(),
    /** Cancels running actions, like the second SIGTERM. */
    cancel: () => worker.cancel(),
    async untilLogged(message: string, fields: LogFields = {}): Promise<Logged> {
      const fits = (record: Logged) =>
        record.msg === message && Object.entries(fields).every(([name, value]) => record[name] === value);
      const signal = AbortSignal.timeout(WAIT_MS);
      for (;;) {
        const found = logged.find(fits);
        if (found) return found;
        await new Promise<void>((resolve, reject) => {
          const told = logged.map((record) => JSON.stringify(record)).join("\n");
          const giveUp = () => reject(new Error(`never logged ${message}:\n${told}`));
          signal.addEventListener("abort", giveUp, { once: true });
          events.once("logged", () => {
            signal.removeEventListener("abort", giveUp);
            resolve();
          });
        });
      }
    },
    async [Symbol.asyncDispose]() {
      worker.cancel();
      await ended;
      await opened.flush({ stateLost: false });
      await state.close();
      await cluster?.close();
      await rm(stateHome, { recursive: true, force: true });
    },
  };
}
