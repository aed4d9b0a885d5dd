/** A session of the gateway. Keep it to continue after a restart of the process. It is JSON. */
export interface Session {
  id: string;
  /** The address to resume at. */
  url: string;
  /** Where to resume from: all events before it are handled. */
  position: string;
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
