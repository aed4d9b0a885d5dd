import { UUID } from 'bson';
import { maxMessageBytes } from '../wire.ts';

/** The reply of a one-node replica set at `address` to a driver's hello. */
function helloReply(name: string, address: string): Record<string, unknown> {
  return {
    setName: 'rs0',
    setVersion: 1,
    hosts: [address],
    primary: address,
    me: address,
    secondary: false,
    [name === 'hello' ? 'isWritablePrimary' : 'ismaster']: true,
    helloOk: true,
    maxBsonObjectSize: 16_777_216,
    maxMessageSizeBytes: maxMessageBytes,
    maxWriteBatchSize: 25_000,
    localTime: new Date(),
    logicalSessionTimeoutMinutes: 30,
    minWireVersion: 0,
    maxWireVersion: 21,
    readOnly: false,
    ok: 1,
  };
}

/** Replies to commands that need no database; undefined for every other command. */
export function localReply(name: string, address: string): Record<string, unknown> | undefined {
  switch (name) {
    case 'hello':
    case 'isMaster':
    case 'ismaster':
      return helloReply(name, address);
    case 'ping':
    case 'endSessions':
    case 'refreshSessions':
    case 'killSessions':
    case 'getParameter':
      return { ok: 1 };
    case 'startSession':
      return { id: { id: new UUID() }, timeoutMinutes: 30, ok: 1 };
    case 'buildInfo':
    case 'buildinfo':
      return { version: '7.0.0', versionArray: [7, 0, 0, 0], bits: 64, maxBsonObjectSize: 16_777_216, ok: 1 };
    case 'connectionStatus':
      return { authInfo: { authenticatedUsers: [], authenticatedUserRoles: [] }, ok: 1 };
    case 'serverStatus':
      return { host: address, version: '7.0.0', process: 'parlance-documentdb', pid: process.pid, uptime: process.uptime(), ok: 1 };
    default:
      return undefined;
  }
}
