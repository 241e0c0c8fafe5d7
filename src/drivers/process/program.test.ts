import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../core/clock.js";
import type { RunErrorCode, TroupeError } from "../../core/errors.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { trackedGroups } from "./process-group.js";
import { Program, type ProgramOptions } from "./program.js";

interface Heard {
  readonly values: unknown[];
  readonly garbage: string[];
  readonly faults: TroupeError<RunErrorCode>[];
  stderr: string;
}

function start(script: string, options: Partial<ProgramOptions> = {}): { program: Program; heard: Heard } {
  const heard: Heard = { values: [], garbage: [], faults: [], stderr: "" };
  const program = new Program({
    command: [process.execPath, "-e", script],
    cwd: tmpdir(),
    env: { PORT: String(port) },
    clock: systemClock,
    onValue: (value) => heard.values.push(value),
    onGarbage: (line) => heard.garbage.push(line),
    onStderr: (text) => {
      heard.stderr += text;
    },
    onFault: (error) => heard.faults.push(error),
    ...options,
  });
  return { program, heard };
}

/** Children tell that they live by a connection, and that they are gone by its end. */
let server: Server;
let port = 0;
let connected: Promise<Socket>;
const LIVE = `require("net").connect(Number(process.env.PORT)).on("connect", () => process.stdout.write('"up"\\n'));`;

beforeEach(async () => {
  server = createServer((socket) => socket.on("error", () => {}));
  connected = once(server, "connection").then(([socket]) => socket as Socket);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  port = typeof address === "object" && address !== null ? address.port : 0;
});

afterEach(() => {
  server.close();
  expect(trackedGroups()).toEqual([]);
});

async function gone(): Promise<void> {
  const socket = await connected;
  socket.resume();
  if (!socket.destroyed) await once(socket, "close");
}

test("reads lines of JSON, tolerates others, and keeps standard error and the exit code", async () => {
  const { program, heard } = start(
    `console.log('{"a":1}'); console.log("oops {"); console.log(""); console.error("why"); console.log("[2]"); process.exitCode = 7`,
  );
  expect(await program.exited).toEqual({ code: 7, signal: null, stderr: "why" });
  expect(heard).toMatchObject({ values: [{ a: 1 }, [2]], garbage: ["oops {"], stderr: "why\n", faults: [] });
});

test("has only the environment that it is given, and the working directory", async () => {
  const { program, heard } = start("console.log(JSON.stringify([Object.keys(process.env), process.cwd()]))", {
    env: { ONLY: "1" },
    cwd: "/",
  });
  await program.exited;
  expect(heard.values).toEqual([[["ONLY"], "/"]]);
});

test("writes lines, and a program that has gone is no error", async () => {
  const { program, heard } = start(
    `require("readline").createInterface({input: process.stdin}).on("line", (line) => { console.log(line); process.exit(0) })`,
  );
  program.send({ hello: "wörld" });
  await program.exited;
  for (let count = 0; count < 100; count++) program.send({ count, filler: "x".repeat(10_000) });
  expect(heard.values).toEqual([{ hello: "wörld" }]);
});

test("survives a program that closes its input while it is written to", async () => {
  const { program, heard } = start(
    `require("fs").closeSync(0); console.log('"closed"'); setTimeout(() => {}, 50)`,
  );
  for (let count = 0; count < 50; count++) program.send({ filler: "x".repeat(100_000) });
  expect(await program.exited).toMatchObject({ code: 0 });
  expect(heard.values).toEqual(["closed"]);
});

test("a missing program and a missing workspace are told apart", async () => {
  const missing = start("", { command: ["/no/such/program"] });
  expect(await missing.program.exited).toMatchObject({
    code: null,
    error: { code: "program_missing", message: "The program /no/such/program was not found." },
  });
  const nowhere = start("", { cwd: "/no/such/directory" });
  expect(await nowhere.program.exited).toMatchObject({
    error: { code: "invalid_input", message: "The workspace /no/such/directory is not a directory." },
  });
  // Nothing to end, and nothing hangs.
  expect(await missing.program.end()).toMatchObject({ error: { code: "program_missing" } });
});

test("a line above the limit is a typed fault, and the program can still be ended", async () => {
  const { program, heard } = start(`console.log("x".repeat(5000)); console.log("1")`, {
    maxLineBytes: 1_000,
  });
  await program.exited;
  expect(heard.faults).toMatchObject([
    { code: "protocol_error", message: "The program wrote a line of more than 1000 bytes." },
  ]);
  expect(heard.values).toEqual([1]);
});

test("a handler that throws is a fault of ours, not an uncaught exception", async () => {
  const { program, heard } = start(`console.log("1")`, {
    onValue: () => {
      throw new Error("boom");
    },
  });
  await program.exited;
  expect(heard.faults).toMatchObject([{ code: "internal" }]);
});

test("ending starts with the end of input", async () => {
  const { program } = start(`process.stdin.resume().on("end", () => process.exit(3))`);
  expect(await program.end()).toMatchObject({ code: 3, signal: null });
});

test("then comes SIGTERM, and SIGKILL last", async () => {
  const deaf = `process.on("SIGTERM", () => console.log('"term"')); setInterval(() => {}, 1000); console.log('"ready"');`;
  const clock = new ManualClock();
  const values: unknown[] = [];
  let arrived: () => void = () => {};
  const next = () =>
    new Promise<void>((resolve) => {
      arrived = resolve;
    });
  let seen = next();
  const { program } = start(deaf, {
    clock,
    onValue: (value) => {
      values.push(value);
      arrived();
    },
  });
  await seen;
  seen = next();
  const ended = program.end({ inputMs: 100, terminateMs: 200 });
  await clock.advance(99);
  expect(values).toEqual(["ready"]);
  await clock.advance(1);
  await seen;
  expect(values).toEqual(["ready", "term"]);
  await clock.advance(200);
  expect(await ended).toMatchObject({ code: null, signal: "SIGKILL" });
});

test("case 011: what the leader leaves behind in its group is killed", async () => {
  const { program } = start(
    `const child = require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(`process.on("SIGTERM", () => {}); ${LIVE}`)}], { stdio: ["ignore", "pipe", "ignore"] });
     child.stdout.once("data", () => process.exit(0))`,
  );
  expect(await program.exited).toMatchObject({ code: 0 });
  await gone();
});

test("a process that left the group and holds the pipes does not keep the run open", async () => {
  const { program, heard } = start(
    `const child = require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(LIVE)}], { stdio: ["ignore", "inherit", "inherit"], detached: true });
     console.log(child.pid); child.on("spawn", () => process.exit(0))`,
  );
  expect(await program.exited).toMatchObject({ code: 0 });
  (await connected).destroy();
  const pid = heard.values.find((value) => typeof value === "number");
  expect(pid).toBeTypeOf("number");
});

test("groups are killed when this process exits", async () => {
  const module = new URL("../../../dist/drivers/process/program.js", import.meta.url);
  const clock = new URL("../../../dist/core/clock.js", import.meta.url);
  const { program } = start(
    `Promise.all([import(${JSON.stringify(module.href)}), import(${JSON.stringify(clock.href)})]).then(([{ Program }, { systemClock }]) => {
       const nothing = () => {};
       new Program({ command: [process.execPath, "-e", ${JSON.stringify(`process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); ${LIVE}`)}], cwd: "/", env: process.env, clock: systemClock,
         onValue: () => process.exit(9), onGarbage: nothing, onStderr: nothing, onFault: nothing });
     })`,
  );
  expect(await program.exited).toMatchObject({ code: 9 });
  await gone();
});
