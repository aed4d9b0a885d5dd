/** The parts of `REDIS_URL`: the addresses of Redis, and how to log in. */
export interface RedisAddress {
  isCluster: boolean;
  /** The nodes in the URL. A single Redis has one. */
  nodes: { host: string; port: number }[];
  login: { username?: string; password?: string; tls?: object; db?: number };
}

const pattern = /^redis(s?)(\+cluster)?:\/\/(?:([^\s/@:]*):([^\s/@]*)@)?([^\s/@,]+(?:,[^\s/@,]+)*)(?:\/(\d*))?$/;
const defaultPort = 6379;

/** Whether the text is the URL of a Redis or of a Redis Cluster. */
export function isRedisUrl(text: string): boolean {
  const [, , isNamedCluster, , , hosts = '', database] = pattern.exec(text) ?? [];
  if (hosts === '' || !hosts.split(',').every((host) => URL.canParse(`http://${host}`))) return false;
  return !database || !(isNamedCluster || hosts.includes(',')); // a cluster has no numbered databases
}

/** Parses the URL of a Redis. Several hosts or the scheme `redis+cluster` mean a cluster. */
export function readRedisAddress(url: string): RedisAddress {
  const [, secure, isNamedCluster, username, password, hosts = '', database] = pattern.exec(url) ?? [];
  const nodes = hosts.split(',').map((text) => {
    const { hostname, port } = new URL(`http://${text}`);
    // `URL` drops port 80, the default port of http.
    return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || (text.endsWith(':80') ? 80 : defaultPort)) };
  });
  return {
    isCluster: isNamedCluster !== undefined || nodes.length > 1,
    nodes,
    login: {
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
      ...(secure && { tls: {} }),
      ...(database && { db: Number(database) }),
    },
  };
}
