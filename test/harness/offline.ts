import nock from 'nock';

// Loaded with the configuration of every test: a request that leaves this machine fails at once, whoever made it (house, Habits 8).
nock.disableNetConnect();
nock.enableNetConnect(/^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/);
