import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The time of day of a process, which can be set while it runs. Its monotonic clock goes on as it does. */
export class SetClock implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "troupe-clock-"));

  constructor() {
    this.set(0);
  }

  /** Environment of the process. */
  get env(): Record<string, string> {
    return {
      LD_PRELOAD: LIBRARY ?? "",
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    };
  }

  /** @param seconds how far it is from the machine's. */
  set(seconds: number): void {
    // In one step: a process that read half of it would see any time.
    writeFileSync(`${this.#file}.new`, seconds < 0 ? `${seconds}` : `+${seconds}`);
    renameSync(`${this.#file}.new`, this.#file);
  }

  get #file(): string {
    return join(this.#folder, "offset");
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }
}

/** Debian has it in a folder of each architecture. */
const [LIBRARY] = ["/usr/lib", "/usr/lib64", "/usr/local/lib"]
  .filter((folder) => existsSync(folder))
  .flatMap((folder) => [folder, ...readdirSync(folder).map((name) => join(folder, name))])
  .map((folder) => join(folder, "faketime", "libfaketime.so.1"))
  .filter((file) => existsSync(file));

/** Why no clock can be set; `undefined` when it can. */
export const noSetClock = (() => {
  if (LIBRARY === undefined) return "libfaketime is not installed";
  using clock = new SetClock();
  clock.set(86_400);
  const now = execFileSync(process.execPath, ["-p", "Date.now()"], { env: clock.env, encoding: "utf8" });
  return Number(now) - Date.now() > 80_000_000 ? undefined : "libfaketime does not work with this Node";
})();
