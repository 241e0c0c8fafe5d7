import { execFileSync } from "node:child_process";
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PIECE = Buffer.alloc(4_096);
const IMAGE_BYTES = 4 * 1_048_576;

/** A file system of its own, with which can be done what happens to disks. */
export class SmallDisk implements Disposable {
  readonly path: string;

  private constructor(
    private readonly folder: string,
    private readonly how: readonly string[],
  ) {
    this.path = join(folder, "disk");
    mkdirSync(this.path);
    run("mount", [...how, this.path]);
  }

  /** A disk in memory. @throws when this machine does not let us mount. */
  static mount(kilobytes = 1_024): SmallDisk {
    return inFolder(
      (folder) => new SmallDisk(folder, ["-t", "tmpfs", "-o", `size=${kilobytes}k,mode=0700`, "troupe-disk"]),
    );
  }

  /** A disk in a file. @throws when this machine has no loop devices or no ext4. */
  static breakable(): SmallDisk {
    return inFolder((folder) => {
      const image = join(folder, "image");
      const file = openSync(image, "w");
      ftruncateSync(file, IMAGE_BYTES);
      closeSync(file);
      run("mkfs.ext4", ["-q", "-F", "-O", "^has_journal", image]);
      return new SmallDisk(folder, ["-o", "loop", image]);
    });
  }

  /** Takes all the room that is left. */
  fill(): void {
    const file = openSync(join(this.path, "ballast"), "a");
    try {
      for (;;) writeSync(file, PIECE);
    } catch (error) {
      if (Object(error).code !== "ENOSPC") throw error;
    } finally {
      closeSync(file);
    }
  }

  /** Gives back what {@link fill} took. */
  empty(): void {
    unlinkSync(join(this.path, "ballast"));
  }

  /** Lets nobody write. It is refused while a file is open for writing. */
  setReadOnly(): void {
    run("mount", ["-o", "remount,ro", this.path]);
  }

  /** Does what the kernel does after an error of the device: what is open for writing is refused as well. */
  break(): void {
    run("mount", ["-o", "remount,abort", this.path]);
  }

  /** Makes what is broken a disk again. Nobody may have a file of it open. */
  mend(): void {
    run("umount", [this.path]);
    run("mount", [...this.how, this.path]);
  }

  [Symbol.dispose](): void {
    // Whoever still has a file open keeps the disk, and nobody sees it.
    run("umount", ["-l", this.path]);
    rmSync(this.folder, { recursive: true });
  }
}

function inFolder(make: (folder: string) => SmallDisk): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), "troupe-disk-"));
  try {
    return make(folder);
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
}

function run(program: string, args: readonly string[]): void {
  execFileSync(program, args, { stdio: "pipe" });
}

/** Why there is no disk in memory to test with; `undefined` when there is one. */
export const noDisk = (() => {
  try {
    SmallDisk.mount(64)[Symbol.dispose]();
    return undefined;
  } catch {
    return "file systems cannot be mounted here";
  }
})();

/** Why there is no disk to break; `undefined` when there is one. */
export const noBreakableDisk = (() => {
  try {
    using disk = SmallDisk.breakable();
    disk.break();
    return undefined;
  } catch {
    return "a file with ext4 cannot be mounted and broken here";
  }
})();
