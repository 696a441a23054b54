import { describe, expect, it } from "vitest";
import { actionsOf } from "../../../worker/template/actions.ts";
import { parseTemplate } from "../../../worker/template/parse-template.ts";

function planned(text: string) {
  const parsed = parseTemplate(text, {});
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return actionsOf(parsed.template);
}

const TWO_TASKS = `version: "0.1"
name: two
tasks:
  - name: first
    worker: agent-1
    volumes: [/a:/a]
    environment: { Z: task, A: task }
    actions:
      - { name: one, image: i, volumes: [/b:/b], environment: { Z: action, M: action }, timeout: 9 }
  - name: second
    worker: agent-2
    actions:
      - { name: two, image: i, pid: host, namespaces: { network: host } }
      - { name: three, image: i, pid: host, namespaces: { pid: private } }
`;

describe("actionsOf", () => {
  it("lists the actions of all tasks in order, with their agents", () => {
    expect(planned(TWO_TASKS).map(({ taskName, agentId, name }) => [taskName, agentId, name])).toEqual([
      ["first", "agent-1", "one"],
      ["second", "agent-2", "two"],
      ["second", "agent-2", "three"],
    ]);
  });

  it("merges the environments with the action's on top, sorted", () => {
    const [one] = planned(TWO_TASKS);

    expect(Object.entries(one?.environment ?? {})).toEqual([
      ["A", "task"],
      ["M", "action"],
      ["Z", "action"],
    ]);
  });

  it("puts the task's volumes before the action's and the timeout into milliseconds", () => {
    expect(planned(TWO_TASKS)[0]).toMatchObject({ volumes: ["/a:/a", "/b:/b"], timeoutMs: 9_000 });
  });

  it("prefers the namespace's pid to the older field", () => {
    const [one, two, three] = planned(TWO_TASKS);

    expect(one?.pidNamespace).toBeUndefined();
    expect(two).toMatchObject({ networkNamespace: "host", pidNamespace: "host" });
    expect(three).toMatchObject({ pidNamespace: "private" });
  });
});
