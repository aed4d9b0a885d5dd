// The system tests: the files that `npm test` leaves out, and those of the database gateway, with its other options.
const { ignore, ...options } = require('../.mocharc.json');

module.exports = { ...options, spec: [...ignore, 'local-database/test/*.test.ts'] };
