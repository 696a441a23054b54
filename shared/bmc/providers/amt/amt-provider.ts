import * as z from "zod/mini";
import type { Connection } from "../../../contract/connection.ts";
import { openHttpSession } from "../../http/http-session.ts";
import { defineProvider, type ProviderContext, type SessionWith } from "../../operations/provider.ts";
import { AmtBoot } from "./boot-driver.ts";
import { AmtPower, readPowerStatus } from "./power-driver.ts";
import { connectWsman } from "./wsman-connection.ts";

const Hint = z.object({ reading: z.enum(["get", "enumerate"]) });

/** Intel Active Management Technology: WS-Management with digest authentication. */
export const amt = defineProvider({ name: "amt", capabilities: [], open });

async function open(
  connection: Connection,
  context: ProviderContext,
  signal: AbortSignal,
): Promise<SessionWith<never>> {
  const hint = Hint.safeParse(context.hint);
  const { http, wsman } = connectWsman(connection, context);
  return openHttpSession(http, async () => {
    const opened = await readPowerStatus(wsman, hint.success ? hint.data.reading : "get", signal);
    return {
      provider: "amt",
      power: new AmtPower(wsman, context.clock, opened),
      boot: new AmtBoot(wsman),
      hint: () => ({ reading: opened.reading }),
    };
  });
}
