import { createThreadView, type ThreadFrame, type ThreadView } from "../../../src/client/index.js";

/** Frames of a run, folded up to any moment of it. */
export class Playback {
  readonly #frames: readonly ThreadFrame[];
  /** When each frame happened; never earlier than the one before. */
  readonly #times: readonly number[];
  #reducer = createThreadView();
  /** How many frames are folded. */
  #folded = 0;
  #position: number;

  constructor(frames: readonly ThreadFrame[]) {
    this.#frames = frames;
    let last = Number.NEGATIVE_INFINITY;
    this.#times = frames.map(({ event: { timestamp } }) => {
      if (typeof timestamp === "number" && timestamp > last) last = timestamp;
      return last;
    });
    this.#position = this.from;
    this.seek(this.from);
  }

  /** Milliseconds since the epoch; so are all times here. */
  get from(): number {
    return this.#times.find(Number.isFinite) ?? 0;
  }

  get to(): number {
    return Math.max(this.from, this.#times.at(-1) ?? 0);
  }

  get position(): number {
    return this.#position;
  }

  get view(): ThreadView {
    return this.#reducer.view;
  }

  /** Goes to a moment. Forward costs what happens in between; back, what happened before it. */
  seek(time: number): void {
    const wanted = Math.min(this.to, Math.max(this.from, time));
    if (wanted < this.#position) {
      this.#reducer = createThreadView();
      this.#folded = 0;
    }
    this.#position = wanted;
    for (let frame = this.#next(); frame; frame = this.#next()) {
      this.#reducer.apply(frame);
      this.#folded++;
    }
  }

  #next(): ThreadFrame | undefined {
    const time = this.#times[this.#folded];
    return time !== undefined && time <= this.#position ? this.#frames[this.#folded] : undefined;
  }
}
