// Errors of the interface as problem details (RFC 9457).

/** Code of an error that has no answer: the program cannot be reached, or did not answer in time. */
export const UNREACHABLE = 'GAL-UNREACHABLE';

/** A refused or failed request. `status` 0: the program cannot be reached. */
export class Problem extends Error {
  override readonly name = 'Problem';

  constructor(
    /** HTTP status. */
    readonly status: number,
    /** Stable code, explained by `galatea explain CODE`. */
    readonly code: string,
    /** A sentence that says what happened. */
    message: string,
    /** More about it. */
    readonly detail?: string,
    /** The next step. */
    readonly fix?: string,
    /** The whole answer, with fields of its own kind. */
    readonly body: Record<string, unknown> = {},
  ) {
    super(message);
  }
}

// Titles that repeat the status say nothing; the detail is the sentence then.
const STATUS_WORDS =
  /^(Bad Request|Unauthorized|Forbidden|Not Found|Method Not Allowed|Conflict|Precondition Failed|Payload Too Large|Unprocessable Entity|Unprocessable Content|Too Many Requests|Internal Server Error|Service Unavailable|Gateway Timeout|Unsupported Media Type)$/;

/** The problem of an answer that is not a success. */
export async function problemOf(response: Response): Promise<Problem> {
  const parsed: unknown = await response.json().catch(() => null);
  const body = typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {};
  const text = (name: string) => (typeof body[name] === 'string' ? (body[name] as string) : undefined);
  const title = text('title') ?? response.statusText;
  const detail = text('detail');
  const repeats = title === '' || STATUS_WORDS.test(title);
  return new Problem(
    response.status,
    text('code') ?? `HTTP-${response.status}`,
    repeats && detail ? `${detail.charAt(0).toUpperCase()}${detail.slice(1)}` : title || `HTTP ${response.status}`,
    repeats ? undefined : detail,
    text('fix'),
    body,
  );
}
