import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createPrivateFile, readPrivateFile, writePrivateFile } from "./workspace-file.js";
import { claimWorkspace, readHostFile, releaseWorkspace } from "./workspace-host-file.js";
import {
  createInstance,
  ensureWorkspaceToken,
  readWorkspaceToken,
  removeWorkspaceToken,
  workspaceAccess,
  workspaceProof,
} from "./workspace-token.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "troupe-workspace-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);

describe("a private file", () => {
  it("is written with mode 0600, also over one with another; never over what is there when that is asked", () => {
    const file = join(folder, "f");
    writeFileSync(file, "old", { mode: 0o666 });
    expect(createPrivateFile(file, "new")).toBe(false);
    writePrivateFile(file, "new");
    expect([modeOf(file), readPrivateFile(file)]).toEqual(["600", "new"]);
  });

  it.each([0o644, 0o620, 0o604])("of mode %o is refused", (mode) => {
    const file = join(folder, "f");
    writeFileSync(file, "x");
    chmodSync(file, mode);
    expect(() => readPrivateFile(file)).toThrow(/0600/);
  });

  it("that is a link, a folder or too large is refused; one that is not there is none", () => {
    const target = join(folder, "target");
    writeFileSync(target, "x", { mode: 0o600 });
    symlinkSync(target, join(folder, "link"));
    mkdirSync(join(folder, "folder"), { mode: 0o700 });
    writeFileSync(join(folder, "large"), "x".repeat(100_000), { mode: 0o600 });
    for (const name of ["link", "folder", "large"])
      expect(() => readPrivateFile(join(folder, name)), name).toThrow(/0600/);
    expect(readPrivateFile(join(folder, "none"))).toBeUndefined();
    expect(readPrivateFile(join(target, "below"))).toBeUndefined();
  });
});

describe("a workspace's token", () => {
  it("is made once, has 256 bits, and another after it was revoked", () => {
    const token = ensureWorkspaceToken(folder);
    expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect([ensureWorkspaceToken(folder), readWorkspaceToken(folder)]).toEqual([token, token]);
    expect(modeOf(join(folder, ".troupe", "token"))).toBe("600");
    expect(readFileSync(join(folder, ".troupe", ".gitignore"), "utf8")).toBe("*\n");
    expect([removeWorkspaceToken(folder), removeWorkspaceToken(folder)]).toEqual([true, false]);
    expect(readWorkspaceToken(folder)).toBeUndefined();
    expect(ensureWorkspaceToken(folder)).not.toBe(token);
  });

  it("that was cut short is replaced", () => {
    ensureWorkspaceToken(folder);
    writeFileSync(join(folder, ".troupe", "token"), "short");
    expect(ensureWorkspaceToken(folder)).toMatch(/^.{43}$/);
    expect(readWorkspaceToken(folder)).toBeDefined();
  });

  it("lets in itself alone, and nobody once it is revoked or others could read it", () => {
    const token = ensureWorkspaceToken(folder);
    const access = workspaceAccess(folder);
    const admitted = access.admit(token);
    expect(admitted?.()).toBe(true);
    for (const wrong of ["", "x", `${token}x`, token.slice(1)]) expect(access.admit(wrong)).toBeUndefined();
    chmodSync(join(folder, ".troupe", "token"), 0o644);
    expect([access.admit(token), admitted?.()]).toEqual([undefined, false]);
    chmodSync(join(folder, ".troupe", "token"), 0o600);
    expect(admitted?.()).toBe(true);
    removeWorkspaceToken(folder);
    ensureWorkspaceToken(folder);
    expect([access.admit(token), admitted?.()]).toEqual([undefined, false]);
  });

  it("is proved for one question and one port", () => {
    const token = ensureWorkspaceToken(folder);
    const proof = workspaceAccess(folder).prove("n", 1);
    expect(proof).toBe(workspaceProof(token, "n", 1));
    expect(proof).not.toBe(workspaceProof(token, "n", 2));
    expect(proof).not.toBe(workspaceProof(token, "m", 1));
    removeWorkspaceToken(folder);
    expect(workspaceAccess(folder).prove("n", 1)).toBeUndefined();
  });
});

describe("host.json", () => {
  const host = (more: object = {}) => ({
    url: "http://127.0.0.1:1",
    mcpUrl: "http://127.0.0.1:1/mcp",
    pid: 1,
    startedAt: 1,
    instance: createInstance(),
    ...more,
  });

  it("goes to one of many that start at once when the last one is gone", async () => {
    expect(await claimWorkspace(folder, host())).toBeUndefined();
    const hosts = Array.from({ length: 8 }, () => host());
    await Promise.all(hosts.map((one) => claimWorkspace(folder, one)));
    const { instance } = readHostFile(folder) ?? {};
    expect(hosts.map((one) => one.instance)).toContain(instance);
    for (const one of hosts) if (one.instance !== instance) releaseWorkspace(folder, one);
    expect(readHostFile(folder)?.instance).toBe(instance);
    for (const one of hosts) releaseWorkspace(folder, one);
    expect(readHostFile(folder)).toBeUndefined();
  });

  it.each([
    { mcpUrl: "http://agents.example/mcp" },
    { url: "https://127.0.0.1:1" },
    { instance: "x" },
    { pid: -1 },
  ])("that says %j is not believed", (more) => {
    mkdirSync(join(folder, ".troupe"));
    writeFileSync(join(folder, ".troupe", "host.json"), JSON.stringify(host(more)), { mode: 0o600 });
    expect(readHostFile(folder)).toBeUndefined();
  });
});
