import { memo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";

/** Above this many characters text is shown as it is: parsing it again and again would stall the page. */
const MARKDOWN_LIMIT = 60_000;

const SAFE_ADDRESS = /^(https?:\/\/|mailto:)/i;

const COMPONENTS: Components = {
  a: ({ href, children }) =>
    href ? (
      <a href={href} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
    ) : (
      <span>{children}</span>
    ),
  // An image of a remote's text would tell its server who reads it and when.
  img: ({ src, alt }) =>
    typeof src === "string" && src ? (
      <a href={src} target="_blank" rel="noopener noreferrer">
        {`Image: ${alt || src}`}
      </a>
    ) : (
      <span>{alt}</span>
    ),
  // Scrolls by itself, so it must be reachable without a mouse.
  pre: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the keyboard
    <pre tabIndex={0}>{children}</pre>
  ),
};

/** Text of an agent: markdown without HTML, links that open apart, nothing loaded from elsewhere. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  if (text.length > MARKDOWN_LIMIT) return <div className="prose plain">{text}</div>;
  return (
    <div className="prose">
      <Block text={text} />
    </div>
  );
});

/** Text that is still being written: finished paragraphs are parsed once, only the last one again. */
export function StreamingMarkdown({ text }: { text: string }) {
  if (text.length > MARKDOWN_LIMIT) return <div className="prose plain">{text}</div>;
  const blocks = splitBlocks(text);
  return (
    <div className="prose">
      {blocks.map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only ever added at the end
        <Block key={index} text={index === blocks.length - 1 ? mend(block) : block} />
      ))}
    </div>
  );
}

const Block = memo(function Block({ text }: { text: string }) {
  return (
    <ReactMarkdown
      skipHtml
      components={COMPONENTS}
      urlTransform={(url) => (SAFE_ADDRESS.test(url) ? url : "")}
    >
      {text}
    </ReactMarkdown>
  );
});

/** Closes what the last words opened and have not closed yet, so that its marks do not flicker. */
function mend(block: string): string {
  if (/^\s*(```|~~~)/m.test(block)) return block;
  const odd = (mark: string) => block.split(mark).length % 2 === 0;
  if (odd("`")) return `${block}\``;
  if (!odd("**")) return block;
  const closed = block.trimEnd();
  return closed.endsWith("**") ? closed.slice(0, -2) : `${closed}**`;
}

/** Splits at blank lines outside of code fences. */
function splitBlocks(text: string): string[] {
  const blocks: string[] = [];
  let current: string[] = [];
  let fenced = false;
  for (const line of text.split("\n")) {
    if (/^\s*(```|~~~)/.test(line)) fenced = !fenced;
    if (!fenced && line.trim() === "" && current.length > 0) {
      blocks.push(current.join("\n"));
      current = [];
    } else current.push(line);
  }
  if (current.length > 0) blocks.push(current.join("\n"));
  return blocks;
}

const TAIL_CHARACTERS = 900;
const TAIL_LINES = 10;

/** The last lines of a text, with a code fence opened again when it was cut inside of one. */
export function tailOf(text: string): string {
  const lines = text.slice(-TAIL_CHARACTERS).split("\n");
  const whole = text.length <= TAIL_CHARACTERS;
  if (!whole && lines.length > 1) lines.shift();
  const tail = lines.slice(-TAIL_LINES).join("\n");
  const before = text.slice(0, text.length - tail.length);
  const fences = before.match(/^\s*```/gm)?.length ?? 0;
  return fences % 2 === 1 ? `\`\`\`\n${tail}` : tail;
}
