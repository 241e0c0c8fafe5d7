import { execFile } from "node:child_process";
import { access, constants, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

/** A browser for tests, in the words of Playwright's launch options. */
export interface ChromiumLaunch {
  readonly executablePath: string;
  readonly args: string[];
  /** The whole environment of the browser; absent means our own. */
  readonly env?: Record<string, string>;
}

const INSTALLED = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome-stable",
  "/usr/bin/google-chrome",
  "/snap/bin/chromium",
  "/opt/google/chrome/chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
  "C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe",
];

/** Root in a container has no user namespaces, and its /dev/shm is often only 64 MB. */
const ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"];

/**
 * Finds a browser: the environment variable `TROUPE_CHROME`, an installed Chrome or Chromium, else the one that the development
 * dependency `@sparticuz/chromium` brings (unpacked once into the temporary directory).
 * @throws Error that says what to do, when there is none.
 */
export async function findChromium(): Promise<ChromiumLaunch> {
  const named = process.env.TROUPE_CHROME;
  if (named) {
    if (await isExecutable(named)) return { executablePath: named, args: [...ARGUMENTS] };
    throw new Error(`TROUPE_CHROME names ${named}, which cannot be executed.`);
  }
  for (const executablePath of INSTALLED) {
    if (await isExecutable(executablePath)) return { executablePath, args: [...ARGUMENTS] };
  }
  try {
    return await packedChromium();
  } catch (cause) {
    throw new Error("No Chrome or Chromium was found. Install one, or set TROUPE_CHROME to its path.", {
      cause,
    });
  }
}

/** The package unpacks into the temporary directory, without care for a second process that does the same at the same time. */
async function packedChromium(): Promise<ChromiumLaunch> {
  const directory = join(tmpdir(), `troupe-chromium-${await packageVersion()}-${userInfo().uid}`);
  const executablePath = join(directory, "chromium");
  if (!(await isExecutable(executablePath))) {
    await mkdir(dirname(directory), { recursive: true });
    const scratch = await mkdtemp(`${directory}-`);
    try {
      await unpack(scratch);
      // The package's own file names directories of a cloud function.
      await writeFile(join(scratch, "fonts.conf"), fontconfig(join(directory, "fonts")));
      await rename(scratch, directory);
    } catch (error) {
      await rm(scratch, { recursive: true, force: true });
      // Another process may have been first.
      if (!(await isExecutable(executablePath))) throw error;
    }
  }
  return { executablePath, args: [...ARGUMENTS], env: await libraryEnvironment(directory, executablePath) };
}

async function unpack(directory: string): Promise<void> {
  // The variable makes the package bring the system libraries along as well.
  const wanted = { TMPDIR: directory, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs20.x" };
  const before = Object.keys(wanted).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, wanted);
  const touched = ["LD_LIBRARY_PATH", "FONTCONFIG_PATH", "HOME"].map(
    (name) => [name, process.env[name]] as const,
  );
  try {
    const { default: chromium } = await import("@sparticuz/chromium");
    await chromium.executablePath();
  } finally {
    for (const [name, value] of [...before, ...touched]) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

/** Lends the browser the libraries and fonts of its package where the system has none. */
async function libraryEnvironment(
  directory: string,
  executablePath: string,
): Promise<Record<string, string>> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) if (value !== undefined) env[name] = value;
  const linked = await promisify(execFile)("ldd", [executablePath]).catch(() => undefined);
  if (!linked || linked.stdout.includes("not found")) env.LD_LIBRARY_PATH = join(directory, "al2023", "lib");
  if (!(await exists("/etc/fonts/fonts.conf"))) env.FONTCONFIG_FILE = join(directory, "fonts.conf");
  return env;
}

function fontconfig(fonts: string): string {
  return `<?xml version="1.0"?>\n<fontconfig><dir>${fonts}</dir><cachedir>${join(fonts, "cache")}</cachedir></fontconfig>\n`;
}

async function packageVersion(): Promise<string> {
  const entry = createRequire(import.meta.url).resolve("@sparticuz/chromium");
  const manifest = join(dirname(entry), "..", "..", "package.json");
  const { version } = JSON.parse(await readFile(manifest, "utf8")) as { version?: unknown };
  return String(version);
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

const isExecutable = (path: string) =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
