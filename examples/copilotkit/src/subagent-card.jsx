import {
  argumentHint,
  formatBoundary,
  formatBytes,
  isSubagentOver,
  subagentWord,
  summaryOf,
} from "troupe/client";

/** A subagent at work, under the call that asked for it. */
export function SubagentCard({ subagent, client }) {
  const { delegationId, agentName, state, items, artifacts } = subagent;
  const over = isSubagentOver(state);
  return (
    <article className={`subagent ${state}`} aria-label={agentName}>
      <header>
        <strong>{agentName}</strong> <span className="state">{subagentWord(state)}</span>
        {!over && (
          <button type="button" onClick={() => client.cancelDelegation(delegationId, "user")}>
            Stop
          </button>
        )}
      </header>
      {items.map((item) =>
        item.kind === "tool" ? (
          <div className="tool" key={item.id}>
            <code>{item.name}</code> {argumentHint(item.arguments)} {item.state === "failed" && "(failed)"}
            {item.result && <pre>{item.result}</pre>}
          </div>
        ) : (
          <p className={item.kind} key={item.id}>
            {item.text}
          </p>
        ),
      )}
      {state === "needs_you" && <Question subagent={subagent} client={client} />}
      {artifacts.map(({ id, name, size }) => (
        <a key={id} href={client.artifactUrl(delegationId, id)}>
          {name} ({formatBytes(size)})
        </a>
      ))}
      {over && (
        <footer>
          {state !== "done" && <p>{summaryOf(subagent)}</p>}
          <small>{formatBoundary(subagent)}</small>
        </footer>
      )}
    </article>
  );
}

/** The subagent waits. A choice is a button each; anything else is answered in words. */
function Question({ subagent, client }) {
  const { delegationId, prompt, schema, takesAnswer } = subagent;
  const choices = schema?.properties?.decision?.enum ?? [];
  const answer = (event) => {
    event.preventDefault();
    client.answerDelegation(delegationId, { text: String(new FormData(event.currentTarget).get("text")) });
  };
  return (
    <section className="question">
      <p>{prompt}</p>
      {choices.map((decision) => (
        <button
          type="button"
          key={decision}
          onClick={() => client.answerDelegation(delegationId, { data: { decision } })}
        >
          {decision}
        </button>
      ))}
      {takesAnswer && choices.length === 0 && (
        <form onSubmit={answer}>
          <input name="text" aria-label="Answer" required />
          <button type="submit">Answer</button>
        </form>
      )}
    </section>
  );
}
