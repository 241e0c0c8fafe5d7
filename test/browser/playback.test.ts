import { describe, expect, it } from "vitest";
import { Playback } from "../../console/src/replay/playback.js";

const frame = (cursor: number, type: string, timestamp: number | undefined, members: object = {}) => ({
  cursor: String(cursor),
  event: { type, ...(timestamp !== undefined && { timestamp }), ...members },
});

const frames = [
  frame(11, "RUN_STARTED", 1_000, { runId: "run-1" }),
  frame(12, "TEXT_MESSAGE_CONTENT", 2_000, { messageId: "m", delta: "one " }),
  frame(13, "TEXT_MESSAGE_CONTENT", undefined, { messageId: "m", delta: "two " }),
  // A clock that went back.
  frame(14, "TEXT_MESSAGE_CONTENT", 1_500, { messageId: "m", delta: "three " }),
  frame(15, "TEXT_MESSAGE_CONTENT", 4_000, { messageId: "m", delta: "four" }),
  frame(16, "RUN_FINISHED", 5_000, { runId: "run-1" }),
];

function textOf({ view }: Playback): string {
  const [item] = view.runs[0]?.items ?? [];
  return item?.kind === "text" ? item.text : "";
}

describe("a playback", () => {
  it("shows what was there at each moment, forward and back", () => {
    const playback = new Playback(frames);
    expect([playback.from, playback.to, playback.position]).toEqual([1_000, 5_000, 1_000]);
    expect(playback.view.runs).toHaveLength(1);
    expect(textOf(playback)).toBe("");
    playback.seek(1_999);
    expect(textOf(playback)).toBe("");
    playback.seek(2_000);
    expect(textOf(playback)).toBe("one two three ");
    playback.seek(4_500);
    expect(textOf(playback)).toBe("one two three four");
    expect(playback.view.runs[0]?.status).toBe("running");
    playback.seek(3_000);
    expect(textOf(playback)).toBe("one two three ");
    playback.seek(99_000);
    expect(playback.position).toBe(5_000);
    expect(playback.view.runs[0]?.status).toBe("finished");
    playback.seek(-1);
    expect([playback.position, textOf(playback)]).toEqual([1_000, ""]);
  });

  it("of nothing, or of frames without times, is at its end at once", () => {
    expect(new Playback([]).view.runs).toEqual([]);
    const timeless = new Playback([frame(1, "RUN_STARTED", undefined, { runId: "r" })]);
    expect(timeless.view.runs).toHaveLength(1);
    expect(timeless.to).toBe(timeless.from);
  });
});
