import { useEffect, useReducer, useRef } from "react";
import { formatElapsed } from "../../../src/client/index.js";
import { Icon } from "../parts/icon.js";
import { useThreadVersion } from "../thread/thread-context.js";
import { type ReplayStore, SPEEDS } from "./replay-store.js";

/** In place of the composer while a run is played again. */
export function ReplayBar({ store, onClose }: { store: ReplayStore; onClose: () => void }) {
  useThreadVersion(store);
  // The store tells of changes a frame later, and React would put the slider back for that long.
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus(), []);
  const { from, to, position } = store.playback;
  const told = `${formatElapsed(position - from)} of ${formatElapsed(to - from)}`;
  return (
    <footer className="composer">
      <section className="column replay" aria-label="Replay">
        <button
          ref={button}
          type="button"
          className="button"
          onClick={() => (store.playing ? store.pause() : store.play())}
        >
          <Icon name={store.playing ? "pause" : "play"} />
          {store.playing ? "Pause" : "Play"}
        </button>
        <input
          type="range"
          aria-label="Moment"
          aria-valuetext={told}
          min={0}
          max={Math.max(1, to - from)}
          step={100}
          value={position - from}
          onChange={(event) => {
            store.seek(from + Number(event.target.value));
            redraw();
          }}
        />
        <span className="elapsed">{told}</span>
        <select
          aria-label="Speed"
          value={store.speed}
          onChange={(event) => {
            store.setSpeed(Number(event.target.value));
            redraw();
          }}
        >
          {SPEEDS.map((speed) => (
            <option key={speed} value={speed}>
              {`${speed}×`}
            </option>
          ))}
        </select>
        <button type="button" className="button" onClick={() => store.seek(to)}>
          End
        </button>
        <button type="button" className="button quiet" onClick={onClose}>
          Leave replay
        </button>
      </section>
    </footer>
  );
}
