import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { inflateSync } from "node:zlib";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../shared/clock.ts";
import { Secret } from "../../shared/secret.ts";
import { Access } from "../../worker/listener/http/access.ts";
import { testFolder } from "../support/test-folder.ts";
import { getPower, statusLab } from "../worker/features/status/status-lab.ts";
import { describeWithProgram, findProgram } from "./programs.ts";

const SLOW_TEST_MS = 120_000;
const WAIT_MS = 60_000;
const failed = { ok: false, class: "unreachable" as const, message: "connect ECONNREFUSED 192.0.2.17:443" };

/** The rows of all sections in their order, without the times in them. */
const ROWS_OF_PAGE = `[...document.querySelectorAll("[data-section]")].map((section) => [
  section.dataset.section,
  [...section.children].map((row) => {
    const copy = row.cloneNode(true);
    copy.classList.remove("changed");
    for (const time of copy.querySelectorAll("time[data-elapsed]")) time.remove();
    return [row.dataset.row, copy.innerHTML];
  }),
])`;

describeWithProgram("chromium", "the status page in a browser", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: findProgram("chromium") ?? "chromium" });
  });
  afterAll(() => browser.close());

  type Lab = Awaited<ReturnType<typeof statusLab>>;

  /** A page with all that a browser complains of, such as what the content security policy forbids. */
  async function open(lab: Lab, path: string, options: BrowserContextOptions = {}) {
    const context = await browser.newContext(options);
    onTestFinished(() => context.close());
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("requestfailed", (request) =>
      complaints.push(`${request.url()} ${request.failure()?.errorText}`),
    );
    page.on("dialog", (dialog) => {
      complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    await page.goto(`${lab.url}${path}`);
    return { page, complaints };
  }

  const untilLive = (page: Page) => page.locator('#live[data-state="live"]').waitFor();

  test("shows an action from its start to its end, as it happens", { timeout: SLOW_TEST_MS }, async () => {
    await using lab = await statusLab({ clock: systemClock });
    const { page, complaints } = await open(lab, "/");
    await untilLive(page);
    const action = lab.tell.action("a");

    lab.tell.started(action, "node-01");
    await page.locator(`#in-flight tr[data-row="${action.key}"]`).waitFor();
    await page.locator('#in-flight time:text-matches("^[1-9]")').waitFor();
    lab.tell.ended(action, "node-01", getPower("off"));
    lab.tell.reported(action);
    await page.locator("#machines a.off").waitFor();

    expect(await page.locator("#in-flight").isVisible()).toBe(false);
    expect(await page.locator('.counts [data-row="off"] b').textContent()).toBe("1");
    expect(complaints).toEqual([]);
  });

  test("asks for a password, which is the token, and is live with it; without it nothing is shown", {
    timeout: SLOW_TEST_MS,
  }, async () => {
    const token = "0123456789abcdef0123456789abcdef";
    const file = { path: "token", text: new Secret(token) };
    await using lab = await statusLab({ clock: systemClock, access: new Access({ token: file }) });
    const known = await open(lab, "/", { httpCredentials: { username: "anyone", password: token } });
    await untilLive(known.page);
    const action = lab.tell.action("a");

    lab.tell.started(action, "node-01");
    await known.page.locator(`#in-flight tr[data-row="${action.key}"]`).waitFor();
    const unknown = await open(lab, "/", {
      httpCredentials: { username: "anyone", password: `${token}0` },
    });

    expect(known.complaints).toEqual([]);
    expect(await unknown.page.locator("body").textContent()).toMatch(/^a token is required/);
  });

  test("has, after many changes, just what a page has that is opened then", {
    timeout: SLOW_TEST_MS,
  }, async () => {
    const names = Array.from({ length: 30 }, (_, index) =>
      index === 9 ? '<b title="\'&">\t\u202e' : `node-${index}`,
    );
    await using lab = await statusLab({ clock: systemClock, machines: names, mostEnded: 20 });
    const { tell } = lab;
    const { page, complaints } = await open(lab, "/");
    await untilLive(page);

    for (let round = 0; round < 8; round += 1) {
      for (const [index, name] of names.entries()) {
        const action = tell.action(`${name}-${round}`);
        if (index % 3 === 0) tell.whole(action, name, round % 2 === 0 ? getPower("on") : failed);
        else if (index % 3 === 1) tell.started(action, name);
        else tell.taken(action, name);
        if (index % 4 === 0) tell.failing(`pbnj-${name}`);
        else tell.observer.lane(`pbnj-${name}`, "polling");
        if (round > 2 && index % 3 === 1) tell.ended(tell.action(`${name}-${round - 2}`), name, failed);
        if (round > 4 && index % 3 === 2) tell.left(tell.action(`${name}-${round - 1}`));
      }
      const last = round % 2 === 0 ? "on" : "failed";
      await page.locator(`#machines li[data-row="node-27"] a.${last}`).waitFor();
    }
    const other = await open(lab, "/");
    await untilLive(other.page);

    const rows = await other.page.evaluate(ROWS_OF_PAGE);
    await expect.poll(() => page.evaluate(ROWS_OF_PAGE), { timeout: WAIT_MS }).toEqual(rows);
    expect(JSON.stringify(rows)).toContain("node-29");
    expect([...complaints, ...other.complaints]).toEqual([]);
  });

  test("follows the log of an action, with hostile lines as text", { timeout: SLOW_TEST_MS }, async () => {
    await using lab = await statusLab({ clock: systemClock });
    const action = lab.tell.action("a");
    lab.tell.started(action, "node-01");
    const { page, complaints } = await open(lab, `/actions/${action.key}`);
    await untilLive(page);

    for (let line = 0; line < 300; line += 1) {
      lab.tell.line(action, `${line} <img src=x onerror=alert(1)><script>alert(2)</script>`);
    }
    await page.locator('.log li[data-row="299"]').waitFor();

    const text = await page.locator('.log li[data-row="299"] span').textContent();
    expect(text).toBe("299 <img src=x onerror=alert(1)><script>alert(2)</script>");
    expect(await page.locator(".log li").count()).toBe(201);
    expect(await page.evaluate('document.querySelector(".log").scrollTop')).toBeGreaterThan(0);
    expect(complaints).toEqual([]);
  });

  test("is found, read and kept up to date without scripts", { timeout: SLOW_TEST_MS }, async () => {
    await using lab = await statusLab({ clock: systemClock, machines: ["rack1-a", "rack2-a"] });
    lab.tell.whole(lab.tell.action("a"), "rack1-a", failed);
    const { page, complaints } = await open(lab, "/", { javaScriptEnabled: false });

    await page.locator("#q").fill("rack1");
    await page.locator("#q").press("Enter");
    await page.waitForURL("**/?q=rack1");
    const machines = await page.locator("#machines .grid a span").allTextContents();
    await page.locator("#failures tbody th a").click();
    await page.waitForURL("**/actions/*");
    const reason = await page.locator("dd:text('ECONNREFUSED')").textContent();
    lab.tell.line(lab.tell.action("a"), "a line that came later");
    await page.locator(".log span:text('a line that came later')").waitFor();

    expect(machines).toEqual(["rack1-a"]);
    expect(reason).toBe(failed.message);
    expect(complaints).toEqual([]);
  });

  test("is used with the keyboard alone, and a row that changes keeps the focus", {
    timeout: SLOW_TEST_MS,
  }, async () => {
    await using lab = await statusLab({ clock: systemClock });
    lab.tell.taken(lab.tell.action("a"), "node-01");
    const { page } = await open(lab, "/");
    await untilLive(page);

    await page.keyboard.press("Tab");
    const first = await page.evaluate("document.activeElement.className");
    await page.keyboard.press("Enter");
    const main = await page.evaluate("document.activeElement.id");
    await page.locator("#machines .grid a").first().focus();
    lab.tell.started(lab.tell.action("a"), "node-01");
    await page.locator("#machines a.running").waitFor();
    const focused = await page.evaluate("document.activeElement.textContent");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/machines/node-01");

    expect([first, main, focused]).toEqual(["skip", "main", "R node-01"]);
  });

  test("shows a rack that is new since it was opened, and no longer one that is gone", {
    timeout: SLOW_TEST_MS,
  }, async () => {
    const rack = { name: "r1" };
    const machineLabels = () => ({ rack: rack.name });
    await using lab = await statusLab({ clock: systemClock, machineLabels });
    const { page } = await open(lab, "/?group=rack");
    await untilLive(page);

    rack.name = "r2";
    lab.setMachines(["node-01", "node-02"]);
    await page.locator("#machines-r2 li").nth(1).waitFor();

    expect(await page.locator(".part:visible").count()).toBe(1);
  });

  test("says when the worker is no longer there", { timeout: SLOW_TEST_MS }, async () => {
    await using lab = await statusLab({ clock: systemClock });
    const { page } = await open(lab, "/");
    await untilLive(page);

    await lab.listener.close();

    await page.locator('#live[data-state="away"]').waitFor();
    expect(await page.locator("#live").textContent()).toContain("no connection");
  });

  test.each([
    ["light", 1_440],
    ["light", 390],
    ["dark", 1_440],
    ["dark", 390],
  ] as const)(
    "is a picture of 1,000 machines, %s and %d pixels wide",
    {
      timeout: SLOW_TEST_MS,
    },
    async (colorScheme, width) => {
      const { folder } = await testFolder();
      const names = Array.from(
        { length: 1_000 },
        (_, index) => `rack${Math.floor(index / 40)}-node${index % 40}`,
      );
      await using lab = await statusLab({ clock: systemClock, machines: names });
      for (const [index, name] of names.entries()) {
        lab.tell.whole(lab.tell.action(name), name, index % 97 === 0 ? failed : getPower("on"));
      }
      lab.tell.started(lab.tell.action("running"), "rack0-node1");
      const { page, complaints } = await open(lab, "/", { colorScheme, viewport: { width, height: 900 } });
      await untilLive(page);
      const path = join(folder, "page.png");

      await page.screenshot({ path });

      const picture = await readPicture(path);
      expect(picture).toMatchObject({ width, height: 900 });
      // An empty page has one colour.
      expect(picture.shades).toBeGreaterThan(50);
      expect(picture.corner < 128).toBe(colorScheme === "dark");
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
      expect(await page.locator("#machines .grid li").count()).toBe(1_000);
      expect(complaints).toEqual([]);
    },
  );

  test.each([380, 800, 1_280])(
    "cuts no text and no long name, %d pixels wide",
    {
      timeout: SLOW_TEST_MS,
    },
    async (width) => {
      const names = Array.from({ length: 30 }, (_, index) => `node-${index}`);
      const long = "gpu-training-node-with-a-long-name-17.dc4.example.org";
      const machines = [long, "計算機-0003", ...names];
      const machineLabels = () => ({ rack: "a-rack-with-a-long-name-in-row-12" });
      await using lab = await statusLab({ clock: systemClock, machines, machineLabels });
      const message = `HTTP 500 /redfish/v1/${"Systems/System.Embedded.1/".repeat(5)}`;
      for (const name of machines.slice(0, 9)) lab.tell.whole(lab.tell.action(name), name, failed);
      lab.tell.whole(lab.tell.action(`${long}-2`), long, { ...failed, message });
      lab.tell.started(lab.tell.action("running", { workflowId: `default/${long}` }), names[20]);
      lab.tell.failing(`pbnj-${long}`);

      const paths = ["/", "/?group=rack", "/machines", "/actions", "/agent-ids", `/machines/${long}`];
      for (const path of paths) {
        const { page } = await open(lab, path, { viewport: { width, height: 900 } });
        await untilLive(page);
        expect([path, await page.evaluate(CUT_TEXTS)]).toEqual([path, []]);
      }
    },
  );
});

/** What a reader cannot see whole, on the right of the page or in an element that hides it; screen readers' texts are 1 pixel wide. */
const CUT_TEXTS = `[...document.querySelectorAll("main *")].flatMap((element) => {
  const { right, width } = element.getBoundingClientRect();
  const hides = getComputedStyle(element).overflowX !== "visible" && element.clientWidth > 1;
  const isCut = (width > 1 && right > innerWidth) || (hides && element.scrollWidth > element.clientWidth);
  return isCut ? [element.tagName + " " + element.textContent] : [];
})`;

/** PNG, RFC 2083: what its header says, how many different bytes its pixels have, and the first of them. */
async function readPicture(path: string) {
  const bytes = await readFile(path);
  const data: Buffer[] = [];
  for (let at = 8; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    if (bytes.toString("latin1", at + 4, at + 8) === "IDAT")
      data.push(bytes.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const pixels = inflateSync(Buffer.concat(data));
  return {
    width: bytes.readUInt32BE(16),
    height: bytes.readUInt32BE(20),
    shades: new Set(pixels).size,
    // After the filter of the first line; its first pixel is as it is with every filter.
    corner: pixels[1] ?? Number.NaN,
  };
}
