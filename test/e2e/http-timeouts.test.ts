import { once } from 'node:events';
import { connect } from 'node:net';
import { startGateway } from '../../apps/gateway/node.ts';
import { startOps } from '../../apps/ops/start.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { openGatewayPlatform, openOpsPlatform } from '../../lib/store/platform.ts';
import { startTestApi } from '../harness/api.ts';
import { testConfig } from '../harness/stores.ts';

/** A resource to close after the test. */
interface Closable {
  close(): Promise<void>;
}

describe('HTTP servers', () => {
  const open: Closable[] = [];
  after(async () => {
    for (const one of open.toReversed()) await one.close();
  });
  const closeAfter = <T extends Closable>(one: T): T => {
    open.push(one);
    return one;
  };

  it('close connections that send incomplete headers or nothing', async () => {
    // Limits a hang. Without the check every second, the connections would stay open for at least 30 s.
    const [config, log] = [testConfig(), createLog('test', 'silent')];
    const api = closeAfter(await startTestApi());
    const gateway = closeAfter(await startGateway(closeAfter(await openGatewayPlatform(config, log)), createMetrics('gateway')));
    const ops = closeAfter(await startOps(closeAfter(await openOpsPlatform(config, log))));
    const ports = [Number(new URL(api.url).port), gateway.port, ops.port];
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
