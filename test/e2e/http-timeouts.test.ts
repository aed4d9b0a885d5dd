import { once } from 'node:events';
import { connect } from 'node:net';
import { startOps } from '../../apps/ops/start.ts';
import { createLog } from '../../lib/base/log.ts';
import { openOpsPlatform } from '../../lib/store/platform.ts';
import { startTestApi } from '../harness/api.ts';
import { startNode } from '../harness/parlance.ts';
import { testConfig } from '../harness/stores.ts';
import { use } from '../harness/use.ts';

describe('HTTP servers', () => {
  const config = testConfig();
  const api = use(() => startTestApi());
  const gateway = use(() => startNode(config));
  const opsPlatform = use(() => openOpsPlatform(config, createLog('test', 'silent')));
  const ops = use(() => startOps({ ...opsPlatform }));

  it('close connections that send incomplete headers or nothing', async () => {
    // Limits a hang. Without the check every second, the connections would stay open for at least 30 s.
    const ports = [Number(new URL(api.url).port), Number(new URL(gateway.gatewayUrl).port), ops.port];
    const sockets = ports.flatMap((port) =>
      ['', 'GET / HTTP/1.1\r\nHost: localhost\r\nX-Half: '].map((text) => {
        const socket = connect(port, '127.0.0.1');
        if (text) socket.write(text);
        return socket.resume();
      }),
    );
    await Promise.all(sockets.map((socket) => once(socket, 'close')));
  });
});
