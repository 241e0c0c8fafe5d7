/** What a local agent asks a person before it goes on. */
export interface ApprovalRequest {
  readonly approvalId: string;
  readonly kind: "permission" | "plan" | "question";
  /** The tool call that waits, when there is one. */
  readonly toolCallId?: string;
  /** The tool as the program names it. */
  readonly tool?: string;
  /** One line for a person. */
  readonly title: string;
  /** The tool's arguments, the plan, or the question. */
  readonly input?: unknown;
  /** JSON Schema of the answer, for a question. */
  readonly schema?: unknown;
  /** Milliseconds since the epoch when it is denied by itself. */
  readonly expiresAt: number;
}

/** The answer to an {@link ApprovalRequest}. `input` replaces the tool's arguments, or is the answer to a question. */
export interface ApprovalDecision {
  readonly decision: "approve" | "deny";
  readonly message?: string;
  readonly input?: unknown;
}

/** Decides approvals in code. Returning `undefined` leaves the decision to a person. */
export type ApprovalHandler = (
  request: ApprovalRequest,
  signal: AbortSignal,
) => Promise<ApprovalDecision | undefined> | ApprovalDecision | undefined;

/** What happens to a request. `ask`: code or a person decides, `allow` and `deny` answer at once. */
export type PermissionMode = "ask" | "allow" | "deny";

/**
 * What happens to requests of each kind; kinds that are not named are asked. A mode alone is that of permissions. A question that is
 * allowed gets the first of the answers that the program proposes; one without proposals is denied.
 */
export type PermissionOptions =
  | PermissionMode
  | { readonly [Kind in ApprovalRequest["kind"]]?: PermissionMode };

/** What happens to requests of this kind. */
export function permissionMode(
  permissions: PermissionOptions,
  kind: ApprovalRequest["kind"],
): PermissionMode {
  if (typeof permissions === "string") return kind === "permission" ? permissions : "ask";
  return permissions[kind] ?? "ask";
}

/** Whether these options say more than that everything may happen, and so need a program that asks. */
export function needsApprovals(permissions: PermissionOptions): boolean {
  const modes = typeof permissions === "string" ? [permissions] : Object.values(permissions);
  return modes.some((mode) => mode !== "allow");
}
