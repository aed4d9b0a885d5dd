import { expect } from 'chai';
import { createEndpointTimes } from '../../lib/base/endpoint-times.ts';
import { createMetrics } from '../../lib/base/metrics.ts';

describe('createEndpointTimes', () => {
  it('returns mean, p95 and failures, slowest application first', () => {
    const times = createEndpointTimes(() => 0);
    for (let ms = 1; ms <= 20; ms++) times.record('quick', ms, true);
    for (const ms of [100, 300]) times.record('slow', ms, ms < 200);
    expect(times.slowest()).to.deep.equal([
      { applicationId: 'slow', posts: 2, failed: 1, meanMs: 200, p95Ms: 300 },
      { applicationId: 'quick', posts: 20, failed: 0, meanMs: 10.5, p95Ms: 19 },
    ]);
  });

  it('drops requests older than 5 minutes', () => {
    let now = 0;
    const times = createEndpointTimes(() => now);
    times.record('old', 1, true);
    times.record('both', 1, true);
    now = 300_000;
    expect(times.slowest()).to.have.length(2);
    times.record('both', 2, true);
    now = 300_001;
    expect(times.slowest().map(({ applicationId, posts }) => [applicationId, posts])).to.deep.equal([['both', 1]]);
  });

  it('keeps 50 requests of each of 500 applications and returns the 10 slowest', () => {
    const times = createEndpointTimes(() => 0);
    for (let at = 0; at < 60; at++) times.record('often', at < 10 ? 9_000 : 8_000, true);
    for (let at = 0; at < 499; at++) times.record(`a${at}`, at, true);
    expect(times.slowest()[0]).to.include({ applicationId: 'often', posts: 50, p95Ms: 8_000 });
    expect(times.slowest()).to.have.length(10);
    times.record('one more', 1, true);
    expect(times.slowest()[0]?.applicationId).to.equal('a498');
  });

  it('exports metrics of the 10 slowest applications only', async () => {
    const { registry, endpoints } = createMetrics('worker');
    for (let at = 0; at < 30; at++) endpoints.record(`a${at}`, 1_000 + at, at !== 29);
    await registry.metrics();
    for (let at = 0; at < 5; at++) endpoints.record(`b${at}`, 2_000, true);
    const text = await registry.metrics();
    for (const name of ['posts', 'failed_posts', 'mean_seconds', 'p95_seconds'])
      expect(text.match(new RegExp(`^parlance_endpoint_${name}\\{`, 'gm')), name).to.have.length(10);
    expect(text).to.contain('parlance_endpoint_failed_posts{application="a29",role="worker"} 1');
    expect(text).to.contain('parlance_endpoint_p95_seconds{application="a29",role="worker"} 1.029');
  });
});
