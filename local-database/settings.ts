/** Where Postgres listens and whether its writes are durable. */
export interface ClusterSettings {
  /** Folder of the unix socket; its path is at most 90 bytes. */
  socketDir: string;
  /** If false, a crash of the machine or the process may lose data; for disposable data only. */
  durable: boolean;
}

/** The maximum number of Postgres connections; the pools of the wire gateway together stay below it. */
export const maxConnections = 96;

/** The text of the settings file of a cluster. */
export function clusterSettings({ socketDir, durable }: ClusterSettings): string {
  const settings: Record<string, string | number> = {
    // The runtime contains no time zones and the machine may have none; GMT needs no file.
    timezone: 'GMT',
    log_timezone: 'GMT',
    listen_addresses: '',
    unix_socket_directories: socketDir,
    unix_socket_permissions: '0700',
    shared_preload_libraries: 'pg_cron,pg_documentdb_core,pg_documentdb,pg_documentdb_extended_rum',
    'cron.database_name': 'postgres',
    // Postgres has no TCP port here, so the jobs that expire documents can only run in background workers of the server.
    'cron.use_background_workers': 'on',
    'cron.log_run': 'off',
    // The gateway builds indexes immediately. The worker would open two connections every 2 s to look for others, which takes 2 % of a processor.
    'documentdb.enableBackgroundWorker': 'off',
    // The first write to a new database connects back to the server, by default over TCP.
    'documentdb.localhost_connection_string': `host=${socketDir}`,
    // Without this, no secondary index serves a sort.
    'documentdb.alternate_index_handler_name': 'extended_rum',
    // Without this, { channelId, _id < x } uses the wrong index.
    'documentdb.enable_support_function_id_pushdown': 'on',
    // The same time as in mongod.
    'documentdb.defaultCursorExpiryTimeLimitSeconds': 600,
    // Lets a getMore use any pooled connection.
    'documentdb.useFileBasedPersistedCursors': 'on',
    'documentdb_core.enableCollation': 'on',
    'documentdb.enableCollationWithNonUniqueOrderedIndexes': 'on',
    deadlock_timeout: '20ms',
    // Each look for tables to vacuum or analyze starts a process. Disposable databases are too small to need many.
    autovacuum_naptime: durable ? '5s' : '20s',
    autovacuum_analyze_scale_factor: 0.02,
    jit: 'off',
    max_connections: maxConnections,
    shared_buffers: '128MB',
    ...(durable ? {} : { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' }),
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name} = '${String(value).replaceAll("'", "''")}'\n`)
    .join('');
}
