/** Where Postgres listens and how safe its writes are. */
export interface ClusterSettings {
  /** Folder of the unix socket; its path is at most 90 bytes. */
  socketDir: string;
  /** False: data may be lost with the machine or the process, for throw-away data only. */
  durable: boolean;
}

/** Most connections Postgres takes; the pools of the wire gateway stay below it. */
export const maxConnections = 96;

/** The text of the settings file of a cluster. */
export function clusterSettings({ socketDir, durable }: ClusterSettings): string {
  const settings: Record<string, string | number> = {
    // The runtime brings no time zones and the machine may have none; this name needs no file.
    timezone: 'GMT',
    log_timezone: 'GMT',
    listen_addresses: '',
    unix_socket_directories: socketDir,
    unix_socket_permissions: '0700',
    shared_preload_libraries: 'pg_cron,pg_documentdb_core,pg_documentdb,pg_documentdb_extended_rum',
    'cron.database_name': 'postgres',
    // Without TCP the jobs that expire documents run only in workers of the server itself.
    'cron.use_background_workers': 'on',
    'cron.log_run': 'off',
    // The first write to a new database calls back, by default over TCP.
    'documentdb.localhost_connection_string': `host=${socketDir}`,
    // Else no sort is served by a secondary index.
    'documentdb.alternate_index_handler_name': 'extended_rum',
    // Else { channelId, _id < x } takes the wrong index.
    'documentdb.enable_support_function_id_pushdown': 'on',
    // As long as mongod keeps an idle cursor.
    'documentdb.defaultCursorExpiryTimeLimitSeconds': 600,
    // A getMore may then come over any pooled connection.
    'documentdb.useFileBasedPersistedCursors': 'on',
    'documentdb_core.enableCollation': 'on',
    'documentdb.enableCollationWithNonUniqueOrderedIndexes': 'on',
    deadlock_timeout: '20ms',
    autovacuum_naptime: '5s',
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
