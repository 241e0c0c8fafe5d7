import type { ReactNode } from "react";

/** Names of the drawings. */
export type IconName =
  | "agents"
  | "alert"
  | "arrow-down"
  | "check"
  | "chevron"
  | "copy"
  | "cross"
  | "dots"
  | "download"
  | "eye"
  | "file"
  | "info"
  | "list"
  | "pause"
  | "play"
  | "plus"
  | "ring"
  | "search"
  | "send"
  | "square"
  | "tool";

const DRAWINGS: Readonly<Record<IconName, ReactNode>> = {
  agents: (
    <>
      <circle cx="5.5" cy="5" r="2.5" />
      <path d="M5.5 7.5v2a2.5 2.5 0 0 0 2.5 2.5h.8" />
      <circle cx="11" cy="12" r="2" />
    </>
  ),
  alert: (
    <>
      <path d="M8 2.2 14.2 13H1.8z" />
      <path d="M8 6.4v3.1M8 11.3v.2" />
    </>
  ),
  "arrow-down": <path d="M8 3v10M4 9l4 4 4-4" />,
  check: <path d="m3 8.5 3.2 3.2L13 4.8" />,
  chevron: <path d="m6 3.5 4.5 4.5L6 12.5" />,
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
      <path d="M10.5 3.2V3A1.5 1.5 0 0 0 9 1.5H4A1.5 1.5 0 0 0 2.5 3v5A1.5 1.5 0 0 0 4 9.5" />
    </>
  ),
  cross: <path d="m4 4 8 8M12 4l-8 8" />,
  dots: <path d="M3.5 8h.01M8 8h.01M12.5 8h.01" />,
  download: <path d="M8 2.5v7.2M4.8 6.8 8 10l3.2-3.2M3 13.2h10" />,
  eye: (
    <>
      <path d="M1.8 8S4 3.8 8 3.8 14.2 8 14.2 8 12 12.2 8 12.2 1.8 8 1.8 8z" />
      <circle cx="8" cy="8" r="1.8" />
    </>
  ),
  file: (
    <path d="M9 1.8H4.5A1.2 1.2 0 0 0 3.3 3v10a1.2 1.2 0 0 0 1.2 1.2h7a1.2 1.2 0 0 0 1.2-1.2V5.5zM9 1.8v3.7h3.7" />
  ),
  info: (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d="M8 7.2v3.6M8 4.9v.2" />
    </>
  ),
  list: <path d="M2.5 4h11M2.5 8h11M2.5 12h7" />,
  pause: <path d="M5.5 3.5v9M10.5 3.5v9" />,
  play: <path d="M5 3.2v9.6L12.6 8z" />,
  plus: <path d="M8 3v10M3 8h10" />,
  ring: <path d="M8 2.5A5.5 5.5 0 1 1 2.5 8" />,
  search: (
    <>
      <circle cx="7" cy="7" r="4.2" />
      <path d="m10.2 10.2 3.3 3.3" />
    </>
  ),
  send: <path d="M8 13V3M3.5 7.5 8 3l4.5 4.5" />,
  square: <rect x="4" y="4" width="8" height="8" rx="1.2" />,
  tool: <path d="m5 4-3 4 3 4M11 4l3 4-3 4" />,
};

/** A drawing that only repeats what words beside it say. */
export function Icon({ name, className = "" }: { name: IconName; className?: string }) {
  return (
    <svg className={`icon ${className}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      {DRAWINGS[name]}
    </svg>
  );
}
