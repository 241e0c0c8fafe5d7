import { formatElapsed, type HistoryEntry } from "../../../src/client/index.js";

/** Every state, question, file and end with its cursor. */
export function History({ entries }: { entries: readonly HistoryEntry[] }) {
  const begin = entries[0]?.time ?? 0;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the keyboard
    <section className="history" tabIndex={0} aria-label="History">
      <table>
        <thead>
          <tr>
            <th scope="col">Cursor</th>
            <th scope="col">At</th>
            <th scope="col">Event</th>
          </tr>
        </thead>
        <tbody>
          {entries.map(({ cursor, time, type, status, message }) => (
            <tr key={cursor}>
              <td>{cursor}</td>
              <td>{formatElapsed(time - begin)}</td>
              <td>
                <code>{type.replace(/^subagent\./, "")}</code> {status}
                {message && <span className="muted">{` ${message}`}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
