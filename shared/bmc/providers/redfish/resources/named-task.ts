import type { HttpAnswer } from "../service/http-client.ts";
import { readRefusal, textOfMessage } from "../service/refusal.ts";

const TASK = /\/redfish\/v1\/(?:TaskService\/(?:Tasks|TaskMonitors)|[\w./-]{1,200}\/Jobs)\/[\w.-]{0,100}\w/;

/**
 * The path of a task that only a message of an accepting answer names, in its arguments or its text. Supermicro's BMCs answer so to
 * uploads (bmc-toolbox/bmclib pull request 399).
 */
export function namedTask(answer: HttpAnswer): string | undefined {
  const { messages } = readRefusal(answer);
  const texts = messages.flatMap((message) => [...(message.MessageArgs ?? []), textOfMessage(message)]);
  for (const text of texts) {
    const [path] = TASK.exec(text) ?? [];
    if (path !== undefined) return path;
  }
  return undefined;
}
