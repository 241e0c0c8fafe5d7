import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../core/clock.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { addServers } from "./mcp-file.js";

const OURS = { a2a: { command: "node", args: ["-e", "x"] } };
let workspace: string;
let folder: string;
let file: string;

beforeEach(() => {
  workspace = mkdtempSync(join(tmpdir(), "troupe-test-"));
  folder = join(workspace, ".cursor");
  file = join(folder, "mcp.json");
});

afterEach(() => rmSync(workspace, { recursive: true, force: true }));

const add = (servers: object = OURS) => addServers(workspace, { ...servers }, systemClock);
const read = () => JSON.parse(readFileSync(file, "utf8")) as { mcpServers: Record<string, unknown> };

function write(text: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, text);
}

/** Another process that takes the servers; it dies by SIGKILL, or ends by itself, without releasing them. */
async function otherHost(end: "SIGKILL" | "exit"): Promise<void> {
  const module = new URL("../../../dist/drivers/cursor/mcp-file.js", import.meta.url);
  const clock = new URL("../../../dist/core/clock.js", import.meta.url);
  const last = end === "exit" ? "process.exit(0)" : 'process.kill(process.pid, "SIGKILL")';
  const script = `Promise.all([import(${JSON.stringify(module.href)}), import(${JSON.stringify(clock.href)})])
    .then(([{ addServers }, { systemClock }]) => addServers(${JSON.stringify(workspace)}, ${JSON.stringify(OURS)}, systemClock))
    .then(() => ${last})`;
  const child = spawn(process.execPath, ["-e", script], { stdio: "inherit" });
  await once(child, "exit");
}

test("a file that was not there goes, with its folder", async () => {
  const added = await add();
  expect(read()).toEqual({ mcpServers: OURS });
  await added.release();
  await added.release();
  expect(existsSync(folder)).toBe(false);
});

test("what was there stays, to the last space and with its mode", async () => {
  const text = '{ "mcpServers": {"mine":{"url":"http://x"}, "a2a": {"url": "http://y"}},\n  "other": 1 }';
  write(text);
  chmodSync(file, 0o600);
  const added = await add();
  expect(read()).toEqual({ mcpServers: { mine: { url: "http://x" }, ...OURS }, other: 1 });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await added.release();
  expect(readFileSync(file, "utf8")).toBe(text);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(["mcp.json"]);
});

test("a link to the file stays a link", async () => {
  mkdirSync(folder);
  const real = join(workspace, "shared.json");
  writeFileSync(real, '{"mcpServers":{}}');
  symlinkSync(real, file);
  const added = await add();
  expect(JSON.parse(readFileSync(real, "utf8"))).toEqual({ mcpServers: OURS });
  await added.release();
  expect(readFileSync(file, "utf8")).toBe('{"mcpServers":{}}');
  expect(readFileSync(real, "utf8")).toBe('{"mcpServers":{}}');
});

test("what somebody changes meanwhile stays; only the run's servers go", async () => {
  write('{"mcpServers":{"a2a":{"url":"http://old"},"mine":{"url":"http://x"}}}');
  const added = await add();
  const edited = read();
  writeFileSync(file, JSON.stringify({ ...edited, mcpServers: { ...edited.mcpServers, new: { url: "z" } } }));
  await added.release();
  expect(read()).toEqual({
    mcpServers: { a2a: { url: "http://old" }, mine: { url: "http://x" }, new: { url: "z" } },
  });
  expect(readdirSync(folder)).toEqual(["mcp.json"]);
});

test("several runs hold the servers at once, and the last one takes them back", async () => {
  const text = '{"mcpServers":{"mine":{"url":"http://x"}}}';
  write(text);
  const [one, two] = [await add(), await add({ ...OURS, more: { command: "y" } })];
  expect(Object.keys(read().mcpServers).sort()).toEqual(["a2a", "mine", "more"]);
  await one.release();
  expect(Object.keys(read().mcpServers)).toContain("a2a");
  const three = await add();
  await two.release();
  expect(Object.keys(read().mcpServers)).toContain("a2a");
  await three.release();
  expect(readFileSync(file, "utf8")).toBe(text);
  expect(readdirSync(folder)).toEqual(["mcp.json"]);
});

test("many at once leave nothing behind", async () => {
  const all = await Promise.all(Array.from({ length: 20 }, () => add()));
  expect(read()).toEqual({ mcpServers: OURS });
  await Promise.all(all.map((added) => added.release()));
  expect(existsSync(folder)).toBe(false);
});

describe("a host that ended without its runs", () => {
  const text = '{"mcpServers":{"mine":{"url":"http://x"}}}';

  test("when it was killed, the next start takes its change back", async () => {
    write(text);
    await otherHost("SIGKILL");
    expect(Object.keys(read().mcpServers)).toContain("a2a");
    const added = await add({ next: { command: "z" } });
    expect(Object.keys(read().mcpServers)).toEqual(["mine", "next"]);
    await added.release();
    expect(readFileSync(file, "utf8")).toBe(text);
    expect(readdirSync(folder)).toEqual(["mcp.json"]);
  });

  test("when it just exited, it took its change back itself", async () => {
    write(text);
    await otherHost("exit");
    expect(readFileSync(file, "utf8")).toBe(text);
    expect(readdirSync(folder)).toEqual(["mcp.json"]);
  });

  test("a lock and a journal that it left broken do no harm", async () => {
    write(text);
    writeFileSync(join(folder, "troupe-mcp.lock"), "4194305");
    writeFileSync(join(folder, "troupe-mcp.json"), "{");
    const added = await add();
    await added.release();
    expect(readFileSync(file, "utf8")).toBe(text);
    expect(readdirSync(folder)).toEqual(["mcp.json"]);
  });
});

describe("refusals", () => {
  test("a file that is no JSON object is left as it is", async () => {
    for (const text of ["{ // mine\n}", "[]", "nonsense"]) {
      write(text);
      await expect(add()).rejects.toMatchObject({ code: "invalid_input" });
      expect(readFileSync(file, "utf8")).toBe(text);
      expect(readdirSync(folder)).toEqual(["mcp.json"]);
    }
  });

  test("a lock that another process holds is waited for, but not for ever", async () => {
    write("{}");
    writeFileSync(join(folder, "troupe-mcp.lock"), String(process.ppid));
    const clock = new ManualClock();
    const waiting = addServers(workspace, OURS, clock);
    waiting.catch(() => {});
    for (let step = 0; step < 250; step++) await clock.advance(25);
    await expect(waiting).rejects.toMatchObject({ code: "invalid_input" });
    expect(readFileSync(file, "utf8")).toBe("{}");
  });
});
