/** A session of the gateway. Keep it to continue after a restart of the process. It is JSON. */
export interface Session {
  id: string;
  /** The address to resume at. */
  url: string;
  /** Where to resume from: all events before it are handled. */
  position: string;
}

/** Whether a value has the form of a session. What was loaded from a file may be empty or damaged. */
export function isSession(value: unknown): value is Session {
  const { id, url, position } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  return [id, url, position].every((part) => typeof part === 'string' && part !== '') && URL.canParse(url as string);
}

/** The data of `READY`: a new session has begun. */
export interface GatewayReady {
  user: { id: string; username: string; displayName: string; avatarUrl: string | null; tag: string | null };
  sessionId: string;
  resumeUrl: string;
  /** Absent for a person's session. */
  applicationId?: string;
  /** The ids of the bot's servers. */
  servers: string[];
}
