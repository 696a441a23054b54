import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../shared/clock.ts";
import { describeWithProgram, findProgram } from "../../interop/programs.ts";
import { getPower, statusLab } from "../../worker/features/status/status-lab.ts";

const SLOW_TEST_MS = 120_000;
const failed = {
  ok: false,
  class: "unreachable" as const,
  message: "redfish: cannot connect to 192.0.2.17:443: connection refused, after 3 attempts in 12.5 s",
};

/** A worker whose machines have something of everything, also where they are ten. */
async function busyLab(count = 30) {
  const machines = Array.from({ length: count }, (_, index) => `rack1-node${String(index).padStart(2, "0")}`);
  const address = { host: "192.0.2.1", url: "https://192.0.2.1", providers: ["redfish"] as const };
  const lab = await statusLab({ clock: systemClock, machines, bmcAddress: () => address });
  const { tell } = lab;
  for (const [index, name] of machines.entries()) {
    tell.observer.lane(`pbnj-${name}`, "polling");
    const outcome =
      index % 9 === 0
        ? failed
        : { ...getPower(index % 2 ? "on" : "off"), machineFacts: { vendor: "Contoso" } };
    if (index % 7 !== 6)
      tell.whole(tell.action(`first-${name}`, { workflowId: `default/${name}` }), name, outcome);
    if (index % 5 === 1) tell.started(tell.action(`second-${name}`, { workflowId: `default/${name}` }), name);
    if (index % 10 === 2) tell.taken(tell.action(`third-${name}`, { workflowId: `default/${name}` }), name);
  }
  tell.failing("pbnj-away");
  const action = tell.action(`first-${machines[0]}`, { workflowId: `default/${machines[0]}` });
  tell.line(action, "a line");
  const paths = [
    "/",
    "/machines?sort=state",
    "/actions?state=failed",
    "/agent-ids",
    `/machines/${machines[0]}`,
    `/machines/${machines[1]}`,
    `/workflows/default/${machines[1]}`,
    `/actions/${action.key}`,
    "/help/tls",
    "/help/usage",
    "/machines/absent",
  ];
  return { lab, paths };
}

describeWithProgram("chromium", "the status page for everyone", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: findProgram("chromium") ?? "chromium" });
  });
  afterAll(() => browser.close());

  async function open(url: string, width: number): Promise<Page> {
    const context = await browser.newContext({ viewport: { width, height: 900 } });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.goto(url);
    return page;
  }

  test.each([
    [1_280, "in light and dark"],
    [400, "in light"],
  ])(
    "violates no rule of axe, and fits the width: %d pixels %s",
    { timeout: SLOW_TEST_MS },
    async (width, colours) => {
      const { lab, paths } = await busyLab(10);
      await using _ = lab;
      const page = await open(lab.url, width);
      const found: unknown[] = [];
      const check = async (what: string, run: string) => {
        const { violations } = (await page.evaluate(run)) as axe.AxeResults;
        const of = violations.map(({ id, nodes }) => [what, id, nodes.map(({ html }) => html).slice(0, 3)]);
        found.push(...of);
      };

      for (const path of paths) {
        await page.goto(`${lab.url}${path}`);
        await page.evaluate(axe.source);
        await check(path, "axe.run()");
        // The schemes differ in colours alone, which are the same at every width.
        if (colours.includes("dark")) {
          await page.emulateMedia({ colorScheme: "dark" });
          await check(`${path}, dark`, "axe.run({ runOnly: ['color-contrast'] })");
          await page.emulateMedia({ colorScheme: "light" });
        }
        const beyond = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
        if (Number(beyond) > 0) found.push([path, "wider than the screen", beyond]);
      }

      expect(found).toEqual([]);
    },
  );

  test("fits one screen with 30 machines", { timeout: SLOW_TEST_MS }, async () => {
    const { lab } = await busyLab();
    await using _ = lab;

    const page = await open(lab.url, 1_280);

    const tops = await page.evaluate(
      "[...document.querySelectorAll('.counts > li')].map((tile) => tile.getBoundingClientRect().top)",
    );
    expect(new Set(tops as number[]).size).toBe(1);
    expect(await page.evaluate("document.documentElement.scrollHeight")).toBeLessThanOrEqual(900);
  });

  test("has the failures first on a narrow screen, each with its whole reason", {
    timeout: SLOW_TEST_MS,
  }, async () => {
    const { lab } = await busyLab();
    await using _ = lab;

    const page = await open(lab.url, 400);

    const above = await page.evaluate(`[...document.querySelectorAll("main > :not(h1)")].filter((part) => {
      const failures = document.getElementById("failures").getBoundingClientRect();
      const { height, top } = part.getBoundingClientRect();
      return height > 0 && top < failures.top;
    }).length`);
    const cut = await page.evaluate(
      "[...document.querySelectorAll('#failures td.reason')].filter((cell) => cell.scrollWidth > cell.clientWidth).length",
    );
    expect([above, cut]).toEqual([0, 0]);
    expect(await page.locator("#failures td.reason").first().textContent()).toContain(
      "redfish: cannot connect to …: connection refused, after 3 attempts in …",
    );
  });

  test("is used by keyboard: filter, order, how to fix a failure, a machine", {
    timeout: SLOW_TEST_MS,
  }, async () => {
    const { lab } = await busyLab();
    await using _ = lab;
    const page = await open(lab.url, 1_280);
    const follow = async (selector: string) => {
      await page.locator(selector).first().focus();
      await page.keyboard.press("Enter");
    };

    await follow(".states a:has-text('failed')");
    await page.waitForURL("**/?state=failed");
    await follow(".order a:has-text('name')");
    await page.waitForURL("**/?state=failed&sort=name#machines");
    const cells = await page.locator(".grid a").allTextContents();
    await follow("#failures a.fix");
    await page.waitForURL("**/help/unreachable");
    await page.goBack();
    await follow(".grid a");
    await page.waitForURL("**/machines/rack1-node00");

    expect(cells).toEqual(["00", "09", "18"].map((number) => `F rack1-node${number}`));
  });
});
