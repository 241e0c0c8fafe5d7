import type { Client, RunView, ThreadFrame, ThreadView } from "../../../src/client/index.js";
import { type Connection, ThreadStore } from "../thread/thread-store.js";
import { Playback } from "./playback.js";

/** How many times as fast as it was. */
export const SPEEDS = [1, 4, 16] as const;

/** A run of the past, played again. Looks like its thread; nothing of it can be stopped or answered. */
export class ReplayStore extends ThreadStore {
  override readonly readOnly = true;
  readonly playback: Playback;
  #speed = 1;
  #frame: number | undefined;
  /** When the last step was, by the browser's clock. */
  #stepped = 0;

  constructor(client: Client, threadId: string, frames: readonly ThreadFrame[]) {
    super(client, threadId);
    this.playback = new Playback(frames);
  }

  override get view(): ThreadView {
    return this.playback.view;
  }

  override get connection(): Connection {
    return { status: "idle" };
  }

  override get activeRun(): RunView | undefined {
    return undefined;
  }

  get playing(): boolean {
    return this.#frame !== undefined;
  }

  get speed(): number {
    return this.#speed;
  }

  override now(): number {
    return this.playback.position;
  }

  setSpeed(speed: number): void {
    this.#speed = speed;
    this.changed();
  }

  /** From where it stands, or from the beginning when it is over. */
  play(): void {
    if (this.playing) return;
    if (this.playback.position >= this.playback.to) this.playback.seek(this.playback.from);
    this.#stepped = performance.now();
    this.#frame = requestAnimationFrame(this.#step);
    this.changed();
  }

  pause(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
    this.changed();
  }

  seek(time: number): void {
    this.playback.seek(time);
    this.changed();
  }

  override open(): void {}

  override close(): void {
    this.pause();
  }

  override async stopRun(): Promise<void> {}

  override async stopDelegation(): Promise<void> {}

  override async answer(): Promise<void> {}

  override async decide(): Promise<void> {}

  readonly #step = (): void => {
    const now = performance.now();
    this.playback.seek(this.playback.position + (now - this.#stepped) * this.#speed);
    this.#stepped = now;
    const over = this.playback.position >= this.playback.to;
    this.#frame = over ? undefined : requestAnimationFrame(this.#step);
    this.changed();
  };
}

/** The frames of one run, read from the host again: to its end, or to now. */
export async function readRun(
  client: Client,
  threadId: string,
  runId: string,
  signal: AbortSignal,
): Promise<readonly ThreadFrame[]> {
  const reading = new AbortController();
  const leave = () => reading.abort();
  signal.addEventListener("abort", leave, { once: true });
  const frames: ThreadFrame[] = [];
  try {
    const onState = ({ status }: { readonly status: string }) => {
      if (status === "live" || status === "reconnecting") leave();
    };
    for await (const frame of client.streamThread(threadId, { signal: reading.signal, onState })) {
      const { type, runId: of } = frame.event;
      if (frames.length === 0 && !(type === "RUN_STARTED" && of === runId)) continue;
      frames.push(frame);
      if ((type === "RUN_FINISHED" || type === "RUN_ERROR") && (of ?? runId) === runId) break;
    }
  } finally {
    signal.removeEventListener("abort", leave);
  }
  return frames;
}
